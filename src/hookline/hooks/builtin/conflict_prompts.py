"""What an agent is told about a conflict of its work with the base."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookline.hooks.builtin.stop_context import one_line
from hookline.hooks.framing import MAX_OUTPUT, ends, framed

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from hookline.domain.repository import ConflictFile, OpenConflict

SHOWN = 50
SHOWN_LINES = 20
MAX_NAME = 300
_LATER = (
    " If you cannot write with git, leave it: when the work is submitted again, Hookline merges"
    " {base} into your files and asks you to edit them."
)
# What each kind of conflict is, and how the state of the files resolves it.
_KINDS = {
    "marked": "both sides changed the same lines. Edit them and remove the markers:"
    " `<<<<<<< HEAD` begins your side, `=======` ends it, `>>>>>>>` ends the side of {base}.",
    "binary": "both sides changed a file that has no lines to merge. It holds your version. Leave"
    " it to keep your version,{aside} or write a file that serves both.",
    "link": "both sides changed where this link leads. It leads where your side has it. Make it"
    " lead where both sides need it.",
    "mode": "both sides added it with the same content and other permissions ({ours} is yours,"
    " {theirs} is of {base}; 100755 can be run). Set the right ones with `chmod`.",
    "submodule": "both sides moved this submodule: you to {ours}, {base} to {theirs}. Hookline has"
    " taken the commit of {base}. Leave it, and make your work fit to it.",
    "deleted-by-base": "{base} deleted it, or gave it another name, and you changed it. It holds"
    " your version. Keep the file to keep it, delete it to delete it.",
    "deleted-by-work": "you deleted it, or gave it another name, and {base} changed it. It holds"
    " the version of {base}. Keep the file to keep it, delete it to delete it.",
    "renamed-twice": "you and {base} gave this file different new names, which are in this list."
    " Keep the file under one of them, with what both sides meant, and delete the other one.",
    "name-of-work": "only your side has something of this name; {base} has it under another name."
    " Keep the file under the right name, with what both sides meant, and delete the other one.",
    "name-of-base": "only {base} has something of this name; your side has it under another name."
    " Keep the file under the right name, with what both sides meant, and delete the other one.",
}


def found_prompt(
    base: str, onto: str, files: Sequence[ConflictFile], *, is_yours: bool = False
) -> str:
    """A conflict that was found, for whoever goes on with the work; nothing was changed."""
    later = "" if is_yours else _LATER.format(base=base)
    return (
        f"Your commits conflict with the newest {base} ({onto}). Nothing was changed: your branch"
        f" is as it was. If you can, run `git rebase {onto}`, keep what both sides meant in each"
        f" file, and finish the rebase. Do not push.{later}\n\n" + _all_sides(base, files)
    )


def resolve_prompt(base: str, found: OpenConflict) -> str:
    """A conflict that lies in the files of the agent's folder, for it to resolve by editing."""
    files = [f"- `{_name(each.path)}`: {_how(each, base)}" for each in found.files[:SHOWN]]
    if found.count > len(files):
        files.append(f"- and {found.count - len(files)} more; look for lines with `<<<<<<< HEAD`")
    return (
        f"Your commits conflict with the newest {base} ({found.onto}). Hookline has merged {base}"
        " into the files of your folder, and these need you:\n\n"
        + "\n".join([*files, "", *_still(base, found), ""])
        + "How to resolve it:\n\n"
        "1. Edit these files until they hold what both sides meant. Leave no marker line.\n"
        f"2. Leave all other changes of {base} in your folder as they are.\n"
        "3. Run the tests and fix what broke.\n"
        f"4. End your turn. Hookline checks the files and commits them on top of {base}.\n\n"
        "You need no git for this. Do not abort the merge, and do not rebase. If you commit the"
        " merge yourself, that is fine too.\n\n" + _all_sides(base, found.files)
    )


def _still(base: str, found: OpenConflict) -> Iterator[str]:
    """What is left to do when it was asked before."""
    left = [f"- `{_name(each.path)}`: markers in {_lines(each.lines)}" for each in found.markers]
    left += [
        f"- `{_name(path)}`: a change of {base} was undone. Hookline has put it back. Leave it."
        for path in found.restored
    ]
    if found.undecided:
        left.append("- nobody has said yet that the files are as they should be")
    if left:
        more = [f"- and {len(left) - SHOWN} more"] if len(left) > SHOWN else []
        yield from ("You were asked before. This is still to do:", "", *left[:SHOWN], *more, "")


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
    aside = ""
    if file.aside is not None:
        aside = f" move `{_name(file.aside)}` over it to take the version of {base},"
    sides = {"ours": file.ours, "theirs": file.theirs} if file.kind in ("mode", "submodule") else {}
    return _KINDS[file.kind].format_map({"base": base, "aside": aside, **sides})


def _name(path: str) -> str:
    return one_line(path, MAX_NAME).replace("`", "'")


def _all_sides(base: str, files: Sequence[ConflictFile]) -> str:
    share = MAX_OUTPUT // max(len(files), 1) // 2
    told = "\n\n".join(_sides(each, base, share) for each in files)
    return framed("Each file with both sides", told, 2 * MAX_OUTPUT)


def _sides(file: ConflictFile, base: str, share: int) -> str:
    mine, other = (
        "(removed)" if side is None else ends(side, share) for side in (file.ours, file.theirs)
    )
    return f"File {file.path}\n--- your side:\n{mine}\n--- {base}:\n{other}"
