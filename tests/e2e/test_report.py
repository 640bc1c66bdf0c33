"""`hookline report`: what happened since the last one, told truthfully, in every form."""

from __future__ import annotations

import json
import re
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

from tests.e2e.pipeline_rig import Pipeline, keepers
from tests.e2e.report_file import ReportFile, changed_lines
from tests.e2e.session_rig import PROMISE, Rig
from tests.e2e.terminal_rig import Terminal

if TYPE_CHECKING:
    from tests.e2e.conftest import Cli

HOSTILE = "<script>alert('x')</script> & \"quotes\" [link](http://evil) @ada | **bold**"
GATES = "hooks: {before_submit: [{name: has-part, command: 'test -e parts'}, run_tests]}\n"
RULE = {"name": "there", "type": "command", "command": "test -e there"}
HOUR = ("--since", "1h")


@pytest.fixture
def line(cli: Cli) -> Pipeline:
    return Pipeline(cli)


def report(cli: Cli, *options: str, env: dict[str, str] | None = None) -> dict[str, Any]:
    found: dict[str, Any] = cli.json("report", *options, env=env)
    return found


def only_task(found: dict[str, Any]) -> dict[str, Any]:
    (task,) = found["tasks"]
    assert isinstance(task, dict)
    return task


# What was done, merged and proven


def test_merged_work_is_told_with_its_proof_and_its_diff(cli: Cli, line: Pipeline) -> None:
    line.begin(GATES, remote=False)
    cli.add("first part")
    line.worker()
    found = report(cli)
    task = only_task(found)
    sha = line.git("rev-parse", "main")
    assert (task["outcome"], task["merged"]["sha"], task["merged"]["base"]) == (
        *("merged", sha, "main"),
    )
    work = line.git("rev-parse", "main^2")
    proofs = {(each["point"], each["check"]): each for each in task["proofs"]}
    assert proofs["before_submit", "has-part"]["commit"] == work
    assert proofs["merged result", "make test"]["commit"] == sha
    assert {each["status"] for each in task["proofs"]} == {"passed", "none"}
    stat = line.git("diff", "--numstat", "main^", "main").splitlines()
    told = [
        f"{each['added']}\t{each['removed']}\t{each['path']}" for each in task["change"]["files"]
    ]
    assert told == sorted(stat, key=lambda row: row.split("\t")[2])
    assert task["cost"] == cli.json("task", "show", "T-1")["cost"]
    assert [each["status"] for each in found["sessions"]] == ["completed"]
    assert found["waiting"] == cli("attention", "--json").json


def test_a_point_without_a_gate_is_no_proof_on_a_page(cli: Cli, line: Pipeline) -> None:
    line.begin("hooks: {before_submit: [], before_merge: [human]}\n", remote=False)
    cli.add("one")
    line.worker(code=4)
    page = ReportFile(cli("report", "--html", "-").stdout)
    proofs = page.only_task()["task"]["proofs"]
    assert (proofs[0]["point"], proofs[0]["status"]) == ("before_submit", "none")
    (waits,) = page.work["waiting"]
    assert waits["command"].startswith("hookline gate approve T-1")


def test_a_point_without_a_gate_is_no_success_on_a_sessions_page(cli: Cli, line: Pipeline) -> None:
    line.begin(GATES, remote=False)
    cli.add("one")
    line.worker()
    gates = ReportFile(cli("session", "report", "T-1-bot", "-o", "-").stdout).session["gates"]
    none = [each for each in gates if "no gate is configured here" in each["message"]]
    assert none
    assert {each["status"] for each in none} == {"none"}
    assert next(each for each in gates if each["gate"] == "has-part")["status"] == "success"


def test_what_a_check_printed_keeps_its_columns(cli: Cli) -> None:
    rig = Rig(cli)
    rig.turns(rest=PROMISE)
    prints = "printf 'first\\n    at column four\\n'; exit 1"
    rig.configure({}, validation=[{**RULE, "command": prints}])
    rig.run(iterations=1)
    page = ReportFile(cli("session", "report", "s", "-o", "-").stdout)
    assert "first\n    at column four" in page.text


def test_work_that_was_merged_untested_is_as_loud_as_a_failure(cli: Cli, line: Pipeline) -> None:
    line.begin("hooks: {before_submit: []}\ngates: {test: none}\n", remote=False)
    cli.add("a part")
    line.worker()
    task = only_task(report(cli, *HOUR))
    assert (task["outcome"], task["why"]) == ("merged untested", "`gates.test` is none")
    said = cli("report", *HOUR).stdout
    assert "1 MERGED UNTESTED" in said.splitlines()[1]
    assert "✗ T-1   MERGED UNTESTED" in said
    assert "no gate on " in said
    assert "❌ **T-1** a part: **MERGED UNTESTED**" in cli("report", *HOUR, "--markdown").stdout
    page = ReportFile(cli("report", *HOUR, "--html", "-").stdout)
    assert page.only_task()["task"]["outcome"] == "merged untested"
    assert "1 MERGED UNTESTED" in page.work["headline"]


def test_only_what_was_checked_counts_as_done(cli: Cli) -> None:
    rig = Rig(cli)
    rig.turns(rest=PROMISE)
    rig.configure({})
    assert rig.run(name="trusting").code == 0
    rig.configure({"stop": ["default"]}, validation=[{**RULE, "command": "true"}])
    assert rig.run(name="checked").code == 0
    first, second = report(cli)["tasks"]
    assert (first["outcome"], first["proofs"]) == ("completed unproven", [])
    assert second["outcome"] == "completed"
    assert [(p["check"], p["status"]) for p in second["proofs"]] == [("there", "passed")]
    said = cli("report", *HOUR).stdout
    assert "COMPLETED UNPROVEN" in said
    assert "nothing was checked" in said


def test_a_stop_hook_whose_program_passed_is_a_proof(cli: Cli) -> None:
    rig = Rig(cli)
    rig.turns(rest=PROMISE)
    rig.configure({"stop": [{"name": "tests", "command": "true"}]})
    assert rig.run().code == 0
    task = only_task(report(cli))
    assert task["outcome"] == "completed"
    assert [(p["point"], p["check"]) for p in task["proofs"]] == [("stop", "tests")]


def test_what_the_agent_is_told_at_the_end_takes_no_proof_away(cli: Cli) -> None:
    rig = Rig(cli)
    rig.repository()
    rig.turns(f"echo 1 > made; {PROMISE}", rest="echo thanks")
    lint = {"name": "lint", "command": "echo tidy", "pipe_output": True}
    rule = {**RULE, "command": "test -e made"}
    rig.configure({"stop": ["evidence"], "post_iteration": [lint]}, validation=[rule])
    assert rig.run().code == 0
    assert len(rig.prompts()) == 2  # the second one brings what the linter printed
    task = only_task(report(cli))
    assert [p["check"] for p in task["proofs"]] == ["there", "evidence"]
    assert [each["path"] for each in task["change"]["files"]] == ["made"]
    page = ReportFile(cli("session", "report", "s", "-o", "-").stdout)
    assert [row["files"] for row in page.session["page"]["iterations"]] == [1]


def test_a_stop_hook_that_is_asked_again_at_the_end_is_one_proof(cli: Cli) -> None:
    rig = Rig(cli)
    rig.repository()
    rig.turns(f"echo 1 > made; {PROMISE}", rest=PROMISE)
    lint = {"name": "lint", "command": "echo tidy", "pipe_output": True}
    rig.configure({"stop": ["evidence"], "post_iteration": [lint]}, validation=[RULE])
    cli.put("there", "")
    assert rig.run().code == 0
    assert len(rig.prompts()) == 2
    assert [p["check"] for p in only_task(report(cli))["proofs"]] == ["there", "evidence"]


def test_unfinished_work_in_a_worktree_is_told_though_nothing_committed_it(
    cli: Cli, line: Pipeline
) -> None:
    line.begin("session: {iterations: 1}\nhooks: {stop: [evidence]}\n", remote=False)
    line.turn("echo unfinished > begun; exit")
    cli.add("one")
    line.worker(code=4)
    task = only_task(report(cli))
    assert task["outcome"] == "sent back"
    assert [each["path"] for each in task["change"]["files"]] == ["begun"]
    page = ReportFile(cli("report", "T-1", "--html", "-").stdout)
    assert changed_lines(page.only_task()["change"]) == ["+unfinished"]


def test_what_waits_and_what_was_sent_back_is_told_with_its_command(
    cli: Cli, line: Pipeline
) -> None:
    line.begin(
        "hooks: {before_submit: [], before_merge: [human]}\n"
        "task_types: {bad: {hooks: {before_submit: [{name: never, command: 'false'}]}}}\n"
        "gates: {tries: 0}\n",
        remote=False,
    )
    cli.add("one")
    cli.add("two", "--type", "bad")
    line.worker(code=4)
    found = report(cli)
    outcomes = {each["taskId"]: each["outcome"] for each in found["tasks"]}
    assert outcomes == {"T-1": "at its gates", "T-2": "sent back"}
    (bad,) = (each for each in found["tasks"] if each["taskId"] == "T-2")
    assert [(p["check"], p["status"]) for p in bad["proofs"]] == [("never", "failed")]
    assert bad["change"]["files"]  # of its branch, which is not merged
    said = cli("report", *HOUR).stdout
    assert "    hookline gate approve T-1 (or: reject)" in said.splitlines()
    assert "failed on " in said


def test_costs_are_told_by_role(cli: Cli, line: Pipeline) -> None:
    says = 'echo \'{"verdict": "approve", "summary": "fine", "comments": []}\''
    gates = "hooks: {before_merge: [{gatekeeper: [qa]}]}\ngates: {test: none}\n"
    line.begin(gates, remote=False, agents=keepers(line, gatekeeper_qa=says))
    cli.add("one")
    line.worker()
    task = only_task(report(cli))
    roles = [(each["role"], each["agent"], each["turns"]) for each in task["cost"]["roles"]]
    assert roles == [("implementer", "bot", 1), ("gatekeeper", "gatekeeper-qa", 1)]
    assert task["cost"] == cli.json("task", "show", "T-1")["cost"]
    assert "gatekeeper gatekeeper-qa: " in cli("report", *HOUR).stdout


def test_nothing_is_told_of_an_empty_project(cli: Cli) -> None:
    for form in ((), ("--markdown",), ("--html", "-")):
        said = cli("report", *form)
        assert (said.code, "nothing was done" in said.stdout) == (0, True)
    assert report(cli)["tasks"] == []


# Since when


def back_date(cli: Cli, hours: int) -> None:
    """Let everything have happened so long ago."""
    with closing(sqlite3.connect(cli.database)) as raw:
        shift = f"-{hours} hours"
        for table, columns in (("events", ["timestamp"]), ("runs", ["created_at", "updated_at"])):
            for column in columns:
                moved = f"strftime('%Y-%m-%dT%H:%M:%fZ', {column}, ?)"
                raw.execute(f"UPDATE {table} SET {column} = {moved}", (shift,))
        raw.commit()


@pytest.fixture
def done(cli: Cli) -> Rig:
    """A session that is completed."""
    rig = Rig(cli)
    rig.turns(rest=PROMISE)
    rig.configure({}, validation=[{**RULE, "command": "true"}])
    assert rig.run().code == 0
    return rig


def test_a_report_begins_where_the_last_one_ended(cli: Cli, done: Rig) -> None:
    before = cli.database.read_bytes()
    first = report(cli)
    assert [each["taskId"] for each in first["tasks"]] == ["T-1"]
    second = report(cli)
    assert (second["since"], second["tasks"], second["sessions"]) == (first["until"], [], [])
    told = cli("report").stderr
    shown = told.splitlines()[1].removeprefix("again: ")
    assert only_task(cli.json(*shown.split()[1:]))["taskId"] == "T-1"
    assert cli.database.read_bytes() == before
    assert done.run(name="other").code == 0
    third = report(cli)
    assert [each["taskId"] for each in third["tasks"]] == ["T-2"]
    assert third["since"] == first["until"]


def test_a_report_of_a_chosen_time_changes_nothing_for_the_next(cli: Cli, done: Rig) -> None:
    assert [each["taskId"] for each in report(cli, *HOUR)["tasks"]] == ["T-1"]
    assert [each["taskId"] for each in report(cli)["tasks"]] == ["T-1"]


def test_each_user_has_a_last_report_of_their_own(cli: Cli, done: Rig) -> None:
    report(cli)
    mine = list((cli.home / "looks").iterdir())
    assert len(mine) == 1
    assert mine[0].stat().st_mode & 0o777 == 0o600
    other = {"HOOKLINE_HOME": str(cli.root.parent / "other")}
    assert [each["taskId"] for each in report(cli, env=other)["tasks"]] == ["T-1"]


def test_what_an_agent_reads_is_no_report_to_a_person(cli: Cli, done: Rig) -> None:
    for name in ("HOOKLINE_AGENT", "HOOKLINE_SESSION", "HOOKLINE_HOOK"):
        assert report(cli, env={name: "x"})["tasks"]
    assert report(cli)["tasks"]


def test_a_last_report_that_cannot_be_kept_or_read_is_no_error(cli: Cli, done: Rig) -> None:
    looks = cli.home / "looks"
    looks.write_text("in the way")
    for _ in range(2):
        assert report(cli)["tasks"]
    looks.unlink()
    report(cli)
    (kept,) = looks.iterdir()
    kept.write_text("{cut")
    assert report(cli)["tasks"]


def test_without_a_last_report_it_begins_in_the_evening(cli: Cli, done: Rig) -> None:
    back_date(cli, hours=24 * 3)
    assert report(cli)["tasks"] == []
    assert [each["taskId"] for each in report(cli, "--since", "4d")["tasks"]] == ["T-1"]
    assert report(cli, "--since", "2d")["tasks"] == []


def test_times_are_local_and_have_a_zone(cli: Cli, done: Rig) -> None:
    for zone, name in (("Europe/Berlin", "CE"), ("Asia/Kolkata", "IST")):
        said = cli.process("report", *HOUR, env={"TZ": zone}).stdout.splitlines()[0]
        assert said.split()[-1].startswith(name)


@pytest.mark.parametrize("wrong", ["soon", "2099-01-01", "25:00", ""])
def test_a_time_that_is_none_is_refused(cli: Cli, wrong: str) -> None:
    code, error = cli.refused("report", "--since", wrong)
    assert (code, error["code"]) == (2, "bad-input")


# One session, run or task


def test_a_session_a_run_and_a_task_have_a_page(cli: Cli, line: Pipeline) -> None:
    line.begin(GATES, remote=False)
    cli.add("one")
    line.worker()
    (session,) = cli.json("session", "list")
    for subject in (session["name"], session["runId"]):
        assert cli("report", subject).stdout == f".hookline/reports/{session['runId']}.html\n"
    merge = next(run["runId"] for run in cli.json("flow", "status") if run["flow"] == "merge")
    for subject in ("T-1", merge):
        assert cli("report", subject).stdout == ".hookline/reports/T-1.html\n"
    told = ReportFile((cli.root / ".hookline/reports/T-1.html").read_text("utf-8")).only_task()
    task = told["task"]
    assert (task["taskId"], task["goal"], task["outcome"]) == ("T-1", "one", "merged")
    assert "run_tests" in [proof["check"] for proof in task["proofs"]]
    assert [role["role"] for role in task["cost"]["roles"]] == ["implementer"]
    assert "+by bot" in changed_lines(told["change"])
    assert only_task(report(cli, "T-1"))["outcome"] == "merged"
    assert only_task(report(cli, session["name"]))["taskId"] == "T-1"
    assert "**T-1** one" in cli("report", "T-1", "--markdown").stdout
    made = cli.json("report", "T-1", "--html", "mine.html")
    assert made == {"file": str(cli.root / "mine.html")}
    assert report(cli)["tasks"]  # none of these is the report of the project


def test_what_has_no_page_is_refused(cli: Cli) -> None:
    cli.configure("flows: {f: {steps: [{id: a, run: 'true'}]}}\n")
    cli("flow", "start", "f")
    for subject, code in (
        ("T-9", "unknown-task"),
        ("R-9", "unknown-run"),
        ("x", "unknown-session"),
    ):
        assert cli.refused("report", subject)[1]["code"] == code
    assert "is not about a task" in cli.refused("report", "R-1")[1]["message"]
    assert "put it first" in cli.refused("report", "--html", "T-1")[1]["help"]
    assert "--since" in cli.refused("report", "T-9", *HOUR)[1]["message"]
    assert cli.refused("report", "--html", "x.html", "--markdown")[0] == 2


# Forms


def test_a_page_is_one_file_that_runs_one_script(cli: Cli, line: Pipeline) -> None:
    line.begin("hooks: {before_submit: [run_tests]}\n", remote=False)
    line.turn("work; printf '%s\\n' '<script>alert(1)</script>' > evil.html; seq 500 > long.txt\n")
    cli.add(HOSTILE)
    line.worker()
    assert cli("report", "--html").stdout == ".hookline/reports/report.html\n"
    text = (cli.root / ".hookline/reports/report.html").read_text("utf-8")
    page = ReportFile(text)
    tags = re.sub(r"<(script|style)[^>]*>.*?</\1>", "", text, flags=re.DOTALL)
    assert set(re.findall(r"<(\w+)", tags)) == {"html", "head", "meta", "title", "body", "div"} | {
        "noscript"
    }
    task = page.only_task()
    assert task["task"]["goal"] == HOSTILE
    assert "+<script>alert(1)</script>" in changed_lines(task["change"])


def test_a_terminal_of_80_columns_holds_it(cli: Cli, line: Pipeline) -> None:
    line.begin("hooks: {before_submit: []}\ngates: {test: none}\n", remote=False)
    cli.add(
        "a goal of many words that is longer than any line of a terminal of this width has room"
    )
    line.worker()
    terminal = Terminal(cli, "report", *HOUR, columns=80, rows=60)
    assert terminal.ends() == 0
    shown = "\n".join(terminal.everything)
    assert "MERGED UNTESTED" in shown
    assert "\x1b[31m" in terminal.bytes.decode()
    words = {word for row in terminal.everything for word in row.split()}
    assert {"terminal", "longer", "before_submit,", "implementer"} <= words  # none is broken
    plain = Terminal(cli, "report", *HOUR, columns=80, rows=60, env={"NO_COLOR": "1"})
    assert plain.ends() == 0
    assert b"\x1b[3" not in plain.bytes
    piped = cli("report", *HOUR).stdout
    assert "\x1b" not in piped


def test_the_programs_form_has_all_of_it(cli: Cli, done: Rig) -> None:
    found = report(cli)
    assert set(found) == {
        *("project", "since", "until", "tasks", "leftOut", "sessions", "cost", "waiting")
    }
    json.dumps(found)


# What an iteration changed


def changes(cli: Cli) -> list[dict[str, Any]]:
    """What each iteration of a session changed, as its page tells it."""
    page = ReportFile(cli("session", "report", "s", "-o", "-").stdout)
    return [each["change"] for each in page.session["story"]]


def test_an_iteration_with_kept_files_shows_its_own_diff(cli: Cli) -> None:
    rig = Rig(cli)
    rig.turns("echo one > a", "echo two >> a; rm b; touch there", rest=PROMISE)
    rig.configure({"stop": ["evidence"]}, validation=[RULE])
    cli.put("b", "old\n")
    rig.repository()
    assert rig.run(iterations=4).code == 0
    first, second, *_ = map(changed_lines, changes(cli))
    assert first == ["+one"]
    assert sorted(second) == ["+two", "-old"]


def test_an_iteration_that_committed_shows_what_it_committed(cli: Cli) -> None:
    rig = Rig(cli)
    who = "git -c user.name=a -c user.email=a@b.c"
    rig.turns("echo one > a", f"echo two > b; {who} add -A; {who} commit -qm x", rest=PROMISE)
    rig.configure({"stop": ["default"]})  # which keeps no files to compare
    rig.repository()
    assert rig.run(iterations=3).code == 0
    first, second, third = changes(cli)
    assert first["unknown"] == "the files were not committed then, so only their names are known"
    assert {"+one", "+two"} <= set(changed_lines(second))
    assert third is None


def test_what_git_has_lost_is_said_to_be_lost(cli: Cli) -> None:
    rig = Rig(cli)
    who = "git -c user.name=a -c user.email=a@b.c"
    rig.turns(f"echo one > a; {who} add -A; {who} commit -qm x", rest=PROMISE)
    rig.configure({"stop": ["default"]})  # which keeps no files to compare
    rig.repository()
    assert rig.run(iterations=3).code == 0
    rig.git("reset", "-q", "--hard", "HEAD^")
    rig.git("reflog", "expire", "--expire=now", "--all")
    rig.git("gc", "-q", "--prune=now")
    assert changes(cli)[0]["unknown"] == "git no longer has what was recorded"


def test_each_iteration_has_a_line_and_failures_are_marked(cli: Cli) -> None:
    rig = Rig(cli)
    rig.turns("exit 3", "echo two", rest=f"touch there; {PROMISE}")
    rig.configure({"stop": ["default"]}, validation=[RULE])
    assert rig.run(iterations=5).code == 0
    page = ReportFile(cli("session", "report", "s", "-o", "-").stdout)
    rows = page.session["page"]["iterations"]
    assert [(row["status"], row["decision"], row["checked"]) for row in rows] == [
        ("failed", None, False),
        ("ok", "continue", False),
        ("ok", "complete", True),
    ]
    assert (rows[1]["passed"], rows[1]["rules"]) == (0, 1)


def test_what_a_hook_printed_is_told_apart(cli: Cli) -> None:
    rig = Rig(cli)
    rig.turns(rest=PROMISE)
    noise = "echo said; echo unmistakable >&2; exit 1"
    rig.configure({"post_iteration": [{"name": "n", "command": noise, "pipe_output": True}]})
    rig.run(iterations=1)
    (call,) = ReportFile(cli("session", "report", "s", "-o", "-").stdout).calls("n")
    assert (call["exitCode"], call["stderr"]["text"].strip()) == (1, "unmistakable")


def test_limits_are_told_as_they_were_used(cli: Cli) -> None:
    rig = Rig(cli)
    agent = rig.scripted({"text": "no", "usage": {"usd": 0.25, "outputTokens": 7}, "repeat": True})
    rig.configure({}, agents={"paid": agent}, session={"budget": {"usd": 0.5}})
    assert rig.run("--agent", "paid", iterations=9).said[1] == "limit"
    page = ReportFile(cli("session", "report", "s", "-o", "-").stdout).session["page"]
    limits = {each["name"]: (each["used"], each["allowed"]) for each in page["limits"]}
    assert limits["usd"] == (0.5, 0.5)
    assert limits["iterations"] == (2, 9)


# Later


def test_a_report_tells_what_was_pruned(cli: Cli, line: Pipeline) -> None:
    line.begin(GATES, remote=False)
    cli.add("one")
    line.worker()
    before = only_task(report(cli, *HOUR))
    assert cli("prune", "--older", "0s").code == 0
    assert only_task(report(cli, *HOUR)) == before
    page = ReportFile(cli("report", "T-1-bot", "--html", "-").stdout).session["page"]
    assert page["pruned"] is not None
