"""Verified once, watched from then on: nothing that changed meanwhile is started."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookline.errors import Untrusted
from hookline.trust.cover import covered_files
from hookline.trust.manifest import examine, relative_name, stamp_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from hookline.hooks.registry import Hook
    from hookline.project import Project
    from hookline.trust.manifest import Manifest


class Watch:
    """Compares the covered files with a trusted manifest before each start of a hook.

    With the hooks given, a file that appears where one of them names it counts as well.
    """

    def __init__(
        self,
        project: Project,
        manifest: Manifest,
        hooks: Sequence[Hook] = (),
        extra: Iterable[str] = (),
    ) -> None:
        self._project = project
        self._hooks = tuple(hooks)
        self._extra = tuple(extra)
        self._entries = {entry.path: entry for entry in manifest.entries}

    def verify(self) -> None:
        """Raise Untrusted, naming the file, if anything changed or appeared since."""
        for path, trusted in self._entries.items():
            if trusted.stamp and stamp_of(path) == trusted.stamp:
                continue
            now = examine(self._project, path)
            if now.digest != trusted.digest:
                raise _changed(trusted.name, "changed")
            self._entries[path] = now
        for path in covered_files(self._project, self._hooks, self._extra):
            if path not in self._entries:
                raise _changed(relative_name(self._project.root, path), "appeared")


def _changed(name: str, how: str) -> Untrusted:
    shown = name if name.isprintable() else ascii(name)
    return Untrusted(
        f"{shown} {how} since it was verified",
        help="look at it, then run `hookline trust` and start again",
    )
