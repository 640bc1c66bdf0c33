"""Files of the project that a rule names, read within bounds and never outside the project."""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import islice, takewhile

from hookline.errors import BadInput
from hookline.files import read_regular, real_path
from hookline.hooks.language.globs import glob_match

MAX_ENTRIES = 200_000
MAX_MATCHES = 10_000
_WILD = frozenset("*?")
_UNSEEN = frozenset({".git", ".hookline"})


def files_like(root: str, name: str) -> list[str]:
    """The project's files that a path or a pattern such as src/**/*.py names, sorted."""
    if _WILD.isdisjoint(name):
        return [os.path.normpath(name)] if is_there(root, name) else []
    found = (path for path in _below(root, _fixed_part(name)) if glob_match(path, name))
    first = sorted(islice(found, MAX_MATCHES + 1))
    if len(first) > MAX_MATCHES:
        raise BadInput(f"{name!r} matches more than {MAX_MATCHES} files")
    return first


def is_there(root: str, path: str) -> bool:
    """Whether a file is in the project; a path that ends with a slash names a folder."""
    exists = os.path.isdir if path.endswith("/") else os.path.isfile
    # Searches ask for many files, and few are there.
    return exists(os.path.join(root, path)) and _inside(root, path) is not None


def read_file(root: str, path: str, limit: int) -> bytes:
    """What a file of the project holds; BadInput if it is not there, too long or no file."""
    whole = _inside(root, path)
    if whole is None:
        raise BadInput(f"{path} is outside the project")
    try:
        data = read_regular(whole, limit + 1)
    except FileNotFoundError:
        raise BadInput(f"{path} does not exist") from None
    except OSError as problem:
        raise BadInput(f"{path} cannot be read: {problem.strerror}") from problem
    if len(data) > limit:
        raise BadInput(f"{path} is longer than {limit >> 20} MiB")
    return data


def stamp(root: str, path: str) -> tuple[int, ...] | None:
    """What changes when a file is written again, None while there is none."""
    try:
        found = os.stat(os.path.join(root, path))
    except OSError:
        return None
    return (found.st_mtime_ns, found.st_ctime_ns, found.st_ino, found.st_size)


def _inside(root: str, path: str) -> str | None:
    """The real path, if it is in the project whatever links it goes through."""
    top = real_path(root)
    whole = real_path(os.path.join(top, path))
    return whole if whole.startswith(f"{top.rstrip('/')}/") else None


def _fixed_part(pattern: str) -> str:
    """The folder that all matches are in."""
    return "/".join(takewhile(_WILD.isdisjoint, pattern.removeprefix("./").split("/")[:-1]))


def _below(root: str, folder: str) -> Iterator[str]:
    top = _inside(root, folder) if folder else real_path(root)
    if top is None:
        return
    seen = 0
    for here, folders, files in os.walk(top):
        folders[:] = sorted(name for name in folders if name not in _UNSEEN)
        seen += len(folders) + len(files)
        if seen > MAX_ENTRIES:
            raise BadInput(f"there are more than {MAX_ENTRIES} files under {folder or 'the root'}")
        within = os.path.relpath(here, top)
        prefix = "/".join(part for part in (folder, within) if part not in ("", "."))
        for name in files:
            path = f"{prefix}/{name}" if prefix else name
            if is_there(root, path):
                yield path
