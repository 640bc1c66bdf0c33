"""The stores of these tests. Another implementation is added to `STORES` and to nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import pytest

from hookline.adapters.store.sqlite import SqliteStore
from hookline.ports.store import Store
from hookline.testing import Clock

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


class OpenStore(Store, Protocol):
    """A store that this test opened and has to close."""

    def close(self) -> None:
        """Let go of it."""
        ...


def sqlite(folder: Path, clock: Clock) -> OpenStore:
    return SqliteStore(str(folder / "store.db"), clock=clock)


STORES: list[Callable[[Path, Clock], OpenStore]] = [sqlite]


class Place:
    """One place where a store lies; every `open` is a connection of its own."""

    def __init__(self, opener: Callable[[Path, Clock], OpenStore], folder: Path) -> None:
        self.clock = Clock()
        self._opener = opener
        self._folder = folder
        self._opened: list[OpenStore] = []

    def open(self) -> OpenStore:
        store = self.open_here()
        self._opened.append(store)
        return store

    def open_here(self) -> OpenStore:
        """For threads, which close what they open."""
        return self._opener(self._folder, self.clock)

    def close(self) -> None:
        for store in self._opened:
            store.close()


@pytest.fixture(params=STORES, ids=lambda opener: opener.__name__)
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    made = Place(request.param, tmp_path)
    yield made
    made.close()


@pytest.fixture
def store(place: Place) -> OpenStore:
    return place.open()
