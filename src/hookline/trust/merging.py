"""Work that changes what trust covers: it is looked at before it is merged, not after."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from hookline.errors import Untrusted
from hookline.files import text_of
from hookline.project import CONFIG_NAME, FOLDER_NAME, Project
from hookline.trust.configured import configured_uses
from hookline.trust.cover import AUTOMATION_HOOKS, COVERED_FOLDERS
from hookline.trust.manifest import MISSING, CoveredFile, Manifest, examine, fingerprint

if TYPE_CHECKING:
    from collections.abc import Iterable

    from hookline.config import Settings
    from hookline.trust.book import TrustBook

_CONFIGURATION = (CONFIG_NAME, AUTOMATION_HOOKS)
_FOLDERS = tuple(f"{FOLDER_NAME}/{name}/" for name in COVERED_FOLDERS)


class Incoming(NamedTuple):
    """What a merge would change of the files that trust covers.

    `changes` has the new digest of each, `missing` for what is covered no longer. `entries` are
    the files as they are in a checkout of the result.
    """

    changes: dict[str, str]
    entries: tuple[CoveredFile, ...]


class TrustedMerges(NamedTuple):
    """Compares the changes of a merge with what the user has trusted."""

    project: Project
    home: str
    book: TrustBook
    settings: Settings | None
    manifest: Manifest

    def may_concern(self, names: Iterable[str]) -> bool:
        covered, words = set(self.manifest.files), self._words()
        return any(
            name in _CONFIGURATION
            or name.startswith(_FOLDERS)
            or text_of(name) in covered
            # A name that the configuration may have had before there was such a file.
            or any(part.partition(".")[0] in words for part in text_of(name).split("/") if part)
            for name in names
        )

    def other_scripts(self, worktree: str) -> set[str]:
        there = Project(worktree, os.path.join(worktree, FOLDER_NAME))
        # Hooks of the covered folders run where the project has them.
        aside = (*_CONFIGURATION, *_FOLDERS)
        names = [name for name in self.manifest.files if not name.startswith(aside)]
        return {name for name in names if _digest(there, name) != _digest(self.project, name)}

    def incoming(self, folder: str, names: Iterable[str]) -> Incoming:
        """What the changed files mean for trust; `folder` is a checkout of the result."""
        from hookline.config.load import read_settings  # imports YAML; few merges get here

        there = Project(folder, os.path.join(folder, FOLDER_NAME))
        settings = read_settings(there, self.home).settings
        after = fingerprint(there, configured_uses(there, settings))
        before, now = self.manifest.files, after.files
        changed = {text_of(name) for name in names}
        found = {name: now.get(name, MISSING) for name in changed if name in before or name in now}
        if not changed.isdisjoint(_CONFIGURATION):
            found |= {name: digest for name, digest in now.items() if before.get(name) != digest}
            # What is not in the checkout, such as a hook that git ignores, stays where it is.
            gone = (name for name in before if name not in now and _is_there(there, name))
            found |= dict.fromkeys(gone, MISSING)
        return Incoming(found, tuple(each for each in after.entries if each.name in found))

    def untrusted(self, folder: str, names: Iterable[str]) -> list[str]:
        """The covered files of a merge whose content is not trusted yet."""
        found = self.incoming(folder, names)
        if not found.changes or self.book.allows(self.project, found.changes):
            return []
        return sorted(found.changes)

    def _words(self) -> str:
        if self.settings is None:
            return ""
        hooks = self.settings.all_hooks
        named = [(hook.target, hook.env, hook.metadata) for hook in hooks]
        return (msgspec.json.encode(named) + bytes(self.settings.raw_sections)).decode()


def configuration_errors(folder: str, home: str) -> list[str]:
    """The errors of a project's configuration in a checkout of it."""
    from hookline.config.load import read_settings  # imports YAML; few merges get here
    from hookline.config.reading.problems import ERROR, Mark

    found = read_settings(Project(folder, os.path.join(folder, FOLDER_NAME)), home)
    return [
        f"{Mark(each.file, each.line)}: {each.message}"
        for each in found.settings.problems
        # The user's own file, which has an absolute path, is not part of the work.
        if each.severity == ERROR and not os.path.isabs(each.file)
    ]


def _digest(project: Project, name: str) -> str:
    return examine(project, os.path.join(project.root, name)).digest


def _is_there(project: Project, name: str) -> bool:
    try:
        return _digest(project, name) != MISSING
    except Untrusted:  # it is too large to be verified, but there
        return True
