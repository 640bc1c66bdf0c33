"""The note about a conflict of ours in the git folder of a task's worktree."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from typing import NamedTuple

from hookline.files import own_folder, publish, read_regular

# Written before the files are, and again once all of them are.
_NAME = "hookline-conflict"
WRITING, OPEN = "writing", "open"
_FIELDS = re.compile(
    r"([0-9a-f]{40,64})\n([0-9a-f]{40,64})\n([0-9a-f]{40,64})\n([0-9a-f]{40,64})\n"
    rf"(refs/heads/[^\n]+)\n({WRITING}|{OPEN})"
)


class ConflictNote(NamedTuple):
    """A merge of ours into a worktree. `stopped` is the first commit of the work that does not fit
    on the base, `fits` what the commits before it became there."""

    head: str
    onto: str
    fits: str
    stopped: str
    ref: str
    state: str


def write_note(place: str, note: ConflictNote) -> None:
    """Write it as a whole."""
    with own_folder(place) as folder:
        publish(folder, _NAME, "\n".join(note).encode())


def read_note(place: str, branch: str | None) -> ConflictNote | None:
    """The note about that branch. An agent can write there, too, and names another."""
    try:
        text = read_regular(os.path.join(place, _NAME), 4096).decode("utf-8", "replace")
    except OSError:
        return None
    found = _FIELDS.fullmatch(text)
    if found is None or branch is None or found[5] != f"refs/heads/{branch}":
        return None
    return ConflictNote(*found.groups())


def forget_note(place: str) -> None:
    """The conflict is over."""
    with suppress(FileNotFoundError):
        os.unlink(os.path.join(place, _NAME))
