"""A branch without commits: nothing was done, as it may be, or the work went past the gates."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from tests.e2e.pipeline_rig import Pipeline

if TYPE_CHECKING:
    from tests.e2e.conftest import Cli

NO_GATES = "hooks: {before_submit: []}\n"
TYPES = """\
task_types:
  feature: {hooks: {before_submit: [run_tests]}}
  chore: {hooks: {before_submit: []}}
"""
COMMIT = "work; git add --all; git commit -qm 'by myself'\n"
# What the agent does, and what is seen of it.
ACTS = {
    "pushed": (f"{COMMIT}git push -q origin HEAD:main", "main already has commits of the work"),
    "pushed from elsewhere": (
        f"git switch -qc aside; {COMMIT}git push -q origin aside:main; git switch -q -",
        "main already has commits of the work",
    ),
    "committed elsewhere": (
        f"git switch -qc aside; {COMMIT}git switch -q -",
        "commits were made that are not on the task's branch",
    ),
    "thrown away": (
        f"{COMMIT}git reset -q --hard HEAD~",
        "commits were made that are not on the task's branch",
    ),
    "moved": (
        "git reset -q --hard HEAD~",
        "the task's branch was moved from",
    ),
}


@pytest.fixture
def line(cli: Cli) -> Pipeline:
    return Pipeline(cli)


@pytest.mark.examples(2)
@pytest.mark.parametrize("act", ACTS)
def test_work_that_went_elsewhere_is_sent_back_with_what_was_seen(
    line: Pipeline, cli: Cli, act: str
) -> None:
    script, seen = ACTS[act]
    line.begin(NO_GATES + "gates: {without_commits: complete}\n")
    line.push_aside("other", conflicting=False)
    line.turn(f"{script} > /dev/null 2>&1\n")
    task = cli.add("a part")
    assert line.worker(code=4)["sentBack"] == [task]
    found = cli.task(task)
    assert (found["state"], line.merges()) == ("needs_continuation", [])
    assert seen in found["blockReason"]
    if act != "moved":
        assert "by myself" in found["blockReason"]


def test_nothing_done_is_done_only_where_no_changes_are_expected(line: Pipeline, cli: Cli) -> None:
    line.begin(TYPES)
    line.turn("echo 'nothing to object to'\n")
    parked = cli.add("build it", "--type", "feature")
    done = [
        cli.add("review it", "--type", "feature", "--label", "review"),
        cli.add("think about it", "--type", "feature", "--changes", "none"),
        cli.add("tidy up", "--type", "chore"),
        cli.add("whatever"),
    ]
    ended = line.worker(code=4)
    assert (ended["sentBack"], line.merges()) == ([parked], [])
    assert [cli.task(each)["state"] for each in done] == ["completed"] * 4
    assert "there is no commit to submit" in cli.task(parked)["blockReason"]
    assert cli.json("task", "update", parked, "--changes", "none")["changes"] == "none"
    assert cli.json("submit", parked)["outcome"] == "completed"


def test_agents_do_not_excuse_themselves(line: Pipeline, cli: Cli) -> None:
    line.begin(TYPES)
    hookline = f"{sys.executable} -m hookline"
    line.turn(
        f"{hookline} task add 'one more' --type feature --changes none >> $here/said 2>&1\n"
        f"{hookline} task update T-2 --changes none >> $here/said 2>&1\n"
        f"{hookline} task update T-2 --label review >> $here/said 2>&1\n"
    )
    first = cli.add("first", "--label", "review", "--type", "feature")
    second = cli.add("second", "--type", "feature")
    assert line.worker("--tasks", "1", code=5)["tasks"] == {first: "completed"}
    said = (line.box / "said").read_text()
    assert said.count("only a person can run") == 2
    assert f"only a person can label {second} as review" in said
    assert cli.task(second)["labels"] == []
    line.turn("echo 'done'\n")
    assert line.worker(code=4)["sentBack"] == [second]
    cli.json("task", "update", second, "--label", "review")
    assert cli.json("submit", second)["outcome"] == "completed"


@pytest.mark.parametrize("point", ["before_submit", "before_merge"])
def test_work_that_is_thrown_away_to_please_a_gate_is_not_merged(
    line: Pipeline, cli: Cli, point: str
) -> None:
    empty = "{name: empty, command: 'test ! -e parts/T-1'}"
    line.begin(
        f"hooks: {{before_submit: [], {point}: [{empty}]}}\n".replace(
            "before_submit: [], before_submit", "before_submit"
        )
    )
    line.turn('if [ "$n" = 1 ]; then work; else git reset -q --hard HEAD~; fi\n')
    task = cli.add("a part")
    assert line.worker(code=4)["sentBack"] == [task]
    reason = cli.task(task)["blockReason"]
    assert "no commit is left" in reason
    assert "commits were made that are not on the task's branch" in reason
    assert line.merges() == []


def test_work_that_is_gone_when_its_merge_begins_is_not_merged(line: Pipeline, cli: Cli) -> None:
    line.begin(NO_GATES)
    task = cli.add("a part")
    place = line.by_hand(task)
    assert cli.json("submit", task, "--no-merge")["outcome"] == "submitted"
    line.git("reset", "--quiet", "--hard", "HEAD~", at=place)
    assert cli("merge", task).code == 3
    assert "no commit is left" in cli.task(task)["blockReason"]
    # What a person merged by hand is merged.
    line.git("reset", "--quiet", "--hard", "ORIG_HEAD", at=place)
    assert cli.json("submit", task, "--no-merge")["outcome"] == "submitted"
    line.git("push", "--quiet", "origin", f"hookline/{task}:main")
    assert cli.json("merge", task)["outcome"] == "merged"


def test_findings_that_are_removed_leave_no_work_for_the_gates(line: Pipeline, cli: Cli) -> None:
    passes = "task_types: {part: {hooks: {before_submit: [{command: 'true'}]}}}\n"
    line.begin(passes + "gates: {max_file: 1 KB}\n")
    line.turn('if [ "$n" = 1 ]; then head -c 2000 /dev/zero > core; else rm -f core; fi\n')
    parked = cli.add("a part", "--type", "part")
    done = cli.add("look at it", "--type", "part", "--label", "review")
    assert line.worker(code=4)["sentBack"] == [parked]
    assert (cli.task(done)["state"], line.merges()) == ("completed", [])
    assert line.verdicts(parked) == []
