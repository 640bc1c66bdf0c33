"""Large values as files named by their content: written once, published whole."""

from __future__ import annotations

import os

from hookline.digest import sha256
from hookline.errors import StoreCorrupt, StoreFull


class FileBlobs:
    """Blobs in a folder of the project."""

    def __init__(self, folder: str) -> None:
        self._folder = folder

    def put(self, data: bytes) -> str:
        """Keep bytes; the name they can be fetched by."""
        name = str(sha256(data).hexdigest())
        path = self._path(name)
        if os.path.exists(path):
            return name
        temporary = f"{path}.{os.getpid()}"
        try:
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(temporary, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, path)
        except OSError as problem:
            raise StoreFull(f"a value could not be kept: {problem}") from problem
        return name

    def get(self, name: str) -> bytes:
        """The bytes of that name, or StoreCorrupt if they are gone or changed."""
        try:
            with open(self._path(name), "rb") as file:
                data = file.read()
        except OSError as problem:
            raise StoreCorrupt(f"the value {name[:16]} is gone: {problem}") from problem
        if sha256(data).hexdigest() != name:
            raise StoreCorrupt(f"the value {name[:16]} is damaged")
        return data

    def _path(self, name: str) -> str:
        if len(name) != 64 or not name.isalnum():
            raise StoreCorrupt(f"{name[:80]!r} names no value")
        return os.path.join(self._folder, name[:2], name)
