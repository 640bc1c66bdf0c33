"""The user's record of what they trust: one file per project, in their own folder."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from hookline.errors import Untrusted
from hookline.files import text_of
from hookline.project import CONFIG_NAME
from hookline.trust.grants import FOLDER, grant_path, has_grant
from hookline.trust.manifest import (
    MAX_COPY,
    compare,
    content_of,
    hash_of,
    read_exactly,
)
from hookline.trust.people import under_agent
from hookline.trust.private import make_private, read_private, remove, write_private

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hookline.project import Project
    from hookline.trust.manifest import Change, Entry, Manifest

TRUST_VARIABLE = "HOOKLINE_TRUST"


class Verdict(NamedTuple):
    """Whether the hooks may run, why, and what changed since the last grant."""

    trusted: bool
    why: str
    changes: list[Change]
    always: bool = False


class Grant(msgspec.Struct, rename="camel", frozen=True):
    """What was trusted: the files of one folder in one state, or the folder for good."""

    root: str
    hash: str
    files: dict[str, str]
    granted_at: str
    always: bool = False


class TrustBook:
    """Grants in `<home>/trust/`, with copies of the trusted texts to show what changed."""

    def __init__(self, home: str) -> None:
        self._home = home
        self.folder = os.path.join(home, FOLDER)

    def verdict(self, project: Project, manifest: Manifest, environ: Mapping[str, str]) -> Verdict:
        """Whether what the project brings may run in this state."""
        if not manifest.entries and not has_grant(self._home, project):
            return Verdict(True, "there is nothing to trust", [])
        named = environ.get(TRUST_VARIABLE, "").strip()
        if named == manifest.hash and not under_agent(environ):
            return Verdict(True, f"{TRUST_VARIABLE} names this state", [])
        verdict = self._from_record(project, manifest)
        if named and not verdict.trusted:
            return verdict._replace(why=f"{verdict.why}; {_ignored(environ)}")
        return verdict

    def _from_record(self, project: Project, manifest: Manifest) -> Verdict:
        files = manifest.files
        try:
            grant = self.granted(project)
        except Untrusted as problem:
            return Verdict(
                False, f"the record of your trust is of no use: {problem}", compare({}, files)
            )
        if grant is None:
            return Verdict(False, "it was never trusted in this folder", compare({}, files))
        if CONFIG_NAME in grant.files and CONFIG_NAME not in files:  # gates would be gone with it
            why = f"{CONFIG_NAME} is gone since you trusted it on {grant.granted_at}"
            return Verdict(False, why, compare(grant.files, files))
        if grant.always:
            return Verdict(True, "you trust this folder always", [], always=True)
        if grant.hash == manifest.hash:
            return Verdict(True, f"you trusted it on {grant.granted_at}", [])
        return Verdict(
            False,
            f"it changed since you trusted it on {grant.granted_at}",
            compare(grant.files, files),
        )

    def granted(self, project: Project) -> Grant | None:
        """The last grant for this folder; Untrusted if its record cannot be believed."""
        path = self._record(project)
        data = read_private(path)
        if data is None:
            return None
        try:
            grant = msgspec.json.decode(data, type=Grant)
        except msgspec.DecodeError as problem:
            raise Untrusted(f"{text_of(path)} is damaged: {problem}") from problem
        if grant.hash != hash_of(grant.files):
            raise Untrusted(f"{text_of(path)} is damaged: its hash is not that of its files")
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
            granted_at=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            always=always,
        )
        write_private(self._record(project), msgspec.json.encode(grant))

    def revoke(self, project: Project) -> bool:
        """Forget the grant for this folder; whether there was one."""
        return remove(self._record(project))

    def diff(self, project: Project, manifest: Manifest) -> str:
        """What changed since the last grant, as a unified diff of texts nobody has vetted."""
        # difflib is needed by this one function, the rest of the module by every command.
        from hookline.trust.review import review

        try:
            grant = self.granted(project)
        except Untrusted:
            grant = None
        return review(grant.files if grant else {}, manifest, self.copy_of)

    def copy_of(self, digest: str) -> str | None:
        """The file that holds the trusted text of that digest, if one was kept."""
        content = content_of(digest)
        path = os.path.join(self.folder, "objects", content) if content else ""
        return path if os.path.isfile(path) else None

    def _keep_copy(self, entry: Entry) -> None:
        if entry.content is None or entry.size > MAX_COPY or self.copy_of(entry.digest):
            return
        text = read_exactly(entry.path, entry.content)
        write_private(os.path.join(self.folder, "objects", entry.content), text)

    def _record(self, project: Project) -> str:
        return grant_path(self._home, project)


def _ignored(environ: Mapping[str, str]) -> str:
    if under_agent(environ):
        return f"{TRUST_VARIABLE} does not count under an agent or a hook"
    return f"{TRUST_VARIABLE} names another state"
