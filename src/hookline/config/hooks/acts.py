"""What an entry runs: a built-in, or what its kind makes of the value, checked in its place."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from hookline.config.cache import Watched, mode_of
from hookline.config.checks.lines import report_faults
from hookline.config.hooks.builtins import GateReader, StopReader, read_builtin
from hookline.config.reading.convert import INVALID, Converter, plain
from hookline.config.reading.nodes import Mapping, Node, Pair, Scalar, is_null
from hookline.errors import BrokenPlugin, did_you_mean
from hookline.hooks.builtin import CHAINS, NAMED_BUILTINS, NOTIFY, REACT_BUILTINS, STOP_HOOKS
from hookline.hooks.builtin.gates.arguments import GATE_ARGUMENTS
from hookline.hooks.builtin.notify.arguments import KEYS as NOTIFY_KEYS
from hookline.hooks.builtin.notify.arguments import Notify, faults
from hookline.hooks.kinds import Written, read_value
from hookline.hooks.language.conditions import needs_changes
from hookline.hooks.registry import NEVER, NOTHING
from hookline.plugins import KINDS

if TYPE_CHECKING:
    import collections.abc as abc

    from hookline.config.reading.problems import Problems
    from hookline.config.reading.source import ConfigFile
    from hookline.config.types import Entry
    from hookline.points import Point


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
        pairs |= {name: pair for name, pair in node.pairs.items() if name in NOTIFY_KEYS}
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


BUILT_IN = "built-in"
# The keys by which a hook says what it runs.
KEYS = tuple(name for name in KINDS.own if name != BUILT_IN)


class Scope(NamedTuple):
    """Where a `hooks:` block is: at the top of a file, in a task type, or in an agent.

    `gatekeepers` are the gatekeepers of the task types that the block is for, by type.
    """

    source: ConfigFile
    path: str = "hooks"
    prefix: str = ""
    gatekeepers: abc.Mapping[str, tuple[str, ...]] = {}

    @property
    def is_top(self) -> bool:
        """Whether the block is the file's own."""
        return self.path == "hooks"


class EntryPlace(NamedTuple):
    """Where one entry is; `within` are the chains around it, such as `[0].all_of`."""

    scope: Scope
    point: Point
    number: int
    within: str = ""

    @property
    def path(self) -> str:
        """The entry's place in words, for messages."""
        return f"{self.scope.path}.{self.label}"

    @property
    def label(self) -> str:
        """The entry's place in its block, for the name of a nameless hook."""
        return f"{self.point.name}{self.within}[{self.number}]"

    @property
    def depth(self) -> int:
        """How many chains the entry is nested in."""
        return self.within.count(".")

    def inside(self, chain: str, number: int) -> EntryPlace:
        """The place of a hook in the chain at this place."""
        return self._replace(number=number, within=f"{self.within}[{self.number}].{chain}")


class Act(NamedTuple):
    """What an entry runs; a nameless hook is called by the `label`."""

    kind: str
    target: str
    label: str
    metadata: dict[str, Any]
    runs: str | None = NOTHING


class ActReader:
    """Reads what entries run, and remembers the files whose state that depended on."""

    def __init__(
        self,
        report: Problems,
        agents: abc.Mapping[str, Any],
        rules: abc.Collection[str] | None = None,
    ) -> None:
        self._report, self._agents = report, agents
        self.stop = StopReader(report, rules)
        self.gates = GateReader(report, agents)
        self.notifications = NotifyReader(report)
        self.watched: list[Watched] = []

    def act(self, key: str, node: Mapping, place: EntryPlace, entry: Entry) -> Act | None:
        """What the entry runs by this key, or None if that is unknown."""
        value = node.pairs[key].value
        if key == NOTIFY:
            return self._notify(node, place, entry)
        if key in NAMED_BUILTINS:
            return self.built_in(key, value, place, node.pairs[key].key)
        if is_null(value):
            self._report.error("empty", value.mark, f"'{place.path}.{key}' must not be empty")
            return None
        try:
            kind = KINDS.load(key)
        except BrokenPlugin as problem:
            return self._broken(key, node.pairs[key], problem)
        converted = Converter(self._report).convert(value, kind.VALUE, f"{place.path}.{key}")
        if converted is INVALID:
            return None
        base, agents = place.scope.source.base, self._agents
        written = Written(converted, place.point, base, agents, entry.prompt, entry.options)
        read = read_value(key, written)
        report_faults(value, read.faults, self._report)
        self.watched += (Watched(path, mode_of(path)) for path in read.files)
        return Act(key, read.target, read.label, read.metadata, getattr(kind, "RUNS", None))

    def _notify(self, node: Mapping, place: EntryPlace, entry: Entry) -> Act | None:
        """A notification; where it leads is said by the keys next to its channel."""
        if not self.check_point(node.pairs[NOTIFY].key, NAMED_BUILTINS[NOTIFY], place):
            return None
        given = self.notifications.arguments(node, place, entry)
        return Act(BUILT_IN, NOTIFY, given["channel"], {"arguments": given}) if given else None

    def _broken(self, key: str, pair: Pair, problem: BrokenPlugin) -> Act:
        """A hook of a plugin that does not work; it is kept, because a gate must not vanish."""
        message = problem.message
        help = problem.help or ""
        consequence = "this hook always fails"
        self._report.warning("plugin", pair.key.mark, message, help=help, consequence=consequence)
        return Act(key, "", key, {"arguments": plain(pair.value)}, None)

    def built_in(
        self, name: str, arguments: Node | None, place: EntryPlace, word: Scalar
    ) -> Act | None:
        """A built-in that is listed by name, with its arguments."""
        if name not in NAMED_BUILTINS:
            self._unknown_built_in(word, place)
            return None
        if not self.check_point(word, NAMED_BUILTINS[name], place):
            return None
        if name in CHAINS:
            message = f"'{name}' needs a list of hooks"
            help = f'write {{{name}: [validation, {{command: "pytest -q"}}]}}'
            self._report.error("empty", word.mark, message, help=help, consequence=NEVER)
            return None
        if name == NOTIFY:
            self.notifications.lacking(word)
            return None
        if name in STOP_HOOKS:
            given = self.stop.arguments(word, arguments, place)
            metadata = {"arguments": given} if given else {}
            return None if given is None else Act(BUILT_IN, name, name, metadata)
        if name in GATE_ARGUMENTS:
            carried = self.gates.metadata(word, arguments, place)
            return None if carried is None else Act(BUILT_IN, name, name, carried)
        if arguments is None or is_null(arguments):
            return Act(BUILT_IN, name, name, {})
        return Act(BUILT_IN, name, name, {"arguments": plain(arguments)})

    def _unknown_built_in(self, word: Scalar, place: EntryPlace) -> None:
        line = " " in word.text
        fallback = f'to run a shell line, write {{command: "{word.text}"}}'
        message = f"no built-in hook is called '{word.text}'"
        help = fallback if line else did_you_mean(word.text, built_ins_at(place.point), fallback)
        self._report.error("unknown-built-in", word.mark, message, help=help, consequence=NEVER)

    def check_point(self, word: Scalar, points: tuple[str, ...], place: EntryPlace) -> bool:
        """Whether a built-in may be listed at this point; reported if not."""
        if place.point.name in points:
            return True
        message = f"'{word.text}' cannot be used at {place.point.name}"
        help = f"it belongs to {', '.join(points)}"
        self._report.error("misplaced-built-in", word.mark, message, help=help, consequence=NEVER)
        return False


def built_ins_at(point: Point) -> tuple[str, ...]:
    """The built-ins that may be listed at a point."""
    known = {**NAMED_BUILTINS, **REACT_BUILTINS}
    return tuple(name for name, points in known.items() if point.name in points)
