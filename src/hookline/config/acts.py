"""What an entry runs: a command, script, function, URL, agent or built-in, checked in its place."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

from hookline.config.cache import Watched, mode_of
from hookline.config.checks import (
    NEVER,
    check_command,
    check_function,
    check_script,
    check_url,
)
from hookline.config.convert import plain
from hookline.config.gate_entries import GateReader
from hookline.config.nodes import Scalar, is_null
from hookline.config.problems import did_you_mean
from hookline.config.stop_entries import StopReader
from hookline.hooks.builtin import CHAINS, NAMED_BUILTINS, REACT_BUILTINS, STOP_HOOKS
from hookline.hooks.builtin.gates_arguments import GATE_ARGUMENTS

if TYPE_CHECKING:
    import collections.abc as abc

    from hookline.config.nodes import Mapping, Node
    from hookline.config.problems import Report
    from hookline.config.source import Source
    from hookline.config.types import Entry
    from hookline.points import Point

KINDS = ("command", "script", "python", "http", "agent")


class Scope(NamedTuple):
    """Where a `hooks:` block stands: at the top of a file, in a task type, or in an agent.

    `judges` are the gatekeepers of the task types that the block is for, by type.
    """

    source: Source
    path: str = "hooks"
    prefix: str = ""
    judges: abc.Mapping[str, tuple[str, ...]] = {}

    @property
    def is_top(self) -> bool:
        """Whether the block is the file's own."""
        return self.path == "hooks"


class Place(NamedTuple):
    """Where one entry stands; `within` are the chains around it, such as `[0].all_of`."""

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
        """How many chains stand around the entry."""
        return self.within.count(".")

    def inside(self, chain: str, number: int) -> Place:
        """The place of a hook of the chain that stands here."""
        return self._replace(number=number, within=f"{self.within}[{self.number}].{chain}")


class Act(NamedTuple):
    """What an entry runs; `program` is the word that a nameless hook is called by."""

    kind: str
    target: str
    program: str
    metadata: dict[str, Any]


class ActReader:
    """Reads what entries run, and remembers the files whose state that depended on."""

    def __init__(
        self,
        report: Report,
        agents: abc.Mapping[str, Any],
        rules: abc.Collection[str] | None = None,
    ) -> None:
        self._report, self._agents = report, agents
        self.stop = StopReader(report, rules)
        self.gates = GateReader(report, agents)
        self.watched: list[Watched] = []

    def act(self, key: str, node: Mapping, place: Place, entry: Entry) -> Act | None:
        """What the entry runs by this key, or None when that cannot be told."""
        value = node.pairs[key].value
        if key in NAMED_BUILTINS:
            return self.built_in(key, value, place, node.pairs[key].key)
        if not isinstance(value, Scalar) or getattr(entry, key) is None:
            if is_null(value):
                self._report.error("empty", value.mark, f"'{place.path}.{key}' must not be empty")
            return None
        text = value.text
        if key == "command":
            check_command(value, place.point, self._report, entry.options)
            return Act(key, text, _program(text), {})
        if key == "script":
            path = os.path.abspath(os.path.join(place.scope.source.base, text))
            check_script(value, path, self._report)
            self.watched.append(Watched(path, mode_of(path)))
            return Act(key, path, _program(text), {})
        if key == "python":
            check_function(value, self._report)
            return Act(key, text, text, {})
        if key == "http":
            check_url(value, place.point, self._report)
            return Act(key, text, _host(text), {})
        return self._agent_act(value, node, entry)

    def _agent_act(self, value: Scalar, node: Mapping, entry: Entry) -> Act:
        profile = self._agents.get(value.text)
        if profile is None:
            self._report.error(
                "unknown-agent",
                value.mark,
                f"no agent is called '{value.text}'",
                help=did_you_mean(value.text, self._agents, "profiles stand under `agents:`"),
                consequence=NEVER,
            )
        elif entry.prompt is None and profile.prompt is None:
            self._report.error(
                "missing-key", node.mark, "an agent hook needs 'prompt', here or in its profile"
            )
        metadata = {}
        if entry.prompt is not None:
            metadata["prompt"] = entry.prompt
        elif profile is not None and profile.prompt is not None:
            metadata["promptFile"] = profile.prompt
        return Act("agent", value.text, value.text, metadata)

    def built_in(self, name: str, arguments: Node | None, place: Place, word: Scalar) -> Act | None:
        """A built-in that stands in a list, with its arguments."""
        if name not in NAMED_BUILTINS:
            self._unknown_built_in(word, place)
            return None
        if not self.check_standing(word, NAMED_BUILTINS[name], place):
            return None
        if name in CHAINS:
            self._bare_chain(word)
            return None
        if name in STOP_HOOKS:
            given = self.stop.arguments(word, arguments, place)
            metadata = {"arguments": given} if given else {}
            return None if given is None else Act("built-in", name, name, metadata)
        if name in GATE_ARGUMENTS:
            carried = self.gates.metadata(word, arguments, place)
            return None if carried is None else Act("built-in", name, name, carried)
        if arguments is None or is_null(arguments):
            return Act("built-in", name, name, {})
        return Act("built-in", name, name, {"arguments": plain(arguments)})

    def _bare_chain(self, word: Scalar) -> None:
        self._report.error(
            "empty",
            word.mark,
            f"'{word.text}' is made of other hooks",
            help=f'write {{{word.text}: [validation, {{command: "pytest -q"}}]}}',
            consequence=NEVER,
        )

    def _unknown_built_in(self, word: Scalar, place: Place) -> None:
        line = " " in word.text
        fallback = f'to run a shell line, write {{command: "{word.text}"}}'
        self._report.error(
            "unknown-built-in",
            word.mark,
            f"no built-in hook is called '{word.text}'",
            help=fallback if line else did_you_mean(word.text, standing_at(place.point), fallback),
            consequence=NEVER,
        )

    def check_standing(self, word: Scalar, points: tuple[str, ...], place: Place) -> bool:
        """Whether a built-in may stand at this point; reported if not."""
        if place.point.name in points:
            return True
        self._report.error(
            "misplaced-built-in",
            word.mark,
            f"'{word.text}' cannot stand at {place.point.name}",
            help=f"it belongs to {', '.join(points)}",
            consequence=NEVER,
        )
        return False


def standing_at(point: Point) -> tuple[str, ...]:
    """The built-ins that may stand at a point."""
    known = {**NAMED_BUILTINS, **REACT_BUILTINS}
    return tuple(name for name, points in known.items() if point.name in points)


def _program(line: str) -> str:
    words = line.split()
    word = os.path.basename(words[0].rstrip("/")) if words else ""
    safe = "".join(char for char in word if char.isprintable())
    return safe[:40] or "command"


def _host(url: str) -> str:
    try:
        return urlsplit(url).hostname or "http"
    except ValueError:  # reported already; the hook still needs a name
        return "http"
