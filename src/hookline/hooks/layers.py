"""Hook folders: each executable file in `hooks/<point>/` is a hook, in the order of file names.

The configuration calls this for the project's and the user's folder.
"""

from __future__ import annotations

import os
import stat
from difflib import get_close_matches
from typing import TYPE_CHECKING, NamedTuple

from hookline.hooks.registry import Hook

if TYPE_CHECKING:
    from collections.abc import Collection

_IGNORED_ENDINGS = ("~", ".md", ".txt")


class Finding(NamedTuple):
    """Something wrong with a file or folder, and the remedy."""

    code: str
    path: str
    message: str
    help: str
    consequence: str = "this hook would never run"


class Scan(NamedTuple):
    """The hooks of a folder, and what is wrong with it."""

    hooks: list[Hook]
    findings: list[Finding]


def scan(folder: str, layer: str, points: Collection[str], root: str | None = None) -> Scan:
    """The hooks in a folder; their origin is relative to `root`, or the whole path."""
    found = Scan([], [])
    for entry in _sorted_entries(folder, found):
        if entry.is_dir():
            _scan_point(entry, folder, layer, points, root, found)
        elif not _is_ignored(entry.name):
            found.findings.append(
                Finding(
                    "stray-hook",
                    entry.path,
                    f"'{entry.name}' stands in no hook point's folder",
                    f"move it into a folder such as {os.path.join(folder, 'task_completed')}",
                )
            )
    for position, each in enumerate(found.hooks, 1):
        each.position = position
    return found


def _scan_point(
    point: os.DirEntry[str],
    folder: str,
    layer: str,
    points: Collection[str],
    root: str | None,
    found: Scan,
) -> None:
    if _is_ignored(point.name):
        return
    if not point.name.isprintable():
        found.findings.append(_unprintable(point))
        return
    if point.name not in points:
        found.findings.append(_unknown_point(point, points))
        return
    # Both layers may hold a file of the same name; names of hooks are unique.
    prefix = "user/" if layer == "user" else ""
    for entry in _sorted_entries(point.path, found):
        if _is_ignored(entry.name) or entry.is_dir():
            continue
        finding = _finding(entry, folder)
        if finding:
            found.findings.append(finding)
        if finding and finding.code != "not-executable":
            continue
        found.hooks.append(
            Hook(
                name=f"{prefix}{point.name}/{entry.name}",
                points=(point.name,),
                kind="script",
                target=os.path.abspath(entry.path),
                layer=layer,
                origin=os.path.relpath(entry.path, root) if root else entry.path,
            )
        )


def _finding(entry: os.DirEntry[str], folder: str) -> Finding | None:
    if not entry.name.isprintable():
        return _unprintable(entry)
    if not _stays_inside(entry.path, folder):
        return Finding(
            "outside-link",
            entry.path,
            f"'{entry.name}' is a link that leads out of the hook folder",
            "copy the file into the folder, or name it under `script:` in hookline.yaml",
        )
    try:
        mode = entry.stat().st_mode
    except OSError as problem:
        return Finding(
            "unreadable-hook",
            entry.path,
            f"'{entry.name}' cannot be read: {problem.strerror}",
            "fix or remove the file",
        )
    if not stat.S_ISREG(mode):
        return Finding(
            "not-a-file", entry.path, f"'{entry.name}' is not a regular file", "remove it"
        )
    if not os.access(entry.path, os.X_OK):
        return Finding(
            "not-executable",
            entry.path,
            f"'{entry.name}' is not executable",
            f"chmod +x {entry.path}",
        )
    return None


def _unprintable(entry: os.DirEntry[str]) -> Finding:
    """The name is shown escaped and its folder is the place, as not every output can hold it."""
    return Finding(
        "bad-name",
        os.path.dirname(entry.path),
        f"{entry.name!r} is not a printable name",
        "rename it",
    )


def _unknown_point(point: os.DirEntry[str], points: Collection[str]) -> Finding:
    near = get_close_matches(point.name, list(points), n=1)
    hint = f"did you mean '{near[0]}'? " if near else ""
    return Finding(
        "unknown-point",
        point.path,
        f"no hook point named '{point.name}'",
        f"{hint}`hookline points` lists them all",
        "these hooks would never run",
    )


def _stays_inside(path: str, folder: str) -> bool:
    inside = os.path.realpath(folder)
    return os.path.realpath(path).startswith(inside + os.sep)


def _is_ignored(name: str) -> bool:
    return name.startswith(".") or name.endswith(_IGNORED_ENDINGS)


def _sorted_entries(folder: str, found: Scan) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return sorted(entries, key=lambda each: each.name)
    except FileNotFoundError:
        return []
    except OSError as problem:
        message = f"the folder cannot be read: {problem.strerror}"
        found.findings.append(
            Finding("unreadable-hook", folder, message, "fix its type or its permissions")
        )
        return []
