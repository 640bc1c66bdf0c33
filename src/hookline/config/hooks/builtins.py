"""Built-in gates and stop hooks in a configuration: arguments, gatekeepers, chains of hooks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from hookline.config.checks.lines import report_faults
from hookline.config.reading.convert import INVALID, Converter
from hookline.config.reading.nodes import Mapping, Node, Pair, Scalar, Sequence, is_null
from hookline.domain.text.secret_patterns import KINDS
from hookline.errors import did_you_mean
from hookline.hooks.builtin.gates.arguments import (
    GATE_ARGUMENTS,
    DiffLimits,
    Gatekeeper,
    Program,
    Secrets,
)
from hookline.hooks.builtin.stop.table import STOP_BUILTINS
from hookline.hooks.chains import MAX_CHAIN_DEPTH, MAX_CHAINED
from hookline.hooks.kinds import Written
from hookline.hooks.kinds.command import read as read_line
from hookline.hooks.registry import NEVER

if TYPE_CHECKING:
    import collections.abc as abc

    from hookline.config.hooks.acts import EntryPlace
    from hookline.config.reading.problems import Problems
    from hookline.hooks.builtin.stop.context import Arguments


_EXAMPLES = {
    "gatekeeper": "write {gatekeeper: [qa]}",
    "diff_limits": "such as {diff_limits: {files: 50, forbid: [.github/**]}}",
}


class GateReader:
    """Reads what is special about built-in gates; `agents` are the profiles by name."""

    def __init__(self, report: Problems, agents: abc.Mapping[str, Any]) -> None:
        self._report, self._agents = report, agents

    def metadata(self, word: Scalar, node: Node | None, place: EntryPlace) -> dict[str, Any] | None:
        """What the hook of a gate carries, or None if its arguments cannot be used."""
        given = self._arguments(word, node, place)
        if given is None:
            return None
        found: dict[str, Any] = {}
        if arguments := msgspec.to_builtins(given):
            found["arguments"] = arguments
        if isinstance(given, Gatekeeper):
            found["gatekeepers"] = self._gatekeepers(given, node, place, word)
        return found

    def _arguments(self, word: Scalar, node: Node | None, place: EntryPlace) -> Arguments | None:
        kind = GATE_ARGUMENTS[word.text]
        if kind in (Gatekeeper, DiffLimits) and (node is None or is_null(node)):
            self._lacking(word)
            return None
        path = f"{place.path}.{word.text}"
        given = read_builtin(kind, word, node, path, self._report)
        if given is None or node is None:
            return given
        before = self._report.errors
        self._check(given, node, place, word)
        return given if self._report.errors == before else None

    def _check(self, given: Arguments, node: Node, place: EntryPlace, word: Scalar) -> None:
        if isinstance(given, Program) and (line := part(node, "command")) is not None:
            written = Written(line.text, place.point, "", options=given.options)
            report_faults(line, read_line(written).faults, self._report)
        elif isinstance(given, DiffLimits) and given.limits_nothing:
            self._lacking(word)
        elif isinstance(given, Secrets):
            for name in given.ignore:
                if name not in KINDS:
                    self._unknown_kind(name, node)

    def _lacking(self, word: Scalar) -> None:
        message = f"'{word.text}' needs arguments"
        help = _EXAMPLES[word.text]
        self._report.error("empty", word.mark, message, help=help, consequence=NEVER)

    def _unknown_kind(self, name: str, node: Node) -> None:
        message = f"no kind of secret is called '{name}'"
        help = did_you_mean(name, KINDS, f"there are {', '.join(KINDS)}")
        consequence = "this would have no effect"
        self._report.error("unknown-value", node.mark, message, help=help, consequence=consequence)

    def _gatekeepers(
        self, given: Gatekeeper, node: Node | None, place: EntryPlace, word: Scalar
    ) -> list[dict[str, Any]]:
        """Each name with its profile, or with those of each task type, and its prompt."""
        marks = {each.text: each.mark for each in _names(node)}
        found = []
        for name in given.names:
            entry = self._gatekeeper(name, place)
            if entry["profile"] is None and not entry["byType"]:
                self._report.warning(
                    "unknown-gatekeeper",
                    marks.get(name, word.mark),
                    f"there is no gatekeeper '{name}'",
                    help=f"define an agent '{name}' or 'gatekeeper-{name}' under `agents:`",
                    consequence="`hookline run` will refuse this gate",
                )
            found.append(entry)
        return found

    def _gatekeeper(self, name: str, place: EntryPlace) -> dict[str, Any]:
        for profile in (name, f"gatekeeper-{name}"):
            if profile in self._agents:
                prompt = self._agents[profile].prompt
                more = {} if prompt is None else {"promptFile": prompt}
                return {"name": name, "profile": profile, **more}
        by_type = {kind: list(names) for kind, names in place.scope.gatekeepers.items() if names}
        return {"name": name, "profile": None, "byType": by_type}


def read_builtin(
    kind: type[Arguments], word: Scalar, node: Node | None, path: str, report: Problems
) -> Arguments | None:
    """The arguments of a built-in; a value that is not a mapping is the first of them."""
    if node is None or is_null(node):
        return kind()
    fields = kind.__struct_fields__
    if not fields:
        report.error("no-arguments", node.mark, f"'{word.text}' takes no arguments")
        return None
    if not isinstance(node, Mapping):
        node = Mapping({fields[0]: Pair(word, node)}, node.mark)
    before = report.errors
    made = Converter(report).convert(node, kind, path)
    # A value that does not fit was reported; the default in its place is not what was meant.
    usable = made is not INVALID and report.errors == before
    return made if usable else None


def part(node: Node, key: str) -> Scalar | None:
    """The text under a key, or the node itself if it is the first argument alone."""
    found = node.get(key) if isinstance(node, Mapping) else node
    return found if isinstance(found, Scalar) and not is_null(found) else None


def _names(node: Node | None) -> tuple[Scalar, ...]:
    listed = node.get("names") if isinstance(node, Mapping) else node
    items = listed.items if isinstance(listed, Sequence) else ()
    return tuple(each for each in items if isinstance(each, Scalar))


_ENDLESS = "this hook would never complete"


class StopReader:
    """Reads what is special about stop hooks; `rules` are the names of the validation rules."""

    def __init__(self, report: Problems, rules: abc.Collection[str] | None) -> None:
        self._report, self._rules = report, rules

    def arguments(
        self, word: Scalar, node: Node | None, place: EntryPlace
    ) -> dict[str, Any] | None:
        """The checked arguments of a built-in stop hook; None if they cannot be used."""
        kind = STOP_BUILTINS[word.text].arguments
        given = read_builtin(kind, word, node, f"{place.path}.{word.text}", self._report)
        if given is None:
            return None
        self._check_rules(word, given)
        found: dict[str, Any] = msgspec.to_builtins(given)
        return found

    def _check_rules(self, word: Scalar, given: Arguments) -> None:
        if self._rules is None:
            return
        for name in given.rules:
            if name not in self._rules:
                self._report.warning(
                    "unknown-rule",
                    word.mark,
                    f"'{word.text}' waits for the validation rule '{name}', which is not defined",
                    help=did_you_mean(name, self._rules, "rules are listed under `validation:`"),
                    consequence=_ENDLESS,
                )
        if STOP_BUILTINS[word.text].needs_results and not self._rules:
            message = f"'{word.text}' decides on validation rules, and none is defined"
            help = "define some under `validation:`"
            self._report.warning(
                "unknown-rule", word.mark, message, help=help, consequence=_ENDLESS
            )

    def links(self, pair: Pair, place: EntryPlace) -> list[tuple[Node, EntryPlace]]:
        """The hooks of a chain, each with its place; nothing if the chain cannot be."""
        nodes = self._nodes(pair, place)
        if place.depth >= MAX_CHAIN_DEPTH:
            message = f"chains are nested more than {MAX_CHAIN_DEPTH} levels deep"
            self._report.error("too-deep", pair.key.mark, message, consequence=NEVER)
            return []
        return [(node, place.inside(pair.key.text, i)) for i, node in enumerate(nodes)]

    def _nodes(self, pair: Pair, place: EntryPlace) -> tuple[Node, ...]:
        key, value = pair.key.text, pair.value
        path = f"{place.path}.{key}"
        listed = isinstance(value, Sequence)
        nodes = value.items if isinstance(value, Sequence) else (value,)
        if is_null(value) or not nodes:
            self._wrong("empty", value, f"'{path}' must not be empty")
        elif key == "not" and len(nodes) > 1:
            more = "to negate several hooks, write not: {any_of: [...]}"
            self._wrong("one-hook", value, f"'{path}' takes one hook, not {len(nodes)}", more)
        elif key != "not" and not listed:
            self._wrong("wrong-type", value, f"'{path}' must be a list of hooks")
        elif len(nodes) > MAX_CHAINED:
            self._wrong(
                "too-many", value, f"'{path}' holds {len(nodes)} hooks, more than {MAX_CHAINED}"
            )
        else:
            return nodes
        return ()

    def _wrong(self, code: str, node: Node, message: str, more: str = "") -> None:
        help = more or f"such as [validation, {{command: {_EXAMPLE}}}]"
        self._report.error(code, node.mark, message, help=help, consequence=NEVER)


_EXAMPLE = '"pytest -q"'
