"""Insights over a recorded day that was written again many times, counted again event by event."""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from contextlib import closing
from datetime import datetime, timedelta
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
from benchmarks.many_sessions import SESSIONS, multiply, recorded_day

from hookline.adapters.store.copying import copy_rows
from hookline.adapters.store.postgres.store import PostgresStore
from hookline.adapters.store.sqlite import SqliteStore
from hookline.app import App
from hookline.domain.projection import Fold
from hookline.domain.runs.projection import RunFold, differences
from hookline.domain.timestamps import seconds
from hookline.flows import journal
from hookline.insights import Selection, insights
from hookline.wiring.project.stores import is_kept
from tests.postgres_server import new_project

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hookline.domain.events import Event
    from hookline.domain.hooks.records import Delivery
    from tests.postgres_server import PostgresServer

COPIES = 6
WEEK = 7 * 86400.0
OVER = ("task_completed", "task_failed", "task_cancelled")


class Recorded(NamedTuple):
    """All that the store has: events, the calls of each, and the apps that show it."""

    events: list[Event]
    calls: dict[int, list[Delivery]]
    apps: list[App]


@pytest.fixture(scope="module")
def recorded(
    tmp_path_factory: pytest.TempPathFactory, postgres: PostgresServer
) -> Iterator[Recorded]:
    made = recorded_day(str(tmp_path_factory.mktemp("day")))
    path = os.path.join(made.root, ".hookline", "hookline.db")
    multiply(path, COPIES, WEEK / 2)
    url = new_project(postgres)
    with closing(SqliteStore(path)) as source, closing(PostgresStore(url)) as target:
        copy_rows(source, target, lambda view: None)
    environments: list[dict[str, str]] = [{}, {"HOOKLINE_STORE": url}]
    apps = [
        App.open(made.root, environ={**made.env, **more}, read_only=True) for more in environments
    ]
    assert all(is_kept(app.store) for app in apps)
    with apps[0].read() as view:
        events = list(view.log.stream())
        calls = {event.seq: view.calls.deliveries(event.seq) for event in events}
    yield Recorded(events, calls, apps)
    for app in apps:
        app.close()


def shown(found: Recorded, table: str, *by: Any) -> list[dict[str, Any]]:
    """The rows of a table, which are the same in both stores."""
    # The copies are of days to come.
    selection = Selection(until="2099-01-01T00:00:00.000Z", by=by)
    one, two = (insights(app, selection, (table,)).tables[0] for app in found.apps)
    assert one.rows == two.rows
    assert one.charts == two.charts
    names = [column.name for column in one.columns]
    return [dict(zip(names, row, strict=True)) for row in one.rows]


def week_of(moment: str) -> str:
    day = datetime.fromisoformat(moment).date()
    return (day - timedelta(days=day.weekday())).isoformat()


def of_type(found: Recorded, *types: str) -> list[Event]:
    return [event for event in found.events if event.type in types]


@pytest.mark.torture
def test_the_copies_are_as_sound_as_what_they_are_copies_of(recorded: Recorded) -> None:
    sessions = of_type(recorded, "session_started")
    assert len(sessions) == SESSIONS * (COPIES + 1)
    records = [event for event in recorded.events if "checksum" in event.data]
    assert len(list(journal.verify(records))) == len(records) > 1000
    for app in recorded.apps:
        with app.read() as view:
            fold = RunFold().add_all(view.log.events())
            assert list(differences(fold, view.runs.rows, [])) == []
            assert view.log.gaps() == 0
            states = {
                name: task["state"] for name, task in Fold().add_all(recorded.events).tasks.items()
            }
            assert {name: view.graph.task(name).state for name in states} == states


@pytest.mark.torture
def test_tasks_are_counted_again(recorded: Recorded) -> None:
    expected: dict[str, Counter[str]] = defaultdict(Counter)
    for event in of_type(recorded, "task_completed"):
        count, task = expected[week_of(event.timestamp)], event.node_id
        runs = {
            each.node_id
            for each in of_type(recorded, "session_started")
            if each.data["taskId"] == task
        }
        turns = {
            each.data["turn"]: each.data
            for each in of_type(recorded, "agent_turn")
            if each.node_id == task
        }
        ended = {
            (each.node_id, each.data["iteration"])
            for each in of_type(recorded, "session_iteration_ended")
            if each.node_id in runs
        }
        count["tasks"] += 1
        count["sessions"] += len(runs)
        count["iterations"] += len(ended)
        count["turns"] += len(turns)
        for each in turns.values():
            count["tokens"] += each["inputTokens"] + each["outputTokens"]
            count["cents"] += round(each["usd"] * 100)
    assert len(expected) > 2
    rows = shown(recorded, "tasks", "week")
    assert [row["week"] for row in rows] == sorted(expected)
    for row in rows:
        count = expected[row["week"]]
        named = ("tasks", "sessions", "iterations", "turns", "tokens")
        assert [row[name] for name in named] == [count[name] for name in named]
        assert row["usd"] == pytest.approx(count["cents"] / 100)
        assert row["usd_per_task"] == pytest.approx(count["cents"] / 100 / count["tasks"])


def test_gates_are_counted_again(recorded: Recorded) -> None:
    expected: Counter[tuple[str, str]] = Counter()
    for event in of_type(recorded, "point_fired"):
        if event.data["point"] == "before_submit":
            for call in recorded.calls[event.seq]:
                expected[call.hook, call.answer["status"]] += 1
    merged = [
        event.data["value"]
        for event in of_type(recorded, "effect_resolved")
        if event.data["effectId"] == "merge"
    ]
    expected["merge", "success"] += sum(each["testedBy"] == ["true"] for each in merged)
    rows = {row["gate"]: row for row in shown(recorded, "gates")}
    assert {name: (row["asked"], row["rejected"]) for name, row in rows.items()} == {
        name: (expected[name, "success"] + expected[name, "failure"], expected[name, "failure"])
        for name in ("changes", "merge")
    }
    assert rows["changes"]["first_rejected"] == rows["changes"]["first_asked"] == COPIES + 1
    (right,) = shown(recorded, "first-time-right")
    assert (right["tasks"], right["first_time_right"]) == (COPIES + 1, 0)


def test_states_are_counted_again(recorded: Recorded) -> None:
    until = seconds("2099-01-01T00:00:00.000Z")
    expected: Counter[str] = Counter()
    fold, since = Fold(), dict[str, tuple[str, float]]()
    for event in recorded.events:
        fold.add(event)
        task = fold.tasks.get(event.node_id)
        if task is None or "state" not in task:
            continue
        state, came = since.get(event.node_id, ("", 0.0))
        if state != task["state"]:
            now = seconds(event.timestamp)
            expected[state] += round((now - came) * 1000)
            since[event.node_id] = (task["state"], now)
    for state, came in since.values():
        expected[state] += round((until - came) * 1000)
    over = {each.removeprefix("task_") for each in OVER} | {""}
    rows = {row["state"]: row["ms"] for row in shown(recorded, "states")}
    assert rows == {name: ms for name, ms in expected.items() if name not in over and ms}


def test_checks_are_counted_again(recorded: Recorded) -> None:
    sessions = {event.node_id for event in of_type(recorded, "session_started")}
    results: dict[tuple[str, str, str], list[bool]] = defaultdict(list)
    for event in recorded.events:
        run = event.node_id
        if event.type == "effect_resolved" and event.data["effectId"].startswith("validation"):
            for each in event.data["value"]["results"]:
                results["rule", each["ruleName"], run].append(each["passed"])
        for call in recorded.calls[event.seq] if run in sessions else ():
            if call.exit_code is not None:
                results["hook", call.hook, run].append(call.exit_code == 0)
    expected: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for (kind, name, _), found in results.items():
        count = expected[kind, name]
        count["results"] += len(found)
        count["failed"] += found.count(False)
        count["regressions"] += sum(before and not now for before, now in pairwise(found))
    rows = {(row["kind"], row["name"]): row for row in shown(recorded, "checks")}
    assert {
        key: {name: row[name] for name in expected[key]}
        for key, row in rows.items()
        if key[0] != "gate"
    } == {key: dict(count) for key, count in expected.items()}
    assert expected["rule", "tests"]["regressions"] == COPIES + 1


def test_agents_are_counted_again(recorded: Recorded) -> None:
    agents = {event.node_id: event.data["agent"] for event in of_type(recorded, "session_started")}
    turns = {event.data["turn"]: event.data for event in of_type(recorded, "agent_turn")}
    ended = of_type(recorded, "session_iteration_ended")
    rows = {row["agent"]: row for row in shown(recorded, "agents")}
    assert rows.keys() == {"ada", "bo"}
    for name, row in rows.items():
        own = [each for each in turns.values() if each["agent"] == name]
        assert row["sessions"] == list(agents.values()).count(name)
        assert row["iterations"] == sum(agents[event.node_id] == name for event in ended)
        assert row["turns"] == len(own)
        assert row["usd"] == pytest.approx(sum(each["usd"] for each in own))
        assert row["tasks"] == (COPIES + 1 if name == "ada" else 0)


def test_no_check_of_this_day_was_flaky(recorded: Recorded) -> None:
    assert shown(recorded, "flaky") == []
