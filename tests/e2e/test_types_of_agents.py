"""Which types of tasks agents may use: their own task's, and those that its type allows."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import pytest

from tests.e2e.mcp_rig import Agent
from tests.e2e.pipeline_rig import Pipeline

if TYPE_CHECKING:
    from tests.e2e.conftest import Cli

TYPES = """\
task_types:
  feature: {may_create: [bug], hooks: {before_submit: [{name: no, command: "exit 1"}]}}
  bug: {may_create: [chore]}
  chore: {hooks: {before_submit: []}}
"""


def session(cli: Cli, task: str) -> dict[str, str]:
    """What an agent's environment says in a session on a task."""
    return {
        "HOOKLINE_DIR": str(cli.root / ".hookline"),
        "HOOKLINE_SESSION": "night",
        "HOOKLINE_RUN_ID": "R-1",
        "HOOKLINE_TASK_ID": task,
        "HOOKLINE_AGENT": "bot",
    }


def made(answer: dict[str, Any]) -> tuple[str | None, str | None]:
    """The parent and the type of a task."""
    return answer["parentTaskId"], answer["type"]


def lines(*specs: dict[str, str]) -> str:
    """A file of tasks."""
    return "".join(f"{json.dumps(spec)}\n" for spec in specs)


@pytest.fixture
def typed(cli: Cli) -> Cli:
    cli.configure(TYPES)
    return cli


def test_an_agent_cannot_change_a_type(typed: Cli) -> None:
    own, other = typed.add("mine", "--type", "feature"), typed.add("free", "--type", "feature")
    for env in (session(typed, own), {"HOOKLINE_AGENT": "bot"}, {"HOOKLINE_HOOK": "h"}):
        code, error = typed.refused("task", "update", other, "--type", "chore", env=env)
        assert (code, error["code"]) == (4, "people-only")
    assert typed.task(other)["type"] == "feature"
    typed.json("task", "update", other, "--type", "chore")
    assert typed.task(other)["type"] == "chore"


def test_a_new_task_of_a_session_belongs_to_it_and_has_its_type(typed: Cli) -> None:
    own, chore = typed.add("mine", "--type", "feature"), typed.add("easy", "--type", "chore")
    env = session(typed, own)
    assert made(typed.json("task", "add", "a part", env=env)) == (own, "feature")
    bug = typed.json("task", "add", "a bug", "--type", "bug", env=env)
    assert made(bug) == (own, "bug")
    assert made(typed.json("task", "add", "x", "--parent", bug["id"], env=env)) == (
        bug["id"],
        "bug",
    )
    for words in (
        ("--type", "chore"),
        ("--parent", chore),  # whose type has no gates
        ("--parent", bug["id"], "--type", "chore"),  # which only agents on a bug may create
    ):
        code, error = typed.refused("task", "add", "around the gates", *words, env=env)
        assert (code, error["code"]) == (4, "people-only"), words
        assert "task_types.feature.may_create" in error["help"]
    _, error = typed.refused("task", "add", "odd", "--type", "featrue", env=env)
    assert (error["code"], "did you mean 'feature'?" in error["message"]) == ("bad-input", True)
    assert len(typed.json("task", "list", "--all")) == 5


def test_files_of_tasks_are_held_to_the_same(typed: Cli) -> None:
    own = typed.add("mine", "--type", "feature")
    env = session(typed, own)
    specs = lines({"goal": "one", "key": "a"}, {"goal": "two", "parent": "a", "type": "bug"})
    first, second = typed.json("task", "add", "--from", "-", stdin=specs, env=env)
    assert (made(first), made(second)) == ((own, "feature"), (first["id"], "bug"))
    bad = lines({"goal": "fine"}, {"goal": "around", "type": "chore"})
    _, error = typed.refused("task", "add", "--from", "-", stdin=bad, env=env)
    assert error["code"] == "people-only"
    assert len(typed.json("task", "list", "--all")) == 3


def test_tools_are_held_to_the_same(typed: Cli) -> None:
    own = typed.add("mine", "--type", "feature")
    with Agent.on_stdio(typed, env=session(typed, own)) as agent:
        assert made(agent("task_create", goal="a part")) == (own, "feature")
        refused = agent.refused("task_create", goal="around", type="chore")
        assert refused["error"]["code"] == "people-only"
    with Agent.on_stdio(typed) as agent:  # in no session: whoever plans may use what there is
        assert made(agent("task_create", goal="a plan", type="chore")) == (None, "chore")
        refused = agent.refused("task_create", goal="a plan", type="chroe")
        assert "did you mean 'chore'?" in refused["error"]["message"]
        refused = agent.refused("task_create", goal="a part", type="chore", parentTaskId=own)
        assert refused["error"]["code"] == "people-only"


def test_what_nobody_has_trusted_allows_nothing(typed: Cli) -> None:
    own = typed.add("mine", "--type", "feature")
    typed.configure(TYPES.replace("[bug]", "[bug, chore]"), trust=False)
    for kind in ("bug", "chore"):
        result = typed("task", "add", "x", "--type", kind, "--json", env=session(typed, own))
        assert (result.code, result.stdout) == (4, "")


def test_hooks_and_people_use_any_type(cli: Cli) -> None:
    follow = {"goal": "follow up", "type": "chore", "parentTaskId": "T-1"}
    answer = json.dumps({"actions": [{"type": "create_task", "payload": follow}]})
    retype = {"taskId": "T-1", "action": "update", "payload": {"type": "bug"}}
    other = json.dumps({"actions": [{"type": "update_task", "payload": retype}]})
    cli.put("a.json", answer)
    cli.put("b.json", other)
    cli.configure(
        f"{TYPES}hooks:\n  task_created:\n"
        "    - {name: a, command: cat a.json, when: \"task.goal == 'mine'\"}\n"
        "    - {name: b, command: cat b.json, when: \"task.goal == 'mine'\"}\n"
    )
    cli.json("task", "add", "mine", "--type", "feature", env={"HOOKLINE_AGENT": "bot"})
    assert cli.task("T-1")["type"] == "bug"
    assert made(cli.task("T-2")) == ("T-1", "chore")
    result = cli("task", "add", "odd", "--type", "featrue")
    assert (result.code, cli.task("T-3")["type"]) == (0, "featrue")
    assert "warning: no type of task is called 'featrue': did you mean 'feature'?" in result.stderr
    result = cli("task", "update", "T-3", "--type", "choer")
    assert "did you mean 'chore'?" in result.stderr
    result = cli("task", "add", "--from", "-", stdin=lines({"goal": "g", "type": "bgu"}))
    assert "did you mean 'bug'?" in result.stderr
    assert cli("task", "update", "T-3", "--note", "n").stderr == ""


def test_without_configured_types_a_type_is_a_word(cli: Cli) -> None:
    assert cli("task", "add", "x", "--type", "anything").stderr == ""
    env = {"HOOKLINE_AGENT": "bot"}
    assert cli.json("task", "add", "y", "--type", "anything", env=env)["type"] == "anything"
    _, error = cli.refused("task", "add", "z", "--type", "another", env=session(cli, "T-1"))
    assert error["code"] == "people-only"  # conditions of gates may look at it


def test_check_names_types_that_nobody_can_create(cli: Cli) -> None:
    cli.configure("task_types:\n  feature: {may_create: [bgu]}\n  bug: {}\n")
    found = cli("check", "--format", "json").json["problems"]
    (problem,) = (each for each in found if each["code"] == "unknown-type")
    assert problem["severity"] == "warning"
    assert "did you mean 'bug'?" in problem["help"]


SPLITS = """\
hookline="{python} -m hookline"
part=$($hookline task add "a part" --json | sed 's/.*"id":"\\(T-[0-9]*\\)".*/\\1/')
$hookline task complete "$part"
$hookline task complete T-2 > "$box/other"
work
"""


def test_a_part_of_a_sessions_work_is_judged_with_it(cli: Cli) -> None:
    line = Pipeline(cli)
    line.begin("task_types: {feature: {hooks: {before_submit: []}}}\n", remote=False)
    line.turn(SPLITS.format(python=sys.executable))
    own, other = (cli.add(goal, "--type", "feature") for goal in ("mine", "another"))
    assert line.worker("--tasks", "1", code=4)["waiting"] == [other]
    assert cli.task(own)["state"] == "completed"
    (part,) = (each for each in cli.json("task", "list", "--all") if each["goal"] == "a part")
    assert (part["state"], made(part)) == ("completed", (own, "feature"))
    assert cli.task(other)["state"] == "submitted"  # which nobody split off
    assert line.merges() == [own]
