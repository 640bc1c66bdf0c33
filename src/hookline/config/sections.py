"""The sections besides hooks: both layers merged, converted, and checked against each other."""

from __future__ import annotations

from collections.abc import Sequence as Many
from typing import NamedTuple

from hookline.config.checks.rules import RULES, unique
from hookline.config.checks.telemetry import check_telemetry
from hookline.config.reading.convert import INVALID, Converter
from hookline.config.reading.nodes import Mapping, Pair, Scalar
from hookline.config.reading.problems import Mark, Problems
from hookline.config.types import Document, Sections, Text
from hookline.domain.events import check_type
from hookline.domain.sessions.validation import MAX_RULES
from hookline.domain.text.excerpts import first_few
from hookline.errors import BadInput, ReservedEvent, did_you_mean
from hookline.points import EVENT, POINTS, REACT, Point

# In these the project's file adds to the user's; every other key replaces it.
_BY_NAME = ("task_types", "agents", "flows")


class Read(NamedTuple):
    """The sections' values, and where each of them is set."""

    sections: Sections
    events: tuple[str, ...]
    origins: dict[str, Mark]


def read_sections(trees: Many[Mapping], report: Problems) -> Read:
    """The sections of the files, nearest first; each file is also checked alone."""
    trees = [_without_version(tree, report) for tree in trees]
    for tree in trees:
        Converter(report, RULES).convert(tree, Document)
        unique(tree.get("validation"), "name", report)
    converter = Converter(Problems())
    merged = trees[-1]
    for tree in reversed(trees[:-1]):
        merged = _merged(merged, tree)
    document = converter.convert(merged, Document)
    assert document is not INVALID
    sections = Sections(**{key: getattr(document, key) for key in Sections.__struct_fields__})
    _check_agents(sections, converter.origins, report)
    _check_types(sections, converter.origins, report)
    for tree in trees:
        check_telemetry(tree.get("telemetry"), report)
    if len(sections.validation) > MAX_RULES:
        mark = converter.origins.get(f"validation[{MAX_RULES}].name", merged.mark)
        report.error("too-many", mark, f"there are more than {MAX_RULES} validation rules")
    return Read(sections, _events(trees, report), converter.origins)


def custom_point(name: str) -> Point:
    """The hook point of an event type that the configuration declares."""
    return Point(name, REACT, "", EVENT, 30, True, "An event type of this project.")


def _without_version(tree: Mapping, report: Problems) -> Mapping:
    node = tree.get("version")
    if node is None:
        return tree
    if not isinstance(node, Scalar) or node.text != "1":
        message = "this Hookline reads version 1 of the format"
        help = "write `version: 1`, or upgrade with `pip install --upgrade hookline`"
        report.error("unknown-version", node.mark, message, help=help)
    pairs = {key: pair for key, pair in tree.pairs.items() if key != "version"}
    return Mapping(pairs, tree.mark)


def _merged(under: Mapping, over: Mapping) -> Mapping:
    pairs = {**under.pairs, **over.pairs}
    for key in (*_BY_NAME, "session", "notifications", "hosts"):
        lower, upper = under.get(key), over.get(key)
        if isinstance(lower, Mapping) and isinstance(upper, Mapping):
            joined = {**lower.pairs, **upper.pairs}
            if key == "session":
                joined |= _joined(lower, upper, "budget") | _joined(lower, upper, "guards")
            if key == "notifications":  # whoever is told says when
                joined = {**upper.pairs, **lower.pairs}
            pairs[key] = Pair(over.pairs[key].key, Mapping(joined, upper.mark))
    if "telemetry" in under.pairs:  # whole: a key of one's own must not go to another's endpoint
        pairs["telemetry"] = under.pairs["telemetry"]
    return Mapping(pairs, over.mark)


def _joined(lower: Mapping, upper: Mapping, key: str) -> dict[str, Pair]:
    low, high = lower.get(key), upper.get(key)
    if not (isinstance(low, Mapping) and isinstance(high, Mapping)):
        return {}
    both = Mapping({**low.pairs, **high.pairs}, high.mark)
    return {key: Pair(upper.pairs[key].key, both)}


def _events(trees: Many[Mapping], report: Problems) -> tuple[str, ...]:
    declared: dict[str, None] = {}
    for tree in trees:
        converter = Converter(Problems())
        node = tree.get("events")
        names = converter.convert(node, list[Text]) if node else []
        for index, name in enumerate(names if isinstance(names, list) else []):
            if _may_be_declared(name, converter.origins.get(f"[{index}]", tree.mark), report):
                declared[name] = None
    return tuple(declared)


def _may_be_declared(name: str, mark: Mark, report: Problems) -> bool:
    try:
        check_type(name)
    except (BadInput, ReservedEvent) as problem:
        report.error("bad-event", mark, problem.message, help=problem.help or "")
        return False
    if name in POINTS:
        help = "use it under `hooks:` without declaring it, or choose another name"
        report.error("bad-event", mark, f"'{name}' is a hook point of Hookline already", help=help)
        return False
    return True


def _check_agents(sections: Sections, origins: dict[str, Mark], report: Problems) -> None:
    known = sections.agents
    there = f"there is {first_few(sorted(known), 5)}" if known else "there is none yet"
    profiles = f"profiles are listed under `agents:`; {there}"
    if sections.agent is not None and sections.agent not in known:
        message = f"no agent is called '{sections.agent}'"
        help = did_you_mean(sections.agent, known, profiles)
        report.error("unknown-agent", origins["agent"], message, help=help)
    for type_name, task_type in sections.task_types.items():
        for role in ("implementer", "gatekeeper"):
            for index, name in enumerate(getattr(task_type.agents, role)):
                mark = origins.get(f"task_types.{type_name}.agents.{role}[{index}]")
                if name not in known and mark is not None:
                    report.warning(
                        "unknown-agent",
                        mark,
                        f"no agent is called '{name}'",
                        help=did_you_mean(name, known, profiles),
                        consequence=f"there is no such {role}",
                    )


def _check_types(sections: Sections, origins: dict[str, Mark], report: Problems) -> None:
    known = sections.task_types
    for type_name, task_type in known.items():
        for index, name in enumerate(task_type.may_create):
            mark = origins.get(f"task_types.{type_name}.may_create[{index}]")
            if name not in known and mark is not None:
                message = f"no type of task is called '{name}'"
                help = did_you_mean(name, known, "types are listed under `task_types:`")
                consequence = "agents cannot create tasks of this type"
                report.warning("unknown-type", mark, message, help=help, consequence=consequence)
