"""A program that registers hooks with an App: conditions, failures, and what is refused."""

from __future__ import annotations

import asyncio
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


def test_conditions_hold_back_hooks_that_are_registered_in_a_program(app: App) -> None:
    ran: list[str] = []

    @hook("task_created", when="'urgent' in task.labels")
    def page(event: Any, context: Any) -> None:
        ran.append(event.node_id)

    app.registry.register(page)
    app.change(verbs.add, "quiet")
    app.change(verbs.add, "loud", labels=["urgent"])
    assert asyncio.run(app.deliver()).failures == ()
    assert ran == ["T-2"]


def test_a_delivery_names_the_hooks_and_actions_that_failed(app: App) -> None:
    def gone(event: Any, context: Any) -> None:
        raise asyncio.CancelledError

    def asks(event: Any, context: Any) -> list[Action]:
        missing = {"taskId": "T-9", "action": "complete"}
        return [Action("update_task", missing), Action("log", {"type": "seen"})]

    for function in (gone, asks):
        app.registry.register(hook("task_created")(function))
    app.change(verbs.add, "one")
    delivered = asyncio.run(app.deliver())
    assert delivered == 1
    called, carried_out = delivered.failures
    assert (called.hook, called.error) == ("gone", "CancelledError")
    assert carried_out.hook == "asks"
    assert carried_out.error == "action update_task failed: there is no task T-9"
    assert asyncio.run(app.deliver()).failures == ()
    with app.read() as view:
        assert len(view.log.events(types=["seen"])) == 1


def test_registration_knows_the_event_types_of_the_project(app: App) -> None:
    ship = hook("deploy", name="ship")(lambda event, context: None)
    with pytest.raises(BadHook, match=r"hook 'ship'.*no hook point is called 'deploy'"):
        app.registry.register(ship)
    app.registry.events.add("deploy")
    app.registry.register(ship)
    app.emit("deploy", {})
    assert asyncio.run(app.deliver()) == 1


def test_registration_knows_the_events_of_the_configuration(app: App, tmp_path: Path) -> None:
    (tmp_path / "project" / "hookline.yaml").write_text("version: 1\nevents: [deploy]\n")
    again = App.open(str(tmp_path / "project"), environ=app.environ)
    try:
        again.registry.register(hook("deploy", name="ship")(lambda event, context: None))
    finally:
        again.close()
