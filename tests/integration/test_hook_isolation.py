"""Whatever a hook of a program raises or returns, it is a failure of that hook alone."""

from __future__ import annotations

import asyncio
from math import inf, nan
from typing import TYPE_CHECKING, Any

import pytest

from hookline import Action, App, hook
from hookline.errors import BadHook
from hookline.tasks import verbs

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def app(tmp_path: Path) -> Iterator[App]:
    (tmp_path / "project" / ".hookline").mkdir(parents=True)
    environ = {"HOOKLINE_HOME": str(tmp_path / "home"), "USER": "ada"}
    opened = App.open(str(tmp_path / "project"), environ=environ)
    yield opened
    opened.close()


class Mute(Exception):
    """Cannot say what it is."""

    def __str__(self) -> str:
        raise LookupError


class MuteToo(Exception):
    """Ends the program of whoever asks what it is."""

    def __str__(self) -> str:
        raise SystemExit(3)


class Own(BaseException):
    """No Exception at all."""


RAISED = (
    (Mute(), "Mute: it cannot be described"),
    (MuteToo(), "MuteToo: it cannot be described"),
    (Own("away"), "Own: away"),
    (BaseExceptionGroup("all", [Own()]), "BaseExceptionGroup: all (1 sub-exception)"),
    (GeneratorExit(), "GeneratorExit"),
    (asyncio.CancelledError(), "CancelledError"),
    (SystemExit(4), "SystemExit: 4"),
    (ValueError("\ud800"), "ValueError: \\ud800"),
)


def raising(problem: BaseException, *, is_async: bool) -> Any:
    def at_once(event: Any, context: Any) -> None:
        raise problem

    async def later(event: Any, context: Any) -> None:
        await asyncio.sleep(0)
        raise problem

    return later if is_async else at_once


@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize(("problem", "told"), RAISED, ids=[each[1] for each in RAISED])
def test_what_a_hook_raises_is_its_own_failure(
    app: App, problem: BaseException, told: str, is_async: bool
) -> None:
    ran: list[str] = []
    app.registry.register(hook("task_created", name="bad")(raising(problem, is_async=is_async)))
    app.registry.register(
        hook("task_created", name="good")(lambda event, context: ran.append(event.node_id))
    )
    app.change(verbs.add, "one")
    delivered = asyncio.run(app.deliver())
    assert [(each.hook, each.error) for each in delivered.failures] == [("bad", told)]
    with app.read() as view:
        event = view.log.events(types=("task_created",))[0]
    actions = asyncio.run(app.registry.execute(event, app.context()))
    assert [(each.hook, each.error) for each in actions.failures] == [("bad", told)]
    assert ran == ["T-1", "T-1"]


def test_whoever_ends_the_program_ends_the_hooks(app: App) -> None:
    interrupted = raising(KeyboardInterrupt(), is_async=False)
    app.registry.register(hook("task_created", name="stop")(interrupted))
    app.change(verbs.add, "one")
    with app.read() as view:
        event = view.log.events(types=("task_created",))[0]
    with pytest.raises(KeyboardInterrupt):
        asyncio.run(app.registry.execute(event, app.context()))


def test_hooks_that_nobody_waits_for_any_more_end(app: App) -> None:
    ran: list[str] = []

    async def waits(event: Any, context: Any) -> None:
        await asyncio.sleep(3600)

    app.registry.register(hook("task_created")(waits))
    app.registry.register(hook("task_created", name="next")(lambda event, _: ran.append("next")))
    app.change(verbs.add, "one")
    with app.read() as view:
        event = view.log.events(types=("task_created",))[0]

    async def leave(how: str) -> None:
        running = app.registry.execute(event, app.context())
        if how == "close":
            running.send(None)
            running.close()
            return
        task = asyncio.create_task(running)
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    for how in ("close", "cancel"):
        asyncio.run(leave(how))
    assert ran == []


@pytest.mark.parametrize(
    ("option", "value"),
    [
        *(("timeout", value) for value in ("5", [1], 10**400, -1, 0, nan, inf, True)),
        *(("enabled", value) for value in ("no", 0, None)),
        ("pipe_output", "yes"),
        ("rewrites", 1),
        ("env", {"A": 1}),
        ("headers", ["a"]),
        ("description", 5),
        ("metadata", None),
        ("position", "1"),
    ],
)
def test_an_argument_of_the_wrong_type_is_refused(app: App, option: str, value: Any) -> None:
    made = hook("task_created", name="mine")(lambda event, context: None)
    setattr(made, option, value)
    with pytest.raises(BadHook, match=rf"^hook 'mine' has {option}="):
        app.registry.register(made)
    assert "mine" not in app.registry


def test_a_name_that_is_no_text_is_refused(app: App) -> None:
    number: Any = 5
    with pytest.raises(BadHook, match="a hook's name must be printable text, not 5"):
        app.registry.register(hook("task_created", name=number)(lambda event, context: None))


@pytest.mark.parametrize("number", [nan, inf, -inf])
def test_what_is_no_number_is_the_error_of_its_action(app: App, number: float) -> None:
    def asks(event: Any, context: Any) -> list[Action]:
        return [
            Action("log", {"type": "measured", "data": {"a": [1, {"b": number}]}}),
            Action("log", {"type": "seen", "data": {"a": 1.5}}),
        ]

    app.registry.register(hook("task_created")(asks))
    app.change(verbs.add, "one")
    (failed,) = asyncio.run(app.deliver()).failures
    told = f"the payload of log contains {number}, which is not a finite number"
    assert (failed.hook, failed.error) == ("asks", f"action log failed: {told}")
    with app.read() as view:
        assert [each.data for each in view.log.events(types=("seen",))] == [{"a": 1.5}]
        assert view.log.events(types=("measured",)) == []
        (error,) = view.log.events(types=("action_error",))
        event = view.log.events(types=("task_created",))[0]
    assert error.data["error"] == told
    actions = asyncio.run(app.registry.execute(event, app.context()))
    assert [each.payload["type"] for each in actions] == ["seen"]
    assert [each.error for each in actions.failures] == [told]
