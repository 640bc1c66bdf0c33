"""The settings of a repository, and what follows from them, remembered until their files change.

Whoever works in a repository can write these files at any time. So they are read every time, and
git is asked again unless each is the same file with the same content.
"""

from __future__ import annotations

import os
import re
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from hookline.digest import sha256
from hookline.files import open_regular

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Mapping

    from hookline.adapters.git.checkout import Checkout
    from hookline.adapters.git.door import GitReply

    # A file as it was seen; None for one that is not there, or cannot be read.
    _Seen = tuple[int, int, bytes] | None

_SETTINGS = ("config", "--null", "--list", "--show-scope", "--show-origin")
_FILE = "file:"
_INCLUDE = re.compile(r"include(?:if\..*)?\.path", re.DOTALL)
_OWN = "config.worktree"
_LONGEST = 1024 * 1024


class ReadSettings(NamedTuple):
    """What is set for a repository: the last value of each key counts.

    `own` is what its own files set, each key with a digest of all of its values. `files` are those
    that say so and those that they include, each as the file that names it and its own path.
    `digest` stands for all of it but the settings of single branches, which change all the time.
    """

    values: dict[str, str]
    own: dict[str, str]
    files: set[tuple[str, str]]
    digest: str


def _read_settings(entries: list[str]) -> ReadSettings:
    """The answer to `_SETTINGS`: a scope, an origin, then a key and its value, and so on."""
    found, steering = ReadSettings({}, {}, set(), ""), sha256()
    for scope, origin, entry in zip(entries[::3], entries[1::3], entries[2::3], strict=False):
        key, _, value = entry.partition("\n")
        found.values[key] = value
        if not key.startswith("branch."):
            steering.update(os.fsencode(f"{scope}\0{origin}\0{entry}\0"))
        if scope in ("local", "worktree"):
            before = found.own.get(key, "")
            found.own[key] = sha256(os.fsencode(f"{before}\n{value}")).hexdigest()[:16]
        if origin.startswith(_FILE):
            file = origin.removeprefix(_FILE)
            found.files.add((file, os.path.basename(file)))
            if _INCLUDE.fullmatch(key):
                found.files.add((file, value))
    return found._replace(digest=steering.hexdigest())


class _Known(NamedTuple):
    """The settings of a repository, and the files that they come from, as they were then."""

    settings: ReadSettings
    seen: dict[str, _Seen]


class GitSettings:
    """Asks git, and again once a file has changed that its answer depends on."""

    def __init__(
        self,
        ask: Callable[..., Awaitable[GitReply]],
        folder: str,
        at: Callable[[str], Checkout],
        environ: Mapping[str, str],
    ) -> None:
        self._ask = ask
        self._folder = folder
        self._at = at
        self._users = _users_files(environ)
        self._home = environ.get("HOME", "")
        self._known: _Known | None = None
        self._included: set[str] = set()
        self._answers: dict[
            tuple[Checkout, tuple[str, ...]], tuple[tuple[str, _Seen], GitReply]
        ] = {}

    async def get(self, key: str) -> str | None:
        """The value that counts; None if there is none."""
        return (await self._all()).values.get(key)

    async def own(self) -> dict[str, str]:
        """What the repository's own files set: each key with a digest of all of its values."""
        return (await self._all()).own

    async def remotes(self) -> list[str]:
        """The names of the remotes."""
        keys = (key.partition(".")[2] for key in (await self._all()).values if key[:7] == "remote.")
        names = {name for name, _, _ in (key.rpartition(".") for key in keys)}
        return sorted(name for name in names if name and not name.startswith("-"))

    async def has_identity(self, folder: str) -> bool:
        """Whether git knows who commits in a folder."""
        where = folder if await self._basis(folder) is None else self._folder
        return not (await self.answer(where, "var", "GIT_COMMITTER_IDENT")).code

    async def answer(self, folder: str, *args: str, **options: bool) -> GitReply:
        """What git says in a folder that follows from settings alone; a failure is not remembered.

        Where a checkout has its own settings, git is asked every time.
        """
        at, basis, files = self._at(folder), await self._basis(folder), self._known
        known = self._answers.get((at, args))
        if basis is not None and known is not None and known[0] == basis:
            return known[1]
        said = await self._ask(folder, *args, **options)
        again = await self._basis(folder)
        if not said.code and basis is not None and again == basis and self._known is files:
            self._answers[at, args] = (basis, said)
        return said

    async def _basis(self, folder: str) -> tuple[str, _Seen] | None:
        """What answers in a folder depend on; None if it is more than what is known here."""
        found, at = await self._all(), self._at(folder)
        apart = at.is_linked and os.path.lexists(os.path.join(at.git_dir, _OWN))
        if apart or self._known is None or any(key[:10] == "includeif." for key in found.values):
            return None
        return found.digest, _seen(os.path.join(at.git_dir, "HEAD"))

    async def _all(self) -> ReadSettings:
        if self._known is not None and _look(self._known.seen) == self._known.seen:
            return self._known.settings
        self._known = None
        at = self._at(self._folder)
        usual = (*self._users, *(os.path.join(at.common, name) for name in ("config", _OWN)))
        before = _look((*usual, *self._included))
        said = await self._ask(self._folder, *_SETTINGS)
        found = _read_settings(said.names)
        self._included = {self._named(at.top, *each) for each in found.files}
        now = _look((*usual, *self._included))
        # A file that was not looked at before may have changed since git read it.
        if not said.code and now.items() <= before.items():
            self._known = _Known(found, now)
        return found

    def _named(self, top: str, origin: str, path: str) -> str:
        """A file that another one includes, and that may not be there."""
        if path.startswith("~/"):
            path = os.path.join(self._home, path[2:])
        return os.path.join(top, os.path.dirname(origin), path)


def _users_files(environ: Mapping[str, str]) -> tuple[str, ...]:
    """Where git looks for what a user, and all of them, have set."""
    home = environ.get("HOME", "")
    further = environ.get("XDG_CONFIG_HOME") or os.path.join(home, ".config")
    return (
        environ.get("GIT_CONFIG_SYSTEM") or "/etc/gitconfig",
        environ.get("GIT_CONFIG_GLOBAL") or os.path.join(home, ".gitconfig"),
        os.path.join(further, "git", "config"),
    )


def _look(paths: Iterable[str]) -> dict[str, _Seen]:
    return {path: _seen(path) for path in paths}


def _seen(path: str) -> _Seen:
    with suppress(OSError), open(open_regular(path), "rb") as file:
        found = os.fstat(file.fileno())
        return found.st_ino, found.st_ctime_ns, file.read(_LONGEST)
    return None
