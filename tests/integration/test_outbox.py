"""Notifications over time, by a clock that stands still: quiet hours, digests, retries."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import pytest

from hookline.adapters.store.sqlite import SqliteStore
from hookline.app import App
from hookline.config import load_settings
from hookline.hooks.calls.outbox import PAUSES
from hookline.operations.announcements import announce, tell_rest
from hookline.project import find_project
from hookline.queries.outbox import waits_for
from hookline.queries.waiting.attention import attention
from hookline.tasks import verbs
from hookline.testing import Clock
from hookline.wiring.calling.notifications import send_due
from tests.inbox import Inbox, listening

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from hookline.ports.store import Transaction

HOOK = "told"


class Desk:
    """A project with one notification, a server that takes it, and a clock of its own."""

    def __init__(self, folder: Path, inbox: Inbox) -> None:
        self.clock = Clock("2026-01-17T12:00:00.000Z")
        self.inbox = inbox
        self._root, self._home = folder / "project", folder / "home"
        (self._root / ".hookline").mkdir(parents=True)
        self.app = self.open()

    def open(self, **sections: Any) -> App:
        """The project, as a process opens it."""
        where = {"notify": "webhook", "url": f"{self.inbox.url}/in"}
        hooks = {"attention_needed": [{"name": HOOK, **where}]}
        given = {"version": 1, "hooks": hooks, **sections}
        (self._root / "hookline.yaml").write_text(json.dumps(given))
        env = {"HOOKLINE_HOME": str(self._home), "PATH": "/usr/bin:/bin", "USER": "ada"}
        project = find_project(str(self._root), env)
        store = SqliteStore(project.database, clock=self.clock)
        settings = load_settings(project, str(self._home))
        assert [each.message for each in settings.problems] == []
        return App(project, store, settings=settings, environ=env)

    def configure(self, **notifications: Any) -> None:
        """Begin again with other hours."""
        self.app.close()
        self.app = self.open(notifications=notifications)

    def block(self, goal: str) -> str:
        """A task that waits for a person, and the look that finds it."""

        def blocked(tx: Transaction) -> str:
            task = verbs.add(tx, goal)
            verbs.block(tx, task.id, reason="what now?")
            return task.id

        found = self.app.change(blocked)
        announce(self.app)
        return found

    def send(self) -> list[list[str]]:
        """Send what is due; the goals that each notification told."""
        before = len(self.inbox.received)
        asyncio.run(send_due(self.app))
        return [self._goals(each.said) for each in self.inbox.received[before:]]

    def _goals(self, said: dict[str, Any]) -> list[str]:
        return [each["message"].partition(" (")[2].partition(")")[0] for each in said["messages"]]

    def states(self) -> list[str]:
        """How each call of the hook stands, the oldest first."""
        with self.app.read() as view:
            return [each.status for each in reversed(view.calls.calls_of(HOOK))]

    def waits(self) -> tuple[str, str]:
        """What the newest call waits for."""
        with self.app.read() as view:
            return waits_for(self.app, view, view.calls.calls_of(HOOK)[0])

    def at(self, moment: str) -> None:
        """Let it be later."""
        self.clock.advance(Clock(moment)() - self.clock())


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    inbox = Inbox()
    with listening(inbox):
        made = Desk(tmp_path, inbox)
        yield made
        made.app.close()


# Digests


def test_the_first_is_told_at_once_and_what_follows_in_one_digest(desk: Desk) -> None:
    desk.block("one")
    assert desk.send() == [["one"]]
    for goal in ("two", "three"):
        desk.clock.advance(60)
        desk.block(goal)
        assert desk.send() == []
    assert desk.waits() == ("the digest", "until 2026-01-17T12:05:00.000Z")
    desk.clock.advance(179)
    assert desk.send() == []
    desk.clock.advance(1)
    assert desk.send() == [["two", "three"]]
    assert desk.inbox.received[-1].said["title"] == "project: 2 messages"
    desk.clock.advance(300)
    desk.block("four")
    assert desk.send() == [["four"]]
    assert desk.states() == ["ok"] * 4


def test_what_begins_to_wait_together_is_told_together(desk: Desk) -> None:
    for goal in ("one", "two", "three"):
        desk.block(goal)
    assert desk.send() == [["one", "two", "three"]]


def test_a_process_that_leaves_waits_for_no_digest(desk: Desk) -> None:
    desk.block("one")
    desk.send()
    desk.block("two")
    asyncio.run(tell_rest(desk.app))
    assert [desk._goals(each.said) for each in desk.inbox.received] == [["one"], ["two"]]


def test_a_flood_is_told_in_parts_that_can_be_read(desk: Desk) -> None:
    desk.configure(digest=0)
    for number in range(120):
        desk.block(f"task {number}")
    sent = desk.send()
    assert [len(each) for each in sent] == [100, 20]
    first = desk.inbox.received[0].said
    assert first["title"] == "project: 100 messages"
    assert first["text"].splitlines()[-1] == "and 80 more: hookline attention"
    assert len(first["text"].splitlines()) == 41


# Quiet hours


def test_what_happens_in_quiet_hours_is_told_at_their_end_in_one(desk: Desk) -> None:
    desk.configure(quiet="22:00-07:00", timezone="Europe/Berlin", digest="5m")
    desk.at("2026-10-24T20:00:00.000Z")  # the clocks are put back in this night
    desk.block("one")
    desk.clock.advance(3600)
    desk.block("two")
    assert desk.send() == []
    assert desk.waits() == ("quiet hours", "until 2026-10-25T06:00:00.000Z")
    desk.at("2026-10-25T05:59:59.000Z")
    asyncio.run(tell_rest(desk.app))  # not even one that leaves tells it
    assert desk.inbox.received == []
    desk.clock.advance(1)
    assert desk.send() == [["one", "two"]]


def test_what_nobody_sent_in_time_does_not_ring_at_night(desk: Desk) -> None:
    desk.configure(quiet="22:00-07:00", timezone="UTC")
    desk.at("2026-01-17T21:59:59.000Z")
    desk.block("one")
    desk.at("2026-01-17T23:00:00.000Z")
    assert desk.send() == []
    desk.at("2026-01-18T07:00:00.000Z")
    assert desk.send() == [["one"]]


def test_a_retry_does_not_ring_at_night(desk: Desk) -> None:
    desk.configure(quiet="22:00-07:00", timezone="UTC")
    desk.at("2026-01-17T21:59:55.000Z")
    desk.inbox.answers = [503]
    desk.block("one")
    assert desk.send() == [["one"]]
    desk.at("2026-01-17T22:00:05.000Z")
    assert desk.send() == []
    assert desk.waits()[0] == "quiet hours"
    desk.at("2026-01-18T07:00:00.000Z")
    assert desk.send() == [["one"]]
    first, second = desk.inbox.received
    assert (first.key, first.said) == (second.key, second.said)


# Attempts


def test_a_failed_attempt_is_repeated_with_growing_pauses_under_the_same_key(desk: Desk) -> None:
    desk.inbox.status = 503
    desk.block("one")
    assert desk.send() == [["one"]]
    for pause in PAUSES:
        assert desk.states() == ["queued"]
        desk.clock.advance(pause - 1)
        assert desk.send() == []
        desk.clock.advance(1)
        assert desk.send() == [["one"]]
    assert list(PAUSES) == sorted(PAUSES)
    assert len({(each.key, json.dumps(each.said)) for each in desk.inbox.received}) == 1
    assert desk.states() == ["dead"]


def dead(desk: Desk) -> None:
    """Give a notification up."""
    desk.inbox.status = 503
    desk.block("one")
    for pause in (0.0, *PAUSES):
        desk.clock.advance(pause)
        desk.send()
    desk.inbox.status = 200


def test_a_dead_letter_is_shown_until_a_later_one_arrives_and_is_never_announced(
    desk: Desk,
) -> None:
    dead(desk)
    shown = {item.kind: item for item in attention(desk.app)}
    assert shown.keys() == {"task", "dead call"}
    assert "given up after 7 attempts: the server answered 503" in shown["dead call"].message
    assert announce(desk.app) == 0
    with desk.app.read() as view:
        assert len(view.log.events(types=("attention_needed",))) == 1
        (error,) = view.log.events(types=("hook_error",))
    assert error.data["hookName"] == HOOK
    desk.clock.advance(60)
    desk.block("two")
    assert desk.send() == [["two"]]
    assert {item.kind for item in attention(desk.app)} == {"task"}


def test_what_comes_meanwhile_waits_for_what_could_not_be_sent(desk: Desk) -> None:
    desk.inbox.answers = [503]
    desk.block("one")
    assert desk.send() == [["one"]]
    desk.block("two")
    assert desk.send() == []
    assert desk.waits()[0] == "another try"
    assert "the last attempt failed: the server answered 503: try later" in desk.waits()[1]
    desk.clock.advance(PAUSES[0])
    assert desk.send() == [["one"]]
    desk.clock.advance(300)
    assert desk.send() == [["two"]]


def test_a_notification_that_was_composed_is_sent_as_it_was_by_whoever_comes_next(
    desk: Desk,
) -> None:
    desk.inbox.answers = [503]
    desk.block("one")
    desk.send()
    desk.app.close()
    desk.app = desk.open()
    with desk.app.read() as view:
        (task,) = view.graph.tasks()
    desk.app.change(lambda tx: verbs.update(tx, task.id, {"goal": "another goal"}))
    desk.clock.advance(PAUSES[0])
    assert desk.send() == [["one"]]
    first, second = desk.inbox.received
    assert (first.key, first.said) == (second.key, second.said)


def test_a_hook_that_is_gone_or_switched_off_sends_nothing_more(desk: Desk) -> None:
    desk.configure(digest=0)
    desk.block("one")
    desk.app.change(lambda tx: tx.switches.set(HOOK, False))
    assert desk.send() == []
    assert desk.states() == ["skipped"]
    desk.app.change(lambda tx: tx.switches.clear())
    desk.block("two")
    desk.app.registry.unregister(HOOK)
    assert desk.send() == []
    assert desk.states() == ["skipped", "skipped"]
    with desk.app.read() as view:
        assert view.outbox.is_empty()
