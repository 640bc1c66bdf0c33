"""Chains of stop hooks that an agent registers over MCP, and the figures of registered hooks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.e2e.conftest import Cli
from tests.e2e.mcp_rig import Agent

if TYPE_CHECKING:
    from collections.abc import Iterator

COMPLETE = "done <promise>COMPLETE</promise>"
BLOCKED = "no key <promise>BLOCKED</promise>"


@pytest.fixture(scope="module")
def cli(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cli]:
    runner = Cli(tmp_path_factory.mktemp("mcp"))
    yield runner
    runner.close()


@pytest.fixture(scope="module")
def agent(cli: Cli) -> Iterator[Agent]:
    with Agent.in_process(cli) as running:
        yield running


def chain(kind: str, *hooks: Any, **more: Any) -> dict[str, Any]:
    return {"hookType": kind, "hooks": list(hooks), **more}


@pytest.mark.parametrize(
    ("hook", "said", "action"),
    [
        (chain("all_of", "promise", {"command": "true"}), COMPLETE, "complete"),
        (chain("all_of", "promise", {"command": "false"}), COMPLETE, "continue"),
        (chain("any_of", "promise", {"command": "false"}), COMPLETE, "complete"),
        (chain("any_of", "promise", {"command": "true"}), BLOCKED, "escalate"),
        (chain("not", {"command": "true"}), "working", "continue"),
        (chain("not", {"command": "false"}), "working", "complete"),
        (chain("not", chain("any_of", "promise", {"command": "false"})), "working", "complete"),
        (chain("all_of", "promise", {"command": "false", "when": "iteration > 5"}), COMPLETE, ""),
    ],
)
def test_a_registered_chain_decides_as_a_configured_one(
    agent: Agent, hook: dict[str, Any], said: str, action: str
) -> None:
    _, iteration = agent.loop(hook)
    found = agent("hook_evaluate", iterationId=iteration, agentOutput=said)
    assert found["action"] == (action or "complete")
    first, *_ = found["metadata"]["hooks"]
    assert first["hook"].startswith(f"{found['hookId']}[0]:")


def test_a_chain_is_listed_with_its_hooks(agent: Agent) -> None:
    hook = chain("any_of", "promise", {"command": "true", "timeout": 5})
    task, _ = agent.loop(hook)
    (listed,) = agent("hook_list", taskId=task)["hooks"]
    assert listed["metadata"] == {"type": "any_of"}
    assert listed["hooks"] == [
        {"hookType": "promise"},
        {"hookType": "command", "command": "true", "timeout": 5},
    ]


@pytest.mark.parametrize(
    ("hook", "told"),
    [
        (chain("all_of"), "all_of takes 1 to 32 hooks"),
        (chain("not", "promise", "default"), "not takes one hook"),
        (chain("all_of", "promse"), "there is no hookType 'promse'"),
        (chain("all_of", {"comand": "true"}), "a hook has no field 'comand'"),
        (chain("all_of", {"command": "true", "when": "iteration >"}), "`when` cannot be evaluated"),
        (chain("all_of", "promise", command="true"), "all_of takes no command and no python"),
        (chain("all_of", "promise", arguments={"x": 1}), "all_of takes no arguments"),
        ({"hookType": "promise", "hooks": ["default"]}, "hookType promise takes no hooks"),
        (chain("all_of", {"hookType": 7}), "a hook cannot be read"),
        (chain("all_of", {"hookType": "not", "hooks": "promise"}), "a list of hooks"),
    ],
)
def test_a_chain_that_cannot_decide_is_refused(
    agent: Agent, hook: dict[str, Any], told: str
) -> None:
    task = agent("task_create", goal="work")["taskId"]
    refused = agent.refused("hook_register", taskId=task, **hook)
    assert told in refused["error"]["message"]
    assert agent("hook_list", taskId=task)["hookCount"] == 0


def test_chains_are_nested_eight_levels_deep_and_no_deeper(agent: Agent) -> None:
    def nested(levels: int) -> dict[str, Any]:
        return chain("all_of", nested(levels - 1) if levels > 1 else "promise")

    _, iteration = agent.loop(nested(8))
    found = agent("hook_evaluate", iterationId=iteration, agentOutput=COMPLETE)
    assert found["action"] == "complete"
    task = agent("task_create", goal="work")["taskId"]
    refused = agent.refused("hook_register", taskId=task, **nested(9))
    assert "more than 8 levels deep" in refused["error"]["message"]


def test_a_server_without_commands_takes_none_inside_of_chains(cli: Cli) -> None:
    with Agent.in_process(cli, commands=False) as agent:
        task = agent("task_create", goal="work")["taskId"]
        hook = chain("all_of", "promise", chain("not", {"command": "true"}))
        refused = agent.refused("hook_register", taskId=task, **hook)
        assert "does not run commands for agents" in refused["error"]["message"]


def test_registered_stop_hooks_are_counted_by_their_type(tmp_path: Any) -> None:
    cli = Cli(tmp_path)
    with Agent.in_process(cli) as agent:
        for said in (COMPLETE, "working", BLOCKED):
            _, iteration = agent.loop("promise")
            agent("hook_evaluate", iterationId=iteration, agentOutput=said)
        for line in ("true", "false"):
            _, iteration = agent.loop({"command": line})
            agent("hook_evaluate", iterationId=iteration, agentOutput="working")
        _, iteration = agent.loop(chain("any_of", "promise"))
        agent("hook_evaluate", iterationId=iteration, agentOutput=COMPLETE)
    found = cli.json("hook", "stats")["stopHooks"]
    figures = {
        each["name"]: (each["complete"], each["continue"], each["escalate"]) for each in found
    }
    assert figures == {
        "registered any_of": (1, 0, 0),
        "registered command": (1, 1, 0),
        "registered promise": (1, 1, 1),
    }
    cli.close()
