"""The event log through the command line: sent, read, filtered and followed."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from hookline.domain.events import REPORTS, STATE_BEARING
from tests.e2e.conftest import Follower, eventually

if TYPE_CHECKING:
    from tests.e2e.conftest import Cli


def test_an_event_of_ones_own(cli: Cli) -> None:
    task = cli.add("one")
    data = {"text": "ünïcode \u2028", "deep": [{"a": None}], "big": 2**53}
    sent = cli.json("emit", "deploy.done", "--data", json.dumps(data), "--task", task)
    assert (sent["type"], sent["nodeId"], sent["data"]) == ("deploy.done", task, data)
    assert sent["metadata"] == {"triggeredBy": "ada"}
    assert cli.events("deploy.done") == [sent]


def test_data_from_stdin(cli: Cli) -> None:
    sent = cli.json("emit", "mine", "--data", "-", stdin='{"a": 1}')
    assert (sent["nodeId"], sent["data"]) == ("system", {"a": 1})


@pytest.mark.parametrize("kind", sorted(STATE_BEARING | REPORTS))
def test_types_that_only_hookline_writes(cli: Cli, kind: str) -> None:
    code, error = cli.refused("emit", kind)
    assert (code, error["code"]) == (2, "reserved-event")


def test_filters(cli: Cli) -> None:
    one, two = cli.add("one"), cli.add("two")
    cli.json("task", "start", one)
    assert [e["type"] for e in cli.json("events", "--task", one)] == [
        *("task_created", "task_ready", "task_started")
    ]
    created = cli.json("events", "--type", "task_created", "--type", "task_started")
    assert [e["nodeId"] for e in created] == [one, two, one]
    assert [e["seq"] for e in cli.json("events", "--since", "3")] == [4, 5]
    assert cli.json("events", "--since", "2999-01-01T00:00:00Z") == []
    assert len(cli.json("events", "--since", "2001-01-01T00:00:00Z")) == 5


def test_the_last_fifty_or_all(cli: Cli) -> None:
    cli.json("task", "add", "-", stdin="".join(f"- [ ] task {n}\n" for n in range(40)))
    assert [e["seq"] for e in cli.json("events")] == list(range(31, 81))
    assert [e["seq"] for e in cli.json("events", "--all")] == list(range(1, 81))


def test_an_empty_log(cli: Cli) -> None:
    assert cli.json("events") == []
    assert cli("events").stdout == ""


def test_lines_for_people(cli: Cli) -> None:
    cli.add("one")
    lines = cli("events").stdout.splitlines()
    assert len(lines) == 2
    assert "task_created" in lines[0]
    assert "T-1" in lines[0]


@pytest.mark.parametrize("written_before", [True, False])
def test_following_from_before_or_after_the_first_write(cli: Cli, written_before: bool) -> None:
    if written_before:
        cli.json("emit", "early")
    words = ("events", "--follow", "--since", "0", "--type", "wanted", "--json")
    follower = Follower(cli.start(*words))
    cli.json("emit", "unwanted")
    sent = cli.json("emit", "wanted")
    eventually(lambda: follower.events == [sent], "news of the event")
