"""Agents that may only look: what they change is undone, and never becomes the author's work."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.e2e.pipeline_rig import Pipeline, keepers

if TYPE_CHECKING:
    from tests.e2e.conftest import Cli

JUDGED = "hooks: {before_submit: [], before_merge: [{gatekeeper: [qa]}]}\ngates: {test: none}\n"
APPROVE = json.dumps({"verdict": "approve", "summary": "Fine.", "comments": []})
EDITS = "echo by qa >> Makefile; echo by qa > extra.txt"


@pytest.mark.examples(1)
@pytest.mark.parametrize(
    "does", [EDITS, f"{EDITS}; git add -A; git commit -qm mine", f"git switch -qc own; {EDITS}"]
)
def test_what_a_gatekeeper_changed_is_undone(cli: Cli, does: str) -> None:
    line = Pipeline(cli)
    once = f"[ -e {line.box}/once ] || {{ touch {line.box}/once; {does}; }}; echo '{APPROVE}'"
    line.begin(JUDGED, remote=False, agents=keepers(line, qa=once))
    task = cli.add("a part")
    place = line.by_hand(task)
    assert cli("submit", task).code == 3
    told = str(cli.task(task)["blockReason"])
    assert "files changed in a turn that may only read: Makefile, extra.txt; Hookline undid" in told
    assert line.git("status", "--porcelain", "--branch", at=place) == f"## hookline/{task}"
    rescued = line.git("for-each-ref", "--format=%(objectname)", "refs/hookline/rescued")
    assert line.git("show", f"{rescued}:extra.txt") == "by qa"
    # What attention proposes merges the author's work and nothing else.
    (item,) = cli("attention", "--json").json  # the gate that failed is no entry of its own
    assert (item["id"], item["command"]) == (task, f"hookline submit {task}")
    assert cli("submit", task).code == 0
    assert line.git("diff", "--name-only", "main~1", "main").split() == ["log", f"parts/{task}"]


def test_what_cannot_be_undone_for_certain_is_named(cli: Cli) -> None:
    line = Pipeline(cli)
    leaves = "{name: leaves, command: 'echo result > report.txt'}"
    line.begin(
        JUDGED.replace("[{gate", f"[{leaves}, {{gate"),
        remote=False,
        agents=keepers(line, qa=f"{EDITS}; echo '{APPROVE}'"),
    )
    task = cli.add("a part")
    place = line.by_hand(task)
    assert cli("submit", task).code == 3
    told = str(cli.task(task)["blockReason"])
    assert "not undone (not everything was committed before)" in told
    assert (place / "report.txt").exists()
    assert (place / "extra.txt").exists()
