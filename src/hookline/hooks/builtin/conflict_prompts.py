"""What an agent is told about a conflict of its work with the base."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookline.hooks.framing import MAX_OUTPUT, ends, file_name, framed

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from hookline.domain.repository import ConflictFile, OpenConflict

SHOWN = 50
SHOWN_LINES = 20
_LATER = (
    " If you cannot run git commands that write, leave the conflict: when the work is submitted"
    " again, Hookline merges {base} into your files and asks you to edit them."
)
_AGAIN = "you were asked to resolve it. Your edits are kept. This is left"
_NO_MARKERS = "no marker is left. Check that it contains what both sides meant."
# What each kind of conflict is, and how the state of the files resolves it.
_KINDS = {
    "marked": "both sides changed the same lines. Edit them and remove the markers:"
    " `<<<<<<< HEAD` begins your side, `=======` ends it, `>>>>>>>` ends {base}'s side.",
    "binary": "both sides changed a file that has no lines to merge. It has your version now. Leave"
    " it to keep your version,{aside} or write a file that serves both.{cleared}",
    "link": "both sides changed the target of this link. It has your target now. Set the right"
    " one.",
    "mode": "both sides added it with the same content and different permissions: yours are {ours},"
    " {base}'s are {theirs} (100755 is executable). Set the right ones with `chmod`.",
    "submodule": "both sides moved this submodule: you to {ours}, {base} to {theirs}. It has"
    " {base}'s commit now. Leave it, and make your work fit it.",
    "deleted-by-base": "{base} deleted or renamed it, and you changed it. It has your version now."
    " Leave the file to keep it, or delete it.",
    "deleted-by-work": "you deleted or renamed it, and {base} changed it. It has {base}'s version"
    " now. Leave the file to keep it, or delete it.",
    "renamed-twice": "you renamed it{mine}, and {base} renamed it{other}. Keep one of the two, with"
    " what both sides meant in it, and delete the other.",
    "name-of-work": "only your side has something of this name; {base} has it under another name."
    " Keep the file under the right name, with what both sides meant, and delete the other one.",
    "name-of-base": "only {base} has something of this name; your side has it under another name."
    " Keep the file under the right name, with what both sides meant, and delete the other one.",
}
# What the sides of a file are, where it is not its content.
_SIDES = {
    "link": "Target of the link",
    "mode": "Permissions of",
    "submodule": "Commit of submodule",
}


def found_prompt(
    base: str, onto: str, files: Sequence[ConflictFile], *, is_yours: bool = False
) -> str:
    """A conflict that was found, for whoever goes on with the work; nothing was changed."""
    later = "" if is_yours else _LATER.format(base=base)
    return (
        f"Your commits conflict with the newest {base} ({onto}). Nothing was changed: your branch"
        f" is as it was. If you can, run `git rebase {onto}`, keep what both sides meant in each"
        f" file, and finish the rebase. Do not push.{later}" + _all_sides(base, files)
    )


def resolve_prompt(base: str, found: OpenConflict) -> str:
    """A conflict that lies in the files of the agent's folder, for it to resolve by editing."""
    again = [*_still(base, found)]
    left = again[:SHOWN] or [_entry(each, base) for each in found.files[:SHOWN]]
    count = len(again) or found.count
    if count > len(left):
        left.append(f"- and {count - len(left)} more; look for lines with `<<<<<<< HEAD`")
    asks = "these files need you" if not again else _AGAIN
    return (
        f"Your commits conflict with the newest {base} ({found.onto}). Hookline has merged {base}"
        f" into the files of this folder, and {asks}:\n\n" + "\n".join(left) + "\n\n"
        "How to resolve it:\n\n"
        "1. Make each file in conflict contain what both sides meant. Leave no marker line.\n"
        f"2. Do not undo the other changes from {base}. Leave files that only {base} changed as"
        " they are, and make your work fit them.\n"
        "3. Run the tests and fix what broke.\n"
        "4. End your turn. Hookline checks the files and commits them.\n\n"
        "You need no git for this. You may commit the merge yourself. Do not abort the merge, and"
        " do not rebase." + _all_sides(base, found.files)
    )


def _entry(file: ConflictFile, base: str) -> str:
    return f"- {file_name(file.path)}: {_how(file, base)}"


def _still(base: str, found: OpenConflict) -> Iterator[str]:
    """What is left to do when it was asked before."""
    for each in found.markers:
        yield f"- {file_name(each.path)}: markers are left in {_lines(each.lines)}. Remove them."
    for path in found.restored:
        yield (
            f"- {file_name(path)}: you undid or changed what came from {base}. Hookline has"
            " restored it. Leave it, and make your work fit it."
        )
    if found.undecided:
        marked = {each.path for each in found.markers}
        for file in found.files:
            if file.kind != "marked":
                yield _entry(file, base)
            elif file.path not in marked:
                yield f"- {file_name(file.path)}: {_NO_MARKERS}"


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
    aside = cleared = ""
    if file.aside is not None:
        name = file_name(file.aside)
        aside = f" move {name} over it to take {base}'s version,"
        cleared = f" A {name} that is left is removed for you."
    mine, other = (f" to {file_name(name)}" for name in file.renamed) if file.renamed else ("", "")
    told = {"base": base, "aside": aside, "cleared": cleared, "mine": mine, "other": other}
    sides = {"ours": file.ours, "theirs": file.theirs} if file.kind in _SIDES else {}
    return _KINDS[file.kind].format_map({**told, **sides})


def _all_sides(base: str, files: Sequence[ConflictFile]) -> str:
    share = MAX_OUTPUT // max(len(files), 1) // 2
    told = "\n\n".join(_sides(each, base, share) for each in files)
    return "\n\n" + framed("Each file with both sides", told, 2 * MAX_OUTPUT)


def _sides(file: ConflictFile, base: str, share: int) -> str:
    mine, other = (
        "(no file of this name)" if side is None else ends(side, share)
        for side in (file.ours, file.theirs)
    )
    what = _SIDES.get(file.kind, "File")
    my_name, other_name = (f", {name}" for name in file.renamed) if file.renamed else ("", "")
    return f"{what} {file.path}\n--- your side{my_name}:\n{mine}\n--- {base}{other_name}:\n{other}"
