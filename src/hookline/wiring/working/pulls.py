"""The pull requests of the local forge, if several machines share the store."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from hookline.wiring.project.clones import is_shared

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hookline.app import App
    from hookline.ports.store import Store, Transaction
    from hookline.ports.work import SharedPulls


def shared_pulls(app: App) -> SharedPulls | None:
    """The records in the store; None if it belongs to this folder alone."""
    return StoredPulls(app.store) if is_shared(app) else None


class StoredPulls:
    """Records of pull requests in a store."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._change: Transaction | None = None

    @contextmanager
    def alone(self) -> Iterator[None]:
        with self._store.write({}) as self._change:
            try:
                yield
            finally:
                self._change = None

    def read(self, number: int) -> bytes | None:
        view = self._change or self._store.live()
        return _bytes(view.pull_requests.read(number))

    def open_of(self, branch: str, base: str) -> bytes | None:
        view = self._change or self._store.live()
        return _bytes(view.pull_requests.open_of(branch, base))

    def last(self) -> int:
        return (self._change or self._store.live()).pull_requests.last()

    def write(self, number: int, branch: str, base: str, is_open: bool, data: bytes) -> None:
        assert self._change is not None  # others would overwrite it
        self._change.pull_requests.write(
            number, branch, base, is_open=is_open, record=data.decode()
        )


def _bytes(text: str | None) -> bytes | None:
    return None if text is None else text.encode()
