"""The settings of a repository, remembered until their own files change."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from hookline.adapters.git.reading import SETTINGS, ReadSettings, read_settings, stamp_of

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from hookline.adapters.git.door import Said

_FILES = ("config", "config.worktree")


class Settings:
    """Asks git in a folder, and again once a file in the shared git folder has changed."""

    def __init__(
        self, ask: Callable[..., Awaitable[Said]], folder: str, common: Callable[[], str]
    ) -> None:
        self._ask = ask
        self._folder = folder
        self._common = common
        self._known: tuple[Any, ReadSettings] = (None, ReadSettings({}, {}))
        self._identity: Any = None

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
        """Whether git knows who commits in a folder; that it does not is asked every time."""
        known = (folder, self._stamp())
        if self._identity == known:
            return True
        if (await self._ask(folder, "var", "GIT_COMMITTER_IDENT")).code:
            return False
        self._identity = known
        return True

    async def _all(self) -> ReadSettings:
        stamp = self._stamp()
        if self._known[0] != stamp:
            said = await self._ask(self._folder, *SETTINGS)
            self._known = (stamp, read_settings(said.names))
        return self._known[1]

    def _stamp(self) -> Any:
        common = self._common()
        return stamp_of(*(os.path.join(common, name) for name in _FILES))
