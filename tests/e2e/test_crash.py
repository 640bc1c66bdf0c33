"""Kills at random moments while several processes write and hooks run: nothing lost, none twice."""

from __future__ import annotations

import random
import time
from typing import TYPE_CHECKING

import pytest

from tests.e2e.crash_rig import Aftermath, Rig

if TYPE_CHECKING:
    from tests.e2e.conftest import Cli


def survive(cli: Cli, kills: int, seed: int, writers: int = 8) -> Aftermath:
    """So many kills, one last command that sees to what is left, and the checks."""
    print(f"seed {seed}")
    rig = Rig(cli, seed, writers)
    rig.torture(kills)
    cli.json("emit", "last", quiet=False)
    aftermath = Aftermath(cli)
    print(f"{rig.kills} kills, {len(rig.acknowledged)} acknowledged, {aftermath.summary()}")
    aftermath.check(rig.acknowledged)
    assert rig.acknowledged
    return aftermath


def test_a_few_kills(cli: Cli) -> None:
    survive(cli, kills=4, seed=random.randrange(1 << 32), writers=4)


@pytest.mark.torture
def test_two_hundred_kills(cli: Cli) -> None:
    begun = time.monotonic()
    survive(cli, kills=200, seed=random.randrange(1 << 32))
    print(f"{time.monotonic() - begun:.0f} s")
