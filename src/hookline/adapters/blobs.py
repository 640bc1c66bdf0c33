"""Large values as files named by their content: written once, published whole."""

from __future__ import annotations

import os

from hookline.digest import sha256
from hookline.errors import StoreCorrupt, StoreFull
from hookline.files import open_regular, own_folder, publish


class FileBlobs:
    """Blobs in a folder of the project."""

    def __init__(self, folder: str) -> None:
        self._folder = folder

    def put(self, data: bytes) -> str:
        """Keep bytes; the name they can be fetched by."""
        name = str(sha256(data).hexdigest())
        if os.path.exists(self._path(name)):
            return name
        try:
            with own_folder(*os.path.split(self._folder), name[:2]) as folder:
                publish(folder, name, data, durable=True)
        except OSError as problem:
            raise StoreFull(f"a value could not be kept: {problem}") from problem
        return name

    def get(self, name: str) -> bytes:
        """The bytes of that name, or StoreCorrupt if they are gone or changed."""
        try:
            with open(open_regular(self._path(name)), "rb") as file:
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
