"""A session is bound to its name, its task and its run; a second one takes nothing from it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tests.e2e.conftest import eventually
from tests.e2e.session_rig import PROMISE, Rig, finished, hook

if TYPE_CHECKING:
    from tests.e2e.conftest import Cli


def test_two_sessions_in_one_folder_keep_to_themselves(cli: Cli) -> None:
    rig = Rig(cli)
    rig.configure(
        {
            "session_start": [hook("echo START-OF {{session}}")],
            "post_iteration": [hook("echo AFTER {{iteration}} OF {{session}}")],
        }
    )
    rig.turns(rest="echo said by $HOOKLINE_SESSION $n")
    both = [rig.start(name=name, goal=f"goal {name}", iterations=3) for name in ("a", "b")]
    assert [finished(each).data["iterations"] for each in both] == [3, 3]
    for run in ("R-1", "R-2"):
        prompts = rig.prompts(run)
        (own,) = re.findall(r"^goal (\w)$", prompts[0].text, re.MULTILINE)
        assert [each.iteration for each in prompts] == [1, 2, 3, 3]
        assert re.findall(r"START-OF (\w)", prompts[0].text) == [own]
        for number in (1, 2, 3):
            found = re.findall(r"AFTER (\d) OF (\w)", prompts[number].text)
            assert found == [(str(number), own)]
        assert set(re.findall(r"said by (\w)", prompts[2].text)) == {own}


def test_a_name_is_taken_while_its_session_can_go_on(cli: Cli) -> None:
    rig = Rig(cli)
    begun, go = rig.file("begun"), rig.file("go")
    rig.turns(f"touch {begun}; while [ ! -e {go} ]; do sleep 0.02; done", rest=PROMISE)
    rig.configure({})
    session = rig.start()
    eventually(begun.exists, "the first turn")
    code, error = cli.refused("run", "other", "--name", "s", "--agent", "bot")
    assert code != 0
    assert error["code"] == "session-busy"
    assert "`hookline session attach s`" in error["help"]
    code, error = cli.refused("run", "--task", "T-1", "--name", "other", "--agent", "bot")
    assert error["code"] == "session-busy"
    assert "T-1" in error["message"]
    go.touch()
    assert finished(session).code == 0
    assert [task["id"] for task in cli.json("task", "list", "--all")] == ["T-1"]
    assert len(rig.prompts()) == 2


def test_a_session_can_be_asked_for_on_a_task(cli: Cli) -> None:
    rig = Rig(cli)
    rig.turns(PROMISE)
    rig.configure({})
    task = cli.add("what the task says", quiet=False)
    result = cli("run", "--task", task, "--agent", "bot", "--json")
    assert result.code == 0
    assert "what the task says" in rig.prompts()[0].text
    assert cli.task(task)["state"] == "completed"


def test_a_session_whose_task_is_taken_away_stops(cli: Cli) -> None:
    rig = Rig(cli)
    begun, go = rig.file("begun"), rig.file("go")
    rig.turns(f"touch {begun}; while [ ! -e {go} ]; do sleep 0.02; done")
    rig.configure({"session_end": [{"command": rig.note("end {{status}}")}]})
    session = rig.start(iterations=5)
    eventually(begun.exists, "the first turn")
    cli.json("task", "cancel", "T-1", quiet=False)
    go.touch()
    ended = finished(session)
    assert ended.said[:2] == (130, "stopped")
    assert "T-1" in ended.data["reason"]
    assert rig.trace == ["end stopped"]
    assert len(rig.prompts()) == 1


def test_the_environment_of_an_agent_names_its_session(cli: Cli) -> None:
    rig = Rig(cli)
    names = ("SESSION", "ITERATION", "TASK_ID", "RUN_ID")
    line = " ".join(f"$HOOKLINE_{name}" for name in names)
    rig.turns(rest=f'echo "{line}" >> {rig.trace_file}')
    rig.configure({})
    rig.run()
    assert rig.trace == ["s 1 T-1 R-1", "s 2 T-1 R-1"]


def test_a_session_that_ended_does_not_go_on_beside_another_on_its_task(cli: Cli) -> None:
    rig = Rig(cli)
    begun, go = rig.file("begun"), rig.file("go")
    wait = f"touch {begun}; while [ ! -e {go} ]; do sleep 0.02; done"
    rig.turns(f'[ "$HOOKLINE_SESSION" = s ] || {{ {wait}; }}; echo no')
    rig.configure({})
    assert rig.run(iterations=1).code == 5
    other = cli.start("run", "--task", "T-1", "--name", "other", "--iterations", "1", "--json")
    eventually(begun.exists, "the turn of the second session")
    assert cli("run", "--resume", "--name", "s", "--iterations", "5", "--json").code != 0
    assert len(rig.prompts("R-1")) == 1
    go.touch()
    assert finished(other).code == 5
