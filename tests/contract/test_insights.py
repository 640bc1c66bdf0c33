"""Insights over every store: each figure is counted by hand."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Any

import psycopg
import pytest

from hookline.domain.insights import Selection
from tests.insight_story import Story

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hookline.domain.insights import Part
    from hookline.testing.contracts.stores.place import Place
    from tests.postgres_server import PostgresServer

NOW = "2026-03-20T00:00:00.000Z"
# Two Mondays.
FIRST, SECOND = "2026-03-02", "2026-03-09"


@pytest.fixture
def story(place: Place) -> Story:
    return Story(place).at("2026-03-02T10:00")


def rows(story: Story, table: str, by: Sequence[Part] = (), **asked: Any) -> list[dict[str, Any]]:
    """The rows of a table, each by the names of its columns, without those that say nothing."""
    with story.store.read() as view:
        (found,) = view.insights.rows(table, Selection(**asked), NOW, [tuple(by)])
    return [
        {name: cell for name, cell in zip(found.columns, row, strict=True) if cell != ""}
        for row in found.rows
    ]


def facts(story: Story, table: str, **match: str) -> list[dict[str, Any]]:
    with story.store.read() as view:
        found = view.insights.facts(table, Selection(), NOW, match, 100)
        assert view.insights.count(table, Selection(), NOW, match) == len(found.rows)
    return [dict(zip(found.columns, row, strict=True)) for row in found.rows]


def test_an_empty_store_has_no_rows(story: Story) -> None:
    for table in ("tasks", "first_time_right", "states", "gates", "checks", "flaky", "agents"):
        assert rows(story, table) == []


# Iterations and cost


def two_attempts(story: Story) -> int:
    """A task that a session of another agent failed at before; the end of it."""
    task = story.task("text")
    failed = story.session(task, "bo")
    story.iteration(failed, 1, "failed")
    story.turn(task, "bo", "t1", 0.25, 100)
    story.do("start", task)
    story.do("send_back", task, reason="no")
    run = story.session(task, "ada")
    story.iteration(run, 0)  # its plan
    story.iteration(run, 1)
    story.iteration(run, 1)  # made again after a kill
    story.iteration(run, 2)
    story.turn(task, "ada", "t2", 0.5, 10)
    story.turn(task, "ada", "t3", None)
    return story.at("2026-03-09T01:00").done(task)


def test_a_completed_task_costs_what_failed_sessions_did_too(story: Story) -> None:
    end = two_attempts(story)
    assert rows(story, "tasks") == [
        {
            "tasks": 1,
            "sessions": 2,
            "iterations": 3,
            "iterations_per_task": 3.0,
            "turns": 3,
            "tokens": 220,
            "usd": 0.75,
            "usd_per_task": 0.75,
            "unpriced_turns": 1,
            "latest": end,
        }
    ]


def test_money_is_unknown_where_no_turn_has_a_price(story: Story) -> None:
    task = story.task()
    story.session(task, "ada")
    story.turn(task, "ada", "t1", None)
    story.done(task)
    (row,) = rows(story, "tasks")
    assert (row["usd"], row["usd_per_task"], row["unpriced_turns"]) == (None, None, 1)


def test_a_task_without_a_session_and_one_that_is_open_do_not_count(story: Story) -> None:
    alone, open_ = story.task(), story.task()
    story.do("start", alone)
    story.done(alone)
    story.session(open_, "ada")
    assert rows(story, "tasks") == []


def test_rows_are_split_by_week_type_and_agent(story: Story) -> None:
    two_attempts(story)
    for kind in ("text", None):
        task = story.at("2026-03-08T23:59").task(kind)
        story.session(task, "bo")
        story.done(task)
    parts: tuple[Part, ...] = ("week", "type", "agent")
    split = rows(story, "tasks", parts)
    found = [(row["week"], row.get("type", ""), row["agent"], row["tasks"]) for row in split]
    assert found == [(FIRST, "", "bo", 1), (FIRST, "text", "bo", 1), (SECOND, "text", "ada", 1)]
    by_agent = rows(story, "tasks", ("agent",))
    assert [(row["agent"], row["tasks"]) for row in by_agent] == [("ada", 1), ("bo", 2)]
    assert [row["tasks"] for row in rows(story, "tasks", since="2026-03-09T00:00:00.000Z")] == [1]
    assert [row["tasks"] for row in rows(story, "tasks", until="2026-03-09T00:00:00.000Z")] == [2]
    assert [row["tasks"] for row in rows(story, "tasks", type="text")] == [2]
    assert [row["tasks"] for row in rows(story, "tasks", type="text", agent="bo")] == [1]


# Gates


def gated(story: Story) -> dict[str, int]:
    """Three tasks whose work gates checked; the positions of some verdicts."""
    first = story.task("text")
    story.session(first, "ada")
    run = story.submission(first)
    rejected = story.gate(first, run, "before_submit[0]:lint", "failure")
    story.gate(first, run, "before_submit[0]:lint", "success")
    story.gate(first, run, "person", "pending")
    story.gate(first, run, "person", None, status="pending")
    story.gate(first, run, "person", "success")
    merge = story.submission(first, "merge")
    story.merge(merge, status="failed")
    story.merge(merge, status="waits")
    story.merge(merge, status="merged", testedBy=["make test"])
    story.done(first)
    second = story.task("text")
    story.session(second, "ada")
    run = story.submission(second)
    story.gate(second, run, "before_submit[0]:lint", "success")
    story.gate(second, run, "size", None, status="skipped")
    story.gate(second, run, "size", "success")
    story.event("point_fired", second, point="before_submit", name="odd")
    story.gate(second, run, "review", "failure", context={"noVerdict": True})
    story.do("start", second)
    story.do("send_back", second, reason="review")
    run = story.submission(second)
    story.gate(second, run, "review", "success")
    merge = story.submission(second, "merge")
    story.merge(merge, status="merged", sha="1")  # nothing tested it
    story.done(second)
    third = story.task()
    story.session(third, "bo")
    run = story.submission(third)
    story.gate(third, run, "before_submit[0]:lint", "success")
    timeout = story.gate(third, "trial", "person", "failure")
    story.gate(third, run, "person", "skip")
    story.gate(third, run, "review", "success", point="after_submit")
    story.done(third)
    return {"rejected": rejected, "timeout": timeout}


def test_which_gate_rejects_what(story: Story) -> None:
    places = gated(story)
    found = rows(story, "gates")
    figures = ("asked", "rejected", "broke", "first_asked", "first_rejected")
    assert {(row["gate"], row["point"]): [row[each] for each in figures] for row in found} == {
        ("lint", "before_submit"): [4, 1, 0, 3, 1],
        ("merge", "merge"): [2, 1, 0, 1, 1],
        ("person", "before_submit"): [1, 0, 0, 1, 0],
        ("review", "before_submit"): [2, 0, 1, 1, 0],
        ("size", "before_submit"): [1, 0, 0, 1, 0],
    }
    (fact,) = facts(story, "gates", gate="lint", verdict="rejected")
    known = ("seq", "task", "run", "type", "agent", "week", "is_first", "attempt")
    expected = [places["rejected"], "T-1", "R-2", "text", "ada", FIRST, 1, 1]
    assert [fact[each] for each in known] == expected


def test_first_time_right(story: Story) -> None:
    gated(story)
    (row,) = rows(story, "first_time_right")
    assert (row["tasks"], row["first_time_right"]) == (3, 1)
    assert row["percent"] == pytest.approx(33.333, abs=0.001)
    found = facts(story, "first_time_right")
    assert [(each["task"], each["submissions"], each["rejections"]) for each in found] == [
        ("T-3", 1, 0),
        ("T-2", 2, 1),
        ("T-1", 1, 2),
    ]
    by_agent = rows(story, "first_time_right", ("agent",))
    assert [(row["agent"], row["percent"]) for row in by_agent] == [("ada", 0.0), ("bo", 100.0)]


def test_a_gate_that_failed_or_said_nothing_broke(story: Story) -> None:
    task = story.task()
    run = story.submission(task)
    story.gate(task, run, "ci", None, status="timeout")
    story.gate(task, run, "ci", None, status="failed", exit_code=2)
    story.gate(task, run, "ci", None)
    story.gate(task, run, "ci", None, status="cut")
    (row,) = rows(story, "gates")
    assert (row["asked"], row["broke"], row["rejected"]) == (3, 3, 0)


# States


def test_time_in_each_state(story: Story) -> None:
    task = story.task("text")
    story.at("2026-03-02T11:00").do("start", task)
    story.at("2026-03-02T11:30").do("block", task, reason="a question")
    story.at("2026-03-03T11:30").do("unblock", task)
    story.at("2026-03-03T12:00").do("start", task)
    story.at("2026-03-03T12:10").do("submit", task)
    story.at("2026-03-03T12:30").done(task)
    minutes = {"active": 40, "blocked": 24 * 60, "ready": 90, "submitted": 20}
    found = {row["state"]: row for row in rows(story, "states")}
    assert {name: row["ms"] for name, row in found.items()} == {
        name: count * 60_000 for name, count in minutes.items()
    }
    assert {name: row["times"] for name, row in found.items()} == {
        **dict.fromkeys(minutes, 1),
        "active": 2,
        "ready": 2,
    }
    assert found["blocked"]["percent"] == pytest.approx(100 * 1440 / 1590)


def test_a_state_that_lasts_is_counted_until_now_and_only_from_since(story: Story) -> None:
    story.task()
    day = 86_400_000
    (row,) = rows(story, "states")
    assert (row["state"], row["ms"]) == ("ready", 17 * day + 14 * day // 24)
    (row,) = rows(story, "states", since="2026-03-10T00:00:00.000Z")
    assert row["ms"] == 10 * day
    (row,) = rows(story, "states", until="2026-03-03T10:00:00.000Z")
    assert row["ms"] == day


# Checks


def test_a_regression_is_a_failure_after_a_pass_in_the_same_session(story: Story) -> None:
    task = story.task("text")
    run = story.session(task, "ada")
    story.checked(run, 1, "f1", tests=False, lint=True)
    story.checked(run, 2, "f2", tests=True, lint=True)
    caught = story.checked(run, 3, "f3", tests=False, lint=True)
    story.checked(run, 4, "f4", tests=False, lint=True)
    other = story.session(story.task(), "bo")
    last = story.checked(other, 1, "f5", tests=False)
    for code in (0, 1, None, 0, 2):
        story.hook(run, "post_iteration[0]:pytest", code)
    story.hook(run, "look", 1, point="pre_iteration")
    found = rows(story, "checks")
    assert [(row["name"], row["kind"]) for row in found] == [
        ("pytest", "hook"),
        ("tests", "rule"),
        ("lint", "rule"),
    ]
    assert [(row["results"], row["failed"], row["regressions"]) for row in found] == [
        (4, 2, 2),
        (5, 4, 1),
        (4, 0, 0),
    ]
    assert found[1]["latest"] == last
    (fact,) = facts(story, "checks", kind="rule", regression="1")
    expected = (caught, run, task, "text", "ada")
    assert (fact["seq"], fact["run"], fact["task"], fact["type"], fact["agent"]) == expected


def test_a_gate_that_rejects_work_that_it_had_passed_caught_a_regression(story: Story) -> None:
    task = story.task()
    run = story.submission(task)
    for said in ("success", "failure", "success"):
        story.gate(task, run, "lint", said)
    (row,) = rows(story, "checks")
    assert (row["kind"], row["results"], row["failed"], row["regressions"]) == ("gate", 3, 1, 1)


def test_a_check_is_flaky_that_passed_and_failed_on_the_same_files(story: Story) -> None:
    one, two = story.session(story.task(), "ada"), story.session(story.task(), "bo")
    story.checked(one, 1, "same", tests=True, lint=True)
    story.checked(one, 2, "other", tests=False, lint=True)
    last = story.checked(two, 1, "same", tests=False, lint=True)
    story.checked(two, 2, None, tests=True)
    assert rows(story, "flaky") == [
        {
            "name": "tests",
            "kind": "rule",
            "command": "make tests",
            "trees": 1,
            "results": 2,
            "failed": 1,
            "latest": last,
        }
    ]


def test_a_gate_is_flaky_that_passed_and_failed_on_the_same_commit(story: Story) -> None:
    task = story.task()
    run = story.submission(task)
    story.prepared(run, "c1")
    story.gate(task, run, "ci", "failure", exit_code=1)
    story.gate(task, run, "person", "failure")
    story.prepared(run, "c2")
    story.gate(task, run, "lint", "success", exit_code=0)
    story.prepared(run, "c1")
    story.gate(task, run, "ci", "success", exit_code=0)
    story.gate(task, run, "person", "success")
    story.gate(task, run, "lint", "failure", exit_code=1)
    found = [(row["name"], row["command"], row["results"]) for row in rows(story, "flaky")]
    assert found == [("ci", "ci", 2)]
    judged = {"judgedHead": "c9", "command": "make test"}
    story.gate(task, run, "run_tests", "failure", context=judged)
    story.gate(task, run, "run_tests", "success", context=judged)
    names = [(row["name"], row["command"]) for row in rows(story, "flaky")]
    assert names == [("ci", "ci"), ("run_tests", "make test")]
    assert [each["files"] for each in facts(story, "flaky", name="ci")] == ["c1", "c1"]


# Agents


def test_agents_side_by_side(story: Story) -> None:
    two_attempts(story)
    gated(story)
    found = {row.pop("agent"): row for row in rows(story, "agents", ("agent",))}
    figures = ("tasks", "checked", "first_time_right", "sessions", "iterations")
    more = ("failed_iterations", "turns", "tokens", "usd", "unpriced_turns")
    expected = {
        "ada": [3, 2, 0, 3, 2, 0, 2, 20, 0.5, 1],
        "bo": [1, 1, 1, 2, 1, 1, 1, 200, 0.25, 0],
    }
    assert {name: [row[each] for each in (*figures, *more)] for name, row in found.items()} == (
        expected
    )


# What is damaged or hostile


def test_a_store_with_strange_texts(story: Story) -> None:
    strange = "a'b\"; --ü\U0001f600"
    task = story.task()
    story.session(task, strange)
    run = story.submission(task)
    story.gate(task, run, strange, "failure", context={strange: strange})
    story.gate(task, run, "lint", "failure", context={"text": "\0"})
    story.done(task)
    names = {row["gate"] for row in rows(story, "gates", agent=strange)}
    assert names == {strange, "lint"}
    assert [each["gate"] for each in facts(story, "gates", gate=strange)] == [strange]


def test_an_answer_that_cannot_be_read_is_no_verdict(story: Story) -> None:
    task = story.task()
    run = story.submission(task)
    seq = story.gate(task, run, "lint", "success")
    with story.store.rows(writing=True) as raw:  # type: ignore[attr-defined]
        raw.execute("UPDATE deliveries SET answer = ? WHERE event_seq = ?", ("{damaged", seq))
    (row,) = rows(story, "gates")
    assert (row["asked"], row["broke"]) == (1, 1)


def run_by_hand(place: Place, server: PostgresServer | None, script: str) -> list[Any]:
    """What a script finds that a person runs in a program of the database's."""
    if server is None:
        with closing(sqlite3.connect(place._folder / "store.db")) as raw:
            return raw.execute(script).fetchall()
    with psycopg.connect(server.url(), autocommit=True) as connection:
        cursor = connection.execute(script.encode())
        while cursor.nextset():
            pass
        return cursor.fetchall()


def test_the_statement_that_is_shown_finds_the_rows(
    story: Story, request: pytest.FixtureRequest
) -> None:
    two_attempts(story)
    gated(story)
    on_server = "postgres" in request.node.name
    server = request.getfixturevalue("postgres") if on_server else None
    by: tuple[Part, ...] = ("week", "type", "agent")
    asked = Selection(since="2026-03-01T00:00:00.000Z", agent="ada", by=by)
    for table in ("tasks", "first_time_right", "states", "gates", "checks", "flaky", "agents"):
        script = story.store.insight_statement(table, asked, NOW)
        with story.store.read() as view:
            (found,) = view.insights.rows(table, asked, NOW, [by])
        assert found.rows or table in ("checks", "flaky")
        assert run_by_hand(story.place, server, script) == [tuple(row) for row in found.rows]


def test_several_ways_to_split_are_found_at_once(story: Story) -> None:
    two_attempts(story)
    gated(story)
    splits: list[tuple[Part, ...]] = [(), ("week",), ("type", "agent"), ()]
    for table in ("tasks", "first_time_right", "states", "gates", "checks", "flaky", "agents"):
        with story.store.read() as view:
            found = view.insights.rows(table, Selection(), NOW, splits)
            each = [view.insights.rows(table, Selection(), NOW, [split])[0] for split in splits]
        assert [part.rows for part in found] == [part.rows for part in each]
