"""Where a store of the contract lies, and what its tests share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import pytest

from hookline.domain.hooks.records import PENDING, Delivery
from hookline.domain.runs.model import PRUNED
from hookline.domain.runs.projection import RunFold, differences
from hookline.ports.store import Store
from hookline.tasks import verbs
from hookline.testing import Clock

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


class OpenStore(Store, Protocol):
    """A store that a test opened and has to close."""

    def close(self) -> None:
        """Let go of it."""
        ...


class Place:
    """One place where a store lies; every `open` is its own connection."""

    def __init__(self, opener: Callable[[Path, Clock], OpenStore], folder: Path) -> None:
        self.clock = Clock()
        self._opener = opener
        self._folder = folder
        self._opened: list[OpenStore] = []

    def open(self) -> OpenStore:
        """A connection that is closed with the place."""
        store = self.open_here()
        self._opened.append(store)
        return store

    def open_here(self) -> OpenStore:
        """For threads, which close what they open."""
        return self._opener(self._folder, self.clock)

    def close(self) -> None:
        """Close what was opened."""
        for store in self._opened:
            store.close()


class StorePlace:
    """The store of one test."""

    def open_store(self, folder: Path, clock: Clock) -> OpenStore:
        """A connection to the store in this folder, made when there is none."""
        raise NotImplementedError

    @pytest.fixture
    def place(self, tmp_path: Path) -> Iterator[Place]:
        """Where the store lies."""
        made = Place(self.open_store, tmp_path)
        yield made
        made.close()

    @pytest.fixture
    def store(self, place: Place) -> Iterator[OpenStore]:
        """A new store, whose tables of runs are in the end what its log says."""
        found = place.open()
        yield found
        with found.read() as view:
            fold = RunFold().add_all(view.log.events())
            pruned = [run_id for run_id, _ in view.runs.values_named(PRUNED)]
            assert list(differences(fold, view.runs.rows, pruned)) == []


def add(store: Store, *goals: str, **options: Any) -> list[str]:
    """Add tasks; their ids."""
    with store.write({}) as tx:
        return [verbs.add(tx, goal, **options).id for goal in goals]


def delivery(event_seq: int, hook: str, position: int = 0, **fields: Any) -> Delivery:
    """A call that waits."""
    fixed = {"point": "noted", "kind": "command", "origin": "hookline.yaml:3", "status": PENDING}
    return Delivery(0, event_seq, hook, position=position, **{**fixed, **fields})
