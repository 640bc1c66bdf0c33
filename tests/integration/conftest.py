"""Real repositories, fresh for each test."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.integration.repository_rig import Place

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(params=["no remote", "remote"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    made = Place(tmp_path, name="a project\nof ünïcode")
    made.begin()
    if request.param == "remote":
        made.publish()
    return made


@pytest.fixture
def alone(tmp_path: Path) -> Place:
    made = Place(tmp_path)
    made.begin()
    return made


@pytest.fixture
def shared(tmp_path: Path) -> Place:
    made = Place(tmp_path)
    made.begin()
    made.publish()
    return made
