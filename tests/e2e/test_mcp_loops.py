"""Loops through a real MCP client: the usual flow, limits, restarts, and the project's own say."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING, Any

import pytest

from tests.e2e.conftest import Cli
from tests.e2e.mcp_rig import Agent

if TYPE_CHECKING:
    from collections.abc import Iterator

COMPLETE = "All done. <promise>COMPLETE</promise>"


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cli]:
    runner = Cli(tmp_path_factory.mktemp("mcp"))
    yield runner
    runner.close()


@pytest.fixture(scope="module")
def agent(shared: Cli) -> Iterator[Agent]:
    with Agent.in_process(shared) as running:
        yield running


def test_the_typical_flow(cli: Cli) -> None:
    task = cli.add("Write greeting.txt")
    rule = {
        "name": "greets",
        "type": "content_pattern",
        "pattern": "hello",
        "files": ["greeting.txt"],
    }
    with Agent.in_process(cli) as agent:
        assert agent("task_get", taskId=task)["state"] == "ready"
        agent("hook_register", taskId=task, hookType="default")
        started = agent(
            "iteration_start",
            taskId=task,
            maxIterations=10,
            completionPromises=["COMPLETE", "BLOCKED"],
            validationRules=[rule],
        )
        loop = {"iterationId": started["iterationId"]}
        assert cli.task(task)["state"] == "active"

        first = agent("iteration_validate", **loop, agentOutput="I began")
        assert first["completionSignal"] == "CONTINUE"
        assert first["validationPassed"] is False
        assert first["validationResults"][0]["ruleName"] == "greets"
        assert "iteration_next" in first["feedback"]
        assert agent("iteration_next", **loop)["iteration"] == 2

        cli.put("greeting.txt", "hello\n")
        second = agent("iteration_validate", **loop, agentOutput=COMPLETE)
        assert second["completionSignal"] == "COMPLETE"
        assert second["validationPassed"] is True
        assert [each["type"] for each in second["detectedPromises"]] == ["COMPLETE"]
        ended = agent("iteration_complete", **loop, completionPromise="COMPLETE", summary="ok")
        assert ended["hooksCleared"] == 1
        assert agent("hook_clear", taskId=task)["hooksCleared"] == 0
        agent("task_complete", taskId=task, result="greeting.txt")
    assert cli.task(task)["state"] == "completed"
    kinds = [e["type"] for e in cli.events() if e["type"].startswith(("iteration", "hook"))]
    assert kinds == [
        "hook_registered",
        "iteration_started",
        "iteration_validated",
        "iteration_advanced",
        "iteration_validated",
        "iteration_completed",
        "hooks_cleared",
    ]


def test_an_escalation_leaves_the_task_to_the_agent(agent: Agent) -> None:
    task, loop = agent.loop("default")
    answer = agent("iteration_validate", iterationId=loop, agentOutput="<promise>BLOCKED</promise>")
    assert answer["completionSignal"] == "ESCALATE"
    assert "task_block" in answer["feedback"]
    assert agent("task_get", taskId=task)["state"] == "active"
    blocked = agent("task_block", taskId=task, reason="no key", requiredKnowledge=["the key"])
    assert (blocked["state"], blocked["blockReason"]) == ("blocked", "no key")


def test_hooks_and_loops_survive_a_restart(cli: Cli) -> None:
    with Agent.in_process(cli) as agent:
        task, loop = agent.loop("promise")
        agent("iteration_next", iterationId=loop)
    with Agent.on_stdio(cli) as agent:
        assert agent("hook_list", taskId=task)["hookCount"] == 1
        answer = agent("iteration_validate", iterationId=loop, agentOutput=COMPLETE)
        assert (answer["iteration"], answer["completionSignal"]) == (2, "COMPLETE")


def test_the_last_iteration(agent: Agent) -> None:
    task, loop = agent.loop("default", maxIterations=2)
    agent("iteration_validate", iterationId=loop)
    agent("iteration_next", iterationId=loop)
    assert "last" in agent("iteration_validate", iterationId=loop)["feedback"]
    told = agent.refused("iteration_next", iterationId=loop)
    assert (told["completionSignal"], told["reason"]) == ("ESCALATE", "iterations")
    assert "task_block" in told["error"]["help"]
    assert task in told["error"]["help"]


@pytest.mark.parametrize(
    ("plan", "reason"),
    [
        ({"circuitBreakerThreshold": 2}, "failures"),
        ({"circuitBreaker": {"failures": 2}}, "failures"),
        ({"circuitBreaker": {"qualityRegression": 1}}, "quality_regression"),
    ],
)
def test_guards(agent: Agent, shared: Cli, plan: dict[str, Any], reason: str) -> None:
    shared.put("ok.txt", "")
    rule = {"name": "ok", "type": "file_existence", "files": ["ok.txt"]}
    _, loop = agent.loop("validation", validationRules=[rule], **plan)
    agent("iteration_validate", iterationId=loop, agentOutput="one")
    agent("iteration_next", iterationId=loop)
    (shared.root / "ok.txt").unlink()
    agent("iteration_validate", iterationId=loop, agentOutput="two")
    if reason == "failures":
        agent("iteration_next", iterationId=loop)
        agent("iteration_validate", iterationId=loop, agentOutput="three")
    assert agent.refused("iteration_next", iterationId=loop)["reason"] == reason


def test_an_agent_that_repeats_itself_and_changes_nothing(cli: Cli) -> None:
    subprocess.run(("git", "init", "--quiet"), cwd=cli.root, check=True)
    with Agent.in_process(cli) as agent:
        _, loop = agent.loop("promise", circuitBreaker={"identicalOutput": 2})
        agent("iteration_validate", iterationId=loop, agentOutput="trying")
        agent("iteration_next", iterationId=loop)
        agent("iteration_validate", iterationId=loop, agentOutput="trying")
        assert agent.refused("iteration_next", iterationId=loop)["reason"] == "identical_output"


def test_a_new_loop_replaces_the_old_one(agent: Agent) -> None:
    task, old = agent.loop("promise")
    new = agent("iteration_start", taskId=task)["iterationId"]
    error = agent.refused("iteration_next", iterationId=old)["error"]
    assert (error["code"], new in error["message"]) == ("loop-over", True)
    assert agent("iteration_next", iterationId=new)["iteration"] == 2


def test_a_loop_that_ended(agent: Agent) -> None:
    _, loop = agent.loop("promise")
    agent("iteration_complete", iterationId=loop, completionPromise="<promise>COMPLETE</promise>")
    for tool in ("iteration_validate", "iteration_next", "iteration_complete", "hook_evaluate"):
        assert agent.refused(tool, iterationId=loop)["error"]["code"] == "loop-over"


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"completionPromises": ["DONE"]}, "COMPLETE, CONTINUE, BLOCKED, ESCALATE"),
        ({"validationRules": [{"name": "a", "type": "command"}]}, "command"),
        ({"validationRules": [{"name": "a", "type": "magic"}]}, "type"),
        ({"maxIterations": 0}, "maxIterations"),
        ({"maxIterations": "many"}, "maxIterations"),
        ({"circuitBreaker": {"failures": -1}}, "circuit breaker"),
    ],
)
def test_loops_that_cannot_begin(agent: Agent, wrong: dict[str, Any], told: str) -> None:
    task = agent("task_create", goal="work")["taskId"]
    error = agent.refused("iteration_start", taskId=task, **wrong)["error"]
    assert told in f"{error['message']} {error['help']}"
    assert agent("task_get", taskId=task)["state"] == "ready"


def test_a_finished_task_has_no_loop(agent: Agent) -> None:
    task = agent("task_create", goal="work")["taskId"]
    agent("task_complete", taskId=task)
    assert agent.refused("iteration_start", taskId=task)["error"]["code"] == "illegal-transition"


# What the project configures.


def test_configured_rules_run_besides_the_agents_own(cli: Cli) -> None:
    cli.configure("validation: [{name: tests_pass, type: command, command: 'test -e made'}]\n")
    own = {"name": "mine", "type": "command", "command": "true"}
    with Agent.in_process(cli) as agent:
        _, loop = agent.loop("validation", validationRules=[own])
        answer = agent("iteration_validate", iterationId=loop)
        assert [(r["ruleName"], r["passed"]) for r in answer["validationResults"]] == [
            ("tests_pass", False),
            ("mine", True),
        ]
        assert answer["completionSignal"] == "CONTINUE"
        task = agent("task_create", goal="other")["taskId"]
        weaker = {"name": "tests_pass", "type": "command", "command": "true"}
        error = agent.refused("iteration_start", taskId=task, validationRules=[weaker])["error"]
        assert "tests_pass" in error["message"]


def test_no_agent_gets_past_configured_stop_hooks(cli: Cli) -> None:
    cli.configure("hooks: {stop: [{name: proof, command: 'test -e proof'}]}\n")
    with Agent.in_process(cli) as agent:
        task, loop = agent.loop("promise")
        answer = agent("iteration_validate", iterationId=loop, agentOutput=COMPLETE)
        assert answer["completionSignal"] == "CONTINUE"
        assert answer["hook"]["hookId"] == "proof"
        agent("hook_clear", taskId=task)
        again = agent("iteration_validate", iterationId=loop, agentOutput=COMPLETE)
        assert again["completionSignal"] == "CONTINUE"
        error = agent.refused("iteration_complete", iterationId=loop)["error"]
        assert (error["code"], "iteration_validate" in error["help"]) == ("not-complete", True)

        cli.put("proof", "")
        agent("hook_register", taskId=task, hookType="promise")
        alone = agent("iteration_validate", iterationId=loop, agentOutput="hm")
        assert alone["completionSignal"] == "CONTINUE"  # its own hook is not content yet
        both = agent("iteration_validate", iterationId=loop, agentOutput=COMPLETE)
        assert both["completionSignal"] == "COMPLETE"
        assert agent("iteration_complete", iterationId=loop)["hooksCleared"] == 1


def test_either_group_escalates(cli: Cli) -> None:
    cli.configure("hooks: {stop: [{name: proof, command: 'exit 0'}]}\n")
    with Agent.in_process(cli) as agent:
        _, loop = agent.loop("promise")
        said = "<promise>ESCALATE</promise>"
        answer = agent("iteration_validate", iterationId=loop, agentOutput=said)
        assert answer["completionSignal"] == "ESCALATE"


def test_giving_up_needs_no_consent(cli: Cli) -> None:
    cli.configure("hooks: {stop: [{name: proof, command: 'exit 1'}]}\n")
    with Agent.in_process(cli) as agent:
        _, loop = agent.loop()
        ended = agent("iteration_complete", iterationId=loop, completionPromise="BLOCKED")
        assert "task_block" in ended["feedback"]


def test_configured_hooks_that_are_not_trusted_let_nobody_pass(cli: Cli) -> None:
    cli.configure("hooks: {stop: [{name: proof, command: 'exit 0'}]}\n")
    with Agent.in_process(cli) as agent:
        _, loop = agent.loop("promise")
        cli.configure("hooks: {stop: [{name: proof, command: 'true'}]}\n", trust=False)
        answer = agent("iteration_validate", iterationId=loop, agentOutput=COMPLETE)
        assert answer["completionSignal"] == "ESCALATE"
        assert "hookline trust" in answer["hook"]["reason"]
        assert agent.refused("iteration_complete", iterationId=loop)["error"]["code"] == (
            "not-complete"
        )


def test_configured_rules_that_are_not_trusted_do_not_run_and_do_not_pass(cli: Cli) -> None:
    cli.configure("validation: [{name: t, type: command, command: 'touch ran'}]\n", trust=False)
    with Agent.in_process(cli) as agent:
        _, loop = agent.loop("validation")
        (result,) = agent("iteration_validate", iterationId=loop)["validationResults"]
        assert (result["passed"], "hookline trust" in result["message"]) == (False, True)
    assert not (cli.root / "ran").exists()


def test_evidence_asks_for_a_change_and_its_checks(cli: Cli) -> None:
    cli.configure(
        "validation: [{name: tests_pass, type: command, command: 'true'}]\n"
        "hooks: {stop: [evidence]}\n"
    )
    subprocess.run(("git", "init", "--quiet"), cwd=cli.root, check=True)
    with Agent.in_process(cli) as agent:
        _, loop = agent.loop("promise")
        empty = agent("iteration_validate", iterationId=loop, agentOutput=COMPLETE)
        assert empty["completionSignal"] == "CONTINUE"
        cli.put("work.txt", "done")
        done = agent("iteration_validate", iterationId=loop, agentOutput=COMPLETE)
        assert done["completionSignal"] == "COMPLETE"
        receipt = done["hook"]["metadata"]["receipt"]
        assert receipt["changedFiles"] == 1
        assert [check["name"] for check in receipt["checks"]] == ["tests_pass"]
        assert receipt["diffHash"]


def test_a_server_that_runs_no_commands_of_agents(cli: Cli) -> None:
    with Agent.on_stdio(cli, "--no-commands") as agent:
        task = agent("task_create", goal="work")["taskId"]
        hook = {"hookType": "command", "command": "touch ran"}
        assert (
            "does not run commands"
            in agent.refused("hook_register", taskId=task, **hook)["error"]["message"]
        )
        rule = {"name": "r", "type": "command", "command": "touch ran"}
        error = agent.refused("iteration_start", taskId=task, validationRules=[rule])["error"]
        assert "does not run commands" in error["message"]
        looks = {"name": "r", "type": "file_existence", "files": ["ran"]}
        agent("iteration_start", taskId=task, validationRules=[looks])
    assert not (cli.root / "ran").exists()
