"""Turns that are cut short: by a kill, of an author and of a judge, and by their number of steps.

One task goes through all of it. Each turn counts as far as its agent told, what a task costs is
what its model has counted, and a gate judges what was done by then.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.agents.model import Reply, Rule
from tests.agents.session_desk import PATIENCE, WORKERS
from tests.e2e.conftest import Cli, eventually, kill
from tests.e2e.pipeline_rig import Pipeline, work_ended

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.agents.conftest import Script

GATES = """\
gates: {turns: 2, tries: 2}
hooks:
  before_submit: []
  before_merge: [{gatekeeper: {names: [qa], prompt: JUDGE-THIS}}]
"""
SIGN = {"file": None, "line": None, "blocking": True, "comment": "SIGN-IT"}
CHANGES = {"verdict": "request_changes", "summary": "Not signed.", "comments": [SIGN]}
APPROVE = {"verdict": "approve", "summary": "Fine.", "comments": []}
PROMISE = "It is done.\n<promise>COMPLETE</promise>"
SAYS = "unfinished: running or interrupted; its cost counts as far as the agent reported it"
pytestmark = pytest.mark.timeout(3 * PATIENCE)


@pytest.fixture
def line(tmp_path: Path) -> Iterator[Pipeline]:
    pipeline = Pipeline(Cli(tmp_path))
    yield pipeline
    pipeline.cli.close()


@pytest.mark.torture
def test_turns_that_are_cut_short_count_as_far_as_they_told(
    line: Pipeline, scripted: Script, tmp_path: Path
) -> None:
    claude, codex = WORKERS["claude-code"], WORKERS["codex"]
    profiles = {"it": claude.profile(), "qa": codex.profile()}
    line.begin(GATES, agents=f"agents: {json.dumps(profiles)}\nagent: it\n")
    cli = line.cli
    task = cli.add("MAKE-PART-ONE")
    work = claude.shell("echo x > parts/T-1; echo T-1 >> log; git add -A")
    look, sign = codex.shell("cat log"), claude.shell("echo signed >> signed")
    model = scripted(
        Rule("JUDGE-THIS", Reply(calls=(look,), usage=(1009, 13)), times=1),
        Rule("MAKE-PART-ONE", Reply(calls=(work,), usage=(8009, 23)), times=1),
        Rule("", Reply(hold=True), times=1),
        Rule("", Reply(text=PROMISE, usage=(16001, 29)), times=1),
        Rule("", Reply(hold=True), times=1),
        Rule("JUDGE-THIS", codex.review(CHANGES, usage=(2003, 17)), anywhere=True, times=1),
        Rule("JUDGE-THIS", codex.review(APPROVE, usage=(3001, 11)), anywhere=True),
        Rule("SIGN-IT", Reply(calls=(sign,), usage=(4001, 19)), anywhere=True),
    )
    for worker in (claude, codex):
        cli.env |= worker.environment(model, tmp_path / "home")

    def roles() -> dict[str, dict[str, Any]]:
        return {each["role"]: each for each in cli.task(task)["cost"]["roles"]}

    def cut(request: int, role: str) -> dict[str, Any]:
        """Kill the worker while its agent waits for an answer; what the role cost by then."""
        process = cli.start("work", "--once", "--json")
        model.wait_for(request, PATIENCE)
        eventually(lambda: roles()[role]["inputTokens"] > 0, "what the agent has told")
        kill(process)
        return roles()[role]

    # Claude Code has told the tokens of its first step; the money it tells at the end.
    author = cut(2, "implementer")
    assert (author["turns"], author["unfinished"]) == (1, 1)
    assert (author["inputTokens"], author["outputTokens"], author["usd"]) == (8009, 23, None)
    shown = cli("task", "show", task).stdout
    assert "in 1 turn (1 unfinished)" in shown
    assert SAYS in " ".join(shown.split())

    # Codex tells its tokens at the end, and has recorded those of its first step.
    judge = cut(5, "gatekeeper")
    assert (judge["turns"], judge["unfinished"]) == (1, 1)
    assert (judge["inputTokens"], judge["outputTokens"]) == (1009, 13)
    went_on, judged = model.requests[2:4]
    assert ("MAKE-PART-ONE" in went_on.history, went_on.answers > 0) == (True, True)
    verdict = judged.body["text"]["format"]["schema"]["properties"]["verdict"]
    assert verdict["enum"] == ["approve", "request_changes"]

    # The fix never ends by itself: it has two steps, and is judged by what it did in them.
    ended = work_ended(cli("work", "--once", "--json"))
    assert ended["merged"] == [task], [each.newest for each in model.requests]
    assert line.git("show", "main:signed", at=line.main) == "signed\nsigned"
    assert cli.task(task)["turnsUsed"] == 3
    turns = {role: (each["turns"], each["unfinished"]) for role, each in roles().items()}
    assert turns == {"implementer": (2, 1), "gatekeeper": (3, 1), "fix": (1, 0)}
    tokens = {role: each["inputTokens"] for role, each in roles().items()}
    judging = 1009 + 2003 + 3001
    assert tokens == {"implementer": 8009 + 16001, "gatekeeper": judging, "fix": 2 * 4001}
    assert roles()["implementer"]["usd"] > 0, "the turn that ended told its price"
    cost = cli.task(task)["cost"]
    assert (cost["inputTokens"], cost["outputTokens"]) == model.counted()
    # Both workers' turns count for the task, and to each worker only what it saw.
    assert ended["cost"]["inputTokens"] == 2003 + 3001 + 2 * 4001
