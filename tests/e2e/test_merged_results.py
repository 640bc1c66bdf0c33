"""What tests the merged result, and what is said where nothing does."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest

from tests.e2e.pipeline_rig import Pipeline, work_ended
from tests.e2e.terminal_rig import Terminal

if TYPE_CHECKING:
    from pathlib import Path

    from tests.e2e.conftest import Cli

# Two pieces fit alone, and not together.
TOGETHER = "[ ! -e left ] || [ ! -e right ]\n"
NO_TRIES = "gates: {tries: 0}\n"  # the agent could mend nothing of it


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


def again(line: Pipeline, configuration: str) -> None:
    """The same project with another configuration."""
    line.cli.configure(f"{configuration}agents: {{bot: {line.profile}}}\n")


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
    "gates.test": "gates: {test: sh together.sh, tries: 0}\n"
    "hooks: {before_submit: [{run_tests: 'true'}, create_pr]}\n",
}


def test_two_tasks_that_pass_alone_and_break_together_are_not_both_merged(
    line: Pipeline, cli: Cli
) -> None:
    begin(line, SETTINGS["run_tests"])
    left, *others = (cli.add(name, "--type", "part") for name in ("left", *SETTINGS))
    worktree(line, left, left="x\n")
    for task in others:
        worktree(line, task, right="x\n")
    assert cli("submit", left).code == 0
    for task, (name, configuration) in zip(others, SETTINGS.items(), strict=True):
        again(line, configuration if "gates:" in configuration else f"{NO_TRIES}{configuration}")
        done = cli("submit", task)
        assert done.code == 3, name
        assert "`sh together.sh` fails on the merged result" in done.stderr + done.stdout, name
    assert line.merges() == [left]
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


@pytest.mark.torture
def test_what_nothing_tested_is_called_untested(line: Pipeline, cli: Cli) -> None:
    begin(line, "")
    for name, (configuration, why) in UNTESTED.items():
        again(line, configuration)
        line.commit(name)
        line.git("push", "--quiet", "origin", "main")
        (warning,) = cli("check", "--format", "json").json["problems"]
        assert (warning["severity"], warning["code"]) == ("warning", "untested"), name
        task = cli.add("by hand")
        worktree(line, task, **{f"of-{task}": "x\n"})
        said = cli("submit", task).stdout
        assert f"{task} merged untested" in said, name
        assert why in said
        event = cli.events("merged_untested")[-1]
        assert (event["nodeId"], event["data"]["sha"]) == (task, line.git("rev-parse", "main"))
        assert why in event["data"]["reason"]
        assert f"merged untested {why}" in cli("task", "show", task).stdout
    assert len(cli.events("merged_untested")) == len(UNTESTED)


@pytest.mark.torture
def test_a_worker_tells_what_nothing_tested(line: Pipeline, cli: Cli) -> None:
    configuration, why = UNTESTED["none is wanted"]
    begin(line, configuration)
    second = cli.add("by a worker")
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


def test_the_view_tells_what_nothing_tested(line: Pipeline, cli: Cli) -> None:
    configuration, why = UNTESTED["none is wanted"]
    begin(line, configuration)
    task = cli.add("by a worker")
    line.turn("echo x > theirs\n")
    told = rf"{task} merged untested [0-9a-f]{{12}}: {re.escape(why)}"
    terminal = Terminal(cli, "work", columns=100, rows=40)

    def is_told() -> bool:
        return re.search(told, " ".join(" ".join(terminal.everything).split())) is not None

    try:
        terminal.until(is_told, told)
    finally:
        terminal.close()


@pytest.mark.torture
def test_what_was_tested_is_not(line: Pipeline, cli: Cli) -> None:
    begin(line, "")
    for configuration, makefile in (
        ("hooks: {before_submit: [{run_tests: 'true'}]}\n", None),
        ("gates: {test: 'true'}\n", None),
        ("hooks: {before_submit: [create_pr]}\n", "test:\n\t@true\n"),
    ):
        again(line, configuration)
        if makefile is not None:
            cli.put("Makefile", makefile)
        line.commit("its tests")
        line.git("push", "--quiet", "origin", "main")
        assert cli("check", "--format", "json").json["problems"] == [], configuration
        task = cli.add("by hand")
        worktree(line, task, **{f"of-{task}": "x\n"})
        assert f"{task} merged  " in cli("submit", task).stdout, configuration
        assert "untested" not in cli("task", "show", task).stdout
    assert cli.events("merged_untested") == []


REPLACED = {
    "no target": {"Makefile": "all:\n\t@true\n"},
    "another runner": {"package.json": '{"scripts": {"test": "true"}}', "bun.lock": ""},
}


@pytest.mark.parametrize("files", REPLACED.values(), ids=REPLACED)
def test_work_cannot_take_away_what_is_found_to_test_it(
    line: Pipeline, cli: Cli, files: dict[str, str]
) -> None:
    begin(line, f"{NO_TRIES}hooks: {{before_submit: [run_tests]}}\n", "test:\n\t@sh together.sh\n")
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


def test_each_package_tests_the_merged_result_and_none_can_be_taken_away(
    line: Pipeline, cli: Cli
) -> None:
    begin(line, f"{NO_TRIES}hooks: {{before_submit: [run_tests]}}\n")
    for package in ("api", "web"):
        cli.put(f"{package}/Makefile", "test:\n\t@[ ! -e broken ]\n")
    line.commit("packages")
    line.git("push", "--quiet", "origin", "main")
    kept, broken, smaller = (cli.add(goal) for goal in ("keep", "break", "remove"))
    worktree(line, kept, **{"api/new": "x\n"})
    assert f"{kept} merged  " in cli("submit", kept).stdout
    worktree(line, broken, **{"web/broken": "x\n"})
    assert cli("submit", broken).code == 3
    place = worktree(line, smaller, **{"api/newer": "x\n"})
    (place / "web" / "Makefile").unlink()
    line.commit("remove the tests of web", at=place)
    assert cli("submit", smaller).code == 3
    assert line.merges() == [kept]


@pytest.mark.torture
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
    told = asked.read_text()
    assert "Your last answer could not be used: it does not end with the JSON object" in told

    says.write_text("echo 'Looks good'\n")
    other = cli.add("another part")
    line.by_hand(other)
    done = cli("submit", other)
    assert done.code == 3
    assert "gave no verdict" in done.stdout
    assert len(list(line.box.glob("asked-*"))) == 4


def test_work_with_the_same_content_as_the_base_is_not_called_untested(cli: Cli) -> None:
    line = Pipeline(cli)
    line.begin("hooks: {before_submit: []}\ngates: {test: 'true'}\n", remote=False)
    line.turn("echo same > same\n")
    line.together(2)
    tasks = [cli.add("a part"), cli.add("the same part")]
    ended = line.worker("--agents", "2")
    assert (sorted(ended["merged"]), ended["mergedUntested"]) == (tasks, [])
    assert "untested" not in cli("attention").stdout
    assert line.git("show", "main:same") == "same"
