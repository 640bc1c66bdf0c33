"""Rules that concern several keys of one section, applied to the section's node."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from hookline.config.checks.steps import check_steps
from hookline.config.detection import AGENTS
from hookline.config.reading.convert import Converter
from hookline.config.reading.nodes import Mapping, Node, Scalar, Sequence, is_null
from hookline.config.types import (
    Agent,
    Document,
    Flow,
    Gates,
    Notifications,
    SchedulerSection,
    Step,
    Validation,
)
from hookline.domain.schedule import check_zone, read_quiet
from hookline.domain.sessions.validation import pattern_problem, rule_from
from hookline.domain.store_urls import EMBEDDED, read_store_url
from hookline.errors import BadInput, BrokenPlugin
from hookline.hooks.kinds.http import url_problem
from hookline.plugins import DRIVERS, FORGES, SCHEDULERS, ExtensionPoint

if TYPE_CHECKING:
    from collections.abc import Callable

    from hookline.config.reading.problems import Problems

# What a rule of each type needs, and how that is written.
_NEEDED = {
    "command": {"command": 'command: "pytest -q"'},
    "content_pattern": {"pattern": 'pattern: "TODO"'},
    "coverage": {"minimum": "minimum: 80"},
    "file_existence": {"files": "files: [README.md]"},
    "custom": {"python": 'python: "checks:is_small"'},
}
_ACTS = (
    *("run", "parallel", "breakpoint", "sleep", "task"),
    *("flow", "update_task", "agent", "hook", "noop"),
)


def _validation(rule: Validation, node: Mapping, report: Problems) -> None:
    missing = [key for key in _NEEDED[rule.type] if key not in node.pairs]
    for key in missing:
        told = f"a validation of type {rule.type} needs '{key}'"
        help = f"such as {{name: {rule.name}, type: {rule.type}, {_NEEDED[rule.type][key]}}}"
        report.error("missing-key", node.mark, told, help=help)
    if rule.pattern is not None and (wrong := pattern_problem(rule.pattern)):
        report.error("bad-pattern", node.pairs["pattern"].value.mark, wrong)
    elif not missing:
        try:
            rule_from(msgspec.to_builtins(rule))
        except BadInput as problem:
            report.error("bad-rule", node.mark, problem.message)


def _agent(agent: Agent, node: Mapping, report: Problems) -> None:
    driver = _loaded(DRIVERS, agent.driver, node, report)
    for needed in getattr(driver, "NEEDS", ()):
        if needed not in node.pairs:
            told = f"an agent of driver {agent.driver} needs '{needed}'"
            report.error("missing-key", node.mark, told, help=_example(agent.driver, needed))
    _options(driver, f"driver {agent.driver}", node, report)


def _example(driver: str, needed: str) -> str:
    """A profile of that driver, as `init` would write it."""
    known = next((each for each in AGENTS.values() if f"driver: {driver}," in each), None)
    return f"such as {known or f'{{driver: {driver}, {needed}: ...}}'}"


def _gates(gates: Gates, node: Mapping, report: Problems) -> None:
    if gates.forge not in FORGES.own or "options" in node.pairs:  # ours bring an HTTP client
        forge = _loaded(FORGES, gates.forge, node, report)
        _options(forge, f"forge {gates.forge}", node, report)


def _scheduler(given: SchedulerSection, node: Mapping, report: Problems) -> None:
    if given.kind not in SCHEDULERS.own or "options" in node.pairs:
        found = _loaded(SCHEDULERS, given.kind, node, report)
        _options(found, f"scheduler {given.kind}", node, report)


def _notifications(given: Notifications, node: Mapping, report: Problems) -> None:
    quiet, zone = node.get("quiet"), node.get("timezone")
    for value, check in ((quiet, read_quiet), (zone, check_zone)):
        if not isinstance(value, Scalar) or is_null(value):
            continue
        try:
            check(value.text)
        except BadInput as problem:
            report.error("bad-hours", value.mark, problem.message, help=problem.help or "")
    page = node.get("page")
    if isinstance(page, Scalar) and not is_null(page) and (wrong := url_problem(page.text)):
        report.error("bad-url", page.mark, wrong[0], help="such as https://hookline.example")
    if zone is not None and quiet is None:
        message = "'timezone' has no effect without 'quiet'"
        report.warning("no-effect", node.pairs["timezone"].key.mark, message)


def _stores(given: Document, node: Mapping, report: Problems) -> None:
    for name in ("store", "store_listen"):
        value = node.get(name)
        if not isinstance(value, Scalar) or is_null(value) or value.text == EMBEDDED:
            continue
        try:
            read_store_url(value.text)
        except BadInput as problem:
            report.error("bad-store", value.mark, problem.message, help=problem.help or "")


def _loaded(known: ExtensionPoint, name: str, node: Mapping, report: Problems) -> Any:
    """Something of a plugin; a broken one is reported, and nothing else is held back."""
    try:
        return known.load(name)
    except BrokenPlugin as problem:
        late = "everything that needs it fails"
        report.warning("plugin", node.mark, problem.message, help=problem.help, consequence=late)
        return None


def _options(extension: Any, name: str, node: Mapping, report: Problems) -> None:
    """What an extension takes is for itself to say."""
    given, wanted = node.get("options"), getattr(extension, "OPTIONS", None)
    if given is None or extension is None:
        return
    if wanted is None:
        report.error("unknown-key", given.mark, f"the {name} takes no options")
    else:
        Converter(report).convert(given, wanted, "options")


def _step(step: Step, node: Mapping, report: Problems) -> None:
    acts = [key for key in _ACTS if key in node.pairs]
    if len(acts) != 1:
        report.error(
            "one-act",
            node.mark,
            f"step '{step.id}' must have exactly one of {', '.join(_ACTS)}"
            + (f", not {' and '.join(acts)}" if acts else ""),
        )


def _flow(flow: Flow, node: Mapping, report: Problems) -> None:
    check_steps(node.get("steps"), report)


def unique(items: Node | None, key: str, report: Problems) -> None:
    """No two mappings of a list may carry the same value under a key."""
    seen: dict[str, Scalar] = {}
    for item in items.items if isinstance(items, Sequence) else ():
        found = item.get(key) if isinstance(item, Mapping) else None
        if not isinstance(found, Scalar):
            continue
        if found.text in seen:
            message = f"'{found.text}' is used twice, first at {seen[found.text].mark}"
            help = "give one of them another name"
            report.error("duplicate-name", found.mark, message, help=help)
        seen.setdefault(found.text, found)


RULES: dict[type, Callable[[Any, Mapping, Problems], None]] = {
    Validation: _validation,
    Agent: _agent,
    Gates: _gates,
    SchedulerSection: _scheduler,
    Notifications: _notifications,
    Document: _stores,
    Step: _step,
    Flow: _flow,
}
