"""Problems found in a task's work before any gate is asked, as texts for people and agents."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookline.hooks.framing import WITHOUT_HISTORY, framed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hookline.domain.work.repository import WorkFinding

SHOWN = 20
_UNITS = ((1 << 30, "GB"), (1 << 20, "MB"), (1 << 10, "KB"))
_REMEDIES = {
    "large": (
        "Large files do not belong in your work. Remove them, or undo your change of one that was"
        " there before. One that is not committed yet may stay in the folder if you add it to"
        " .gitignore. If the task needs one, that needs a person."
    ),
    "nested": (
        "A repository inside your work would be recorded as a bare commit id, and its files would"
        " be lost. If its files belong to your work, remove its .git. Otherwise remove"
        " it; one that is not committed yet may stay if you add it to .gitignore."
    ),
    "new-submodule": (
        "A submodule is fetched only from where the base says, and only people add one, move one or"
        " change its address. Leave .gitmodules as the base has it; if the task needs another one,"
        " say so, and end with BLOCKED."
    ),
    "own": (
        "The files that Hookline keeps in .hookline, such as its database, are not part of your"
        " work: merged, they would replace those of the project."
    ),
    "submodule": (
        "Nobody else can get a commit of a submodule that its remote does not have. Record a commit"
        " that the remote has."
    ),
    "unwatched": (
        "Git was told not to look at a file, so what is committed is not what the gates would see."
        " Undo that with `git update-index --no-assume-unchanged --no-skip-worktree FILE`."
    ),
}
_FOUND = {
    "nested": "{path} is a repository of its own",
    "new-submodule": "the base does not have the submodule {path}, or from another address",
    "own": "{path} is Hookline's own",
    "submodule": "the remote of the submodule {path} does not have the commit that is recorded",
    "unwatched": "git was told not to look at {path}",
}
# What must not be in any commit of the work.
_WHOLE = {"large", "nested", "own"}


def reason(found: Sequence[WorkFinding], largest: int) -> str:
    """What was found, in a line."""
    words = [_words(each, largest) for each in found[:SHOWN]]
    more = [f"{len(found) - SHOWN} more"] if len(found) > SHOWN else []
    return "; ".join([*words, *more])


def prompt(found: Sequence[WorkFinding], largest: int) -> str:
    """What the agent has to do about it."""
    kinds = dict.fromkeys(each.kind for each in found)
    listed = "\n".join(f"- {_words(each, largest)}" for each in found[:SHOWN])
    said = "\n\n".join(dict.fromkeys(each.said for each in found if each.said))
    parts = [
        "Your work contains files that must not be merged.",
        framed("What was found", listed),
        *(_REMEDIES[kind] for kind in kinds),
        *([WITHOUT_HISTORY] if _WHOLE & set(kinds) else []),
        *([framed("What git says", said)] if said else []),
    ]
    return "\n\n".join(parts)


def _words(each: WorkFinding, largest: int) -> str:
    if each.kind != "large":
        return _FOUND[each.kind].format(path=each.path)
    shown = _size(each.size, ".1f")
    if shown == _size(largest, ".1f"):
        shown = f"{each.size:,} bytes"
    return f"{each.path} ({shown}) is larger than {_size(largest)}"


def _size(count: int, form: str = "g") -> str:
    for unit, name in _UNITS:
        if count >= unit:
            return f"{count / unit:{form}} {name}"
    return f"{count} bytes"
