"""`hookline gate list|explain|run|approve|reject` as a person and a program use them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.e2e.gate_rig import Repo

if TYPE_CHECKING:
    from tests.e2e.conftest import Cli

TYPES = """\
hooks:
  before_submit:
    - rebase_on_main
    - create_pr
task_types:
  product:
    hooks:
      before_submit:
        - rebase_on_main
        - run_tests
        - create_pr
      before_merge:
        - gatekeeper: [qa, architecture]
    agents:
      implementer: [implementer-1, implementer-2]
      gatekeeper: [gatekeeper-qa]

  infrastructure:
    hooks:
      before_submit:
        - rebase_on_main
        - create_pr
    agents:
      implementer: [implementer-1]

  hotfix:
    hooks:
      before_submit:
        - run_tests
        - create_pr
    agents:
      implementer: [implementer-1, implementer-2]
agents:
  implementer-1: {driver: command, command: cat}
  implementer-2: {driver: command, command: cat, hooks: {before_submit: [lint]}}
  gatekeeper-qa: {driver: command, command: cat}
"""
HUMAN = "hooks: {before_submit: [], before_merge: [{name: boss, human: {}}]}\n"


@pytest.fixture
def repo(cli: Cli) -> Repo:
    return Repo(cli)


def resolved(cli: Cli, task: str, *options: str) -> dict[str, tuple[list[str], str]]:
    """Targets and source of each point."""
    points = cli.json("gate", "explain", task, *options)["points"]
    return {
        each["point"]: ([gate["target"] for gate in each["gates"]], each["source"])
        for each in points
    }


# explain


@pytest.mark.parametrize(
    ("kind", "before_submit", "before_merge"),
    [
        ("product", ["rebase_on_main", "run_tests", "create_pr"], ["gatekeeper"]),
        ("infrastructure", ["rebase_on_main", "create_pr"], []),
        ("hotfix", ["run_tests", "create_pr"], []),
    ],
)
def test_each_type_has_the_gates_that_the_configuration_gives_it(
    cli: Cli, kind: str, before_submit: list[str], before_merge: list[str]
) -> None:
    cli.configure(TYPES)
    task = cli.add("Build it", "--type", kind)
    merging = f"task type {kind}" if before_merge else "default"
    assert resolved(cli, task) == {
        "before_submit": (before_submit, f"task type {kind}"),
        "after_submit": ([], "default"),
        "before_merge": (before_merge, merging),
        "after_merge": ([], "default"),
    }


def test_other_tasks_have_the_gates_of_the_project(cli: Cli) -> None:
    cli.configure(TYPES)
    for task in (cli.add("Build it"), cli.add("Build it", "--type", "chore", quiet=False)):
        gates = (["rebase_on_main", "create_pr"], "project")
        assert resolved(cli, task)["before_submit"] == gates


def test_without_configuration_a_pull_request_is_the_only_gate(cli: Cli) -> None:
    task = cli.add("Build it")
    assert resolved(cli, task)["before_submit"] == (["create_pr"], "default")


def test_the_agent_that_works_on_a_task_brings_its_own_gates(cli: Cli) -> None:
    cli.configure(TYPES)
    task = cli.add("Build it", "--type", "product")
    own = (["lint"], "agent implementer-2 overrides")
    assert resolved(cli, task, "--agent", "implementer-2")["before_submit"] == own
    cli.json("task", "claim", task, "--agent", "implementer-2")
    assert resolved(cli, task)["before_submit"] == own


def test_a_person_reads_where_each_gate_came_from(cli: Cli) -> None:
    cli.configure(TYPES)
    task = cli.add("Build it", "--type", "product")
    result = cli("gate", "explain", task)
    assert result.code == 0
    lines = [" ".join(line.split()) for line in result.stdout.splitlines()]
    assert lines == [
        f"{task} type product, agent implementer-1",
        "before_submit (task type product)",
        "1. rebase_on_main hookline.yaml:10, task type product",
        "2. run_tests hookline.yaml:11, task type product",
        "3. create_pr hookline.yaml:12, task type product",
        "after_submit auto-accepted (default)",
        "before_merge (task type product)",
        "1. gatekeeper qa = gatekeeper-qa, architecture = gatekeeper-qa hookline.yaml:14, "
        "task type product",
        "after_merge auto-accepted (default)",
    ]
    assert "warning" not in result.stderr


def test_a_gatekeeper_that_nobody_can_be_is_a_warning(cli: Cli) -> None:
    cli.configure(TYPES.replace("  gatekeeper-qa: {driver", "  somebody: {driver"), trust=False)
    cli("trust", "--yes")
    task = cli.add("Build it", "--type", "product", quiet=False)
    result = cli("gate", "explain", task)
    assert result.code == 0
    assert "there is no gatekeeper 'architecture'" in result.stderr
    found = cli.json("gate", "explain", task, quiet=False)["points"][2]["gates"][0]["gatekeepers"]
    assert [each["profiles"] for each in found] == [[], []]


def test_unknown_names_are_refused(cli: Cli) -> None:
    cli.configure(TYPES)
    task = cli.add("Build it")
    assert cli.refused("gate", "explain", "T-99")[1]["code"] == "unknown-task"
    assert cli.refused("gate", "explain", task, "--agent", "nobody")[1]["code"] == "bad-input"
    assert cli.refused("gate", "run", task, "before_lunch")[0] == 2


# list and run


def test_every_verdict_is_listed_in_order_auto_accepted_ones_included(repo: Repo, cli: Cli) -> None:
    answer = (
        '{\\"status\\": \\"skip\\", \\"message\\": \\"not today\\", \\"context\\": {\\"a\\": 1}}'
    )
    repo.begin(
        "gates: {tries: 0}\n"
        "hooks:\n"
        "  before_submit:\n"
        f"    - {{name: shy, command: \"echo '{answer}'\"}}\n"
        "    - {name: never, command: 'true', when: 'commits_count > 9'}\n"
        "    - {name: strict, command: 'echo no; exit 1'}\n"
        "    - {name: unasked, command: 'true'}\n"
    )
    task = cli.add("Build it")
    assert cli.json("gate", "list", task) == []
    repo.work("thing")
    assert cli("submit", task).code == 3
    found = cli.json("gate", "list", task)
    assert [(each["hook"], each["status"]) for each in found] == [
        ("shy", "skip"),
        ("never", "skip"),
        ("strict", "failure"),
    ]
    names = {"point", "hook", "status", "message", "remediationPrompt", "context", "startedAt"}
    assert names | {"durationMs"} <= set(found[0])
    assert (found[0]["message"], found[0]["context"]) == ("not today", {"a": 1})
    assert found[1]["message"] == "when commits_count > 9 is false"
    assert "no" in found[2]["remediationPrompt"]
    assert all(each["point"] == "before_submit" for each in found)


def test_points_without_gates_are_listed_as_auto_accepted(repo: Repo, cli: Cli) -> None:
    repo.begin("hooks: {before_submit: []}\n")
    task = cli.add("Build it")
    repo.work("thing")
    assert cli("submit", task).code == 0
    found = cli.json("gate", "list", task)
    points = ["before_submit", "after_submit", "before_merge", "after_merge"]
    assert [each["point"] for each in found] == points
    assert {(each["hook"], each["status"]) for each in found} == {(None, "success")}
    assert cli("gate", "list", task).stdout.count("auto-accepted") == 4


def test_a_trial_records_verdicts_and_changes_nothing_else(repo: Repo, cli: Cli) -> None:
    repo.begin("hooks: {before_submit: [{name: ready, command: 'test -f ok'}]}\n")
    task = cli.add("Build it")
    repo.work("thing")
    cli.put("ok", "not committed\n")
    before, head = cli.task(task), repo.git("rev-parse", "HEAD")
    passed = cli("gate", "run", task, "before_submit", "--json")
    assert (passed.code, [each["status"] for each in passed.json]) == (0, ["success"])
    (cli.root / "ok").unlink()
    failed = cli("gate", "run", task, "before_submit")
    assert failed.code == 3
    assert "✗ before_submit" in failed.stdout
    assert "`test -f ok` exited 1" in failed.stderr
    assert cli("gate", "run", task, "after_merge").stdout.startswith("after_merge: auto-accepted")
    assert (cli.task(task), repo.git("rev-parse", "HEAD")) == (before, head)
    assert (repo.runs(), cli.events("submission_started")) == ([], [])
    found = cli.json("gate", "list", task)
    assert [(each["status"], each["run"]) for each in found] == [
        ("success", None),
        ("failure", None),
    ]


def test_a_gate_sees_the_task_and_its_work(repo: Repo, cli: Cli) -> None:
    repo.begin("hooks: {before_submit: [{name: look, script: look.sh}]}\n")
    cli.put("look.sh", "#!/bin/sh\ncat > ../payload\ncat .hookline/task.md > ../page\n", 0o755)
    repo.commit("look")
    cli.json("trust", "--yes")
    task = cli.add("Build it\n\nin detail", "--type", "chore")
    repo.work("thing")
    assert cli("gate", "run", task, "before_submit").code == 0
    payload = json.loads((cli.root.parent / "payload").read_text())
    assert payload["task_id"] == task
    assert payload["task_title"] == "Build it in detail"
    assert (payload["task_type"], payload["branch_name"]) == ("chore", "work")
    assert (payload["base_branch"], payload["commits_count"]) == ("main", 2)
    assert (cli.root.parent / "page").read_text().startswith(f"# {task}: Build it")
    assert repo.git("status", "--short") == ""


def test_a_link_in_the_branch_leads_no_file_of_ours_astray(repo: Repo, cli: Cli) -> None:
    repo.begin("hooks: {before_submit: []}\n")
    task = cli.add("Build it")
    place = cli.root / ".hookline" / "worktrees" / task
    repo.git("worktree", "add", "--quiet", "-b", f"hookline/{task}", str(place), "main")
    precious = cli.root.parent / "precious"
    precious.write_text("precious\n", encoding="utf-8")
    (place / ".hookline").mkdir()
    (place / ".hookline" / "task.md").symlink_to(precious)
    cli("gate", "run", task, "before_submit")
    assert precious.read_text() == "precious\n"


# approve and reject


def test_a_decision_is_asked_for_told_and_written_down(repo: Repo, cli: Cli) -> None:
    repo.begin(HUMAN)
    task = cli.add("Build it")
    repo.work("thing")
    assert cli("submit", task).code == 4
    waiting = cli("attention", "--json")
    assert waiting.code == 4
    (item,) = waiting.json
    assert (item["kind"], item["id"]) == ("gate", task)
    assert item["command"] == f"hookline gate approve {task} (or: reject)"
    made = cli.json("gate", "approve", task, "--comment", "fine")
    assert (made["hook"], made["decision"], made["by"]) == (
        "boss",
        "approve",
        "Ada <ada@example.org>",
    )
    (event,) = cli.events("gate_decided")
    assert event["nodeId"] == task
    assert event["data"]["comment"] == "fine"
    (item,) = cli("attention", "--json").json
    assert (item["kind"], item["command"]) == ("gates", f"hookline merge {task}")
    code, error = cli.refused("gate", "reject", task)
    assert (code, error["code"]) == (1, "illegal-transition")
    assert "has a decision already" in error["message"]
    assert cli("merge", task).code == 0
    assert (
        cli.json("gate", "list", task)[-2]["message"] == "approved by Ada <ada@example.org>: fine"
    )


def test_nothing_is_decided_where_nobody_asks(repo: Repo, cli: Cli) -> None:
    repo.begin("hooks: {before_submit: [{command: 'exit 75'}]}\n")
    task = cli.add("Build it")
    for verb in ("approve", "reject"):
        code, error = cli.refused("gate", verb, task)
        assert (code, error["code"]) == (1, "illegal-transition")
        assert "no gate of T-1 waits for a person" in error["message"]
    assert cli.events("gate_decided") == []


def test_agents_do_not_decide_for_people(repo: Repo, cli: Cli) -> None:
    repo.begin(HUMAN)
    task = cli.add("Build it")
    repo.work("thing")
    assert cli("submit", task).code == 4
    _, error = cli.refused("gate", "approve", task, env={"HOOKLINE_AGENT": "bot"})
    assert "only a person can" in error["message"]
    assert (cli.events("gate_decided"), repo.merged()) == ([], [])


# Who may take what


def test_agents_take_the_tasks_of_the_types_that_name_them(cli: Cli) -> None:
    cli.configure(TYPES)
    task = cli.add("Build it", "--type", "infrastructure", "--priority", "0")
    other = cli.add("Build that", "--type", "hotfix")
    _, error = cli.refused("task", "claim", task, "--agent", "implementer-2")
    assert "implementer-2 may not work on" in error["message"]
    assert cli.json("task", "next", "--claim", "--agent", "implementer-2")["id"] == other
    agent = {"HOOKLINE_AGENT": "implementer-2"}
    assert cli.refused("task", "next", "--claim", env=agent)[1]["code"] == "nothing-ready"
    assert cli.json("task", "next", "--claim", "--agent", "implementer-1")["id"] == task


def test_people_take_any_task(cli: Cli) -> None:
    cli.configure(TYPES)
    task = cli.add("Build it", "--type", "infrastructure")
    assert cli.json("task", "claim", task)["claim"]["agent"] == "ada"


def test_a_session_is_refused_a_task_that_names_other_agents(cli: Cli) -> None:
    cli.configure(TYPES)
    task = cli.add("Build it", "--type", "infrastructure")
    _, error = cli.refused("run", "--task", task, "--agent", "implementer-2")
    assert "implementer-2 may not work on" in error["message"]
    assert cli.task(task)["state"] == "ready"
