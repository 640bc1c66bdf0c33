"""What is found in a task's work before any gate is asked, in words for people and agents."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookline.hooks.framing import framed, without_history

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hookline.domain.repository import Finding

SHOWN = 20
_UNITS = ((1 << 30, "GB"), (1 << 20, "MB"), (1 << 10, "KB"))
_REMEDIES = {
    "large": (
        "Large files do not belong in the repository. Remove them, or add them to .gitignore if"
        " they have to stay in the folder."
    ),
    "nested": (
        "A repository inside your work would be recorded as a bare commit id, and its files would"
        " be lost. If its files belong to your work, remove its .git. Otherwise remove the"
        " repository, or add it to .gitignore."
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
# What must not be in any commit of the work.
_WHOLE = {"large", "nested", "own"}


def reason(found: Sequence[Finding], largest: int) -> str:
    """What was found, in a line."""
    words = [_words(each, largest) for each in found[:SHOWN]]
    more = [f"{len(found) - SHOWN} more"] if len(found) > SHOWN else []
    return "; ".join([*words, *more])


def prompt(found: Sequence[Finding], largest: int, base: str) -> str:
    """What the agent has to do about it."""
    kinds = dict.fromkeys(each.kind for each in found)
    listed = "\n".join(f"- {_words(each, largest)}" for each in found[:SHOWN])
    said = "\n\n".join(dict.fromkeys(each.said for each in found if each.said))
    parts = [
        "Your work contains files that must not be merged.",
        framed("What was found", listed),
        *(_REMEDIES[kind] for kind in kinds),
        *([without_history(base)] if _WHOLE & set(kinds) else []),
        *([framed("What git says", said)] if said else []),
    ]
    return "\n\n".join(parts)


def _words(each: Finding, largest: int) -> str:
    if each.kind == "large":
        shown = _size(each.size, ".1f")
        if shown == _size(largest, ".1f"):
            shown = f"{each.size:,} bytes"
        return f"{each.path} ({shown}) is larger than {_size(largest)}"
    if each.kind == "nested":
        return f"{each.path} is a repository of its own"
    if each.kind == "unwatched":
        return f"git was told not to look at {each.path}"
    if each.kind == "own":
        return f"{each.path} is Hookline's own"
    return f"the remote of the submodule {each.path} does not have the commit that is recorded"


def _size(count: int, form: str = "g") -> str:
    for unit, name in _UNITS:
        if count >= unit:
            return f"{count / unit:{form}} {name}"
    return f"{count} bytes"
