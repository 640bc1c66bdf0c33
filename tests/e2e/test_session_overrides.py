"""Hooks of an agent's own, and of a task's type: they replace the project's at every point."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest

from tests.e2e.conftest import eventually
from tests.e2e.gate_rig import Repo
from tests.e2e.session_rig import PROMISE, Rig, finished, hook

if TYPE_CHECKING:
    from tests.e2e.conftest import Cli

OWN_POINTS = (
    *("session_start", "pre_iteration", "post_iteration", "session_end", "on_error", "stop"),
    *("before_submit", "after_submit", "before_merge", "after_merge"),
)
DONE = "echo DONE {{task_id}}"


def bot(rig: Rig, **more: Any) -> dict[str, Any]:
    return {"driver": "command", "command": f"sh {rig.box}/agent.sh", **more}


@pytest.mark.examples(1)
@pytest.mark.parametrize("whose", ["agents", "task_types"])
def test_own_hooks_replace_those_of_the_project(cli: Cli, whose: str) -> None:
    rig, repo = Rig(cli), Repo(cli)
    own, project = (
        {point: [{"command": rig.note(f"{who} {point}")}] for point in OWN_POINTS}
        for who in ("own", "project")
    )
    sections: dict[str, Any] = {
        "hooks": project,
        "agents": {"bot": bot(rig)},
        "task_types": {"feature": {}},
    }
    sections[whose]["bot" if whose == "agents" else "feature"]["hooks"] = own
    commit = "echo x > made; git add -A; git commit -qm made"
    rig.turns("exit 3", f"{commit}; {PROMISE}")
    repo.begin("".join(f"{key}: {json.dumps(value)}\n" for key, value in sections.items()))
    cli.add("whole", "--type", "feature", quiet=False)
    assert cli("work", "--once", "--agent", "bot", "--json").code == 0
    assert set(rig.trace) == {f"own {point}" for point in OWN_POINTS}


def test_what_hooks_of_an_agent_say_of_a_task_is_in_its_next_prompt(cli: Cli) -> None:
    rig = Rig(cli)
    own = {"on_task_complete": [hook("sleep 1; echo OWN {{task_id}} {{agent}}")]}
    project = {"on_task_complete": [hook("echo PROJECT {{task_id}}")]}
    rig.configure(project, agents={"bot": bot(rig, hooks=own)})
    rig.turns(rig.complete_child("part"))
    rig.run()
    _, second = rig.prompts()
    assert second.text.count("OWN T-2 bot") == 1
    assert "PROJECT" not in second.text


def test_an_empty_list_of_an_agent_silences_a_point(cli: Cli) -> None:
    rig = Rig(cli)
    silent = bot(rig, hooks={"on_task_complete": []})
    rig.configure({"on_task_complete": [hook(DONE)]}, agents={"bot": silent})
    rig.turns(rig.complete_child("part"))
    rig.run()
    assert not any("DONE" in prompt.text for prompt in rig.prompts())
    assert len(cli.events("task_completed")) == 1


@pytest.mark.torture
def test_each_session_that_hears_of_a_task_hears_the_hooks_of_its_own_agent(cli: Cli) -> None:
    rig = Rig(cli)
    agents = {
        "bot": bot(rig),
        "eda": bot(rig, hooks={"on_task_complete": [hook("echo EDAS {{task_id}}")]}),
        "mute": bot(rig, hooks={"on_task_complete": []}),
    }
    types = {"chore": {"hooks": {"on_task_complete": [hook("echo CHORE {{task_id}}")]}}}
    rig.configure({"on_task_complete": [hook(DONE)]}, agents=agents, task_types=types)
    go = rig.file("go")
    begun = f'touch "{rig.file("begun")}-$HOOKLINE_SESSION"'
    rig.turns(f"{begun}; until [ -e {go} ]; do sleep 0.02; done")
    sessions = []
    for name in agents:
        sessions.append(rig.start("--agent", name, name=name, goal=f"of {name}"))
        eventually(rig.file(f"begun-{name}").exists, f"the first turn of {name}")
    for options in ((), ("--type", "chore")):
        other = cli.add("somebody else's", *options, quiet=False)
        cli.json("task", "complete", other, "--without-gates", quiet=False)
    go.touch()
    assert [finished(each).code for each in sessions] == [5, 5, 5]
    seconds = [rig.prompts(f"R-{number}")[1].text for number in (1, 2, 3)]
    said = [re.findall(r"^(DONE|CHORE|EDAS) T-\d+$", text, re.MULTILINE) for text in seconds]
    assert said == [["DONE", "CHORE"], ["EDAS", "EDAS"], []]


@pytest.mark.parametrize("point", ["task_completed", "on-run-start", "on-iteration-end"])
def test_own_hooks_at_a_point_of_events_are_refused(cli: Cli, point: str) -> None:
    own = {point: [{"command": "touch ran"}]}
    agents = {"bot": {"driver": "command", "command": "true", "hooks": own}}
    cli.configure(f"agents: {json.dumps(agents)}\n", trust=False)
    checked = cli("check", "--json")
    assert checked.code == 2
    (problem,) = checked.json["problems"]
    assert (problem["code"], problem["line"]) == ("misplaced-hooks", 2)
    assert f"'agents.bot.hooks' cannot hold {point}" in problem["message"]
    assert "`hooks:`" in problem["help"]
    assert all(each in problem["help"] for each in (*OWN_POINTS, "on_task_complete"))


def test_hooks_of_agents_and_types_are_hooks_like_others(cli: Cli) -> None:
    cli.configure(
        "agents: {bot: {driver: command, command: 'true',"
        " hooks: {pre_iteration: [{name: mine, command: 'echo mine'}]}}}\n"
        "task_types: {product: {hooks: {before_submit: [{name: made, command: 'true'}]}}}\n"
    )
    rows = cli.json("hook", "list")
    assert [(row["name"], row["for"]) for row in rows if row["for"]] == [
        ("mine", "agent bot"),
        ("made", "type product"),
    ]
    assert cli.json("hook", "show", "made")["target"] == "true"
    assert cli.json("hook", "test", "mine", "--payload", "{}")["stdout"] == "mine\n"
    assert cli.json("why", "made")["verdict"] == "made was never called"
    cli.json("hook", "disable", "made")
    task = cli.add("build", "--type", "product")
    explained = cli.json("gate", "explain", task)["points"][0]
    assert [(gate["hook"], gate["enabled"]) for gate in explained["gates"]] == [("made", False)]
