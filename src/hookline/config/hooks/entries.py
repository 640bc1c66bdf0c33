"""Entries of a `hooks:` block into hooks: which kind each is, what it is called, what is wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from hookline.config.checks.lines import check_condition
from hookline.config.hooks.acts import (
    BUILT_IN,
    KEYS,
    Act,
    ActReader,
    EntryPlace,
    Scope,
    built_ins_at,
)
from hookline.config.reading.convert import Converter
from hookline.config.reading.nodes import Mapping, Node, Pair, Scalar, Sequence, is_null
from hookline.config.settings import Tuning
from hookline.config.types import Entry
from hookline.errors import did_you_mean
from hookline.hooks.builtin import (
    CHAINS,
    NAMED_BUILTINS,
    NOTIFY,
    REACT_BUILTINS,
    STEER_BUILTINS,
)
from hookline.hooks.builtin.notify.arguments import KEYS as NOTIFY_KEYS
from hookline.hooks.chains import chained
from hookline.hooks.registry import DEFAULT_PRIORITY, NEVER, Hook
from hookline.plugins import KINDS
from hookline.points import FEED, GUARD, POINTS, REACT, STEER, Point

if TYPE_CHECKING:
    import collections.abc as abc

    from hookline.config.cache import Watched
    from hookline.config.reading.problems import Mark, Problems


class Names:
    """Who has which name."""

    def __init__(self, report: Problems) -> None:
        self._report = report
        self._owners: dict[str, Node] = {}
        self._shared: dict[tuple[str, int], Hook] = {}

    def share(self, hook: Hook, node: Node, place: EntryPlace) -> Hook:
        """The same entry at several points, through an alias, is one hook with several points."""
        shared = self._shared.setdefault((place.scope.prefix, id(node)), hook)
        if shared is not hook and place.point.name not in shared.points:
            shared.points += hook.points
            return shared
        if shared is hook:
            return self.claim(hook, node)
        mark = _name_mark(node)
        message = f"hook '{hook.name}' is listed twice at {place.point.name}"
        self._report.error("duplicate-name", mark, message, help="remove one of them")
        return hook

    def claim(self, hook: Hook, node: Node) -> Hook:
        """Take the hook's name for it, or report who has it."""
        mark = _name_mark(node)
        owner = self._owners.setdefault(hook.name, node)
        if hook.name in REACT_BUILTINS:
            message = f"'{hook.name}' is the name of a built-in hook"
            self._report.error("duplicate-name", mark, message, help="choose another name")
        elif owner is not node:
            message = f"hook '{hook.name}' is defined twice, first at {_name_mark(owner)}"
            help = "give one of them another name"
            self._report.error("duplicate-name", mark, message, help=help)
        if not hook.name.isprintable():
            self._report.error("bad-name", mark, "a hook's name must be printable, on one line")
        return hook


def _name_mark(node: Node) -> Mark:
    name = node.get("name") if isinstance(node, Mapping) else None
    return name.mark if name is not None else node.mark


_KEYS = Entry.__struct_fields__
_TUNED = {**REACT_BUILTINS, **STEER_BUILTINS}
_TUNING_KEYS = ("name", "enabled", "priority", "description")
# Whose hooks are called for an event or a run, which belong to no agent and no task type.
FOR_ALL = (REACT, STEER)
_AS_WRITTEN = (
    *("when", "timeout", "pipe_output", "on_failure"),
    *("rewrites", "env", "headers", "description"),
)
# What has a meaning under one rule only.
_RULE_OF_KEY = {"pipe_output": FEED, "deliver": FEED, "on_failure": GUARD, "rewrites": GUARD}


class EntryReader:
    """Reads every `hooks:` block of all layers, so that names are unique among all of them."""

    def __init__(
        self,
        report: Problems,
        points: abc.Mapping[str, Point],
        agents: abc.Mapping[str, Any],
        rules: abc.Collection[str] | None = None,
    ) -> None:
        self._report, self._points = report, points
        self._acts = ActReader(report, agents, rules)
        self._names = Names(report)
        self._quiet: set[str] = set()
        self.tuning: dict[str, dict[str, Tuning]] = {"project": {}, "user": {}}

    @property
    def watched(self) -> list[Watched]:
        """The files whose state the checks depended on."""
        return self._acts.watched

    def read_block(self, block: Node | None, scope: Scope) -> dict[str, list[Hook]]:
        """The hooks of a block by point, in order; what cannot be read is left out."""
        if block is None or is_null(block):
            return {}
        if not isinstance(block, Mapping):
            self._report.error(
                "wrong-type",
                block.mark,
                f"'{scope.path}' must be a mapping of points to lists",
                help='write it as `post_iteration: [{command: "make lint"}]`',
            )
            return {}
        found: dict[str, list[Hook]] = {}
        for name, (key, value) in block.pairs.items():
            point = self.point(name, key.mark)
            if point is None or is_null(value) or not self._may_own(point, key, scope):
                continue
            if not isinstance(value, Sequence):
                self._not_a_list(value, scope, name)
                continue
            if value.items:
                self.warn_if_quiet(point, key.mark)
            read = [self._entry(n, EntryPlace(scope, point, i)) for i, n in enumerate(value.items)]
            found[name] = [hook for hook in read if hook is not None]
        return found

    def point(self, name: str, mark: Mark) -> Point | None:
        """The hook point of that name; an unknown one is reported."""
        if name not in self._points:
            message = f"no hook point named '{name}'"
            help = did_you_mean(
                name,
                self._points,
                "`hookline points` lists them all; event types of your own "
                "are listed under `events:`",
            )
            self._report.error("unknown-point", mark, message, help=help, consequence=NEVER)
        return self._points.get(name)

    def _may_own(self, point: Point, key: Scalar, scope: Scope) -> bool:
        """Whether a block's hooks count at a point: those of an agent or a type not at events."""
        if scope.is_top or point.rule not in FOR_ALL:
            return True
        theirs = [each.name for each in POINTS.values() if each.fires and each.rule not in FOR_ALL]
        self._report.error(
            "misplaced-hooks",
            key.mark,
            f"'{scope.path}' cannot hold {point.name}: its hooks are the same for all",
            help="put them under the file's own `hooks:`; agents and task types have hooks of "
            f"their own at {', '.join(theirs)}",
            consequence="these hooks would never run",
        )
        return False

    def warn_if_quiet(self, point: Point, mark: Mark) -> None:
        """Say once for each point that nothing fires it yet."""
        if not point.fires and point.name not in self._quiet:
            self._quiet.add(point.name)
            message = f"nothing fires '{point.name}' in this version"
            help = "the hooks are checked and kept for the version that does"
            consequence = "these hooks do not run yet"
            self._report.warning("never-fires", mark, message, help=help, consequence=consequence)

    def _not_a_list(self, node: Node, scope: Scope, point: str) -> None:
        message = f"'{scope.path}.{point}' must be a list of hooks"
        help = "put '- ' before each hook"
        self._report.error("wrong-type", node.mark, message, help=help, consequence=NEVER)

    def _entry(self, node: Node, place: EntryPlace) -> Hook | None:
        if isinstance(node, Scalar) and not is_null(node):
            return self._built_in(node, node, place, Entry(enabled=True))
        if isinstance(node, Mapping):
            return self._mapping(node, place)
        message = f"'{place.path}' must be a built-in's name or a mapping"
        help = 'such as {command: "pytest -q"}'
        self._report.error("wrong-type", node.mark, message, help=help, consequence=NEVER)
        return None

    def _mapping(self, node: Mapping, place: EntryPlace) -> Hook | None:
        entry = self._convert(node, place)
        self._check_effects(node, place)
        when = node.get("when")
        if entry.when is not None and isinstance(when, Scalar):
            check_condition(when, place.point, self._report)
        acts = [key for key in node.pairs if self._is_act(key)]
        if len(acts) > 1:
            message = f"a hook runs one thing, not {' and '.join(acts)}"
            help = "split it into two hooks"
            self._report.error("one-act", node.pairs[acts[1]].key.mark, message, help=help)
        name = node.get("name")
        if acts:
            act = self._act(acts[0], node, place, entry)
            return self._hook(node, place, entry, act) if act else None
        if isinstance(name, Scalar):
            return self._built_in(name, node, place, entry)
        message = "this hook runs nothing"
        help = f"give it one of {', '.join(KEYS)}, or a built-in's name"
        self._report.error("no-act", node.mark, message, help=help, consequence=NEVER)
        return None

    def _is_act(self, key: str) -> bool:
        """Whether a key says what a hook runs; other keys are known without asking plugins."""
        return key in KEYS or key in NAMED_BUILTINS or (key not in _KEYS and KINDS.knows(key))

    def _act(self, key: str, node: Mapping, place: EntryPlace, entry: Entry) -> Act | None:
        if key not in CHAINS:
            return self._acts.act(key, node, place, entry)
        if not self._acts.check_point(node.pairs[key].key, NAMED_BUILTINS[key], place):
            return None
        links = self._acts.stop.links(node.pairs[key], place)
        read = [self._entry(child, at) for child, at in links]
        hooks = [hook for hook in read if hook is not None]
        return Act(BUILT_IN, key, key, chained(hooks)) if hooks else None

    def _convert(self, node: Mapping, place: EntryPlace) -> Entry:
        known: dict[str, Pair] = {}
        for key, pair in node.pairs.items():
            if key in _KEYS:
                known[key] = pair
            elif not self._is_act(key) and not (NOTIFY in node.pairs and key in NOTIFY_KEYS):
                beside = NOTIFY_KEYS if NOTIFY in node.pairs else ()
                words = (*KEYS, *_KEYS, *beside, *built_ins_at(place.point))
                self._report.error(
                    "unknown-key",
                    pair.key.mark,
                    f"a hook has no key '{key}'",
                    help=did_you_mean(key, words, f"known keys: {', '.join((*KEYS, *_KEYS))}"),
                    consequence="this would be ignored",
                )
        converter = Converter(self._report)
        return converter.convert(Mapping(known, node.mark), Entry, place.path)  # type: ignore[no-any-return]

    def _check_effects(self, node: Mapping, place: EntryPlace) -> None:
        for key, rule in _RULE_OF_KEY.items():
            if key in node.pairs and place.point.rule != rule:
                self._no_effect(node.pairs[key].key, f"at {place.point.name}")
        for key, act in (("headers", "http"), ("prompt", "agent"), ("options", "command")):
            if key in node.pairs and act not in node.pairs:
                self._no_effect(node.pairs[key].key, f"without '{act}'")
        if place.within and "priority" in node.pairs:
            self._no_effect(node.pairs["priority"].key, "in a chain, which has its own order")

    def _no_effect(self, key: Scalar, where: str) -> None:
        self._report.warning("no-effect", key.mark, f"'{key.text}' has no effect {where}")

    def _built_in(self, name: Scalar, node: Node, place: EntryPlace, entry: Entry) -> Hook | None:
        if name.text in _TUNED:
            self._tune(name, node, place, entry)
            return None
        act = self._acts.built_in(name.text, None, place, name)
        nameless = Entry(**{k: getattr(entry, k) for k in _KEYS if k != "name"})
        return self._hook(node, place, nameless, act) if act else None

    def _tune(self, name: Scalar, node: Node, place: EntryPlace, entry: Entry) -> None:
        self._acts.check_point(name, _TUNED[name.text], place)
        pairs = node.pairs if isinstance(node, Mapping) else {}
        for key in pairs:
            if key in _KEYS and key not in _TUNING_KEYS:
                message = f"'{key}' of the built-in '{name.text}' cannot be changed"
                help = "only `enabled` and `priority` can"
                self._report.error("fixed-built-in", pairs[key].key.mark, message, help=help)
        if not place.scope.is_top:
            message = f"'{name.text}' can only be changed under the top-level `hooks:`"
            self._report.error("misplaced-built-in", name.mark, message)
            return
        wanted = Tuning(entry.enabled, entry.priority)
        self._keep_tuning(name, wanted, place.scope.source.layer, str(node.mark))

    def _keep_tuning(self, name: Scalar, wanted: Tuning, layer: str, origin: str) -> None:
        kept = self.tuning[layer]
        old = kept.get(name.text)
        if old is not None and (old.enabled, old.priority) != (wanted.enabled, wanted.priority):
            message = f"'{name.text}' has other settings at {old.origin}"
            help = "a built-in is one hook at all its points: configure it once"
            self._report.error("duplicate-name", name.mark, message, help=help)
        kept.setdefault(name.text, Tuning(wanted.enabled, wanted.priority, origin))

    def _hook(self, node: Node, place: EntryPlace, entry: Entry, act: Act) -> Hook:
        generated = f"{place.scope.prefix}{place.label}:{act.label}"
        hook = Hook(
            name=entry.name or generated,
            points=(place.point.name,),
            kind=act.kind,
            target=act.target,
            runs=act.runs,
            priority=DEFAULT_PRIORITY if entry.priority is None else entry.priority,
            layer=place.scope.source.layer,
            position=place.number + 1,
            enabled=entry.enabled is not False,
            origin=str(node.mark),
            metadata=_metadata(node, entry, act),
            **{name: getattr(entry, name) for name in _AS_WRITTEN},
        )
        # A hook of a chain belongs to it alone, so it never becomes one with another.
        shared = entry.name and not place.within
        return self._names.share(hook, node, place) if shared else self._names.claim(hook, node)


def _metadata(node: Node, entry: Entry, act: Act) -> dict[str, Any]:
    given = isinstance(node, Mapping) and "deliver" in node.pairs
    delivery = {"deliver": entry.deliver} if given else {}
    options = {"options": entry.options} if entry.options else {}
    return {**act.metadata, **delivery, **options, **msgspec.to_builtins(entry.metadata)}
