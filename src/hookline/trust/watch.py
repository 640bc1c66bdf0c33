"""Verified once, watched from then on: nothing that changed meanwhile is started."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookline.errors import Untrusted
from hookline.immutable import Immutable
from hookline.trust.cover import covered_uses
from hookline.trust.manifest import Manifest, examine, relative_name, stamp_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from hookline.hooks.registry import Hook
    from hookline.project import Project


class Renewed(Immutable):
    """What is trusted by now, and the hooks that the configuration has by now."""

    manifest: Manifest
    hooks: Sequence[Hook]


class TrustWatch:
    """Compares the covered files with a trusted manifest before each start of a hook.

    With the hooks given, a file that appears where one of them names it counts as well. `renew`
    says what is trusted by now: work that was merged may have brought what a person trusted before.
    """

    def __init__(
        self,
        project: Project,
        manifest: Manifest,
        hooks: Sequence[Hook] = (),
        renew: Callable[[], Renewed | None] = lambda: None,
    ) -> None:
        self._project = project
        self._hooks = tuple(hooks)
        self._renew = renew
        self._entries = {entry.path: entry for entry in manifest.entries}

    def verify(self) -> None:
        """Raise Untrusted, naming the file, if anything changed or appeared that is not trusted."""
        try:
            self._compare()
        except Untrusted:
            renewed = self._renew()
            if renewed is None:
                raise
            self._hooks = tuple(renewed.hooks)
            self._entries = {entry.path: entry for entry in renewed.manifest.entries}

    def _compare(self) -> None:
        for path, trusted in self._entries.items():
            if trusted.stamp and stamp_of(path) == trusted.stamp:
                continue
            now = examine(self._project, path)
            if now.digest != trusted.digest:
                raise _changed(trusted.name, "changed")
            self._entries[path] = now
        for path in sorted(covered_uses(self._project, self._hooks)):
            if path not in self._entries:
                raise _changed(relative_name(self._project.root, path), "appeared")


def _changed(name: str, how: str) -> Untrusted:
    shown = name if name.isprintable() else ascii(name)
    return Untrusted(
        f"{shown} {how} since it was verified",
        help="review it, run `hookline trust`, then start again",
    )
