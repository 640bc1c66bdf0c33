"""What a task costs is what its model has counted, whoever asked it, and whoever was killed."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.agents.model import Reply, Rule
from tests.agents.session_desk import PATIENCE, WORKERS
from tests.e2e.conftest import kill
from tests.e2e.pipeline_rig import finish, work_ended

if TYPE_CHECKING:
    from pathlib import Path

    from tests.agents.conftest import Script
    from tests.e2e.pipeline_rig import Pipeline

GATES = """\
hooks:
  before_submit: []
  before_merge: [{gatekeeper: {names: [qa], prompt: JUDGE-THIS}}]
"""
CHANGES = {
    "verdict": "request_changes",
    "summary": "Not signed.",
    "comments": [{"file": None, "line": None, "blocking": True, "comment": "SIGN-IT"}],
}
APPROVE = {"verdict": "approve", "summary": "Fine.", "comments": []}
pytestmark = pytest.mark.timeout(3 * PATIENCE)


@pytest.mark.torture
@pytest.mark.parametrize(
    ("author", "judge"),
    [("claude-code", "codex"), ("codex", "claude-code")],
)
def test_the_cost_of_a_task_is_what_the_model_has_counted(
    line: Pipeline, scripted: Script, tmp_path: Path, author: str, judge: str
) -> None:
    writer, keeper, cli = WORKERS[author], WORKERS[judge], line.cli
    profiles = {"it": writer.profile(), "qa": keeper.profile()}
    line.begin(GATES, agents=f"agents: {json.dumps(profiles)}\nagent: it\n")
    task = cli.add("MAKE-PART-ONE")
    work, sign = (
        writer.shell(each)
        for each in ("echo x > parts/T-1; echo T-1 >> log; git add -A", "touch signed")
    )
    model = scripted(
        Rule("JUDGE-THIS", keeper.review(CHANGES, usage=(1009, 13)), times=1),
        Rule("JUDGE-THIS", keeper.review(APPROVE, usage=(2003, 17))),
        Rule("SIGN-IT", Reply(calls=(sign,), usage=(4001, 19)), times=1),
        Rule("MAKE-PART-ONE", Reply(calls=(work,), usage=(8009, 23)), times=1),
        Rule("", Reply(hold=True), times=1),
        Rule("", Reply(text="It is done.\n<promise>COMPLETE</promise>", usage=(16001, 29))),
    )
    for each in (writer, keeper):
        cli.env |= each.environment(model, tmp_path / "home")

    killed = cli.start("work", "--once", "--json")
    model.wait_for(2, PATIENCE)  # its first step is done, and it waits for the second answer
    kill(killed)
    ended = work_ended(finish(cli.start("work", "--once", "--json"), PATIENCE))
    assert ended["merged"] == [task], [each.newest for each in model.requests]

    cost = cli.task(task)["cost"]
    assert (cost["inputTokens"], cost["outputTokens"]) == model.counted(), cost
    roles = {(each["role"], each["agent"]): each for each in cost["roles"]}
    assert set(roles) == {("implementer", "it"), ("gatekeeper", "qa"), ("fix", "it")}
    assert roles["gatekeeper", "qa"]["turns"] == 2
    # Both workers' turns count for the task, and to each worker only what it saw.
    assert ended["cost"]["inputTokens"] <= cost["inputTokens"]
