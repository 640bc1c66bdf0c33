"""Stop hooks through a real MCP client: who decides what, in which order, and what is answered."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING, Any

import pytest

from tests.e2e.conftest import Cli
from tests.e2e.mcp_rig import Agent

if TYPE_CHECKING:
    from collections.abc import Iterator

COMPLETE = "Implementation complete. <promise>COMPLETE</promise>"
PASSES = {"name": "tests_pass", "type": "command", "command": "true"}
FAILS = {"name": "tests_pass", "type": "command", "command": "echo 2 failed; false"}


@pytest.fixture(scope="module")
def cli(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cli]:
    runner = Cli(tmp_path_factory.mktemp("mcp"))
    git(runner, "init", "--quiet")
    runner.put("boom.py", "def fail(context, more):\n    raise ValueError('no luck')\n")
    git(runner, "add", "--all")
    git(runner, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "--quiet", "-m", "begin")
    yield runner
    runner.close()


@pytest.fixture(scope="module")
def agent(cli: Cli) -> Iterator[Agent]:
    with Agent.in_process(cli) as running:
        yield running


def git(cli: Cli, *words: str) -> None:
    subprocess.run(("git", *words), cwd=cli.root, check=True, capture_output=True)


def test_registration_answers_what_was_registered(agent: Agent) -> None:
    task = agent("task_create", goal="work")["taskId"]
    made = agent("hook_register", taskId=task, hookType="default", metadata={"description": "x"})
    assert made == {
        "hookId": made["hookId"],
        "taskId": task,
        "hookType": "default",
        "enabled": True,
        "metadata": {"description": "x"},
    }
    assert made["hookId"].startswith("HOOK-")
    assert agent("hook_register", taskId=task, command="true")["hookType"] == "command"
    agent("hook_clear", taskId=task)
    made = agent("hook_register", taskId=task, metadata={"description": "x"})
    other = agent("hook_register", taskId=task, hookType="validation", enabled=False)
    assert agent("hook_list", taskId=task) == {
        "taskId": task,
        "hookCount": 2,
        "hooks": [
            {
                "id": made["hookId"],
                "enabled": True,
                "metadata": {"type": "default", "description": "x"},
            },
            {"id": other["hookId"], "enabled": False, "metadata": {"type": "validation"}},
        ],
    }
    assert agent("hook_clear", taskId=task) == {"taskId": task, "hooksCleared": 2}
    assert agent("hook_list", taskId=task)["hookCount"] == 0


def test_an_evaluation_answers_in_the_documented_form(agent: Agent) -> None:
    task, iteration = agent.loop("default")
    hook = agent("hook_list", taskId=task)["hooks"][0]["id"]
    assert agent(
        "hook_evaluate",
        iterationId=iteration,
        agentOutput=COMPLETE,
        filesModified=["src/auth.ts", "tests/auth.test.ts"],
        draftContent="// Implementation code...",
        draftType="implementation",
    ) == {
        "hookId": hook,
        "taskId": task,
        "iteration": 1,
        "action": "complete",
        "reason": "Agent signaled completion via <promise>COMPLETE</promise>",
        "nextPrompt": None,
        "checkpointCreated": False,
        "metadata": {},
    }


@pytest.mark.parametrize(
    ("hook", "said", "rules", "action"),
    [
        ("default", COMPLETE, [FAILS], "complete"),
        ("default", "<promise>ESCALATE</promise>", [PASSES], "escalate"),
        ("default", "<promise>BLOCKED</promise>", [PASSES], "escalate"),
        ("default", "going on", [PASSES], "complete"),
        ("default", "going on", [FAILS], "continue"),
        ("default", "going on", [], "continue"),
        ("validation", COMPLETE, [PASSES], "complete"),
        ("validation", COMPLETE, [FAILS], "continue"),
        ("validation", COMPLETE, [], "continue"),
        ("promise", COMPLETE, [FAILS], "complete"),
        ("promise", "<promise>ESCALATE</promise>", [PASSES], "escalate"),
        ("promise", "<promise>BLOCKED</promise>", [PASSES], "escalate"),
        ("promise", "going on", [PASSES], "continue"),
        ("promise", "say `<promise>COMPLETE</promise>` at the end", [], "continue"),
        ("promise", "<promise> COMPLETE </promise>", [], "complete"),
    ],
)
def test_presets(
    agent: Agent, hook: str, said: str, rules: list[dict[str, Any]], action: str
) -> None:
    _, iteration = agent.loop(hook, validationRules=rules)
    assert agent("hook_evaluate", iterationId=iteration, agentOutput=said)["action"] == action


def test_failing_rules_are_told_to_the_agent(agent: Agent) -> None:
    _, iteration = agent.loop("validation", validationRules=[FAILS])
    answer = agent("hook_evaluate", iterationId=iteration)
    assert "tests_pass" in answer["reason"]
    assert "2 failed" in answer["nextPrompt"]


def test_the_first_that_completes_stops_the_evaluation(agent: Agent, cli: Cli) -> None:
    task, iteration = agent.loop("validation", "promise", "default", validationRules=[PASSES])
    first, *others = [each["id"] for each in agent("hook_list", taskId=task)["hooks"]]
    said = "<promise>ESCALATE</promise>"
    answer = agent("hook_evaluate", iterationId=iteration, agentOutput=said)
    assert (answer["hookId"], answer["action"]) == (first, "complete")
    assert cli.calls(first) == ["ok"]
    assert [cli.calls(name) for name in others] == [[], []]


def test_the_last_continue_wins(agent: Agent) -> None:
    task, iteration = agent.loop("promise", "validation")
    last = agent("hook_list", taskId=task)["hooks"][1]["id"]
    answer = agent("hook_evaluate", iterationId=iteration)
    assert (answer["hookId"], answer["action"]) == (last, "continue")


def test_disabled_hooks_are_skipped(agent: Agent) -> None:
    task, iteration = agent.loop({"hookType": "promise", "enabled": False}, "validation")
    answer = agent("hook_evaluate", iterationId=iteration, agentOutput=COMPLETE)
    assert answer["hookId"] == agent("hook_list", taskId=task)["hooks"][1]["id"]
    assert answer["action"] == "continue"


def test_a_hook_that_fails_escalates(agent: Agent, cli: Cli) -> None:
    task, iteration = agent.loop({"hookType": "python", "python": "boom:fail"})
    answer = agent("hook_evaluate", iterationId=iteration)
    error = answer["metadata"]["error"]
    assert "no luck" in error
    assert answer["action"] == "escalate"
    assert answer["reason"] == f"Hook evaluation failed: {error}"
    (failure,) = [e for e in cli.events("hook_error") if e["nodeId"] == task]
    assert failure["data"]["hookName"] == answer["hookId"]


def test_no_hooks_registered(agent: Agent) -> None:
    _, iteration = agent.loop()
    answer = agent("hook_evaluate", iterationId=iteration, agentOutput=COMPLETE)
    wanted = {
        "hookId": "default",
        "action": "continue",
        "reason": "No hooks registered for this task",
    }
    assert answer == {**answer, **wanted}


def test_pattern_tests_first(agent: Agent) -> None:
    _, iteration = agent.loop("tdd", validationRules=[FAILS])
    failing = agent("hook_evaluate", iterationId=iteration)
    assert (failing["action"], failing["reason"]) == ("continue", "Tests still failing")
    assert failing["nextPrompt"] == "Fix failing tests and run again"
    _, iteration = agent.loop("tdd", validationRules=[PASSES])
    passing = agent("hook_evaluate", iterationId=iteration)
    assert (passing["action"], passing["reason"]) == ("complete", "All tests pass")


def test_pattern_security_remediation(agent: Agent) -> None:
    fixed = {"name": "vulns_fixed", "type": "command", "command": "true"}
    clean = {"name": "sast_clean", "type": "command", "command": "true"}
    _, iteration = agent.loop("security-remediation", validationRules=[fixed, clean])
    done = agent("hook_evaluate", iterationId=iteration)
    assert (done["action"], done["reason"]) == ("complete", "All vulnerabilities remediated")
    dirty = {**clean, "command": "false"}
    rules = [fixed, dirty]
    _, iteration = agent.loop("security-remediation", validationRules=rules, maxIterations=12)
    left = agent("hook_evaluate", iterationId=iteration)
    assert (left["action"], left["reason"]) == ("continue", "Vulnerabilities remain")
    for _ in range(9):
        agent("iteration_next", iterationId=iteration)
    tenth = agent("hook_evaluate", iterationId=iteration)
    assert (tenth["iteration"], tenth["action"]) == (10, "escalate")
    assert tenth["reason"] == (
        "Max iterations reached - complex vulnerabilities may require manual review"
    )


def test_pattern_checkpoint(agent: Agent) -> None:
    task, iteration = agent.loop("checkpoint")
    first = agent("iteration_validate", iterationId=iteration)["hook"]
    assert (first["action"], first["reason"]) == ("continue", "Iteration in progress")
    assert first["checkpointCreated"] is False
    for _ in range(4):
        agent("iteration_next", iterationId=iteration)
    fifth = agent("iteration_validate", iterationId=iteration)["hook"]
    assert (fifth["action"], fifth["reason"]) == ("continue", "Halfway checkpoint")
    assert fifth["checkpointCreated"] is True
    (kept,) = agent("checkpoint_list", taskId=task)["checkpoints"]
    found = agent("checkpoint_get", checkpointId=kept["checkpointId"])
    assert found["executionPhase"] == "midpoint"
    assert found["executionStep"] == 5
    assert found["agentContext"] == {"milestone": "halfway"}


def test_a_command_decides(agent: Agent, cli: Cli) -> None:
    line = "test -e done.txt || { echo write done.txt; exit 1; }"
    _, iteration = agent.loop({"hookType": "command", "command": line})
    answer = agent("hook_evaluate", iterationId=iteration)
    assert answer["action"] == "continue"
    assert "write done.txt" in answer["nextPrompt"]
    done = cli.put("done.txt", "")
    assert agent("hook_evaluate", iterationId=iteration)["action"] == "complete"
    done.unlink()


def test_the_metadata_of_a_decision_is_passed_on(agent: Agent) -> None:
    line = """echo '{"action": "continue", "reason": "half", "metadata": {"left": [1, 2]}}'"""
    _, iteration = agent.loop({"hookType": "command", "command": line})
    answer = agent("hook_evaluate", iterationId=iteration)
    assert (answer["reason"], answer["metadata"]) == ("half", {"left": [1, 2]})


def test_checkpoint_data_that_cannot_be_kept_is_said(agent: Agent) -> None:
    line = """echo '{"action": "continue", "checkpointData": {"agentContext": 7}}'"""
    task, iteration = agent.loop({"hookType": "command", "command": line})
    answer = agent("hook_evaluate", iterationId=iteration)
    assert (answer["action"], answer["checkpointCreated"]) == ("continue", False)
    assert "agentContext" in answer["metadata"]["checkpointError"]
    assert agent("checkpoint_list", taskId=task)["checkpointCount"] == 0


def test_files_come_from_git_and_not_from_the_caller(agent: Agent, cli: Cli) -> None:
    line = "grep -o '\"filesModified\":[^]]*]'; exit 1"
    task, iteration = agent.loop({"hookType": "command", "command": line})
    new = cli.put("real.txt", "x")
    answer = agent("hook_evaluate", iterationId=iteration, filesModified=["claimed.txt"])
    new.unlink()
    assert "real.txt" in answer["nextPrompt"]
    assert "claimed.txt" not in answer["nextPrompt"]
    (event,) = [e for e in cli.events("iteration_validated") if e["nodeId"] == task]
    assert event["data"]["finding"]["filesReported"] == ["claimed.txt"]


def test_a_condition_keeps_a_hook_out(agent: Agent) -> None:
    _, iteration = agent.loop({"hookType": "max-iterations", "when": "iteration > 1"}, "promise")
    answer = agent("hook_evaluate", iterationId=iteration)
    assert answer["action"] == "continue"


def test_why_explains_a_registered_hook(agent: Agent, cli: Cli) -> None:
    task, iteration = agent.loop("promise")
    agent("hook_evaluate", iterationId=iteration, agentOutput=COMPLETE)
    hook = agent("hook_list", taskId=task)["hooks"][0]["id"]
    told = cli.json("why", hook)
    assert hook in told["verdict"]
    assert task in told["verdict"]
    assert "complete" in str(told["steps"])


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"hookType": "strict"}, "default, validation, promise"),
        ({"hookType": "command"}, "command"),
        ({"hookType": "command", "command": "echo {{nothing}}"}, "nothing"),
        ({"hookType": "python", "python": "boom"}, "module:function"),
        ({"hookType": "default", "command": "true"}, "hookType"),
        ({"command": "true", "python": "a:b"}, "two hooks"),
        ({"hookType": "promise", "when": "import os"}, "when"),
        ({"hookType": "promise", "timeout": 100000}, "timeout"),
        ({"hookType": "max-iterations", "arguments": {"no": 1}}, "no"),
    ],
)
def test_hooks_that_cannot_be_registered(agent: Agent, wrong: dict[str, Any], told: str) -> None:
    task = agent("task_create", goal="work")["taskId"]
    error = agent.refused("hook_register", taskId=task, **wrong)["error"]
    assert error["code"] == "bad-input"
    assert told in f"{error['message']} {error['help']}"
    assert agent("hook_list", taskId=task)["hookCount"] == 0


def test_a_task_has_a_bounded_number_of_hooks(agent: Agent) -> None:
    task = agent("task_create", goal="work")["taskId"]
    for _ in range(20):
        agent("hook_register", taskId=task, hookType="promise")
    assert "hook_clear" in agent.refused("hook_register", taskId=task)["error"]["help"]
