"""`notify` in a configuration: its channel, the keys next to it, and what is wrong with them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from hookline.config.hooks.builtins import read_builtin
from hookline.config.reading.nodes import Mapping, Pair, Scalar, is_null
from hookline.hooks.builtin import NOTIFY
from hookline.hooks.builtin.notify.arguments import KEYS, Notify, faults
from hookline.hooks.language.conditions import needs_changes
from hookline.hooks.registry import NEVER

if TYPE_CHECKING:
    from hookline.config.hooks.acts import EntryPlace
    from hookline.config.reading.problems import Problems
    from hookline.config.types import Entry

_EXAMPLE = "such as {notify: desktop}"


class NotifyReader:
    """Reads what is special about `notify`."""

    def __init__(self, report: Problems) -> None:
        self._report = report

    def arguments(self, node: Mapping, place: EntryPlace, entry: Entry) -> dict[str, Any] | None:
        """The checked arguments; None if they cannot be used."""
        word, value = node.pairs[NOTIFY]
        if is_null(value) or not isinstance(value, Scalar):
            self.lacking(word)
            return None
        pairs = {"channel": Pair(word, value)}
        pairs |= {name: pair for name, pair in node.pairs.items() if name in KEYS}
        given = read_builtin(Notify, word, Mapping(pairs, node.mark), place.path, self._report)
        if not isinstance(given, Notify):
            return None
        self._check(given, node, entry)
        return msgspec.to_builtins(given)  # type: ignore[no-any-return]

    def lacking(self, word: Scalar) -> None:
        """Report that no channel is named."""
        message = "'notify' needs a channel"
        self._report.error("empty", word.mark, message, help=_EXAMPLE, consequence=NEVER)

    def _check(self, given: Notify, node: Mapping, entry: Entry) -> None:
        for key, each in faults(given):
            mark = node.pairs[key].value.mark if key in node.pairs else node.mark
            tell = self._report.warning if each.is_warning else self._report.error
            tell(each.code, mark, each.message, help=each.help, consequence=each.consequence)
        when = node.get("when")
        if entry.when is not None and isinstance(when, Scalar) and needs_changes(entry.when):
            message = "'changed()' cannot be used with 'notify'"
            help = "a notification is about what waits, and not about files"
            self._report.error("bad-condition", when.mark, message, help=help, consequence=NEVER)
