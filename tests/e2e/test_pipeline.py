"""Tasks on their way to merged code: which gates they pass, who mends, and what is kept of it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.e2e.pipeline_rig import Pipeline, keepers, work_ended

if TYPE_CHECKING:
    from tests.e2e.conftest import Cli

TYPES = """\
hooks:
  before_submit: [rebase_on_main, create_pr]
task_types:
  product:
    hooks:
      before_submit: [rebase_on_main, run_tests, create_pr]
      before_merge: [{gatekeeper: [qa, architecture]}]
    agents: {implementer: [bot], gatekeeper: [gatekeeper-qa]}
  infrastructure:
    hooks: {before_submit: [rebase_on_main, create_pr]}
    agents: {implementer: [bot]}
  hotfix:
    hooks: {before_submit: [run_tests, create_pr]}
  direct:
    skip_pr: true
"""
APPROVE = json.dumps({"verdict": "approve", "summary": "Fine.", "comments": []})


@pytest.fixture
def line(cli: Cli) -> Pipeline:
    return Pipeline(cli)


def targets(line: Pipeline, task: str, point: str) -> list[tuple[str, str]]:
    """The gates of a point by what they are, and what they said."""
    return [
        ((hook or "-").rpartition(":")[2], status) for hook, status in line.verdicts(task, point)
    ]


# Which gates


def test_without_configuration_a_pull_request_is_made_and_merged(line: Pipeline, cli: Cli) -> None:
    line.begin("")
    task = cli.add("a part")
    assert line.worker()["merged"] == [task]
    assert line.verdicts(task) == [("create_pr", "success")]
    (pull,) = line.pulls()
    assert (pull["state"], pull["branch"], pull["base"]) == ("merged", f"hookline/{task}", "main")
    assert pull["mergedSha"] == line.git("rev-parse", "main", at=line.main)
    found = cli.task(task)
    page = ".hookline/pulls/1.md"
    assert found["prUrl"] in (page, (cli.root / page).as_uri())  # clones have no folder in common
    assert (found["commitsCount"], found["turnsUsed"]) == (1, 1)


def test_work_is_rebased_before_its_pull_request_is_made(line: Pipeline, cli: Cli) -> None:
    line.begin("hooks: {before_submit: [rebase_on_main, create_pr]}\n")
    task = cli.add("a part")
    line.by_hand(task)
    onto = line.push_aside("other", conflicting=False)
    assert cli("submit", task).code == 0
    assert targets(line, task, "before_submit") == [
        ("rebase_on_main", "success"),
        ("create_pr", "success"),
    ]
    merge = line.git("rev-parse", "main", at=line.main)
    assert line.git("rev-parse", f"{merge}^1", f"{merge}^2~1", at=line.main) == f"{onto}\n{onto}"
    assert len(line.pulls()) == 1


def test_a_task_passes_the_gates_of_its_type(line: Pipeline, cli: Cli) -> None:
    line.begin(TYPES, agents=keepers(line, gatekeeper_qa=f"echo '{APPROVE}'"))
    tasks = {kind: cli.add(kind, "--type", kind) for kind in ("product", "infrastructure")}
    tasks |= {"hotfix": cli.add("hotfix", "--type", "hotfix"), "none": cli.add("none")}
    line.turn('touch "own-$HOOKLINE_TASK_ID"\n')
    assert sorted(line.worker()["merged"]) == sorted(tasks.values())
    rebase, tests, pull = (
        (name, "success") for name in ("rebase_on_main", "run_tests", "create_pr")
    )
    assert {kind: targets(line, task, "before_submit") for kind, task in tasks.items()} == {
        "product": [rebase, tests, pull],
        "infrastructure": [rebase, pull],
        "hotfix": [tests, pull],
        "none": [rebase, pull],
    }
    merging = {kind: targets(line, task, "before_merge") for kind, task in tasks.items()}
    assert merging.pop("product") == [("gatekeeper", "success")]
    assert set(map(tuple, merging.values())) == {(("-", "success"),)}


# Conflicts


@pytest.mark.examples(1)
@pytest.mark.parametrize(("remote", "driver"), [(True, "scripted"), (False, "command")])
def test_the_agent_resolves_a_conflict_and_dependents_begin_after_the_merge(
    line: Pipeline, cli: Cli, remote: bool, driver: str
) -> None:
    turn = {"run": f"sh {line.box}/agent.sh", "text": "<promise>COMPLETE</promise>"}
    cli.put("turns.json", json.dumps([{**turn, "repeat": True}]))
    scripted = "agents: {bot: {driver: scripted, script: turns.json}}\n"
    line.begin(remote=remote, agents=scripted if driver == "scripted" else None)
    # Both are at work before either is merged.
    line.together(2)
    first, second = cli.add("first"), cli.add("second")
    last = cli.add("last", "--depends-on", first, "--depends-on", second)
    ended = line.worker("--agents", "2")
    assert sorted(ended["merged"]) == [first, second, last]
    assert sorted(len(line.prompts(task)) for task in (first, second)) == [1, 2]
    loser = first if len(line.prompts(first)) == 2 else second
    winner = second if loser == first else first
    prompt = line.prompts(loser)[1]
    assert f"File log\n--- your side:\n{loser}\n--- main:\n{winner}\n" in prompt
    assert line.places(loser) == {str(line.place(loser))}
    assert cli.task(loser)["turnsUsed"] == 2
    assert sorted(line.merges()) == [first, second, last]
    assert len(line.pulls()) == 3
    line.check_order(last, first, second)
    line.check_main()
    line.check_quiet()


@pytest.mark.torture
def test_a_gate_that_finds_a_conflict_passes_on_the_second_round(line: Pipeline, cli: Cli) -> None:
    line.begin()
    task = cli.add("a part")
    line.by_hand(task)
    line.push_aside("other")
    assert cli("submit", task, "--agent", "bot").code == 0
    assert targets(line, task, "before_submit") == [
        ("rebase_on_main", "failure"),
        ("rebase_on_main", "success"),
        ("run_tests", "success"),
        ("create_pr", "success"),
    ]
    (prompt,) = line.prompts(task)
    assert f"File log\n--- your side:\n{task}\n--- main:\nother\n" in prompt
    assert (line.merges(), line.parts()) == ([task], {"other", task})
    assert len(line.pulls()) == 1
    line.check_main()


def test_a_conflict_that_nobody_resolves_parks_the_task(line: Pipeline, cli: Cli) -> None:
    line.begin()
    line.turn("echo 'I do not know how'\n")
    task = cli.add("a part")
    place = line.by_hand(task)
    head = line.git("rev-parse", "HEAD", at=place)
    line.push_aside("other")
    assert cli("submit", task, "--agent", "bot").code == 3
    assert len(line.prompts(task)) == 3
    found = cli.task(task)
    assert found["state"] == "needs_continuation"
    left = "conflict with main in log: markers are left in log (attempts to fix it: 3)"
    assert left in found["blockReason"]
    (item,) = cli("attention", "--json").json
    assert item["id"] == task
    assert (line.git("rev-parse", "HEAD", at=place), line.git("status", "-s", at=place)) == (
        head,
        "",
    )
    assert (line.merges(), line.pulls()) == ([], [])


@pytest.mark.torture
def test_work_that_others_outran_once_is_not_outrun_again(line: Pipeline, cli: Cli) -> None:
    line.begin("hooks: {before_submit: []}\n")
    line.together(4)
    tasks = [cli.add(f"part {number}") for number in range(4)]
    done = cli("work", "--once", "--json", "--agents", "4")
    assert sorted(work_ended(done)["merged"]) == tasks
    records = [json.loads(each) for each in done.stdout.splitlines()]
    for task in tasks:  # each reason is told before the agent fixes it
        steps = [e for e in records if e["data"].get("taskId") == task]
        told = [e["type"] for e in steps if e["type"] in ("trouble", "remediation")]
        assert told == ["trouble", "remediation"] * (len(line.prompts(task)) - 1)
    reasons = {each["data"]["reason"] for each in records if each["type"] == "trouble"}
    assert reasons == {"conflict with main in log"}
    # The work itself, what was merged meanwhile, and what was merged while that was resolved.
    assert max(len(line.prompts(task)) for task in tasks) <= 3
    assert sorted(line.merges()) == tasks
    line.check_main()


def test_a_result_that_fails_its_test_is_not_merged_until_it_is_mended(
    line: Pipeline, cli: Cli
) -> None:
    line.begin("hooks: {before_submit: []}\n")
    line.turn('echo "$HOOKLINE_TASK_ID" >> log\n')
    task = cli.add("a part")
    place = line.by_hand(task, text="something else\n")
    (place / "log").write_text("")
    line.commit("the log is lost", at=place)
    before = line.git("rev-parse", "main", at=line.main)
    done = cli("submit", task, "--agent", "bot")
    assert done.code == 0
    told = [each for each in done.stderr.splitlines() if "✗" in each or "●" in each]
    assert told == [
        "  ✗ merge         `make test` fails on the merged result",
        "  ● bot fixes it",
    ]
    (prompt,) = line.prompts(task)
    assert "FAILED: the log lists\n" in prompt
    assert f"A trial merge of your work into main at {before} fails `make test`." in prompt
    line.check_main()


@pytest.mark.torture
def test_an_agent_that_leaves_a_rebase_behind_is_told_to_end_it(line: Pipeline, cli: Cli) -> None:
    line.begin()
    line.turn(
        'if [ "$n" = 1 ]; then git merge --abort; git rebase --quiet origin/main\n'
        "elif grep -q 'middle of a rebase' \"$box/$n\"; then git rebase --abort\n"
        "else resolve; fi > /dev/null 2>&1\n"
    )
    task = cli.add("a part")
    line.by_hand(task)
    line.push_aside("other")
    assert cli("submit", task, "--agent", "bot").code == 0
    assert len(line.prompts(task)) == 3
    assert line.parts() == {"other", task}


# What a task leaves


@pytest.mark.parametrize(
    ("setting", "state"), [("complete", "completed"), ("park", "needs_continuation")]
)
def test_a_task_without_commits(line: Pipeline, cli: Cli, setting: str, state: str) -> None:
    line.begin(f"gates: {{without_commits: {setting}}}\nhooks: {{before_submit: [run_tests]}}\n")
    line.turn("echo 'nothing to object to'\n")
    task = cli.add("review it")
    line.worker(code=0 if state == "completed" else 4)
    assert cli.task(task)["state"] == state
    assert (line.verdicts(task), line.merges(), line.pulls()) == ([], [], [])


def test_uncommitted_work_is_refused_where_that_is_wanted(line: Pipeline, cli: Cli) -> None:
    line.begin("gates: {uncommitted: refuse}\n")
    task = cli.add("a part")
    assert line.worker(code=4)["sentBack"] == [task]
    assert "not committed: log, parts/T-1" in cli.task(task)["blockReason"]
    place = line.place(task)
    assert (place / "parts" / task).read_text() == "by bot\n"
    line.commit("by hand, then", at=place)
    assert cli("submit", task).code == 0
    assert line.merges() == [task]


def test_a_type_without_pull_requests_is_merged_directly(line: Pipeline, cli: Cli) -> None:
    line.begin(TYPES)
    task = cli.add("a part", "--type", "direct")
    assert line.worker()["merged"] == [task]
    found = cli.task(task)
    assert (line.merges(), line.pulls(), found["prUrl"]) == ([task], [], None)
    assert (found["commitsCount"], found["state"]) == (1, "completed")
