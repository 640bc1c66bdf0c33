"""What waits for a person, told the same by `work`, `why`, `task show` and `attention`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.e2e.pipeline_rig import Pipeline
from tests.e2e.terminal_rig import prepare

if TYPE_CHECKING:
    from tests.e2e.conftest import Cli

ASKS = "hooks: {before_submit: [human: Is it good?]}\n"


@pytest.fixture
def line(cli: Cli) -> Pipeline:
    return Pipeline(cli)


def items(cli: Cli) -> dict[str, dict[str, Any]]:
    """What attention lists, by what it is about."""
    return {each["id"]: each for each in cli("attention", "--json").json}


def test_a_worker_names_all_that_it_leaves_and_why(line: Pipeline, cli: Cli) -> None:
    line.begin(ASKS, remote=False)
    asks, stuck, lost, mine = (cli.add(goal) for goal in ("asks", "stuck", "lost", "mine"))
    behind = cli.add("behind", "--depends-on", lost)
    line.by_hand(asks)
    assert cli("submit", asks).code == 4
    cli.json("task", "block", stuck, "--reason", "no key")
    cli.json("task", "fail", lost, "--error", "gave up")
    cli.json("task", "claim", mine)
    ended = line.worker(code=4)
    assert (ended["begun"], ended["waiting"], ended["blocked"]) == (0, [asks], [stuck])
    assert (ended["failed"], ended["heldBack"], ended["held"]) == ([lost], [behind], [mine])
    assert ended["sentBack"] == ended["parked"] == []
    assert ended["why"].keys() == {asks, stuck}
    assert "Is it good?" in ended["why"][asks]
    assert ended["why"][stuck] == "no key"
    told = cli("work", "--once")
    first, second = told.stderr.splitlines()
    assert first.startswith(f"{asks}   it waits for you: the gate human at before_submit waits: ")
    assert second == f"{stuck}   no key"
    assert told.stdout == (
        f"nothing left to do: 0 tasks started, 0 merged, 1 waiting at a gate ({asks}), "
        f"1 blocked ({stuck}), 1 failed ({lost}), 1 waiting for these ({behind}), "
        f"1 claimed by someone else ({mine})\n"
    )


def test_a_gate_is_told_in_place_of_the_limit_before_it(line: Pipeline, cli: Cli) -> None:
    line.begin(f"{ASKS}session: {{iterations: 1}}\n", remote=False)
    line.turn("work; echo not yet; exit 0\n")
    task = cli.add("a part")
    assert line.worker(code=4)["sentBack"] == [task]
    (session,) = items(cli).values()
    assert (session["kind"], session["message"]) == (
        "session",
        "It reached a limit: 1 of 1 iterations used.",
    )
    raised = "hookline run --resume --name T-1-bot --iterations 2"
    assert session["command"] == cli.json("why", task)["next"] == raised
    assert cli.json("task", "show", task)["waits"]["command"] == raised
    # Its work is good enough for its person.
    assert cli("submit", task).code == 4
    (gate,) = items(cli).values()
    approve = f"hookline gate approve {task} (or: reject)"
    assert (gate["kind"], gate["command"]) == ("gate", approve)
    why = cli.json("why", task)
    assert why["next"] == approve
    assert "human at before_submit waits: a person decides" in why["verdict"]
    assert "iteration" not in why["verdict"]
    assert [step["result"] for step in why["steps"] if "human" in step["what"]] == ["pending"]
    shown = cli("task", "show", task).stdout
    assert "human at before_submit" in shown
    assert approve in shown
    # Nor is the limit what counts once the gate has said no.
    cli.json("gate", "reject", task)
    assert cli("submit", task).code == 3
    (sent_back,) = items(cli).values()
    assert sent_back["kind"] == "task"
    assert "human: rejected by" in sent_back["message"]
    assert "human: rejected by" in cli.json("why", task)["verdict"]
    assert cli.json("why", task)["next"] == sent_back["command"]


def test_a_reason_is_over_with_its_state(cli: Cli) -> None:
    prepare(cli, go=True, say="no\n")
    assert cli("run", "do it", "--iterations", "1").code == 5
    cli.json("task", "start", "T-1")
    cli.json("task", "block", "T-1", "--reason", "no key")
    cli.json("task", "unblock", "T-1")
    assert cli.task("T-1")["blockReason"] is None
    assert cli.json("why", "T-1")["verdict"] == "T-1 is ready"
    assert cli("attention", "--json").json == []
    assert cli("doctor", "--json").code == 0


@pytest.mark.parametrize(
    ("gate", "why"),
    [
        ("{name: server, http: 'http://127.0.0.1:9/gate'}", "server could not check the work"),
        ("{gatekeeper: [judge]}", "gatekeeper could not check the work"),
    ],
)
def test_a_gate_that_broke_is_tried_again_and_no_agent_sent(
    line: Pipeline, cli: Cli, gate: str, why: str
) -> None:
    judge = "judge: {driver: command, command: 'echo hm'}"
    agents = f"agents: {{bot: {line.profile}, {judge}}}\n"
    line.begin(f"hooks: {{before_submit: [{gate}]}}\n", remote=False, agents=agents)
    task = cli.add("a part")
    line.by_hand(task)
    assert cli("submit", task, "--agent", "bot", "--json").json["outcome"] == "sent_back"
    item = items(cli)[task]
    assert why in item["message"]
    assert item["command"] == cli.json("why", task)["next"] == f"hookline submit {task}"


def test_an_agent_that_fails_each_time_is_told_as_that(line: Pipeline, cli: Cli) -> None:
    line.begin("session: {guards: {failures: 2}}\n", remote=False)
    line.turn("echo no key >&2; exit 3\n")
    task = cli.add("a part")
    why = "iterations in a row failed: the agent exited 3: no key"
    assert line.worker(code=4)["why"][task] == f"2 {why}"
    assert cli.task(task)["blockReason"] == f"failed: 2 {why}"
    (item,) = items(cli).values()
    assert item["message"] == f"Its agent fails: 2 {why}."
    again = cli("run", "--resume", "--name", "T-1-bot")
    assert again.code == 5
    assert again.stdout == f"failed after 3 iterations: 3 {why}\n"
    assert "fix the agent, then resume it with `hookline run --resume --name T-1" in again.stderr
