"""The user's record of what they trust: one file per project, in their own folder."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

import msgspec

from hookline import typed
from hookline.domain.timestamps import to_second
from hookline.errors import Untrusted
from hookline.files import text_of
from hookline.immutable import Immutable
from hookline.project import CONFIG_NAME, Project
from hookline.trust.grants import FOLDER, grant_path, has_grant
from hookline.trust.manifest import MAX_COPY, MISSING, compare, content_of, hash_of, read_exactly
from hookline.trust.people import under_agent
from hookline.trust.private import make_private, read_private, remove, write_private
from hookline.version import __version__

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from hookline.trust.manifest import CoveredFile, Manifest, TrustChange

TRUST_VARIABLE = "HOOKLINE_TRUST"
# How many tasks' changes may wait to be merged; the oldest are forgotten first.
MOST_TASKS = 100


class TrustVerdict(Immutable):
    """Whether the hooks may run, why, and what changed since the last grant."""

    trusted: bool
    why: str
    changes: list[TrustChange]
    always: bool = False


class TaskGrant(msgspec.Struct, rename="camel", frozen=True):
    """What the work of a task may change: each file and its new digest, or `missing`."""

    task: str
    changes: dict[str, str]


class Grant(msgspec.Struct, rename="camel", frozen=True):
    """What was trusted: the files of one folder in one state, or the folder permanently.

    `tasks` are changes that were trusted before they were merged. `version` is that of Hookline:
    defaults that changed since are not what was trusted.
    """

    root: str
    hash: str
    files: dict[str, str]
    granted_at: str
    always: bool = False
    tasks: list[TaskGrant] = []
    version: str = "0.1"

    def permits(self, files: Mapping[str, str]) -> bool:
        """Whether each of these files has contents that were trusted.

        A merge writes one file after another, so that some may be of before and some of after it.
        """
        return all(
            digest == self.files.get(name, MISSING)
            or any(task.changes.get(name) == digest for task in self.tasks)
            for name, digest in files.items()
        )


class TrustBook:
    """Grants in `<home>/trust/`, with copies of the trusted texts to show what changed."""

    def __init__(self, home: str) -> None:
        self._home = home
        self.folder = os.path.join(home, FOLDER)

    def verdict(
        self, project: Project, manifest: Manifest, environ: Mapping[str, str]
    ) -> TrustVerdict:
        """Whether the project's code may run in this state."""
        if not manifest.entries and not has_grant(self._home, project):
            return TrustVerdict(True, "there is nothing to trust", [])
        named = environ.get(TRUST_VARIABLE, "").strip()
        if named == manifest.hash and not under_agent(environ):
            return TrustVerdict(True, f"{TRUST_VARIABLE} names this state", [])
        verdict = self._from_record(project, manifest)
        if named and not verdict.trusted:
            return msgspec.structs.replace(verdict, why=f"{verdict.why}; {_ignored(environ)}")
        return verdict

    def _from_record(self, project: Project, manifest: Manifest) -> TrustVerdict:
        files = manifest.files
        try:
            grant = self.granted(project)
        except Untrusted as problem:
            why = f"the record of your trust cannot be used: {problem}"
            return TrustVerdict(False, why, compare({}, files))
        if grant is None:
            return TrustVerdict(False, "you have not trusted it yet", compare({}, files))
        if CONFIG_NAME in grant.files and CONFIG_NAME not in files:  # gates would be gone with it
            why = f"{CONFIG_NAME} was removed after you trusted it on {grant.granted_at}"
            return TrustVerdict(False, why, compare(grant.files, files))
        if grant.always:
            return TrustVerdict(True, "you always trust this folder", [], always=True)
        if grant.hash == manifest.hash or grant.permits(
            {**dict.fromkeys(grant.files, MISSING), **files}
        ):
            return TrustVerdict(True, f"you trusted it on {grant.granted_at}", [])
        why = f"it changed since you trusted it on {grant.granted_at}"
        return TrustVerdict(False, why, compare(grant.files, files))

    def granted(self, project: Project) -> Grant | None:
        """The last grant for this folder; Untrusted if its record cannot be believed."""
        path = self._record(project)
        data = read_private(path)
        if data is None:
            return None
        try:
            grant = typed.decode(data, Grant)
        except msgspec.DecodeError as problem:
            raise Untrusted(f"{text_of(path)} is damaged: {problem}") from problem
        if grant.hash != hash_of(grant.files):
            raise Untrusted(f"{text_of(path)} is damaged: its hash does not match its files")
        if grant.root != text_of(os.path.realpath(project.root)):
            raise Untrusted(f"{text_of(path)} was written for another folder")
        return grant

    def grant(self, project: Project, manifest: Manifest, always: bool = False) -> None:
        """Trust exactly the state in the manifest, or with `always` whatever comes."""
        make_private(self.folder)
        for entry in manifest.entries:
            self._keep_copy(entry)
        grant = Grant(
            root=text_of(os.path.realpath(project.root)),
            hash=manifest.hash,
            files=manifest.files,
            granted_at=to_second(int(time.time())),
            always=always,
            version=__version__,
        )
        write_private(self._record(project), msgspec.json.encode(grant))

    def allows(self, project: Project, changes: Mapping[str, str]) -> bool:
        """Whether files may be changed so by a merge; what is trusted permanently may."""
        try:
            grant = self.granted(project)
        except Untrusted:
            return False
        return grant is not None and (grant.always or grant.permits(changes))

    def grant_task(self, project: Project, task: TaskGrant, entries: Iterable[CoveredFile]) -> None:
        """Trust exactly these changes, besides what is trusted already."""
        make_private(self.folder)
        for entry in entries:
            self._keep_copy(entry)
        old = self.granted(project) or self._nothing(project)
        others = [each for each in old.tasks if each.task != task.task]
        grant = msgspec.structs.replace(old, tasks=[*others, task][-MOST_TASKS:])
        write_private(self._record(project), msgspec.json.encode(grant))

    def _nothing(self, project: Project) -> Grant:
        root = text_of(os.path.realpath(project.root))
        return Grant(root, hash_of({}), {}, to_second(int(time.time())), version=__version__)

    def revoke(self, project: Project) -> bool:
        """Forget the grant for this folder; whether there was one."""
        return remove(self._record(project))

    def copy_of(self, digest: str) -> str | None:
        """The file that holds the trusted text of that digest, if one was kept."""
        content = content_of(digest)
        path = os.path.join(self.folder, "objects", content) if content else ""
        return path if os.path.isfile(path) else None

    def _keep_copy(self, entry: CoveredFile) -> None:
        if entry.content is None or entry.size > MAX_COPY or self.copy_of(entry.digest):
            return
        text = read_exactly(entry.path, entry.content)
        write_private(os.path.join(self.folder, "objects", entry.content), text)

    def _record(self, project: Project) -> str:
        return grant_path(self._home, project)


def _ignored(environ: Mapping[str, str]) -> str:
    if under_agent(environ):
        return f"{TRUST_VARIABLE} is ignored under an agent or a hook"
    return f"{TRUST_VARIABLE} names another state"
