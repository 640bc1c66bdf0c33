"""What a task may cost holds for all who work on it: once it is spent, no turn is begun."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.e2e.pipeline_rig import Pipeline

if TYPE_CHECKING:
    from tests.e2e.conftest import Cli

PROMISE = "<promise>COMPLETE</promise>"
APPROVE = json.dumps({"verdict": "approve", "summary": "Fine.", "comments": []})
CHANGES = json.dumps({"verdict": "request_changes", "summary": "No.", "comments": ["Sign it."]})
YES = json.dumps({"status": "success", "message": "yes"})
WORK = "echo $HOOKLINE_TASK_ID > log; echo x >> parts/$HOOKLINE_TASK_ID"
KEPT = "hooks: {before_submit: [{gatekeeper: [qa]}]}\n"


@pytest.fixture
def line(cli: Cli) -> Pipeline:
    return Pipeline(cli)


def begin(line: Pipeline, configuration: str, **turns: list[dict[str, Any]]) -> None:
    """A project with scripted agents whose turns cost a dollar each; `ledger` has a line each."""
    profiles = {}
    usage = {"inputTokens": 10, "outputTokens": 0, "usd": 1.0}
    for name, script in turns.items():
        written = [
            {
                **turn,
                "run": f"echo {name} >> {line.box}/ledger; {turn.get('run', ':')}",
                "usage": usage,
                "repeat": True,
            }
            for turn in script
        ]
        line.cli.put(f"{name}.json", json.dumps(written))
        profiles[name] = {"driver": "scripted", "script": f"{name}.json"}
    line.begin(configuration, agents=f"agents: {json.dumps(profiles)}\nagent: bot\n")


def ledger(line: Pipeline) -> list[str]:
    return (line.box / "ledger").read_text().split()


def waits(line: Pipeline, task: str, said: str, command: str) -> None:
    """Everything that tells of a task says why it waits, and how it goes on."""
    told = line.cli("attention").stdout
    assert said in told
    assert command in told
    assert said in line.cli("task", "show", task).stdout
    assert line.cli.task(task)["state"] in ("active", "submitted", "needs_continuation")


@pytest.mark.torture
def test_a_gatekeeper_is_not_asked_once_the_budget_is_spent(line: Pipeline, cli: Cli) -> None:
    budget = KEPT + "session: {budget: {usd: 0.5}}\n"
    begin(line, budget, bot=[{"text": PROMISE, "run": WORK}], qa=[{"text": APPROVE}])
    task = cli.add("a part")
    ended = line.worker(code=4)
    assert (ledger(line), ended["waiting"]) == (["bot"], [task])
    said = f"budget of {task} is spent: $1.00 of $0.50 spent"
    assert said in ended["why"][task]
    waits(line, task, said, f"hookline submit {task} --usd 2.00")
    # Another worker changes nothing, and pays nothing.
    assert line.worker(code=4)["waiting"] == [task]
    assert ledger(line) == ["bot"]
    assert cli("submit", task, "--usd", "2.00").code == 0
    assert ledger(line) == ["bot", "qa"]
    assert cli.task(task)["state"] == "completed"


@pytest.mark.torture
def test_a_fix_is_not_begun_once_the_budget_is_spent(line: Pipeline, cli: Cli) -> None:
    budget = KEPT + "session: {budget: {tokens: 15}}\ngates: {tries: 1}\n"
    qa = [{"text": CHANGES}, {"text": APPROVE}]
    begin(line, budget, bot=[{"text": PROMISE, "run": WORK}], qa=qa)
    task = cli.add("a part")
    line.worker(code=4)
    assert ledger(line) == ["bot", "qa"]
    said = f"budget of {task} is spent: 20 of 15 tokens used"
    waits(line, task, said, f"hookline submit {task} --tokens 40")
    assert cli("submit", task, "--tokens", "40").code == 0  # no attempt was used up
    assert ledger(line) == ["bot", "qa", "bot", "qa"]


@pytest.mark.torture
def test_an_agent_hook_at_a_gate_is_not_asked_either(line: Pipeline, cli: Cli) -> None:
    asks = "hooks: {before_merge: [{agent: qa, prompt: 'Is it good?'}], before_submit: []}\n"
    budget = asks + "session: {budget: {usd: 1}}\n"
    begin(line, budget, bot=[{"text": PROMISE, "run": WORK}], qa=[{"text": YES}])
    task = cli.add("a part")
    line.worker(code=4)
    assert ledger(line) == ["bot"]
    said = f"budget of {task} is spent: $1.00 of $1.00 spent"
    waits(line, task, said, f"hookline merge {task} --usd 2.00")
    assert cli("merge", task, "--usd", "2").code == 0
    assert ledger(line) == ["bot", "qa"]


def test_a_session_that_continues_counts_what_others_cost(line: Pipeline, cli: Cli) -> None:
    budget = KEPT + "session: {budget: {usd: 2}}\ngates: {tries: 0}\n"
    begin(line, budget, bot=[{"text": PROMISE, "run": WORK}], qa=[{"text": CHANGES}])
    task = cli.add("a part")
    line.worker(code=4)
    assert ledger(line) == ["bot", "qa"]
    assert cli.task(task)["state"] == "needs_continuation"
    assert cli("run", "--task", task).code == 5
    assert ledger(line) == ["bot", "qa"]
    assert "$2.00 of $2.00 spent" in cli("attention").stdout


def test_the_money_of_a_worker_is_a_ceiling(line: Pipeline, cli: Cli) -> None:
    begin(line, KEPT, bot=[{"text": PROMISE, "run": WORK}], qa=[{"text": CHANGES}])
    task = cli.add("a part")
    ended = line.worker("--usd", "1.5", code=5)
    assert (ended["limit"], ended["usd"], ledger(line)) == ("usd", 2.0, ["bot", "qa"])
    said = "budget of $1.50 (`hookline work --usd`) is spent"
    assert said in ended["why"][task]
    waits(line, task, said, "hookline work")
    # The next worker has money of its own.
    line.worker("--usd", "1", code=5)
    assert ledger(line) == ["bot", "qa", "bot"]


def test_only_a_person_raises_a_budget(line: Pipeline, cli: Cli) -> None:
    begin(line, KEPT, bot=[{"text": PROMISE, "run": WORK}], qa=[{"text": APPROVE}])
    task = cli.add("a part")
    line.by_hand(task)
    for words in (("submit", task, "--usd", "0"), ("merge", task, "--tokens", "-1")):
        assert cli(*words).code == 2
    cli.env["HOOKLINE_AGENT"] = "bot"
    assert cli("submit", task, "--usd", "9").code != 0
    assert not (line.box / "ledger").exists()
