"""What an agent is told about a conflict of its work with the base."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookline.hooks.framing import MAX_OUTPUT, ends, file_name, framed
from hookline.hooks.texts import told

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from hookline.domain.work.repository import ConflictFile, OpenConflict

SHOWN = 50
SHOWN_LINES = 20
SHOWN_SHA = 12
# What the sides of a file are, where it is not its content.
_SIDES = {
    "link": "Target of the link",
    "mode": "Permissions of",
    "submodule": "Commit of submodule",
}


def found_prompt(
    base: str, onto: str, files: Sequence[ConflictFile], *, is_yours: bool = False
) -> str:
    """A conflict that was found, for the agent that continues the work; nothing was changed."""
    short = onto[:SHOWN_SHA]
    ways = told("conflict", "rebase", onto=short)
    if not is_yours:  # in a worktree Hookline can do what takes git
        ways = told("conflict", "either-way", base=base, rebase=ways[0].lower() + ways[1:])
    return told("conflict", "found", base=base, onto=short, ways=ways) + _all_sides(base, files)


def resolve_prompt(base: str, found: OpenConflict) -> str:
    """A conflict in the files of the agent's folder, which it resolves by editing."""
    again = [*_still(base, found)]
    left = again[:SHOWN] or [_entry(each, base) for each in found.files[:SHOWN]]
    count = len(again) or found.count
    if count > len(left):
        left.append(f"- and {count - len(left)} more; look for lines with `<<<<<<< HEAD`")
    asks = told("conflict", "again") if again else "these files need you"
    unresolved = _unresolved(found)
    how = told(
        "conflict",
        "resolve",
        base=base,
        onto=found.onto[:SHOWN_SHA],
        asks=asks,
        left="\n".join(left),
    )
    return how + (_all_sides(base, unresolved) if unresolved else "")


def _unresolved(found: OpenConflict) -> Sequence[ConflictFile]:
    """The files in conflict about which something is left to say."""
    if found.undecided or not (found.markers or found.restored):
        return found.files
    marked = {each.path for each in found.markers}
    return [file for file in found.files if file.path in marked]


def _entry(file: ConflictFile, base: str) -> str:
    return f"- {file_name(file.path)}: {_how(file, base)}"


def _still(base: str, found: OpenConflict) -> Iterator[str]:
    """What is left to do when it was asked before."""
    merge = told("conflict", "merge-lines")
    for each in found.markers:
        yield f"- {file_name(each.path)}: markers are left in {_lines(each.lines)}. {merge}."
    for path in found.restored:
        yield (
            f"- {file_name(path)}: you undid or changed what came from {base}. Hookline has"
            " restored it. Make your work fit it; if it does, change nothing and say so."
        )
    if found.undecided:
        marked = {each.path for each in found.markers}
        for file in found.files:
            if file.kind != "marked":
                yield _entry(file, base)
            elif file.path not in marked:
                yield f"- {file_name(file.path)}: {told('conflict', 'no-markers')}"


def left_to_do(found: OpenConflict) -> str:
    """In a few words what keeps a conflict open."""
    if found.markers:
        return f"markers are left in {_names(each.path for each in found.markers)}"
    if found.restored:
        return f"changes of the base were undone in {_names(found.restored)}"
    return "nobody has said that it is resolved"


def named_conflict(base: str, files: Iterable[ConflictFile]) -> str:
    """A conflict in one line."""
    return f"conflict with {base} in {_names(each.path for each in files)}"


def _names(paths: Iterable[str]) -> str:
    return ", ".join(list(paths)[:10])


def _lines(numbers: Sequence[int]) -> str:
    shown = ", ".join(map(str, numbers[:SHOWN_LINES]))
    more = " and more" if len(numbers) > SHOWN_LINES else ""
    return f"line{'s' * (len(numbers) > 1)} {shown}{more}"


def _how(file: ConflictFile, base: str) -> str:
    aside = take = ""
    if file.aside is not None:
        aside = f"; {file_name(file.aside)} is {base}'s, and is removed after your turn"
        take = f" move {base}'s over it,"
    mine, other = (f" to {file_name(name)}" for name in file.renamed) if file.renamed else ("", "")
    about = {"base": base, "aside": aside, "take": take, "mine": mine, "other": other}
    about["merge_lines"] = told("conflict", "merge-lines")
    return told("conflict", file.kind, **about, ours=file.ours, theirs=file.theirs)


def _all_sides(base: str, files: Sequence[ConflictFile]) -> str:
    share = MAX_OUTPUT // max(len(files), 1) // 2
    sides = "\n\n".join(_sides(each, base, share) for each in files)
    return "\n\n" + framed("Each file with both sides", sides, 2 * MAX_OUTPUT)


def _sides(file: ConflictFile, base: str, share: int) -> str:
    mine, other = (
        "(nothing under this name)" if side is None else ends(side, share)
        for side in (file.ours, file.theirs)
    )
    what = _SIDES.get(file.kind, "File")
    my_name, other_name = (f", {name}" for name in file.renamed) if file.renamed else ("", "")
    return f"{what} {file.path}\n--- your side{my_name}:\n{mine}\n--- {base}{other_name}:\n{other}"
