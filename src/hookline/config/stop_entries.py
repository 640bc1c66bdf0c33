"""Stop hooks in a configuration: arguments of the built-in ones, and chains of several hooks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from hookline.config.checks import NEVER
from hookline.config.gate_entries import read_builtin
from hookline.config.nodes import Sequence, is_null
from hookline.config.problems import did_you_mean
from hookline.hooks.builtin.stop import STOP_BUILTINS
from hookline.hooks.chains import MAX_CHAIN_DEPTH, MAX_CHAINED

if TYPE_CHECKING:
    import collections.abc as abc

    from hookline.config.acts import Place
    from hookline.config.nodes import Node, Pair, Scalar
    from hookline.config.problems import Report
    from hookline.hooks.builtin.stop_context import Arguments

_ENDLESS = "this hook would never complete"


class StopReader:
    """Reads what is special about stop hooks; `rules` are the names of the validation rules."""

    def __init__(self, report: Report, rules: abc.Collection[str] | None) -> None:
        self._report, self._rules = report, rules

    def arguments(self, word: Scalar, node: Node | None, place: Place) -> dict[str, Any] | None:
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
                    help=did_you_mean(name, self._rules, "rules stand under `validation:`"),
                    consequence=_ENDLESS,
                )
        if STOP_BUILTINS[word.text].needs_results and not self._rules:
            self._report.warning(
                "unknown-rule",
                word.mark,
                f"'{word.text}' decides on validation rules, and none is defined",
                help="define some under `validation:`",
                consequence=_ENDLESS,
            )

    def links(self, pair: Pair, place: Place) -> list[tuple[Node, Place]]:
        """The hooks of a chain, each with its place; nothing if the chain cannot be."""
        nodes = self._nodes(pair, place)
        if place.depth >= MAX_CHAIN_DEPTH:
            self._report.error(
                "too-deep",
                pair.key.mark,
                f"chains are nested more than {MAX_CHAIN_DEPTH} levels deep",
                consequence=NEVER,
            )
            return []
        return [(node, place.inside(pair.key.text, i)) for i, node in enumerate(nodes)]

    def _nodes(self, pair: Pair, place: Place) -> tuple[Node, ...]:
        key, value = pair.key.text, pair.value
        path = f"{place.path}.{key}"
        listed = isinstance(value, Sequence)
        nodes = value.items if isinstance(value, Sequence) else (value,)
        if is_null(value) or not nodes:
            self._wrong("empty", value, f"'{path}' must not be empty")
        elif key == "not" and len(nodes) > 1:
            more = "to deny several at once, write not: {any_of: [...]}"
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
