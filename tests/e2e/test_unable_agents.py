"""An agent that cannot work is asked once; a person repairs it, and the work goes on from there."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.e2e.pipeline_rig import Pipeline
from tests.e2e.session_rig import Rig, hook

if TYPE_CHECKING:
    from tests.e2e.conftest import Cli

PROMISE = "<promise>COMPLETE</promise>"
APPROVE = json.dumps({"verdict": "approve", "summary": "Fine.", "comments": []})
CHANGES = json.dumps({"verdict": "request_changes", "summary": "No.", "comments": ["Sign it."]})
WORK = "echo $HOOKLINE_TASK_ID > log; echo x >> parts/$HOOKLINE_TASK_ID"
PROBLEM = {
    "kind": "login",
    "message": "Ada is not logged in",
    "help": "Log in with `ada login`",
    "command": "ada login",
}
TOLD = "Ada is not logged in. Log in with `ada login`."
UNABLE = {"problem": PROBLEM}
DONE = {"text": PROMISE, "repeat": True}


@pytest.fixture
def rig(cli: Cli) -> Rig:
    return Rig(cli)


@pytest.fixture
def line(cli: Cli) -> Pipeline:
    return Pipeline(cli)


def configure(rig: Rig, *turns: dict[str, Any], **sections: Any) -> None:
    """A session's agent, `ada`, with these turns; what hooks see is in the trace."""
    hooks = {
        "on_error": [hook(f"{rig.note('error {{iteration}}')}; echo ADVICE")],
        "post_iteration": [{"command": rig.note("post {{iteration}}")}],
        "session_end": [{"command": rig.note("end")}],
    }
    noted = [{**turn, "run": f"{rig.note('turn')}; {turn.get('run', ':')}"} for turn in turns]
    agents = {"ada": rig.scripted(*noted)}
    rig.configure(hooks | sections.pop("hooks", {}), agents=agents, agent="ada", **sections)


def begin(line: Pipeline, configuration: str, **turns: list[dict[str, Any]]) -> None:
    """A project with scripted agents; `ledger` has a line for each of their turns."""
    for name, script in turns.items():
        play(line, name, *script)
    profiles = {name: {"driver": "scripted", "script": f"{line.box}/{name}"} for name in turns}
    line.begin(configuration, agents=f"agents: {json.dumps(profiles)}\n")


def play(line: Pipeline, name: str, *script: dict[str, Any]) -> None:
    """What an agent does from now on, in each of its runs."""
    noted = f"echo {name} >> {line.box}/ledger"
    written = [{**turn, "run": f"{noted}; {turn.get('run', ':')}"} for turn in script]
    (line.box / name).write_text(json.dumps(written))


def ledger(line: Pipeline) -> list[str]:
    return (line.box / "ledger").read_text().split()


def attention(cli: Cli) -> list[dict[str, str]]:
    """What waits for a person."""
    found: list[dict[str, str]] = cli("attention", "--json").json
    return found


# Sessions


def test_a_session_ends_after_one_turn_with_what_repairs_it(rig: Rig, cli: Cli) -> None:
    configure(rig, UNABLE, DONE)
    ended = rig.run("--agent", "ada", iterations=9)
    assert ended.said == (4, "escalated", PROBLEM["message"])
    assert (ended.data["message"], ended.data["problem"]) == (TOLD, PROBLEM)
    assert (ended.data["iterations"], ended.data["turns"], ended.data["resumable"]) == (0, 0, True)
    assert rig.trace == ["turn", "error 1", "end"]
    task = cli.task("T-1")
    assert (task["state"], task["turnsUsed"]) == ("ready", None)

    [item] = attention(cli)
    repair = "ada login && hookline run --resume --name s"
    assert (item["kind"], item["id"], item["command"]) == ("session", "s", repair)
    assert f"Its agent cannot work: {TOLD}" in item["message"]
    assert TOLD in cli("session", "show", "s").stdout
    assert cli.json("session", "show", "s")["problem"] == PROBLEM

    again = rig.resume()
    assert again.said[:2] == (0, "completed")
    assert (again.data["iterations"], again.data["turns"]) == (1, 1)
    assert rig.trace == ["turn", "error 1", "end", "turn", "post 1", "end"]
    assert cli.task("T-1")["state"] == "completed"
    assert attention(cli) == []


def test_what_is_printed_ends_with_the_command(rig: Rig, cli: Cli) -> None:
    configure(rig, UNABLE)
    said = cli("run", "do it", "--agent", "ada", "--name", "s")
    assert said.code == 4
    assert f"escalated after 0 iterations: {TOLD}" in said.stdout
    assert "then resume it: `ada login && hookline run --resume --name s`" in said.stderr


def test_where_no_command_repairs_it_what_to_do_is_told(rig: Rig, cli: Cli) -> None:
    configure(rig, {"problem": {**PROBLEM, "help": "Set `model:` of it", "command": ""}})
    rig.run("--agent", "ada")
    [item] = attention(cli)
    assert item["command"] == "hookline run --resume --name s"
    assert "Set `model:` of it." in item["message"]


def test_one_that_breaks_again_is_asked_once_more_and_ends_again(rig: Rig) -> None:
    configure(rig, UNABLE, {"text": "half of it"}, UNABLE, DONE)
    assert rig.run("--agent", "ada", iterations=9).data["iterations"] == 0
    ended = rig.resume()
    assert (ended.code, ended.data["iterations"], ended.data["turns"]) == (4, 1, 1)
    assert rig.resume().said[:2] == (0, "completed")
    assert [each for each in rig.trace if each != "end"] == [
        *("turn", "error 1", "turn", "post 1", "turn", "error 2", "turn", "post 2")
    ]


def test_a_turn_that_broke_after_it_had_begun_is_one_of_the_task(rig: Rig, cli: Cli) -> None:
    configure(rig, {**UNABLE, "text": "I began."}, DONE)
    ended = rig.run("--agent", "ada")
    assert (ended.code, ended.data["iterations"], ended.data["turns"]) == (4, 0, 1)
    assert (cli.task("T-1")["state"], cli.task("T-1")["turnsUsed"]) == ("ready", 1)
    assert rig.resume().code == 0
    assert cli.task("T-1")["turnsUsed"] == 2


def test_what_was_said_meanwhile_is_told_once_it_works(rig: Rig, cli: Cli) -> None:
    configure(rig, UNABLE, {**DONE, "run": "cat > told"})
    rig.run("--agent", "ada")
    cli("session", "message", "s", "MIND-THE-GAP")
    assert rig.resume().code == 0
    told = (cli.root / "told").read_text()
    assert "MIND-THE-GAP" in told
    assert "ADVICE" in told


def test_a_plan_that_cannot_be_made_is_made_later(rig: Rig) -> None:
    configure(rig, UNABLE, {"text": "planned"}, DONE)
    ended = rig.run("--agent", "ada", "--plan", "--yes")
    assert (ended.code, ended.data["problem"]["kind"], ended.data["iterations"]) == (4, "login", 0)
    assert rig.resume().said[:2] == (0, "completed")
    assert rig.trace.count("turn") == 3


def test_a_recovery_that_cannot_be_made_is_no_failed_iteration(rig: Rig) -> None:
    configure(rig, {"error": "lost"}, UNABLE, DONE)
    ended = rig.run("--agent", "ada", iterations=9)
    assert (ended.code, ended.data["problem"]["kind"], ended.data["iterations"]) == (4, "login", 0)
    assert rig.trace == ["turn", "error 1", "turn", "end"]
    assert rig.resume().said[:2] == (0, "completed")


def test_a_delivery_that_cannot_be_made_ends_it_after_its_iteration(rig: Rig) -> None:
    post = {"post_iteration": [hook("echo LOOK-HERE", deliver="now")]}
    configure(rig, {"text": "first"}, UNABLE, {**DONE, "run": "cat > told"}, hooks=post)
    ended = rig.run("--agent", "ada", iterations=9)
    assert (ended.code, ended.data["problem"]["kind"], ended.data["iterations"]) == (4, "login", 1)
    assert rig.trace == ["turn", "turn", "error 1", "end"]
    assert rig.resume().code == 0
    assert "LOOK-HERE" in (rig.cli.root / "told").read_text()


# Workers


@pytest.mark.torture
def test_a_worker_gives_the_task_back_and_goes_on_with_other_agents(
    line: Pipeline, cli: Cli
) -> None:
    types = {name: {"agents": {"implementer": [name]}} for name in ("ada", "bob")}
    work = "echo x > parts/$HOOKLINE_TASK_ID; cd parts; ls > ../log"
    able = {"run": work, "text": PROMISE, "repeat": True}
    configuration = f"task_types: {json.dumps(types)}\nhooks: {{before_submit: []}}\n"
    begin(line, configuration, ada=[{**UNABLE, "repeat": True}], bob=[able])
    first, second = cli.add("one", "--type", "ada"), cli.add("two", "--type", "ada")
    other = cli.add("three", "--type", "bob")
    before = cli.task(first)
    ended = line.worker(code=4)
    assert (sorted(ledger(line)), ended["merged"]) == (["ada", "bob"], [other])
    assert ended["unable"] == {"ada": PROBLEM}
    assert ended["notTaken"] == [first, second]
    assert ended["why"][second] == "no agent here can take it: ada cannot work"
    # Nothing of the task has changed, and no attempt was counted.
    kept = ("state", "turnsUsed", "commitsCount", "result")
    assert [cli.task(first)[key] for key in kept] == [before[key] for key in kept]
    assert cli.events("task_needs_continuation") == []
    [item] = [each for each in attention(cli) if each["kind"] == "session"]
    assert item["command"].startswith("ada login && hookline run --resume --name ")

    play(line, "ada", able)
    assert sorted(line.worker()["merged"]) == [first, second]
    assert attention(cli) == []
    assert len(cli.events("session_started")) == 3  # the session of the first went on


def test_what_a_worker_says_names_the_agent_and_what_to_do(line: Pipeline, cli: Cli) -> None:
    begin(line, "hooks: {before_submit: []}\n", ada=[{**UNABLE, "repeat": True}])
    task = cli.add("one")
    said = cli("work", "--once")
    assert said.code == 4
    assert f"{task}   ada cannot work, and takes no more tasks: {TOLD}" in said.stderr
    assert f"ada cannot work: {TOLD}" in said.stderr.splitlines()
    assert said.stdout.startswith("the agents cannot do more: 1 task started, 0 merged")
    assert "1 of the agents cannot work (ada)" in said.stdout
    assert ledger(line) == ["ada"]


def test_lanes_of_the_same_agent_do_not_try_the_task_again(line: Pipeline, cli: Cli) -> None:
    begin(line, "hooks: {before_submit: []}\n", ada=[{**UNABLE, "repeat": True}])
    for goal in ("one", "two", "three", "four"):
        cli.add(goal)
    ended = line.worker("--agents", "2", code=4)
    assert list(ended["unable"]) == ["ada"]
    assert len(ledger(line)) <= 2  # each lane may have begun by then


# Gates


def waits(line: Pipeline, task: str, command: str) -> None:
    """Everything that tells of a task says why it waits, and how it goes on."""
    [item] = attention(line.cli)
    assert item["command"] == command
    assert "Ada is not logged in" in item["message"]
    assert "Log in with `ada login`" in item["message"]
    assert "Ada is not logged in" in line.cli("task", "show", task).stdout


def test_a_fix_waits_until_its_agent_can_work(line: Pipeline, cli: Cli) -> None:
    gate = {"name": "signed", "command": f"cp {line.box}/unable {line.box}/ada; test -e signed"}
    gates = f"hooks: {{before_submit: [{json.dumps(gate)}]}}\ngates: {{tries: 1}}\n"
    play(line, "unable", {**UNABLE, "repeat": True})
    begin(line, gates, ada=[{"run": WORK, "text": PROMISE}])
    task = cli.add("a part")
    assert line.worker(code=4)["waiting"] == [task]
    assert ledger(line) == ["ada", "unable"]
    waits(line, task, f"ada login && hookline submit {task}")
    play(line, "ada", {"run": "touch signed", "text": PROMISE, "repeat": True})
    assert cli("submit", task).code == 0  # no attempt was used up
    assert ledger(line) == ["ada", "unable", "ada"]
    assert cli.task(task)["state"] == "completed"


@pytest.mark.examples(1)
@pytest.mark.parametrize(
    ("hooks", "answer", "flow"),
    [
        ("before_submit: [{gatekeeper: [qa]}]", APPROVE, "submit"),
        (
            "before_submit: [], before_merge: [{agent: qa, prompt: 'Is it good?'}]",
            json.dumps({"status": "success", "message": "yes"}),
            "merge",
        ),
    ],
)
def test_a_reviewer_that_cannot_work_rejects_nothing(
    line: Pipeline, cli: Cli, hooks: str, answer: str, flow: str
) -> None:
    work = {"run": WORK, "text": PROMISE, "repeat": True}
    gates = f"hooks: {{{hooks}}}\nagent: ada\n"
    begin(line, gates, ada=[work], qa=[UNABLE, {"text": answer, "repeat": True}])
    task = cli.add("a part")
    assert line.worker(code=4)["waiting"] == [task]
    waits(line, task, f"ada login && hookline {flow} {task}")
    assert line.worker()["merged"] == [task]  # the next worker asks again
    assert cli.events("task_needs_continuation") == []
