"""Flows of modules: a run continues only with the module that a person named, unchanged.

A store can hold any name, and importing a module runs it. So the user's folder remembers the runs
that they started by `module:function`, with the digest of what that module is in the project.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Literal, NamedTuple

from hookline.digest import sha256
from hookline.errors import Untrusted
from hookline.trust.cover import module_files
from hookline.trust.manifest import fingerprint
from hookline.trust.private import read_private, write_private

if TYPE_CHECKING:
    from collections.abc import Collection

    from hookline.project import Project

Word = Literal["same", "changed", "none"]


class TypedFlows(NamedTuple):
    """The runs of one store whose flows a person named by their module."""

    home: str
    project: Project
    store_id: str

    def remember(self, run_id: str, name: str) -> None:
        """A person named the flow of this run, with its module as it is now."""
        write_private(self._record(run_id), self._state(name))

    def word(self, run_id: str, name: str) -> Word:
        """Whether a person named this flow for the run, and its module is still the same."""
        try:
            found = read_private(self._record(run_id))
        except Untrusted:
            found = None
        if found is None or found.partition(b"\0")[0] != os.fsencode(name):
            return "none"
        return "same" if found == self._state(name) else "changed"

    def is_covered(self, name: str, covered: Collection[str] | None) -> bool:
        """Whether trust covers all that importing the flow's module could load; None: all files."""
        files = module_files(self.project, name.partition(":")[0])
        return bool(files) and (covered is None or set(files) <= set(covered))

    def _state(self, name: str) -> bytes:
        files = module_files(self.project, name.partition(":")[0])
        return os.fsencode(f"{name}\0{fingerprint(self.project, files).hash}")

    def _record(self, run_id: str) -> str:
        place = os.path.realpath(self.project.folder)
        whole = os.fsencode(f"{place}\0{self.store_id}\0{run_id}")
        return os.path.join(self.home, "flows", sha256(whole).hexdigest())
