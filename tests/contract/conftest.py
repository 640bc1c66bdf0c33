"""The stores of the tests of verbs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from hookline.testing.contracts.stores.place import Place
from tests.contract.test_stores import sqlite

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from hookline.testing.contracts.stores.place import OpenStore


@pytest.fixture(params=[sqlite], ids=lambda opener: opener.__name__)
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    made = Place(request.param, tmp_path)
    yield made
    made.close()


@pytest.fixture
def store(place: Place) -> OpenStore:
    return place.open()
