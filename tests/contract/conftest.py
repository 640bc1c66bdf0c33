"""The stores of the tests of verbs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from hookline.testing.contracts.stores.place import Place
from tests.contract.test_stores import on_postgres, sqlite

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from hookline.testing.contracts.stores.place import OpenStore


@pytest.fixture(params=["sqlite", "postgres"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    is_postgres = request.param == "postgres"
    opener = on_postgres(request.getfixturevalue("postgres")) if is_postgres else sqlite
    made = Place(opener, tmp_path)
    yield made
    made.close()


@pytest.fixture
def store(place: Place) -> OpenStore:
    return place.open()
