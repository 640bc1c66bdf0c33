"""When a person last looked at a project, kept in the user's own folder."""

from __future__ import annotations

import os
from contextlib import suppress

import msgspec

from hookline import typed
from hookline.digest import sha256
from hookline.files import make_private, read_regular, write_whole

FOLDER = "looks"
LARGEST = 64 * 1024


def last_look(home: str, store_id: str, at: str) -> str | None:
    """When the user last looked at something of a project; None if never."""
    return _looks(home, store_id).get(at)


def remember_look(home: str, store_id: str, at: str, moment: str) -> None:
    """Remember that the user has seen everything up to a moment."""
    path = _path(home, store_id)
    with suppress(OSError):  # a folder that cannot be written costs the next look some news
        make_private(os.path.dirname(path))
        write_whole(path, msgspec.json.encode({**_looks(home, store_id), at: moment}))


def _looks(home: str, store_id: str) -> dict[str, str]:
    with suppress(OSError, msgspec.MsgspecError):
        return typed.decode(read_regular(_path(home, store_id), LARGEST), dict[str, str])
    return {}


def _path(home: str, store_id: str) -> str:
    # What a store that someone else made calls itself need not be fit for a name.
    name = store_id if store_id.isalnum() else sha256(store_id.encode()).hexdigest()
    return os.path.join(home, FOLDER, f"{name}.json")
