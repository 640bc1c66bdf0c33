"""Built-in gates in a configuration: their arguments, and who the gatekeepers are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from hookline.config.checks import NEVER, check_command
from hookline.config.convert import INVALID, Converter
from hookline.config.nodes import Mapping, Pair, Scalar, Sequence, is_null
from hookline.config.problems import did_you_mean
from hookline.domain.secret_patterns import KINDS
from hookline.hooks.builtin.gates_arguments import (
    GATE_ARGUMENTS,
    DiffLimits,
    Gatekeeper,
    Program,
    Secrets,
)

if TYPE_CHECKING:
    import collections.abc as abc

    from hookline.config.acts import Place
    from hookline.config.nodes import Node
    from hookline.config.problems import Report
    from hookline.hooks.builtin.stop_context import Arguments

_EXAMPLES = {
    "gatekeeper": "write {gatekeeper: [qa]}",
    "diff_limits": "such as {diff_limits: {files: 50, forbid: [.github/**]}}",
}


class GateReader:
    """Reads what is special about built-in gates; `agents` are the profiles by name."""

    def __init__(self, report: Report, agents: abc.Mapping[str, Any]) -> None:
        self._report, self._agents = report, agents

    def metadata(self, word: Scalar, node: Node | None, place: Place) -> dict[str, Any] | None:
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

    def _arguments(self, word: Scalar, node: Node | None, place: Place) -> Arguments | None:
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

    def _check(self, given: Arguments, node: Node, place: Place, word: Scalar) -> None:
        if isinstance(given, Program) and (line := part(node, "command")) is not None:
            check_command(line, place.point, self._report, given.options)
        elif isinstance(given, DiffLimits) and given.limits_nothing:
            self._lacking(word)
        elif isinstance(given, Secrets):
            for name in given.ignore:
                if name not in KINDS:
                    self._unknown_kind(name, node)

    def _lacking(self, word: Scalar) -> None:
        self._report.error(
            "empty",
            word.mark,
            f"'{word.text}' needs to be told more",
            help=_EXAMPLES[word.text],
            consequence=NEVER,
        )

    def _unknown_kind(self, name: str, node: Node) -> None:
        self._report.error(
            "unknown-value",
            node.mark,
            f"no kind of secret is called '{name}'",
            help=did_you_mean(name, KINDS, f"there are {', '.join(KINDS)}"),
            consequence="it would be looked for all the same",
        )

    def _gatekeepers(
        self, given: Gatekeeper, node: Node | None, place: Place, word: Scalar
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
                    f"nobody can be gatekeeper '{name}'",
                    help=f"define an agent '{name}' or 'gatekeeper-{name}' under `agents:`",
                    consequence="`hookline run` will refuse this gate",
                )
            found.append(entry)
        return found

    def _gatekeeper(self, name: str, place: Place) -> dict[str, Any]:
        for profile in (name, f"gatekeeper-{name}"):
            if profile in self._agents:
                prompt = self._agents[profile].prompt
                more = {} if prompt is None else {"promptFile": prompt}
                return {"name": name, "profile": profile, **more}
        judges = {kind: list(names) for kind, names in place.scope.judges.items() if names}
        return {"name": name, "profile": None, "byType": judges}


def read_builtin(
    kind: type[Arguments], word: Scalar, node: Node | None, path: str, report: Report
) -> Arguments | None:
    """The arguments of a built-in; a value that is no mapping is the first of them."""
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
    """The text under a key, or the node itself where it stands alone as the first argument."""
    found = node.get(key) if isinstance(node, Mapping) else node
    return found if isinstance(found, Scalar) and not is_null(found) else None


def _names(node: Node | None) -> tuple[Scalar, ...]:
    listed = node.get("names") if isinstance(node, Mapping) else node
    items = listed.items if isinstance(listed, Sequence) else ()
    return tuple(each for each in items if isinstance(each, Scalar))
