"""Machines, a server and a project for each test."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.fleet.rig import Fleet, fleet

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def line(tmp_path: Path) -> Iterator[Fleet]:
    with fleet(tmp_path) as made:
        yield made
