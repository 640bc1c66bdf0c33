"""Reads a project's configuration in full: both layers, hook folders, automation-hooks.json.

Called when the cache has nothing, by `hookline check`, and by `hookline config show`.
"""

from __future__ import annotations

import json
import os
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from hookline.config.cache import Watched, config_files, hook_folders, watched_content
from hookline.config.checks.lines import check_prompt
from hookline.config.checks.steps import called_flows, check_fired
from hookline.config.hooks.acts import Scope
from hookline.config.hooks.entries import EntryReader
from hookline.config.hooks.folders import read_plugins, scan
from hookline.config.reading.convert import INVALID, Converter
from hookline.config.reading.nodes import Mapping, Node, Scalar, Sequence, is_null, parse
from hookline.config.reading.problems import Mark, Problems
from hookline.config.reading.source import ConfigFile, read_mapping, read_text
from hookline.config.sections import Read, custom_point, read_sections
from hookline.config.settings import Settings, StoreSetting, Tuning
from hookline.config.types import AutomationHook, Notifications, Telemetry
from hookline.errors import did_you_mean
from hookline.hooks.builtin import REACT_BUILTINS
from hookline.points import POINTS, Point

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hookline.hooks.registry import Hook
    from hookline.project import Project


def read_automation(source: ConfigFile, report: Problems) -> dict[str, Tuning]:
    """How the file tunes built-in hooks, by name; event types in it change nothing."""
    text = read_text(source, report)
    if text is None or not _is_json(text, source.file, report):
        return {}
    # JSON is YAML except for tabs between tokens; a blank in their place keeps every column.
    tree = parse(text.replace("\t", " "), source.file, report)
    hooks = tree.get("hooks") if isinstance(tree, Mapping) else None
    if not isinstance(hooks, Sequence):
        wrong = hooks or tree
        mark = wrong.mark if wrong else Mark(source.file)
        report.error("wrong-type", mark, "the file must be an object with a list 'hooks'")
        return {}
    found: dict[str, Tuning] = {}
    for index, item in enumerate(hooks.items):
        hook = Converter(report).convert(item, AutomationHook, f"hooks[{index}]")
        if hook is not INVALID and _is_known(hook.name, item, report):
            found[hook.name] = Tuning(hook.enabled, hook.priority, str(item.mark))
    return found


def _is_json(text: str, file: str, report: Problems) -> bool:
    try:
        json.loads(text)
    except json.JSONDecodeError as bad:
        mark = Mark(file, bad.lineno, bad.colno, 1)
        report.error("syntax", mark, f"this is not JSON: {bad.msg}")
    except RecursionError:
        report.error("too-deep", Mark(file), "this is nested too deeply")
    else:
        return True
    return False


def _is_known(name: str, item: Node, report: Problems) -> bool:
    if name not in REACT_BUILTINS:
        named = item.get("name") if isinstance(item, Mapping) else None
        report.warning(
            "unknown-hook",
            (named or item).mark,
            f"no built-in hook is called '{name}'",
            help=did_you_mean(name, REACT_BUILTINS, "define your own hooks in hookline.yaml"),
            consequence="this has no effect",
        )
    return name in REACT_BUILTINS


_Blocks = dict[str, dict[str, list["Hook"]]]


class Loaded(NamedTuple):
    """Settings, and what the cache and `config show` need to know about them."""

    settings: Settings
    watched: list[Watched]
    origins: dict[str, Mark]


class _Layer(NamedTuple):
    """A configuration file as a tree, and the hook folder next to it."""

    source: ConfigFile
    tree: Mapping
    folder: str


def read_settings(project: Project, home: str, copy: str | None = None) -> Loaded:
    """Everything that is configured, with every problem; never fails because of its content.

    With a `copy`, that file is read in place of the project's hookline.yaml.
    """
    report = Problems()
    layers = _layers(project, home, report, copy)
    read = read_sections([layer.tree for layer in layers], report)
    points = {**POINTS, **{name: custom_point(name) for name in read.events}}
    rules = [rule.name for rule in read.sections.validation]
    reader = EntryReader(report, points, read.sections.agents, rules)
    settings = Settings(events=read.events)
    settings.raw_sections = msgspec.Raw(msgspec.json.encode(read.sections))
    settings.users_notifications = _of_user(layers, "notifications", Notifications)
    settings.users_telemetry = _of_user(layers, "telemetry", Telemetry)
    settings.stores = dict(_stores(layers))
    mentioned: dict[str, None] = {}
    gatekeepers = _gatekeepers(read)
    called: list[Scalar] = []
    for layer in layers:
        check_fired(layer.tree.get("flows"), points, report)
        called += called_flows(layer.tree.get("flows"))
        scope = Scope(layer.source, prefix=_of(layer), gatekeepers=gatekeepers)
        blocks = reader.read_block(layer.tree.get("hooks"), scope)
        own = _in_order(blocks, report, layer.source)
        own += _folder(layer, points, project, reader, report)
        _number(own)
        settings.hooks += own
        mentioned |= dict.fromkeys([*blocks, *(point for each in own for point in each.points)])
    brought = read_plugins(points, report)
    _number(brought)
    settings.hooks += brought
    settings.points = tuple(mentioned)
    settings.type_hooks = _blocks("task_types", layers, reader, read)
    settings.agent_hooks = _blocks("agents", layers, reader, read)
    path = config_files(project, home)[2]
    source = ConfigFile(path, os.path.relpath(path, project.root), "project")
    settings.tuning = _tuning(reader, read_automation(source, report))
    files = [*_prompt(project, read, report), *_called(project, read, called, report)]
    settings.problems = report.problems
    return Loaded(settings, [*reader.watched, *files], read.origins)


def _stores(layers: list[_Layer]) -> Iterator[tuple[str, StoreSetting]]:
    """Where each file says that the store is."""
    for layer in layers:
        url, listen = (layer.tree.get(name) for name in ("store", "store_listen"))
        if isinstance(url, Scalar) and not is_null(url):
            heard = listen.text if isinstance(listen, Scalar) and not is_null(listen) else None
            yield layer.source.layer, StoreSetting(url.text, heard)


def _of_user(layers: list[_Layer], name: str, section: type[msgspec.Struct]) -> dict[str, Any]:
    """What the user's own file says in a section; what is wrong with it is reported elsewhere."""
    tree = next((each.tree for each in layers if each.source.layer == "user"), None)
    node = tree.get(name) if tree is not None else None
    found = Converter(Problems()).convert(node, section) if node is not None else None
    return msgspec.to_builtins(found) if isinstance(found, section) else {}


def _prompt(project: Project, read: Read, report: Problems) -> list[Watched]:
    """Check the template of a session's prompt; the file that this depended on."""
    name = read.sections.session.prompt
    if name is None:
        return []
    # Before it is read: a file that changes in between is read again the next time.
    watched = watched_content(os.path.join(project.root, name))
    check_prompt(project.root, name, read.origins["session.prompt"], report)
    return [watched]


def _called(project: Project, read: Read, names: list[Scalar], report: Problems) -> list[Watched]:
    """Check that the flows that steps call are there; the folder that this depended on."""
    if not names:
        return []
    from hookline.flows.definitions.finder import FlowFinder  # few flows call others

    finder = FlowFinder(project.root, project.folder, read.sections.flows)
    watched = watched_content(os.path.join(project.folder, "flows"))
    for name in names:
        if finder.known(name.text) is None:
            message = f"there is no flow '{name.text}'"
            help = did_you_mean(name.text, finder.names(), "`hookline flow list` lists them all")
            consequence = "the step would fail"
            report.error("unknown-flow", name.mark, message, help=help, consequence=consequence)
    return [watched]


def _layers(project: Project, home: str, report: Problems, copy: str | None) -> list[_Layer]:
    own, users, _ = config_files(project, home)
    folder, users_folder = hook_folders(project, home)
    sources = [(ConfigFile(copy or own, os.path.relpath(own, project.root), "project"), folder)]
    if os.path.abspath(users) != os.path.abspath(own):
        sources.append((ConfigFile(users, users, "user"), users_folder))
    return [_Layer(source, read_mapping(source, report), at) for source, at in sources]


def _of(layer: _Layer) -> str:
    return "user/" if layer.source.layer == "user" else ""


def _in_order(blocks: dict[str, list[Hook]], report: Problems, source: ConfigFile) -> list[Hook]:
    """The hooks of a file in its order, each once; a hook at several points has one position."""
    order = {id(each): each for hooks in blocks.values() for each in hooks}
    places = {key: index for index, key in enumerate(order)}
    for point, hooks in blocks.items():
        for before, after in pairwise(hooks):
            swapped = places[id(before)] > places[id(after)]
            if swapped and before.priority == after.priority:
                report.error(
                    "order",
                    Mark(source.file, int(after.origin.rpartition(":")[2]), 1, 1),
                    f"'{before.name}' runs before '{after.name}' at {point} "
                    "but is listed after it in the file",
                    help="set a `priority:`; a hook has the same position at all its points",
                )
    return list(order.values())


def _folder(
    layer: _Layer, points: dict[str, Point], project: Project, reader: EntryReader, report: Problems
) -> list[Hook]:
    root = project.root if layer.source.layer == "project" else None
    found = scan(layer.folder, layer.source.layer, points, root)
    for each in found.findings:
        file = os.path.relpath(each.path, root) if root else each.path
        report.error(
            each.code, Mark(file), each.message, help=each.help, consequence=each.consequence
        )
    for hook in found.hooks:
        reader.warn_if_quiet(points[hook.points[0]], Mark(hook.origin))
    return found.hooks


def _number(hooks: list[Hook]) -> None:
    # From 1: the registry gives each hook without a position its own.
    for position, each in enumerate(hooks, 1):
        each.position = position


def _blocks(section: str, layers: list[_Layer], reader: EntryReader, read: Read) -> _Blocks:
    """The hooks of every task type or agent; the nearest layer that defines one counts."""
    found: _Blocks = {}
    gatekeepers = _gatekeepers(read)
    for layer in layers:
        named = layer.tree.get(section)
        for name, pair in named.pairs.items() if isinstance(named, Mapping) else ():
            if not isinstance(pair.value, Mapping):
                continue
            scope = Scope(
                layer.source,
                f"{section}.{name}.hooks",
                f"{_of(layer)}{name}/",
                gatekeepers={name: gatekeepers[name]} if section == "task_types" else gatekeepers,
            )
            hooks = reader.read_block(pair.value.get("hooks"), scope)
            for own in hooks.values():
                own.sort(key=lambda each: each.priority)
            found.setdefault(name, hooks)
    return {name: hooks for name, hooks in found.items() if hooks}


def _gatekeepers(read: Read) -> dict[str, tuple[str, ...]]:
    """The gatekeepers of each task type, those that there are profiles of."""
    known = read.sections.agents
    return {
        name: tuple(each for each in kind.agents.gatekeeper if each in known)
        for name, kind in read.sections.task_types.items()
    }


def _tuning(reader: EntryReader, automation: dict[str, Tuning]) -> dict[str, Tuning]:
    """The project's word before the user's, both before automation-hooks.json, key by key."""
    ranked = [reader.tuning["project"], reader.tuning["user"], automation]
    names = dict.fromkeys(name for layer in ranked for name in layer)
    return {name: _first([layer[name] for layer in ranked if name in layer]) for name in names}


def _first(found: list[Tuning]) -> Tuning:
    enabled = next((each.enabled for each in found if each.enabled is not None), None)
    priority = next((each.priority for each in found if each.priority is not None), None)
    return Tuning(enabled, priority, found[0].origin)
