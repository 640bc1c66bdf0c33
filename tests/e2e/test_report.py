"""`hookline report`: what happened since the last one, told truthfully, in every form."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

from tests.e2e.pipeline_rig import Pipeline, keepers
from tests.e2e.session_rig import PROMISE, Rig
from tests.e2e.terminal_rig import Terminal
from tests.e2e.test_session_commands import Page

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


def test_on_a_page_only_what_failed_is_red_and_commands_break_between_words(
    cli: Cli, line: Pipeline
) -> None:
    line.begin("hooks: {before_submit: [], before_merge: [human]}\n", remote=False)
    cli.add("one")
    line.worker(code=4)
    text = cli("report", "--html", "-").stdout
    assert '<span class="badge other">none</span>' in text  # no gate before it was submitted
    typed = "".join(f'<span class="word">{w}</span> ' for w in ("hookline", "gate", "approve"))
    assert typed in text
    assert "hookline gate approve T-1" in Page(text).text


def test_a_point_without_a_gate_is_no_success_on_a_sessions_page(cli: Cli, line: Pipeline) -> None:
    line.begin(GATES, remote=False)
    cli.add("one")
    line.worker()
    text = cli("session", "report", "T-1-bot", "-o", "-").stdout
    gates = text.partition("<h2>Gates of T-1</h2>")[2].partition("</section>")[0]
    rows = gates.partition("<tbody>")[2].split("<tr>")[1:]
    none = [row for row in rows if "no gate is configured here" in row]
    assert none
    assert all('<span class="badge other">none</span>' in row for row in none)
    assert '<span class="badge good">success</span>' in next(r for r in rows if "has-part" in r)


def test_what_a_check_printed_keeps_its_columns(cli: Cli) -> None:
    rig = Rig(cli)
    rig.turns(rest=PROMISE)
    prints = "printf 'first\\n    at column four\\n'; exit 1"
    rig.configure({}, validation=[{**RULE, "command": prints}])
    rig.run(iterations=1)
    text = cli("session", "report", "s", "-o", "-").stdout
    assert '<pre class="error">first\n    at column four' in text


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
    page = cli("report", *HOUR, "--html", "-").stdout
    assert '<span class="badge bad">MERGED UNTESTED</span>' in page


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
    page = cli("session", "report", "s", "-o", "-").stdout
    assert '<td class="counted" data-name="file">1</td>' in page


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
    assert '<span class="add">+unfinished</span>' in cli("report", "T-1", "--html", "-").stdout


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
        page = cli.process("report", *HOUR, "--html", "-", env={"TZ": zone}).stdout
        assert f" {name}" in page
    assert 'title="20' in page


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
    page = Page((cli.root / ".hookline/reports/T-1.html").read_text("utf-8"))
    for expected in ("T-1 one", "merged", "run_tests", "+by bot", "implementer"):
        assert expected in page.text, expected
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


def test_a_page_is_one_file_that_loads_and_runs_nothing(cli: Cli, line: Pipeline) -> None:
    line.begin("hooks: {before_submit: [run_tests]}\n", remote=False)
    line.turn("work; printf '%s\\n' '<script>alert(1)</script>' > evil.html; seq 500 > long.txt\n")
    cli.add(HOSTILE)
    line.worker()
    assert cli("report", "--html").stdout == ".hookline/reports/report.html\n"
    text = (cli.root / ".hookline/reports/report.html").read_text("utf-8")
    page = Page(text)
    assert not {"script", "img", "link", "iframe", "object", "form"} & set(page.tags)
    assert "default-src 'none'" in text
    assert "http-equiv" in text
    assert HOSTILE in page.text
    assert '<span class="add">+&lt;script&gt;alert(1)&lt;/script&gt;</span>' in text
    assert "<details><summary><code>long.txt</code>" in text  # long files are folded
    assert "<details open><summary><code>evil.html</code>" in text
    assert "prefers-color-scheme: dark" in text


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


def pages(cli: Cli, name: str = "s") -> list[str]:
    """The part of a session's page about each iteration."""
    text = cli("session", "report", name, "-o", "-").stdout
    return text.partition("<h2>Iterations</h2>")[2].split('<details class="card"')[1:]


def test_an_iteration_with_kept_files_shows_its_own_diff(cli: Cli) -> None:
    rig = Rig(cli)
    rig.turns("echo one > a", "echo two >> a; rm b; touch there", rest=PROMISE)
    rig.configure({"stop": ["evidence"]}, validation=[RULE])
    cli.put("b", "old\n")
    rig.repository()
    assert rig.run(iterations=4).code == 0
    first, second, *_ = pages(cli)
    assert '<span class="add">+one</span>' in first
    assert "+two" not in first
    assert '<span class="add">+two</span>' in second
    assert '<span class="del">-old</span>' in second
    assert "+one</span>" not in second


def test_an_iteration_that_committed_shows_what_it_committed(cli: Cli) -> None:
    rig = Rig(cli)
    who = "git -c user.name=a -c user.email=a@b.c"
    rig.turns("echo one > a", f"echo two > b; {who} add -A; {who} commit -qm x", rest=PROMISE)
    rig.configure({"stop": ["default"]})  # which keeps no files to compare
    rig.repository()
    assert rig.run(iterations=3).code == 0
    first, second, third = pages(cli)
    assert "the files were not committed then, so only their names are known" in first
    assert "Committed" in second
    assert '<span class="add">+two</span>' in second
    assert '<span class="add">+one</span>' in second
    assert "Changes" not in third


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
    assert "git no longer has what was recorded" in pages(cli)[0]


def test_each_iteration_has_a_line_and_failures_are_marked(cli: Cli) -> None:
    rig = Rig(cli)
    rig.turns("exit 3", "echo two", rest=f"touch there; {PROMISE}")
    rig.configure({"stop": ["default"]}, validation=[RULE])
    assert rig.run(iterations=5).code == 0
    text = cli("session", "report", "s", "-o", "-").stdout
    overview = text.partition("<h2>Overview</h2>")[2].partition("</section>")[0]
    rows = overview.partition("<tbody>")[2].split("<tr>")[1:]
    assert len(rows) == 3
    assert '<span class="badge bad">failed</span>' in rows[0]
    assert '<span class="failed">0/1</span>' in rows[1]
    assert '<span class="badge good">complete</span>' in rows[2]


def test_stderr_is_shown_once(cli: Cli) -> None:
    rig = Rig(cli)
    rig.turns(rest=PROMISE)
    noise = "echo said; echo unmistakable >&2; exit 1"
    rig.configure({"post_iteration": [{"name": "n", "command": noise, "pipe_output": True}]})
    rig.run(iterations=1)
    text = cli("session", "report", "s", "-o", "-").stdout
    steps = text.partition("post_iteration: n")[2].partition("</li>")[0]
    assert steps.count("unmistakable") == 1


def test_limits_are_told_as_they_were_used(cli: Cli) -> None:
    rig = Rig(cli)
    agent = rig.scripted({"text": "no", "usage": {"usd": 0.25, "outputTokens": 7}, "repeat": True})
    rig.configure({}, agents={"paid": agent}, session={"budget": {"usd": 0.5}})
    assert rig.run("--agent", "paid", iterations=9).said[1] == "limit"
    text = cli("session", "report", "s", "-o", "-").stdout
    limits = Page(text.partition("<h2>Limits</h2>")[2].partition("</section>")[0]).text
    assert "money" in limits
    assert "$0.50 of $0.50" in limits
    assert "2 of 9" in limits


# Later


def test_a_report_tells_what_was_pruned(cli: Cli, line: Pipeline) -> None:
    line.begin(GATES, remote=False)
    cli.add("one")
    line.worker()
    before = only_task(report(cli, *HOUR))
    assert cli("prune", "--older", "0s").code == 0
    assert only_task(report(cli, *HOUR)) == before
    assert "were pruned on" in cli("report", "T-1-bot", "--html", "-").stdout
