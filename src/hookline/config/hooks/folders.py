"""Hook folders: each executable file in `hooks/<point>/` is a hook, in the order of file names.

The project and the user have such folders, and plugins bring them in addition to functions.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Collection
from types import ModuleType
from typing import Any, NamedTuple

import msgspec

from hookline import plugins
from hookline.config.reading.problems import Mark, Problems
from hookline.errors import did_you_mean
from hookline.hooks.registry import FILE, Hook, check_hook

_IGNORED_ENDINGS = ("~", ".md", ".txt")


class LayerProblem(NamedTuple):
    """Something wrong with a file or folder, and the remedy."""

    code: str
    path: str
    message: str
    help: str
    consequence: str = "this hook would never run"


class Scan(NamedTuple):
    """The hooks of a folder, and what is wrong with it."""

    hooks: list[Hook]
    findings: list[LayerProblem]


def scan(folder: str, layer: str, points: Collection[str], root: str | None = None) -> Scan:
    """The hooks in a folder; their origin is relative to `root`, or the whole path."""
    found = Scan([], [])
    for entry in _sorted_entries(folder, found):
        if entry.is_dir():
            _scan_point(entry, folder, layer, points, root, found)
        elif not _is_ignored(entry.name):
            found.findings.append(
                LayerProblem(
                    "stray-hook",
                    entry.path,
                    f"'{entry.name}' is not in the folder of a hook point",
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
                runs=FILE,
                layer=layer,
                origin=os.path.relpath(entry.path, root) if root else entry.path,
            )
        )


def _finding(entry: os.DirEntry[str], folder: str) -> LayerProblem | None:
    if not entry.name.isprintable():
        return _unprintable(entry)
    if not _stays_inside(entry.path, folder):
        return LayerProblem(
            "outside-link",
            entry.path,
            f"'{entry.name}' is a link to a file outside the hook folder",
            "copy the file into the folder, or name it under `script:` in hookline.yaml",
        )
    try:
        mode = entry.stat().st_mode
    except OSError as problem:
        return LayerProblem(
            "unreadable-hook",
            entry.path,
            f"'{entry.name}' cannot be read: {problem.strerror}",
            "fix or remove the file",
        )
    if not stat.S_ISREG(mode):
        return LayerProblem(
            "not-a-file", entry.path, f"'{entry.name}' is not a regular file", "remove it"
        )
    if not os.access(entry.path, os.X_OK):
        return LayerProblem(
            "not-executable",
            entry.path,
            f"'{entry.name}' is not executable",
            f"chmod +x {entry.path}",
        )
    return None


def _unprintable(entry: os.DirEntry[str]) -> LayerProblem:
    """The name is shown escaped and its folder is the place, as not every output can hold it."""
    return LayerProblem(
        "bad-name",
        os.path.dirname(entry.path),
        f"{entry.name!r} is not a printable name",
        "rename it",
    )


def _unknown_point(point: os.DirEntry[str], points: Collection[str]) -> LayerProblem:
    return LayerProblem(
        "unknown-point",
        point.path,
        f"no hook point named '{point.name}'",
        did_you_mean(point.name, points, "`hookline points` lists them all"),
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
            LayerProblem("unreadable-hook", folder, message, "fix its type or its permissions")
        )
        return []


def read_plugins(points: Collection[str], report: Problems) -> list[Hook]:
    """Every hook of every plugin, by the names of the plugins; one that fails is a warning."""
    hooks: list[Hook] = []
    for entry in sorted(plugins.found(plugins.HOOKS), key=lambda each: each.name):
        try:
            hooks += _hooks_of(entry.name, entry.load(), points, report)
        except Exception as problem:  # noqa: BLE001  # a plugin may raise anything
            message = f"{entry.value} cannot be loaded: {type(problem).__name__}: {problem}"
            consequence = "none of its hooks run"
            report.warning("plugin", Mark(f"plugin {entry.name}"), message, consequence=consequence)
    return hooks


def _hooks_of(plugin: str, brought: Any, points: Collection[str], report: Problems) -> list[Hook]:
    """A hook, several, or a folder (or package) with `<point>/` folders of scripts."""
    if isinstance(brought, Hook):
        brought = [brought]
    if isinstance(brought, ModuleType):
        brought = os.path.dirname(brought.__file__ or "")
    if isinstance(brought, str | os.PathLike):
        found = scan(os.fspath(brought), "plugin", points)
        for each in found.findings:
            # A package holds other modules besides its hooks.
            if each.code != "stray-hook" and not os.path.basename(each.path).startswith("__"):
                report.warning(each.code, Mark(each.path), each.message, help=each.help)
        return [msgspec.structs.replace(h, name=f"{plugin}/{h.name}") for h in found.hooks]
    for each in brought:
        check_hook(each, points)
    return [_callable(plugin, each) for each in brought]


def _callable(plugin: str, hook: Hook) -> Hook:
    """A function of a plugin, as something that a child process can find."""
    function = hook.handler
    return msgspec.structs.replace(
        hook,
        name=f"{plugin}/{hook.name}",
        kind="python",
        target=f"{function.__module__}:{function.__qualname__}",
        layer="plugin",
        origin=f"plugin {plugin}",
        handler=None,
    )
