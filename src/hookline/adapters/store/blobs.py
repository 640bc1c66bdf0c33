"""Large values as files named by their content: written once, published whole."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING

from hookline.digest import sha256
from hookline.errors import StoreCorrupt, StoreFull
from hookline.files import Removed, added, locked, open_regular, own_folder, publish, sweep

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from contextlib import AbstractContextManager


class FileBlobs:
    """Blobs in a folder of the project."""

    def __init__(self, folder: str) -> None:
        self._folder = folder

    def put(self, data: bytes) -> str:
        name = str(sha256(data).hexdigest())
        try:
            with self._opened(name[:2]) as folder, locked(folder, alone=False):
                if not _touched(folder, name):
                    publish(folder, name, data, durable=True)
        except OSError as problem:
            raise StoreFull(f"a value could not be stored: {problem}") from problem
        return name

    def get(self, name: str) -> bytes:
        """The bytes of that name, or StoreCorrupt if they are gone or changed."""
        try:
            with open(open_regular(self._path(name)), "rb") as file:
                data = file.read()
        except OSError as problem:
            message = f"the value {name[:16]} is missing; `hookline prune` may have removed it"
            raise StoreCorrupt(f"{message}: {problem.strerror}") from problem
        if sha256(data).hexdigest() != name:
            raise StoreCorrupt(f"the value {name[:16]} is damaged")
        return data

    def drop(self, name: str) -> None:
        """Remove what nothing needs any more, at once."""
        with suppress(FileNotFoundError), self._opened(name[:2]) as folder:
            os.unlink(name, dir_fd=folder)

    def names(self) -> list[str]:
        """The names of all."""
        found = (os.listdir(os.path.join(self._folder, each)) for each in self._folders())
        return [name for names in found for name in sorted(names) if len(name) == 64]

    def sweep(self, needed: Collection[str], before: float, *, dry: bool = False) -> Removed:
        """Remove what nothing needs and nobody has stored again since a moment."""

        def is_unneeded(name: str, found: os.stat_result) -> bool:
            return found.st_mtime < before and name not in needed

        swept = []
        for each in self._folders():
            with self._opened(each) as folder, locked(folder, alone=True):
                swept.append(sweep(folder, is_unneeded, dry=dry))
        return added(swept)

    def close(self) -> None:
        """Nothing is open between two values."""

    def _folders(self) -> Iterator[str]:
        if os.path.isdir(self._folder):
            yield from (name for name in sorted(os.listdir(self._folder)) if len(name) == 2)

    def _opened(self, name: str) -> AbstractContextManager[int]:
        return own_folder(*os.path.split(self._folder), name)

    def _path(self, name: str) -> str:
        if len(name) != 64 or not name.isalnum():
            raise StoreCorrupt(f"{name[:80]!r} names no value")
        return os.path.join(self._folder, name[:2], name)


def _touched(folder: int, name: str) -> bool:
    """Whether there is such a file; who wants to remove it sees that it was needed just now."""
    try:
        os.utime(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return True
