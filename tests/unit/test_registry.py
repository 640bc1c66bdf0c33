"""The registry: what it refuses and in which words, the one order, and running an event's hooks."""

from __future__ import annotations

import asyncio
import functools
from typing import Any

import pytest

import hookline
from hookline.domain.hooks.records import Action
from hookline.errors import BadHook, HooklineError, UnknownHook
from hookline.hooks.builtin.lifecycle import lifecycle_hooks
from hookline.hooks.registry import DEFAULT_PRIORITY, Hook, HookRegistry, hook
from hookline.testing import context, event


def nothing(event: Any, context: Any) -> None:
    """Answers nothing."""


def make(name: str, **options: Any) -> Hook:
    return Hook(**{"name": name, "points": ("task_created",), "handler": nothing, **options})


def names(hooks: Any) -> list[str]:
    return [each.name for each in hooks]


# What is refused.


def test_a_name_is_taken_once_and_both_places_are_named() -> None:
    registry = HookRegistry([make("lint", origin="hookline.yaml:3")])
    with pytest.raises(BadHook) as caught:
        registry.register(make("lint", origin="myhooks:lint"))
    message = caught.value.message
    assert "'lint'" in message
    assert "hookline.yaml:3" in message
    assert "myhooks:lint" in message
    assert caught.value.help == "give one of them another name"


def test_a_refused_hook_leaves_the_registry_as_it_was() -> None:
    first = make("lint")
    registry = HookRegistry([first])
    with pytest.raises(BadHook):
        registry.register(make("lint", priority=0))
    with pytest.raises(BadHook):
        registry.register(make("other", points=()))
    assert registry.list() == [first]
    assert registry.get("lint") is first
    assert "other" not in registry


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"points": ()}, "hook 'h' subscribes to nothing"),
        ({"handler": None}, "hook 'h' has no function to call: its handler is None"),
        ({"handler": "myhooks:lint"}, "hook 'h' has no function to call.*'myhooks:lint'"),
        ({"kind": "built-in", "handler": 3}, "hook 'h' has no function to call.* 3"),
        ({"handler": lambda: None}, r"hook 'h' cannot be called with \(event, context\).*\(\)"),
        ({"handler": lambda one: None}, r"hook 'h' cannot be called.*\(one\)"),
        ({"handler": lambda a, b, c: None}, "hook 'h' cannot be called.*missing.*'c'"),
        ({"handler": lambda a, *, context: None}, "hook 'h' cannot be called"),
        ({"kind": "carrier-pigeon"}, "hook 'h' has an unknown kind.*carrier-pigeon"),
        ({"layer": "cellar"}, "hook 'h' has an unknown.*cellar"),
        ({"name": ""}, "name must be printable text, not ''"),
        ({"name": "a\nb"}, r"name must be printable text, not 'a\\nb'"),
        ({"on_failure": "opne"}, "hook 'h'.*opne"),
        ({"points": "task_created"}, "hook 'h' has points='task_created': they must be a tuple"),
        ({"points": 3}, "hook 'h' has points=3: they must be a tuple"),
        ({"points": ("task_created", "task_complted")}, "'h'.*no hook point.*'task_complted'"),
        ({"points": (["task_created"],)}, r"hook 'h'.*no hook point.*\['task_created'\]"),
        ({"when": "'x' in tsk.labels"}, r"hook 'h' has when=.*there is no name 'tsk'.*'task'"),
        ({"when": "task.labels ="}, "hook 'h' has when='task.labels =': syntax error"),
        ({"when": "iteration > 1"}, "hook 'h' has when=.*no name 'iteration'"),
        ({"when": ""}, "hook 'h' has when='': the condition is empty"),
        ({"when": True}, "hook 'h' has when=True: it must be text"),
        ({"priority": "5"}, "hook 'h' has priority='5': it must be a whole number"),
        ({"priority": 1.5}, "hook 'h' has priority=1.5"),
        ({"priority": True}, "hook 'h' has priority=True"),
        ({"priority": None}, "hook 'h' has priority=None"),
    ],
)
def test_a_bad_hook_is_refused_at_once_by_name(options: dict[str, Any], message: str) -> None:
    with pytest.raises(BadHook, match=message):
        HookRegistry().register(make(**{"name": "h", **options}))


@pytest.mark.parametrize(
    "handler",
    [
        lambda event, context: None,
        lambda *args: None,
        lambda event, context=None, more=1: None,
        functools.partial(lambda extra, event, context: None, 1),
        max,
    ],
)
def test_anything_that_takes_two_arguments_can_be_a_hook(handler: Any) -> None:
    assert HookRegistry().register(make("h", handler=handler)).handler is handler


@pytest.mark.parametrize("kind", ["command", "script", "http", "agent", "python"])
def test_a_configured_hook_needs_no_function(kind: str) -> None:
    HookRegistry([make("h", kind=kind, target="x:y", handler=None)])


def test_an_async_function_can_be_a_hook() -> None:
    async def handler(event: Any, context: Any) -> None: ...

    HookRegistry([make("h", handler=handler)])


# The one order.


def test_low_priorities_come_first_and_zero_is_one_of_them() -> None:
    registry = HookRegistry(
        [
            make("default"),
            make("late", priority=200),
            make("zero", priority=0),
            make("one", priority=1),
        ]
    )
    assert names(registry.hooks_for("task_created")) == ["zero", "one", "default", "late"]
    assert names(registry.list()) == ["zero", "one", "default", "late"]
    assert registry.get("default").priority == DEFAULT_PRIORITY == 100


def test_a_negative_priority_comes_before_zero() -> None:
    registry = HookRegistry([make("zero", priority=0), make("below", priority=-1)])
    assert names(registry.hooks_for("task_created")) == ["below", "zero"]


def test_layers_and_then_positions_decide_between_equals() -> None:
    registry = HookRegistry(
        [
            make("built-in", layer="built-in", position=1),
            make("plugin", layer="plugin", position=1),
            make("user", layer="user", position=1),
            make("project-2", position=2),
            make("project-1", position=1),
            make("first", layer="built-in", priority=5, position=9),
        ]
    )
    assert names(registry.hooks_for("task_created")) == [
        *("first", "project-1", "project-2", "user", "plugin", "built-in")
    ]


def test_without_a_position_the_order_is_that_of_registration() -> None:
    registry = HookRegistry(make(name) for name in ("c", "a", "b"))
    assert names(registry.hooks_for("task_created")) == ["c", "a", "b"]


def test_the_order_of_registration_survives_removals() -> None:
    registry = HookRegistry(make(name) for name in ("a", "b", "c", "d"))
    registry.unregister("a")
    registry.unregister("b")
    registry.register(make("e"))
    assert names(registry.hooks_for("task_created")) == ["c", "d", "e"]


def test_a_hook_stands_at_each_of_its_points_and_nowhere_else() -> None:
    registry = HookRegistry(
        [make("both", points=("task_created", "task_failed")), make("one", points=("task_failed",))]
    )
    assert names(registry.hooks_for("task_created")) == ["both"]
    assert names(registry.hooks_for("task_failed")) == ["both", "one"]
    assert names(registry.hooks_for("r")) == []


def test_a_hook_that_is_switched_off_is_listed_and_not_run() -> None:
    registry = HookRegistry([make("on"), make("off", enabled=False)])
    assert names(registry.hooks_for("task_created")) == ["on"]
    assert names(registry.subscribers("task_created")) == ["on", "off"]
    registry.get("off").enabled = True
    assert names(registry.hooks_for("task_created")) == ["on", "off"]


# Finding and removing.


def test_a_hook_is_found_by_its_name() -> None:
    lint = make("lint")
    registry = HookRegistry([lint])
    assert registry.get("lint") is lint
    assert registry.find("lint") is lint
    assert registry.find("other") is None
    assert "lint" in registry


@pytest.mark.parametrize("verb", ["get", "unregister"])
def test_an_unknown_name_is_an_error_that_shows_the_nearest(verb: str) -> None:
    registry = HookRegistry([make("track-metrics"), make("lint")])
    with pytest.raises(UnknownHook, match="no hook is called 'trak-metrics'") as caught:
        getattr(registry, verb)("trak-metrics")
    assert caught.value.help == "did you mean 'track-metrics'?"
    with pytest.raises(UnknownHook, match="'zzz'"):
        getattr(registry, verb)("zzz")


def test_a_removed_hook_runs_no_more_and_its_name_is_free() -> None:
    registry = HookRegistry([make("a"), make("b")])
    assert names(registry.hooks_for("task_created")) == ["a", "b"]
    registry.unregister("a")
    assert names(registry.hooks_for("task_created")) == ["b"]
    registry.register(make("a"))
    assert sorted(names(registry.list())) == ["a", "b"]


# What is allowed.


def test_a_refusal_shows_what_was_probably_meant() -> None:
    with pytest.raises(BadHook) as caught:
        HookRegistry().register(make("h", points=("task_complted",)))
    assert caught.value.help == "did you mean 'task_completed'?"
    with pytest.raises(BadHook) as caught:
        HookRegistry().register(make("h", points="task_created"))
    assert caught.value.help == "write points=('task_created',)"


def test_event_types_of_ones_own_are_points_once_they_are_named() -> None:
    registry = HookRegistry(events=["deploy"])
    registry.register(make("ship", points=("deploy",), when="event.data.to == 'prod'"))
    with pytest.raises(BadHook, match="no hook point is called 'rollback'"):
        registry.register(make("back", points=("rollback",)))
    registry.events.add("rollback")
    registry.register(make("back", points=("rollback",)))
    assert names(registry.list()) == ["ship", "back"]


def test_a_condition_is_checked_against_each_point() -> None:
    HookRegistry([make("h", points=("pre_iteration",), when="iteration > 1")])
    with pytest.raises(BadHook, match="no name 'iteration'"):
        HookRegistry([make("h", points=("pre_iteration", "task_created"), when="iteration > 1")])


# The decorator.


def test_the_decorator_makes_a_hook_and_registers_nothing() -> None:
    @hook("task_completed", "task_failed", priority=0, when="task.priority == 0", timeout=2)
    def page_me(event: Any, context: Any) -> list[Action]:
        """Pages me."""
        return [Action("log", {"type": event})]

    assert isinstance(page_me, Hook)
    assert (page_me.name, page_me.points) == ("page_me", ("task_completed", "task_failed"))
    assert (page_me.priority, page_me.when, page_me.timeout) == (0, "task.priority == 0", 2)
    assert (page_me.kind, page_me.enabled, page_me.description) == ("python", True, "Pages me.")
    assert page_me.origin.startswith("tests.unit.test_registry:")
    assert page_me("x", None) == [Action("log", {"type": "x"})]
    assert names(HookRegistry([page_me]).hooks_for("task_failed")) == ["page_me"]


def test_the_decorator_takes_a_name_and_every_other_option() -> None:
    made = hook("stop", name="my-stop", enabled=False, metadata={"author": "me"})(nothing)
    assert (made.name, made.enabled, made.metadata) == ("my-stop", False, {"author": "me"})


def test_a_hook_without_a_function_cannot_be_called_like_one() -> None:
    with pytest.raises(BadHook, match="hook 'h' has no function to call"):
        Hook(name="h", points=("task_created",), kind="command", target="true")("event", None)


def test_the_public_names_are_these() -> None:
    assert hookline.HookRegistry is HookRegistry
    assert hookline.Hook is Hook
    assert hookline.hook is hook
    with pytest.raises(AttributeError, match="nonsense"):
        _ = hookline.nonsense
    assert issubclass(BadHook, HooklineError)


# Running the hooks of an event.


def test_the_review_of_an_agents_task_and_its_figures_are_both_asked_for() -> None:
    done = event("task_completed", "task_42", {"result": "Research complete"})
    around = context(
        {"task_42": {"goal": "Research patterns", "labels": ["agent", "research"], "priority": 1}}
    )
    actions = asyncio.run(HookRegistry(lifecycle_hooks()).execute(done, around))
    assert [action.type for action in actions] == ["create_task", "log"]
    review, figures = (action.payload for action in actions)
    assert review["goal"] == "Review: Research patterns"
    assert review["labels"] == ["review", "agent", "research"]
    assert review["parentTaskId"] == "task_42"
    assert (figures["type"], figures["nodeId"]) == ("agent_metrics", "task_42")


def test_a_failing_hook_does_not_break_execution() -> None:
    async def failing(event: Any, context: Any) -> list[Action]:
        raise RuntimeError("Test error")

    async def succeeding(event: Any, context: Any) -> list[dict[str, Any]]:
        return [{"type": "log", "payload": {}}]

    registry = HookRegistry(
        [
            make("failing-hook", points=("test_event",), priority=10, handler=failing),
            make("success-hook", points=("test_event",), priority=20, handler=succeeding),
        ],
        events=["test_event"],
    )
    actions = asyncio.run(registry.execute(event("test_event", "x"), context()))
    assert actions == [Action("log", {})]
    assert [(each.hook, each.error) for each in actions.failures] == [
        ("failing-hook", "RuntimeError: Test error")
    ]


def test_only_the_hooks_that_are_switched_on_are_executed_in_order() -> None:
    def logs(n: int) -> Any:
        return lambda event, context: [Action("log", {"n": n, "type": event.type})]

    registry = HookRegistry(
        [
            make("b", handler=logs(2)),
            make("off", handler=logs(9), enabled=False),
            make("a", handler=logs(1), priority=0),
            make("elsewhere", handler=logs(9), points=("task_failed",)),
        ]
    )
    assert asyncio.run(registry.execute(event("task_created"), context())) == [
        Action("log", {"n": 1, "type": "task_created"}),
        Action("log", {"n": 2, "type": "task_created"}),
    ]
