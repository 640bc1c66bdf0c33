"""Rules that concern several keys of one section, applied where the section stands."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from hookline.config.nodes import Mapping, Scalar, Sequence
from hookline.config.steps import check_steps
from hookline.config.types import Agent, Flow, Step, Validation
from hookline.domain.validation import pattern_problem, rule_from
from hookline.errors import BadInput

if TYPE_CHECKING:
    from collections.abc import Callable

    from hookline.config.nodes import Node
    from hookline.config.problems import Report

_NEEDED = {
    "command": ("command",),
    "content_pattern": ("pattern",),
    "coverage": ("minimum",),
    "file_existence": ("files",),
    "custom": ("python",),
}
_ACTS = (
    *("run", "parallel", "breakpoint", "sleep", "task"),
    *("update_task", "agent", "hook", "noop"),
)


def _validation(rule: Validation, node: Mapping, report: Report) -> None:
    missing = [key for key in _NEEDED[rule.type] if key not in node.pairs]
    for key in missing:
        report.error("missing-key", node.mark, f"a validation of type {rule.type} needs '{key}'")
    if rule.pattern is not None and (wrong := pattern_problem(rule.pattern)):
        report.error("bad-pattern", node.pairs["pattern"].value.mark, wrong)
    elif not missing:
        try:
            rule_from(msgspec.to_builtins(rule))
        except BadInput as problem:
            report.error("bad-rule", node.mark, problem.message)


def _agent(agent: Agent, node: Mapping, report: Report) -> None:
    needed = {"command": "command", "scripted": "script"}.get(agent.driver)
    if needed and needed not in node.pairs:
        report.error(
            "missing-key", node.mark, f"an agent of driver {agent.driver} needs '{needed}'"
        )


def _step(step: Step, node: Mapping, report: Report) -> None:
    acts = [key for key in _ACTS if key in node.pairs]
    if len(acts) != 1:
        report.error(
            "one-act",
            node.mark,
            f"step '{step.id}' must have exactly one of {', '.join(_ACTS)}"
            + (f", not {' and '.join(acts)}" if acts else ""),
        )


def _flow(flow: Flow, node: Mapping, report: Report) -> None:
    check_steps(node.get("steps"), report)


def unique(items: Node | None, key: str, report: Report) -> None:
    """No two mappings of a list may carry the same value under a key."""
    seen: dict[str, Scalar] = {}
    for item in items.items if isinstance(items, Sequence) else ():
        found = item.get(key) if isinstance(item, Mapping) else None
        if not isinstance(found, Scalar):
            continue
        if found.text in seen:
            report.error(
                "duplicate-name",
                found.mark,
                f"'{found.text}' is used twice, first at {seen[found.text].mark}",
                help="give one of them another name",
            )
        seen.setdefault(found.text, found)


RULES: dict[type, Callable[[Any, Mapping, Report], None]] = {
    Validation: _validation,
    Agent: _agent,
    Step: _step,
    Flow: _flow,
}
