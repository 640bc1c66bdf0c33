"""What people see of a rejection: the reviewer's comments, the author's answer, the merge."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.e2e.pipeline_rig import Pipeline, keepers
from tests.e2e.report_file import ReportFile

if TYPE_CHECKING:
    from tests.e2e.conftest import Cli

WISH = {"file": "log", "line": 1, "blocking": True, "comment": "Say who wrote it."}
NO = json.dumps({"verdict": "request_changes", "summary": "Nearly.", "comments": [WISH]})
JUDGED = "hooks: {before_submit: [], before_merge: [{gatekeeper: [qa]}]}\n"


@pytest.mark.torture
def test_people_see_what_the_reviewer_wants_and_what_the_author_said(cli: Cli) -> None:
    line = Pipeline(cli)
    line.begin(
        f"{JUDGED}gates: {{tries: 1}}\n", remote=False, agents=keepers(line, qa=f"echo '{NO}'")
    )
    line.turn('work\n[ "$n" = 1 ] || echo "I wrote it, why ask?"\n')
    task = cli.add("a part")
    cli("work", "--once")
    assert cli.task(task)["state"] == "needs_continuation"
    report = cli.root / "report.html"
    cli("session", "report", f"{task}-bot", "--output", str(report))
    page = ReportFile(report.read_text()).text
    for said in (
        cli("gate", "list", task).stdout,
        cli("why", task).stdout,
        cli("task", "show", task).stdout,
        page,
    ):
        flat = " ".join(said.split())
        assert "blocking, log:1: Say who wrote it." in flat
    for said in (cli("gate", "list", task).stdout, cli("why", task).stdout, page):
        assert "I wrote it, why ask?" in said
    first, _ = [v for v in cli.json("gate", "list", task) if v["point"] == "before_merge"]
    assert first["answer"] == "I wrote it, why ask?"


@pytest.mark.torture
def test_a_merged_result_that_fails_and_a_conflict_are_rows_of_the_gates(cli: Cli) -> None:
    line = Pipeline(cli)
    line.begin(
        "gates: {tries: 0, test: 'test ! -e bad'}\nhooks: {before_submit: []}\n", remote=False
    )
    fails, conflicts = cli.add("fails"), cli.add("conflicts")
    place = line.by_hand(fails)
    (place / "bad").touch()
    assert cli("submit", fails).code == 3
    line.by_hand(conflicts)
    cli.put("log", "another\n")
    line.git("commit", "-qam", "another line")
    assert cli("submit", conflicts).code == 3
    for task, why in ((fails, "`test ! -e bad` fails on the merged"), (conflicts, "conflict")):
        last = cli.json("gate", "list", task)[-1]
        assert (last["point"], last["status"]) == ("merge", "failure")
        assert why in last["message"]
        shown = " ".join(cli("gate", "list", task).stdout.split())
        assert "✗ merge" in shown
        assert last["message"] in shown
        assert last["message"] in " ".join(cli("why", task).stdout.split())
