"""Sessions whose process is killed or interrupted at random moments, many times."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest

from tests.e2e.session_crash_rig import SessionRig

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.e2e.conftest import Cli


@pytest.fixture
def rig(cli: Cli) -> Iterator[SessionRig]:
    seed = random.randrange(1 << 32)
    print(f"seed {seed}")
    rig = SessionRig(cli, seed)
    yield rig
    rig.close()


def examine(rig: SessionRig, names: list[str]) -> None:
    """Check every session, and tell what there was to check."""
    print(f"{dict(rig.ends)}, {len(names)} sessions")
    for name in names:
        rig.check(name)
    rig.check_all()
    print(dict(rig.seen))


def test_a_few_kills(rig: SessionRig) -> None:
    examine(rig, rig.kill_often(6))


@pytest.mark.torture
@pytest.mark.timeout(1800)
def test_two_hundred_kills(rig: SessionRig) -> None:
    examine(rig, rig.kill_often(200))


@pytest.mark.torture
def test_a_few_interrupts(rig: SessionRig) -> None:
    examine(rig, rig.interrupt_often(4))


@pytest.mark.torture
@pytest.mark.timeout(1800)
def test_a_hundred_interrupts(rig: SessionRig) -> None:
    examine(rig, rig.interrupt_often(100))
