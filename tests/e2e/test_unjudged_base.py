"""Commits that reach the base past the gates are told; work that brought them is not merged."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.e2e.pipeline_rig import Pipeline
from tests.e2e.report_file import ReportFile

if TYPE_CHECKING:
    from tests.e2e.conftest import Cli

GATE = "hooks: {before_submit: [{name: looks, command: '! grep -rq EVIL parts'}]}\n"
# A commit on top of main that no checkout has ever seen.
BEHIND = """\
export GIT_INDEX_FILE="$here/index"
git read-tree main
blob=$(echo EVIL | git hash-object -w --stdin)
git update-index --add --cacheinfo "100644,$blob,zevil"
made=$(git commit-tree -p main -m 'past the gates' "$(git write-tree)")
git update-ref refs/heads/main "$made"
unset GIT_INDEX_FILE
"""
ASIDE = """\
git switch -q --detach; echo EVIL > zevil; git add --all; git commit -qm 'past the gates'
"""
BACK = "git switch -q hookline/$HOOKLINE_TASK_ID; work\n"


@pytest.fixture
def line(cli: Cli) -> Pipeline:
    return Pipeline(cli)


@pytest.mark.torture
def test_a_base_that_was_moved_behind_its_checkout_is_told_once(line: Pipeline, cli: Cli) -> None:
    line.begin(GATE + "gates: {test: 'true'}\n", remote=False)
    line.turn(f"{BEHIND}work\n")
    task = cli.add("a part")
    cli("work", "--once")
    assert cli.task(task)["state"] == "completed"
    evil = line.git("log", "--format=%H", "--grep=past the gates", "main")[:12]
    told = f"main holds 1 commit that no gate has checked: {evil} past the gates"
    [item] = json.loads(cli("attention", "--json").stdout)
    assert told in item["message"]
    assert f"git show {evil}" in item["command"]
    name = cli.json("session", "list")[0]["name"]
    assert cli("session", "report", name, "--output", "report.html").code == 0
    assert told in ReportFile((cli.root / "report.html").read_text()).text
    (cli.root / "report.html").unlink()
    assert cli("gate", "approve", task).code == 0
    assert cli.json("attention") == []
    line.turn("work\n")
    cli.add("another part")
    cli("work", "--once")
    assert cli.json("attention") == []


@pytest.mark.examples(1)
@pytest.mark.parametrize("remote", [True, False])
def test_a_commit_in_the_checkout_while_an_agent_works_is_told(
    line: Pipeline, cli: Cli, remote: bool
) -> None:
    line.begin(GATE + "gates: {test: 'true'}\n", remote=remote)
    line.turn('git -C "$HOOKLINE_PROJECT" commit -q --allow-empty -m mine; work\n')
    task = cli.add("a part")
    cli("work", "--once")
    assert cli.task(task)["state"] == "completed"
    [item] = cli("attention", "--json").json
    told = "main holds 1 commit that no gate has checked: "
    assert told in item["message"]
    assert " mine" in item["message"]
    assert told in cli("task", "show", task).stdout.replace("\n", " ")
    name = cli.json("session", "list")[0]["name"]
    assert cli("session", "report", name, "--output", "report.html").code == 0
    assert told in ReportFile((cli.root / "report.html").read_text()).text


def test_a_commit_on_another_branch_of_the_checkout_is_not_told(line: Pipeline, cli: Cli) -> None:
    line.begin(GATE + "gates: {test: 'true', base: main}\n", remote=False)
    line.git("switch", "--quiet", "--create", "mine")
    line.turn('git -C "$HOOKLINE_PROJECT" commit -q --allow-empty -m mine; work\n')
    task = cli.add("a part")
    assert cli("work", "--once").code == 0
    assert (cli.task(task)["state"], cli.json("attention")) == ("completed", [])


@pytest.mark.examples(1)
@pytest.mark.parametrize("remote", [True, False])
def test_work_whose_author_moved_the_base_is_sent_back_once(
    line: Pipeline, cli: Cli, remote: bool
) -> None:
    line.begin(GATE + "gates: {test: 'true'}\n", remote=remote)
    moves = "git push -q origin HEAD:main" if remote else "git update-ref refs/heads/main HEAD"
    line.turn(f"{{ {ASIDE}{moves}; {BACK} }} > /dev/null 2>&1\n")
    task = cli.add("a part")
    assert line.worker(code=4)["sentBack"] == [task]
    reason = cli.task(task)["blockReason"]
    assert "main already has commits of the work that bypassed its gates" in reason
    assert "past the gates" in reason
    assert line.merges() == []
    assert cli("submit", task).code == 0
    assert cli.task(task)["state"] == "completed"


def test_a_test_that_moves_the_base_is_told(line: Pipeline, cli: Cli) -> None:
    cli.put("try.sh", f'here="$HOOKLINE_PROJECT/.."\n[ ! -e parts/T-1 ] || {{\n{BEHIND}}}\n')
    line.begin("hooks: {before_submit: []}\ngates: {test: 'sh try.sh', tries: 1}\n", remote=False)
    line.turn("work\n")
    task = cli.add("a part")
    assert line.worker(code=4)["sentBack"] == [task]
    told = "main was moved while the merged result was tested, and not by Hookline"
    assert told in cli.task(task)["blockReason"]
    assert told in " ".join(cli("attention").stdout.split())
    assert line.git("ls-tree", "--name-only", "main", "parts/T-1") == ""


def test_a_base_that_gets_the_work_during_its_test_is_told(line: Pipeline, cli: Cli) -> None:
    commits = 'cp parts/T-1 "$HOOKLINE_PROJECT/parts/"; cp log "$HOOKLINE_PROJECT/"'
    commits += '; cd "$HOOKLINE_PROJECT"; git add parts log; git commit -qm mine'
    cli.put("try.sh", f"[ ! -e parts/T-1 ] || {{ {commits}; }} > /dev/null 2>&1\n")
    line.begin("hooks: {before_submit: []}\ngates: {test: 'sh try.sh', tries: 1}\n", remote=False)
    line.turn("work\n")
    cli.add("a part")
    cli("work", "--once")
    told = "merged untested: main got it while the merged result was tested"
    assert told in " ".join(cli("attention").stdout.split())


@pytest.mark.parametrize(
    ("act", "seen"),
    [
        (
            'cd "$HOOKLINE_PROJECT"; work; git add --all; git commit -qm mine',
            "commits were made in ",
        ),
        (
            f"{ASIDE}git switch -q hookline/$HOOKLINE_TASK_ID;"
            ' rm "$(git rev-parse --git-dir)/logs/HEAD"',
            "the reflog of the worktree was removed",
        ),
    ],
)
def test_work_in_another_checkout_is_not_done(
    line: Pipeline, cli: Cli, act: str, seen: str
) -> None:
    line.begin("gates: {test: 'true'}\n", remote=False)
    line.turn(f"{{ {act}; }} > /dev/null 2>&1\n")
    task = cli.add("a part")
    assert line.worker(code=4)["sentBack"] == [task]
    assert seen in cli.task(task)["blockReason"]
