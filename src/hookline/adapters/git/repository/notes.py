"""Notes in the git folder of a task's worktree, about our own rebase or conflict there."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from typing import ClassVar, Self

import msgspec

from hookline.domain.work.repository import RepositoryError
from hookline.files import bytes_of, own_folder, publish

WRITING, OPEN = "writing", "open"
_COMMIT = "([0-9a-f]{40,64})\n"
_REF = "(?P<ref>refs/heads/[^\n]+)"


class _Note(msgspec.Struct, frozen=True):
    NAME: ClassVar[str]
    FORM: ClassVar[re.Pattern[str]]

    @property
    def text(self) -> str:
        """The note as it is written."""
        return "\n".join(msgspec.structs.astuple(self))

    def write(self, place: str) -> None:
        """Write it as a whole; a RepositoryError where something else is in its place."""
        try:
            with own_folder(place) as folder:
                publish(folder, f"hookline-{self.NAME}", self.text.encode())
        except OSError as problem:
            raise self._in_the_way(place) from problem

    @classmethod
    def read(cls, place: str, branch: str | None) -> Self | None:
        """The note about that branch. An agent can write there, too, and names another."""
        return cls.parse(bytes_of(cls._path(place), 4096).decode("utf-8", "replace"), branch)

    @classmethod
    def parse(cls, text: str, branch: str | None) -> Self | None:
        """The note about that branch that a text is."""
        found = cls.FORM.fullmatch(text)
        if found is None or branch is None or found["ref"] != f"refs/heads/{branch}":
            return None
        return cls(*found.groups())

    @classmethod
    def forget(cls, place: str) -> None:
        """The rebase or the conflict is over."""
        try:
            with suppress(FileNotFoundError):
                os.unlink(cls._path(place))
        except OSError as problem:
            raise cls._in_the_way(place) from problem

    @classmethod
    def _path(cls, place: str) -> str:
        return os.path.join(place, f"hookline-{cls.NAME}")

    @classmethod
    def _in_the_way(cls, place: str) -> RepositoryError:
        words = f"the note of a {cls.NAME} cannot be written or removed: {cls._path(place)}"
        return RepositoryError(words, help="remove what is there")


class RebaseNote(_Note, frozen=True):
    """Where a rebase of a task's branch began, and where it was to end: written before it."""

    NAME = "rebase"
    FORM = re.compile(f"{_COMMIT * 2}{_REF}")

    head: str
    onto: str
    ref: str


class ConflictNote(_Note, frozen=True):
    """Our merge into a worktree. `stopped` is the first commit of the work that does not fit
    on the base, `fits` what the commits before it became there.

    It is written before the files are, and again once all of them are.
    """

    NAME = "conflict"
    FORM = re.compile(f"{_COMMIT * 4}{_REF}\n({WRITING}|{OPEN})")

    head: str
    onto: str
    fits: str
    stopped: str
    ref: str
    state: str
