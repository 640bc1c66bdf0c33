"""Agents that harm their worktree and its git folder: the user's checkout stays the user's."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest

from tests.e2e.hostile_rig import SHORT, Hostile

if TYPE_CHECKING:
    from tests.e2e.conftest import Cli


@pytest.fixture
def hostile(cli: Cli) -> Hostile:
    seed = random.randrange(1 << 32)
    print(f"seed {seed}")
    return Hostile(cli, seed)


@pytest.mark.examples(1)
@pytest.mark.parametrize("remote", [True, False])
def test_a_few_hostile_agents(hostile: Hostile, remote: bool) -> None:
    hostile.settle(remote=remote)
    for number, name in enumerate(SHORT[remote::2]):
        hostile.suffer(name, kills=int(number == 0))
    hostile.check_all()


@pytest.mark.torture
@pytest.mark.timeout(3000)
@pytest.mark.parametrize("remote", [True, False])
def test_sixty_hostile_agents_and_a_hundred_kills(hostile: Hostile, remote: bool) -> None:
    hostile.settle(remote=remote)
    for name in hostile.some(60):
        hostile.suffer(name, kills=2)
    while hostile.kills.total() < 100:
        hostile.suffer("initializes again", kills=2)
    print(dict(hostile.kills), hostile.acts)
    hostile.check_all()
