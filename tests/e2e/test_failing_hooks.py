"""Hooks that fail are shown where people look, with since when, until they do well again."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.e2e.conftest import Cli

ASKS = 'hooks: {task_created: [{name: asks, command: "cat answer.json"}]}'
BAD = {"type": "update_task", "payload": {"taskId": "T-99", "action": "complete"}}
GOOD = {"type": "log", "payload": {"type": "seen"}}


def attention(cli: Cli) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(cli("attention", "--json").stdout)
    return [each for each in found if each["kind"] == "hook"]


def doctor(cli: Cli) -> str:
    checks = json.loads(cli("doctor", "--json").stdout)["checks"]
    (found,) = [each for each in checks if each["name"] == "failing hooks"]
    return str(found["message"])


def add(cli: Cli, *actions: dict[str, Any]) -> None:
    cli.put("answer.json", json.dumps({"actions": actions}))
    assert cli("task", "add", "one").code == 0


def test_a_failed_action_is_shown_until_a_later_one_is_carried_out(cli: Cli) -> None:
    cli.configure(ASKS)
    add(cli, GOOD)
    assert attention(cli) == []
    assert doctor(cli) == "none"
    add(cli, BAD, GOOD)
    event = cli.events("task_created")[-1]
    error = "action update_task failed: there is no task T-99"
    (item,) = attention(cli)
    assert (item["id"], item["since"]) == ("asks", event["timestamp"])
    assert item["message"].endswith(f"{error}.")
    assert item["command"] == f"hookline why {event['seq']}"
    assert "there is no task T-99" in cli(*item["command"].split()[1:]).stdout
    told = f"1 hook failed when last called: hook asks at event {event['seq']}: {error}"
    assert doctor(cli) == told
    add(cli)
    assert len(attention(cli)) == 1
    add(cli, GOOD)
    assert attention(cli) == []
    assert doctor(cli) == "none"
    add(cli, BAD)
    assert len(attention(cli)) == 1
    cli.configure("hooks: {}")
    assert attention(cli) == []


def test_a_call_that_was_never_started_failed_at_its_event(cli: Cli) -> None:
    cli.configure('hooks: {task_created: [{name: asks, when: "task.goal < 3", command: "true"}]}')
    cli("task", "add", "one")
    (item,) = attention(cli)
    assert item["since"] == cli.events("task_created")[0]["timestamp"]
