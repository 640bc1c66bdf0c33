"""Checks of a flow's steps: names, values from other steps, shell lines and conditions."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from hookline.config.checks.lines import warn_of_options
from hookline.config.reading.convert import plain
from hookline.config.reading.nodes import Mapping, Node, Scalar, Sequence, mark_within
from hookline.domain.hooks.payload_checks import problems_of
from hookline.errors import did_you_mean
from hookline.hooks.language.braces import references
from hookline.hooks.language.conditions import check, compiled
from hookline.hooks.language.references import ROOTS, compile_step_line, problem_of, step_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from hookline.config.reading.problems import Mark, Problems

# Where values are allowed; a shell line has its own rules.
_FILLED = ("breakpoint", "task", "input", "update_task", "agent", "hook")
_TAKEN = frozenset("/#")


def check_steps(steps: Node | None, report: Problems) -> None:
    """Report what is wrong with the steps of one flow, taken together."""
    names: dict[str, Scalar] = {}
    for name in _names(steps):
        _check_name(name, names, report)
        names.setdefault(name.text, name)
    _Order(names, report).walk(steps, frozenset())


def check_fired(flows: Node | None, points: Collection[str], report: Problems) -> None:
    """Report points that flows fire and that there are not, and what their payloads lack."""
    for flow in flows.pairs.values() if isinstance(flows, Mapping) else ():
        steps = flow.value.get("steps") if isinstance(flow.value, Mapping) else None
        for step in _all_steps(steps):
            given = step.get("hook")
            point = given.get("point") if isinstance(given, Mapping) else given
            if isinstance(point, Scalar) and point.text in points:
                payload = given.get("payload") if isinstance(given, Mapping) else None
                _check_payload(point, payload, report)
            elif isinstance(point, Scalar):
                message = f"no hook point named '{point.text}'"
                help = did_you_mean(point.text, points, "`hookline points` lists them all")
                report.error("unknown-point", point.mark, message, help=help)


def called_flows(flows: Node | None) -> list[Scalar]:
    """The names of the flows that steps call."""
    found = []
    for flow in flows.pairs.values() if isinstance(flows, Mapping) else ():
        steps = flow.value.get("steps") if isinstance(flow.value, Mapping) else None
        found += [
            name for step in _all_steps(steps) if isinstance(name := step.get("flow"), Scalar)
        ]
    return found


def _check_payload(point: Scalar, payload: Node | None, report: Problems) -> None:
    given = payload.pairs if isinstance(payload, Mapping) else {}
    filled = [name for name, pair in given.items() if any(_is_filled(pair.value))]
    values = {name: plain(pair.value) for name, pair in given.items()}
    for field, message in problems_of(point.text, values, filled):
        missing = field not in given
        report.error(
            "missing-field" if missing else "wrong-type",
            point.mark if missing else given[field].value.mark,
            message,
            help=f"`hookline points {point.text}` shows what its hooks receive",
            consequence="the run would fail here",
        )


def _is_filled(value: Node) -> Iterator[bool]:
    """Whether texts of a value hold references, so that it is known when the flow runs."""
    return (any(not e.escaped for e in references(text.text)) for text in _scalars(value))


def _all_steps(steps: Node | None) -> Iterator[Mapping]:
    for step in steps.items if isinstance(steps, Sequence) else ():
        if isinstance(step, Mapping):
            yield step
            yield from _all_steps(step.get("parallel"))


def _names(steps: Node | None) -> Iterator[Scalar]:
    for step in _all_steps(steps):
        name = step.get("id")
        if isinstance(name, Scalar):
            yield name


def _check_name(name: Scalar, seen: dict[str, Scalar], report: Problems) -> None:
    if name.text in seen:
        message = f"'{name.text}' is used twice, first at {seen[name.text].mark}"
        report.error("duplicate-name", name.mark, message, help="give one of them another name")
    elif _TAKEN & set(name.text) or not name.text.isprintable():
        help = "'/' and '#' are reserved for the names of effects"
        report.error("bad-name", name.mark, f"a step cannot be called '{name.text}'", help=help)


class _Order:
    """Follows the steps as they run, and knows which results are there at each of them."""

    def __init__(self, names: dict[str, Scalar], report: Problems) -> None:
        self._names = names
        self._report = report

    def walk(self, steps: Node | None, done: frozenset[str], *, together: bool = False) -> set[str]:
        """Check steps; the names of those that are over afterwards."""
        over = set(done)
        for step in steps.items if isinstance(steps, Sequence) else ():
            if isinstance(step, Mapping):
                before = done if together else frozenset(over)
                self._check(step, before)
                over |= self.walk(step.get("parallel"), before, together=True)
                name = step.get("id")
                over |= {name.text} if isinstance(name, Scalar) else set()
        return over

    def _check(self, step: Mapping, done: frozenset[str]) -> None:
        line = step.get("run")
        if isinstance(line, Scalar):
            read = compile_step_line(line.text)
            for each in read.problems:
                mark = mark_within(line, each.offset, each.length)
                self._report.error(each.code, mark, each.message, help=each.help)
            if step.get("options") is None:
                warn_of_options(line, read.warnings, self._report)
            self._check_references(line, done)
        for key in _FILLED:
            for text in _scalars(step.get(key)):
                self._check_values(text, done)
        when = step.get("when")
        if isinstance(when, Scalar):
            self._check_condition(when, done)

    def _check_values(self, text: Scalar, done: frozenset[str]) -> None:
        for each in references(text.text):
            if problem := problem_of(each):
                mark = mark_within(text, problem.offset, problem.length)
                self._report.error(problem.code, mark, problem.message, help=problem.help)
        self._check_references(text, done)

    def _check_references(self, text: Scalar, done: frozenset[str]) -> None:
        for each in references(text.text):
            if (step := step_of(each)) and not each.escaped:
                mark = mark_within(text, each.start, each.end - each.start)
                self._check_known(step, mark, done)

    def _check_condition(self, when: Scalar, done: frozenset[str]) -> None:
        wrong = check(when.text, dict.fromkeys(ROOTS))
        if wrong:
            self._report.error(
                "bad-condition",
                when.mark,
                f"invalid condition: {wrong}",
                help="a condition can use `input` and `steps`, such as steps.lint.exitCode",
                consequence="the run would fail here",
            )
            return
        for name in _steps_in(compiled(when.text).tree):
            self._check_known(name, when.mark, done)

    def _check_known(self, name: str, mark: Mark, done: frozenset[str]) -> None:
        if name in done:
            return
        if name in self._names:
            message = f"step '{name}' has not finished when this one starts"
            help = "use the result of an earlier step, outside its `parallel`"
        else:
            message = f"there is no step '{name}' in this flow"
            help = did_you_mean(name, sorted(done), "a step must come before its result is used")
        self._report.error(
            "unknown-step", mark, message, help=help, consequence="the run would fail here"
        )


def _scalars(node: Node | None) -> Iterator[Scalar]:
    if isinstance(node, Scalar):
        yield node
    elif isinstance(node, Sequence):
        for item in node.items:
            yield from _scalars(item)
    elif isinstance(node, Mapping):
        for pair in node.pairs.values():
            yield from _scalars(pair.value)


def _steps_in(tree: ast.AST) -> Iterator[str]:
    """The steps whose results a condition looks at by name."""
    for node in ast.walk(tree):
        base = node.value if isinstance(node, ast.Attribute | ast.Subscript) else None
        if not isinstance(base, ast.Name) or base.id != "steps":
            continue
        if isinstance(node, ast.Attribute):
            yield node.attr
        elif isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
            yield str(node.slice.value)
