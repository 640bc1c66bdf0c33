"""A turn that is cut short counts as far as its agent told, and costs say so."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.agents.model import Reply, Rule
from tests.agents.session_desk import PATIENCE, WORKERS
from tests.e2e.conftest import Cli, eventually, kill
from tests.e2e.pipeline_rig import Pipeline, finish, work_ended

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.agents.conftest import Script

GATES = """\
hooks:
  before_submit: []
  before_merge: [{gatekeeper: {names: [qa], prompt: JUDGE-THIS}}]
"""
APPROVE = json.dumps({"verdict": "approve", "summary": "Fine.", "comments": []})
PROMISE = "It is done.\n<promise>COMPLETE</promise>"
SAYS = "unfinished: under way or cut short; such a turn counts as far as its agent told"
pytestmark = pytest.mark.timeout(3 * PATIENCE)


@pytest.fixture
def line(tmp_path: Path) -> Iterator[Pipeline]:
    pipeline = Pipeline(Cli(tmp_path))
    yield pipeline
    pipeline.cli.close()


def test_turns_that_a_kill_cuts_count_as_far_as_they_told(
    line: Pipeline, scripted: Script, tmp_path: Path
) -> None:
    claude, codex = WORKERS["claude-code"], WORKERS["codex"]
    profiles = {"it": claude.profile(), "qa": codex.profile()}
    line.begin(GATES, agents=f"agents: {json.dumps(profiles)}\nagent: it\n")
    cli = line.cli
    task = cli.add("MAKE-PART-ONE")
    work = claude.shell("echo x > parts/T-1; echo T-1 >> log; git add -A")
    look = codex.shell("cat log")
    model = scripted(
        Rule("JUDGE-THIS", Reply(calls=(look,), usage=(1009, 13)), times=1),
        Rule("MAKE-PART-ONE", Reply(calls=(work,), usage=(8009, 23)), times=1),
        Rule("", Reply(hold=True), times=1),
        Rule("", Reply(text=PROMISE, usage=(16001, 29)), times=1),
        Rule("", Reply(hold=True), times=1),
        Rule("", Reply(text=APPROVE, usage=(2003, 17))),
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
    ended = work_ended(finish(cli.start("work", "--once", "--json"), PATIENCE))
    assert ended["merged"] == [task], [each.newest for each in model.requests]
    author, judge = (roles()[role] for role in ("implementer", "gatekeeper"))
    assert [(each["turns"], each["unfinished"]) for each in (author, judge)] == [(2, 1), (2, 1)]
    assert [each["inputTokens"] for each in (author, judge)] == [8009 + 16001, 1009 + 2003]
    assert author["usd"] > 0, "the turn that ended told its price"
