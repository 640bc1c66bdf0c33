"""What hooks ask for: each action alone, what a log action keeps, failures that are told."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.e2e.conftest import Cli


def answer(cli: Cli, *actions: Any, point: str = "task_created") -> None:
    """A hook `asks` that answers with these actions."""
    cli.put("answer.json", json.dumps({"actions": actions}))
    cli.configure(f"hooks: {{{point}: [{{name: asks, command: cat answer.json}}]}}\n")


def log(**payload: Any) -> dict[str, Any]:
    return {"type": "log", "payload": payload}


# One action fails alone.


@pytest.mark.parametrize(
    ("bad", "error"),
    [
        ({"type": "drop_tables", "payload": {}}, "unknown action 'drop_tables'; there are create"),
        ({"payload": {"goal": "x"}}, "an action has no type; there are create_task"),
        ("create_task", "an action has no type"),
        ({"type": "create_task", "payload": [1]}, "the payload of create_task must be an object"),
    ],
)
def test_one_bad_action_fails_alone_and_is_told(cli: Cli, bad: Any, error: str) -> None:
    answer(cli, log(type="before"), bad, log(type="after"))
    done = cli("task", "add", "one", "--json")
    assert done.code == 0
    assert done.json["id"] == "T-1"
    assert cli.calls("asks") == ["ok"]
    assert [event["type"] for event in cli.events("before", "after")] == ["before", "after"]
    (failed,) = cli.events("action_error")
    assert error in failed["data"]["error"]
    assert failed["metadata"]["hook"] == "asks"
    (told, help) = done.stderr.splitlines()
    seq = failed["metadata"]["cause"]
    assert told.startswith(f"✗ hook asks at event {seq}: action ")
    assert error in told
    assert help == f"  = help: `hookline why {seq}` explains it"


def test_every_failed_action_is_told_with_its_kind_and_its_error(cli: Cli) -> None:
    missing = {"type": "update_task", "payload": {"taskId": "T-9", "action": "complete"}}
    flow = {"type": "execute_workflow", "payload": {"workflowId": "nowhere"}}
    answer(cli, missing, flow, {"type": "create_task", "payload": {"goal": ""}})
    told = [
        line.partition(": ")[2]
        for line in cli("task", "add", "one").stderr.splitlines()
        if line.startswith("✗")
    ]
    assert told[0].startswith("action update_task failed: there is no task T-9")
    assert told[1].startswith("action execute_workflow failed: ")
    assert "nowhere" in told[1]
    assert told[2].startswith("action create_task failed: ")
    assert len(told) == 3


def test_an_action_that_succeeds_is_not_told(cli: Cli) -> None:
    answer(cli, log(type="fine"))
    assert cli("task", "add", "one").stderr == ""


# What a log action keeps.


def test_a_logged_event_keeps_its_timestamp_and_metadata(cli: Cli) -> None:
    answer(
        cli,
        log(
            type="measured",
            nodeId="T-1",
            timestamp="2026-01-17T12:30:00+02:00",
            data={"n": 1},
            metadata={"tool": "probe"},
        ),
    )
    cli.add("one")
    (event,) = cli.events("measured")
    assert event["timestamp"] == "2026-01-17T10:30:00.000Z"
    assert (event["nodeId"], event["data"]) == ("T-1", {"n": 1})
    assert event["metadata"]["tool"] == "probe"
    assert event["metadata"]["hook"] == "asks"
    (created,) = cli.events("task_created")
    assert event["metadata"]["cause"] == created["seq"]


@pytest.mark.parametrize(
    ("payload", "error"),
    [
        ({"nodeId": "T-7"}, "there is no task T-7"),
        ({"nodeId": "R-7"}, "R-7"),
        ({"nodeId": "somewhere"}, "somewhere"),
        ({"timestamp": "yesterday"}, "'yesterday' is not a time"),
        ({"timestamp": 5}, "timestamp"),
        ({"metadata": ["x"]}, "metadata of a log action must be"),
        ({"metadata": {"cause": 1, "hook": "other"}}, "Hookline itself writes cause, hook"),
    ],
)
def test_what_a_log_action_cannot_keep_is_refused(
    cli: Cli, payload: dict[str, Any], error: str
) -> None:
    answer(cli, log(type="measured", **payload))
    assert error in cli("task", "add", "one").stderr
    assert cli.events("measured") == []
    (failed,) = cli.events("action_error")
    assert error in failed["data"]["error"]


def test_what_stands_beside_the_payload_is_not_dropped(cli: Cli) -> None:
    beside = {"timestamp": "2026-01-17T12:30:00Z", "nodeId": "T-1"}
    answer(cli, log(type="measured") | beside, log(type="after"))
    error = "what log is given belongs in its payload: nodeId, timestamp"
    assert error in cli("task", "add", "one").stderr
    assert [event["type"] for event in cli.events("measured", "after")] == ["after"]
    assert cli.events("action_error")[0]["data"]["error"] == error


def test_a_python_file_cannot_ask_for_what_is_no_number(cli: Cli) -> None:
    cli.put(
        "mine.py",
        "def asks(event, context):\n"
        "    data = {'size': float('nan')}\n"
        "    return [{'type': 'log', 'payload': {'type': 'measured', 'data': data}}]\n",
    )
    cli.configure('hooks: {task_created: [{name: asks, python: "mine:asks"}]}')
    done = cli("task", "add", "one")
    assert "the answer of mine:asks cannot be written as JSON: it holds nan" in done.stderr
    assert cli.events("measured") == []
