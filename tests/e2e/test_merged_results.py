"""What tests the merged result, and what is said where nothing does."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.e2e.pipeline_rig import Pipeline, work_ended

if TYPE_CHECKING:
    from pathlib import Path

    from tests.e2e.conftest import Cli

# Two pieces fit alone, and not together.
TOGETHER = "[ ! -e left ] || [ ! -e right ]\n"


@pytest.fixture
def line(cli: Cli) -> Pipeline:
    return Pipeline(cli)


def begin(line: Pipeline, configuration: str, makefile: str | None = None) -> None:
    """A project whose files tell of no tests, unless a Makefile does."""
    line.cli.put("together.sh", TOGETHER)
    line.begin(configuration)
    (line.cli.root / "Makefile").unlink()
    if makefile is not None:
        line.cli.put("Makefile", makefile)
    line.commit("its tests")
    line.git("push", "--quiet", "origin", "main")


def worktree(line: Pipeline, task: str, **files: str) -> Path:
    """A task's worktree in which a person has committed files."""
    place = line.place(task)
    line.git("worktree", "add", "--quiet", "-b", f"hookline/{task}", str(place), "main")
    for name, text in files.items():
        (place / name).parent.mkdir(exist_ok=True)
        (place / name).write_text(text)
    line.commit(f"work on {task}", at=place)
    return place


SETTINGS = {
    "run_tests": "hooks: {before_submit: [{run_tests: sh together.sh}]}\n",
    "its type": "hooks: {before_submit: []}\ntask_types:\n"
    "  part: {hooks: {before_submit: [{run_tests: sh together.sh}]}}\n",
    "at before_merge": "hooks: {before_submit: [], before_merge: [{run_tests: sh together.sh}]}\n",
    "whatever its condition says": "hooks: {before_submit: [{run_tests: {command: sh together.sh},"
    " when: 'commits_count > 9'}]}\n",
    "gates.test": "gates: {test: sh together.sh}\n"
    "hooks: {before_submit: [{run_tests: 'true'}, create_pr]}\n",
}


@pytest.mark.parametrize("configuration", SETTINGS.values(), ids=SETTINGS)
def test_two_tasks_that_pass_alone_and_break_together_are_not_both_merged(
    line: Pipeline, cli: Cli, configuration: str
) -> None:
    begin(line, configuration)
    tasks = [cli.add(name, "--type", "part", quiet=False) for name in ("left", "right")]
    for task, name in zip(tasks, ("left", "right"), strict=True):
        worktree(line, task, **{name: "x\n"})
    assert cli("submit", tasks[0]).code == 0
    done = cli("submit", tasks[1])
    assert done.code == 3
    assert "`sh together.sh` fails on the merged result" in done.stderr + done.stdout
    assert line.merges() == tasks[:1]
    assert cli.events("merged_untested") == []


UNTESTED = {
    "nothing is found": ("hooks: {before_submit: []}\n", "no tests found in the merged result"),
    "none is wanted": (
        "gates: {test: none}\nhooks: {before_submit: [{run_tests: 'true'}]}\n",
        "`gates.test` is none",
    ),
    "switched off": (
        "hooks: {before_submit: [{name: t, run_tests: 'true', enabled: false}]}\n",
        "no tests found",
    ),
}


@pytest.mark.parametrize(("configuration", "why"), UNTESTED.values(), ids=UNTESTED)
def test_what_nothing_tested_is_called_untested(
    line: Pipeline, cli: Cli, configuration: str, why: str
) -> None:
    begin(line, configuration)
    first, second = cli.add("by hand"), cli.add("by a worker")
    worktree(line, first, mine="x\n")
    said = cli("submit", first).stdout
    assert f"{first} merged untested" in said
    assert why in said
    (event,) = cli.events("merged_untested")
    assert (event["nodeId"], event["data"]["sha"]) == (first, line.git("rev-parse", "main"))
    assert why in event["data"]["reason"]
    assert f"merged untested {why}" in cli("task", "show", first).stdout

    line.turn("echo x > theirs\n")
    done = cli("work", "--once", "--json")
    assert work_ended(done)["mergedUntested"] == [second]
    told = [json.loads(each) for each in done.stdout.splitlines()]
    (merged,) = (each["data"] for each in told if each["type"] == "merged")
    assert why in merged["untested"]

    cli.add("watched")
    line.turn("echo x > watched\n")
    seen = cli("work", "--once")
    assert "merged untested" in seen.stdout + seen.stderr
    assert "1 of them merged untested" in seen.stdout + seen.stderr

    (warning,) = cli("check", "--format", "json").json["problems"]
    assert (warning["severity"], warning["code"]) == ("warning", "untested")


@pytest.mark.parametrize(
    ("configuration", "makefile"),
    [
        ("hooks: {before_submit: [{run_tests: 'true'}]}\n", None),
        ("gates: {test: 'true'}\n", None),
        ("hooks: {before_submit: [create_pr]}\n", "test:\n\t@true\n"),
    ],
)
def test_what_was_tested_is_not(
    line: Pipeline, cli: Cli, configuration: str, makefile: str | None
) -> None:
    begin(line, configuration, makefile)
    assert cli("check", "--format", "json").json["problems"] == []
    task = cli.add("by hand")
    worktree(line, task, mine="x\n")
    assert f"{task} merged  " in cli("submit", task).stdout
    assert cli.events("merged_untested") == []
    assert "untested" not in cli("task", "show", task).stdout


REPLACED = {
    "no target": {"Makefile": "all:\n\t@true\n"},
    "another runner": {"package.json": '{"scripts": {"test": "true"}}', "bun.lock": ""},
}


@pytest.mark.parametrize("files", REPLACED.values(), ids=REPLACED)
def test_work_cannot_take_away_what_is_found_to_test_it(
    line: Pipeline, cli: Cli, files: dict[str, str]
) -> None:
    begin(line, "hooks: {before_submit: [run_tests]}\n", "test:\n\t@sh together.sh\n")
    (cli.root / "left").write_text("x\n")
    line.commit("left")
    line.git("push", "--quiet", "origin", "main")
    bun = cli.root.parent / "bin" / "bun"
    bun.parent.mkdir()
    bun.write_text("#!/bin/sh\nexit 0\n")
    bun.chmod(0o755)
    cli.env["PATH"] = f"{bun.parent}:{cli.env['PATH']}"
    task = cli.add("break it")
    worktree(line, task, right="x\n", **files)
    done = cli("submit", task)
    assert done.code == 3
    assert line.merges() == []


def test_a_gatekeeper_that_gives_no_verdict_is_asked_once_more(line: Pipeline, cli: Cli) -> None:
    agents = {
        "bot": {"driver": "command", "command": "true"},
        "qa": {"driver": "command", "command": f"sh {line.box}/qa.sh"},
    }
    begin_with = f"agents: {json.dumps(agents)}\nagent: bot\n"
    (line.box / "qa.sh").write_text(
        f"cat > {line.box}/asked-$(ls {line.box} | grep -c asked); . {line.box}/says\n"
    )
    approve = json.dumps({"verdict": "approve", "summary": "Fine.", "comments": []})
    line.begin("hooks: {before_submit: [], before_merge: [gatekeeper: [qa]]}\n", agents=begin_with)
    asked = line.box / "asked-1"
    says = line.box / "says"
    says.write_text(f"[ -e {asked} ] && echo '{approve}' || echo 'Looks good'\n")
    task = cli.add("a part")
    line.by_hand(task)
    assert cli("submit", task).code == 0
    assert "gave no verdict" in asked.read_text()

    says.write_text("echo 'Looks good'\n")
    other = cli.add("another part")
    line.by_hand(other)
    done = cli("submit", other)
    assert done.code == 3
    assert "gave no verdict" in done.stdout
    assert len(list(line.box.glob("asked-*"))) == 4
