"""Final delivery and session_end, at every ending; and what they leave for a resumed session."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING, Any

import pytest

from tests.e2e.conftest import eventually, kill
from tests.e2e.session_rig import PROMISE, Rig, finished, hook, in_order

if TYPE_CHECKING:
    from tests.e2e.conftest import Cli

CHECK = [{"name": "green", "type": "command", "command": "test ! -e broken"}]


def end_hook(rig: Rig) -> dict[str, list[Any]]:
    return {"session_end": [{"command": rig.note("end {{session}} {{status}}")}]}


def test_final_delivery_after_the_iteration_limit_happens_once(cli: Cli) -> None:
    rig = Rig(cli)
    rig.configure({"post_iteration": [hook("echo HELD {{iteration}}")], **end_hook(rig)})
    assert rig.run(iterations=1).said == (5, "limit", "iterations")
    _, last = rig.prompts()
    assert in_order(last.text, "do it", "HELD 1")
    assert rig.trace == ["end s limit"]


def test_nothing_is_delivered_after_other_limits(cli: Cli) -> None:
    rig = Rig(cli)
    rig.turns(rest="exit 3")
    rig.configure(
        {"session_start": [hook("echo HELD")], **end_hook(rig)}, session={"guards": {"failures": 1}}
    )
    assert rig.run(iterations=5).said == (5, "limit", "failures")
    assert len(rig.prompts()) == 1


def test_edits_of_the_final_delivery_are_validated_and_can_undo_a_complete(cli: Cli) -> None:
    rig = Rig(cli)
    rig.repository()
    rig.turns(PROMISE, "touch broken", f"rm broken; {PROMISE}", rest="echo fine")
    rig.configure({"post_iteration": [hook("echo HELD")], "stop": ["validation"]}, validation=CHECK)
    ended = rig.run(iterations=5)
    assert ended.said[:2] == (0, "completed")
    assert [each.iteration for each in rig.prompts()] == [1, 1, 2, 2]
    first, second = rig.data("session_iteration_ended")
    assert (first["decision"], first["passed"], first["rules"]) == ("continue", 0, 1)
    assert (second["decision"], second["passed"]) == ("complete", 1)
    assert "broken" in first["filesModified"]


def test_edits_of_a_final_delivery_that_fails_are_validated_too(cli: Cli) -> None:
    rig = Rig(cli)
    rig.repository()
    rig.turns(PROMISE, "touch broken; exit 3", rest="echo working")
    rig.configure({"post_iteration": [hook("echo HELD")], "stop": ["validation"]}, validation=CHECK)
    assert rig.run(iterations=2).said == (5, "limit", "iterations")


def test_edits_of_a_delivery_at_once_are_validated_as_well(cli: Cli) -> None:
    rig = Rig(cli)
    rig.repository()
    rig.turns(PROMISE, "touch broken", rest="echo working")
    rig.configure(
        {"post_iteration": [hook("echo NOW", deliver="now")], "stop": ["validation"]},
        validation=CHECK,
    )
    assert rig.run(iterations=2).said == (5, "limit", "iterations")


def test_outside_of_a_repository_a_final_delivery_is_always_validated(cli: Cli) -> None:
    rig = Rig(cli)
    rig.turns(PROMISE, "touch broken", rest="echo working")
    rig.configure({"post_iteration": [hook("echo HELD")], "stop": ["validation"]}, validation=CHECK)
    assert rig.run(iterations=2).said == (5, "limit", "iterations")


def test_a_final_delivery_at_the_limit_can_complete_or_escalate(cli: Cli) -> None:
    rig = Rig(cli)
    rig.repository()
    rig.configure({"post_iteration": [hook("echo HELD")]})
    rig.turns("echo no", f"touch mended; {PROMISE}")
    assert rig.run(iterations=1).said[:2] == (0, "completed")
    rig.turns("echo no", "touch stuck; echo '<promise>BLOCKED</promise>'")
    assert rig.run(iterations=1, name="other").said[:2] == (4, "escalated")


@pytest.mark.parametrize(
    ("turn", "code", "outcome"),
    [
        (PROMISE, 0, "completed"),
        ("echo '<promise>BLOCKED</promise>'", 4, "escalated"),
        ("echo '<promise>ESCALATE</promise>'", 4, "escalated"),
        ("echo working", 5, "limit"),
    ],
)
def test_session_end_runs_at_every_ending(cli: Cli, turn: str, code: int, outcome: str) -> None:
    rig = Rig(cli)
    rig.turns(rest=turn)
    rig.configure(end_hook(rig))
    assert rig.run(iterations=1).said[:2] == (code, outcome)
    assert rig.trace == [f"end s {outcome}"]


def test_an_escalation_blocks_the_task_and_asks_for_attention(cli: Cli) -> None:
    rig = Rig(cli)
    rig.turns("echo '<promise>BLOCKED</promise>'")
    rig.configure({})
    rig.run()
    task = cli.task("T-1")
    assert task["state"] == "blocked"
    assert "It needs a person: " in cli("attention").stdout


def test_a_completed_session_completes_its_task(cli: Cli) -> None:
    rig = Rig(cli)
    rig.turns("echo more", PROMISE)
    rig.configure({})
    rig.run()
    task = cli.task("T-1")
    assert (task["state"], task["turnsUsed"]) == ("completed", 2)


def test_interrupted_once_it_stops_after_the_turn(cli: Cli) -> None:
    rig = Rig(cli)
    begun, go = rig.file("begun"), rig.file("go")
    rig.turns(f"touch {begun}; while [ ! -e {go} ]; do sleep 0.02; done; {rig.note('turn over')}")
    rig.configure({"post_iteration": [hook("echo HELD")], **end_hook(rig)})
    session = rig.start(iterations=5)
    eventually(begun.exists, "the first turn")
    session.send_signal(signal.SIGINT)
    eventually(lambda: wishes(cli) == 1, "the wish to stop")
    go.touch()
    assert finished(session).said[:2] == (130, "stopped")
    assert rig.trace == ["turn over", "end s stopped"]
    assert len(rig.prompts()) == 1
    rig.turns(rest=PROMISE)
    assert rig.resume().said[:2] == (0, "completed")
    assert "HELD" in rig.prompts()[1].text
    assert rig.prompts()[1].iteration == 2


def test_interrupted_twice_it_stops_now_and_tells_the_next_turn_the_same(cli: Cli) -> None:
    rig = Rig(cli)
    begun = rig.file("begun")
    rig.turns("echo one", f"touch {begun}; sleep 100", PROMISE)
    rig.configure(
        {
            "post_iteration": [hook("echo HELD {{iteration}}")],
            "on_error": [{"command": rig.note("error")}],
            "stop": ["promise", {"command": "echo MEND THIS; false"}],
            **end_hook(rig),
        }
    )
    session = rig.start(iterations=5)
    eventually(begun.exists, "the second turn")
    session.send_signal(signal.SIGINT)
    eventually(lambda: wishes(cli) == 1, "the wish to stop")
    session.send_signal(signal.SIGINT)
    ended = finished(session)
    assert ended.said[:2] == (130, "stopped")
    assert ended.data["iterations"] == 1
    assert rig.trace == ["end s stopped"]
    assert rig.resume().said[:2] == (0, "completed")
    cut, again = rig.prompts()[1:3]
    assert (cut.iteration, again.iteration) == (2, 2)
    for prompt in (cut, again):
        assert in_order(prompt.text, "HELD 1", "do it", "\nMEND THIS")


def wishes(cli: Cli) -> int:
    """How often a person has said what they want of a session."""
    return len([e for e in cli.events("run_signalled") if e["data"]["name"] == "session"])


def test_a_resumed_session_goes_on_where_it_was(cli: Cli) -> None:
    rig = Rig(cli)
    rig.configure(
        {
            "session_start": [hook(f"{rig.note('start')}; echo STARTED")],
            "pre_iteration": [{"command": rig.note("pre {{iteration}}")}],
            **end_hook(rig),
        }
    )
    rig.turns("echo one", "echo two", f"{PROMISE}")
    assert rig.run(iterations=2).code == 5
    assert cli.task("T-1")["state"] == "needs_continuation"
    ended = rig.resume("--iterations", "5")
    assert ended.said[:2] == (0, "completed")
    assert ended.data["iterations"] == 3
    assert rig.trace == ["start", "pre 1", "pre 2", "end s limit", "pre 3", "end s completed"]
    third = rig.prompts()[2]
    assert third.iteration == 3
    assert "STARTED" not in third.text
    assert in_order(
        third.text, '- 1: no file changed. You said: "one"', '- 2: no file changed. You said: "two"'
    )


def test_killed_in_a_turn_it_recovers_and_goes_on_without_session_start_or_end(cli: Cli) -> None:
    rig = Rig(cli)
    begun = rig.file("begun")
    rig.turns(f"echo $$ > {begun}; sleep 100", "echo recovered", PROMISE)
    rig.configure(
        {
            "session_start": [{"command": rig.note("start")}],
            "on_error": [{"command": rig.note('"{{error}}"')}],
            **end_hook(rig),
        }
    )
    session = rig.start(iterations=5)
    eventually(lambda: begun.exists() and begun.read_text().endswith("\n"), "the first turn")
    kill(session)
    assert rig.trace == ["start"]
    assert rig.resume().said[:2] == (0, "completed")
    assert rig.trace == ["start", "the agent was interrupted", "end s completed"]
    _, recovery, _ = rig.prompts()
    assert [each.iteration for each in rig.prompts()] == [1, 1, 2]
    assert "the agent was interrupted" in recovery.text


@pytest.mark.examples(1)
@pytest.mark.parametrize(
    ("last", "said"),
    [(f"touch done; {PROMISE}", (0, "completed")), ("exit 3", (5, "limit", "failures"))],
)
def test_what_a_kill_cuts_short_is_no_failure_of_the_agent(
    cli: Cli, last: str, said: tuple[object, ...]
) -> None:
    """Two kills end an iteration: the second one is in its recovery."""
    rig = Rig(cli)
    begun = rig.file("begun")
    hang = f"touch {begun}-$n; sleep 100"
    rig.turns(hang, hang, hang, last)
    rig.configure({}, session={"guards": {"failures": 1, "no_change": 1}})
    rig.repository()
    for number in (1, 2, 3):
        resumed = ("run", "--resume", "--name", "s", "--json")
        session = cli.start(*resumed) if number > 1 else rig.start(iterations=5)
        eventually(rig.file(f"begun-{number}").exists, f"turn {number}")
        kill(session)
    assert rig.resume().said[: len(said)] == said
    assert [each.iteration for each in rig.prompts()] == [1, 1, 2, 2]


def test_killed_before_a_prompt_it_loses_nothing_that_was_held(cli: Cli) -> None:
    rig = Rig(cli)
    begun = rig.file("begun")
    once = f"[ -e {begun} ] || {{ touch {begun}; sleep 100; }}"
    rig.configure(
        {
            "session_start": [hook("echo STARTED")],
            "pre_iteration": [hook("echo FIRST"), hook(f"{once}; echo SECOND")],
        }
    )
    rig.turns(PROMISE)
    session = rig.start()
    eventually(begun.exists, "the second hook")
    kill(session)
    assert rig.prompts() == []
    assert rig.resume().code == 0
    (prompt,) = rig.prompts()
    assert in_order(prompt.text, "STARTED", "FIRST", "SECOND", "do it")
