"""When the hooks of a session run, and which prompt carries what they say."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.e2e.session_rig import PROMISE, Rig, hook, in_order

if TYPE_CHECKING:
    from tests.e2e.conftest import Cli


def test_the_agent_sees_piped_output_at_the_start_of_the_next_iteration(cli: Cli) -> None:
    rig = Rig(cli)
    rig.configure(
        {
            "post_iteration": [
                {"command": "echo 'Test output for agent'", "pipe_output": True},
                {"command": "echo 'Side effect only'"},
            ]
        }
    )
    assert rig.run(iterations=3).code == 5
    first, second, third, last = rig.prompts()
    assert [each.iteration for each in (first, second, third)] == [1, 2, 3]
    assert "Test output for agent" not in first.text
    assert second.text.index("Test output for agent") < second.text.index("do it")
    assert second.text.count("Test output for agent") == 1
    assert third.text.count("Test output for agent") == 1
    assert last.text.count("Test output for agent") == 1
    assert not any("Side effect only" in each.text for each in rig.prompts())
    assert rig.cli.calls("post_iteration[1]:echo") == ["ok"] * 3


def test_session_start_runs_once_and_speaks_in_the_first_prompt_alone(cli: Cli) -> None:
    rig = Rig(cli)
    start = [hook(f"{rig.note('start')}; echo BUILD"), {"command": "echo QUIET"}]
    rig.configure({"session_start": start})
    rig.run(iterations=3)
    assert rig.trace == ["start"]
    assert [each.text.count("BUILD") for each in rig.prompts()] == [1, 0, 0]
    assert not any("QUIET" in each.text for each in rig.prompts())


def test_pre_iteration_speaks_in_its_own_prompt_after_what_was_held(cli: Cli) -> None:
    rig = Rig(cli)
    rig.turns(rest=rig.note("turn $n") + "; echo said")
    rig.configure(
        {
            "session_start": [hook("echo STARTED")],
            "pre_iteration": [
                hook(f"{rig.note('pre {{iteration}}')}; echo BEFORE-{{{{iteration}}}}"),
                {"command": "echo QUIET"},
            ],
            "post_iteration": [
                hook(f"{rig.note('post {{iteration}}')}; echo AFTER-{{{{iteration}}}}")
            ],
        }
    )
    rig.run(iterations=2)
    first, second, last = rig.prompts()
    assert in_order(first.text, "STARTED", "BEFORE-1", "do it")
    assert in_order(second.text, "AFTER-1", "BEFORE-2", "do it")
    assert "STARTED" not in second.text
    assert "BEFORE-1" not in second.text
    assert in_order(last.text, "AFTER-2")
    assert "BEFORE" not in last.text
    assert rig.trace == ["pre 1", "turn 1", "post 1", "pre 2", "turn 2", "post 2", "turn 3"]
    assert not any("QUIET" in each.text for each in rig.prompts())


def test_nothing_is_piped_unless_a_hook_asks_for_it(cli: Cli) -> None:
    rig = Rig(cli)
    points = ("session_start", "pre_iteration", "post_iteration", "on_error", "on_task_complete")
    rig.configure({point: [{"command": f"echo SAID; {rig.note(point)}"}] for point in points})
    rig.turns("exit 3", rig.complete_child("one"), "echo more")
    rig.run(iterations=3)
    assert set(rig.trace) == set(points)
    assert len(rig.prompts()) == 3
    assert not any("SAID" in each.text for each in rig.prompts())


def test_output_that_has_to_come_now_reaches_the_agent_before_the_next_iteration(cli: Cli) -> None:
    rig = Rig(cli)
    rig.configure(
        {"post_iteration": [hook("echo NOW", deliver="now"), hook("echo LATER")]},
    )
    rig.run(iterations=2)
    first, now, second, again, last = rig.prompts()
    assert [each.iteration for each in rig.prompts()] == [1, 1, 2, 2, 2]
    assert "NOW" not in first.text
    assert "NOW" in now.text
    assert "LATER" not in now.text
    assert "LATER" in second.text
    assert "NOW" not in second.text
    assert "NOW" in again.text
    assert "LATER" in last.text


def test_session_end_runs_once_after_the_last_delivery_and_pipes_nothing(cli: Cli) -> None:
    rig = Rig(cli)
    rig.turns(rest=f"{rig.note('turn')}; {PROMISE}")
    rig.configure(
        {
            "post_iteration": [hook("echo HELD")],
            "session_end": [hook(f"{rig.note('end {{session}} {{status}}')}; echo BYE")],
        }
    )
    assert rig.run().said[:2] == (0, "completed")
    assert rig.trace == ["turn", "turn", "end s completed"]
    assert [each.text.count("HELD") for each in rig.prompts()] == [0, 1]
    assert not any("BYE" in each.text for each in rig.prompts())


def test_hooks_run_in_the_order_of_their_points(cli: Cli) -> None:
    rig = Rig(cli)
    rig.turns("true", PROMISE)
    points = ("session_start", "pre_iteration", "post_iteration", "session_end")
    stop = [{"command": f"{rig.note('stop')}; false"}, "default"]
    check = {"name": "check", "type": "command", "command": f"{rig.note('check')}; false"}
    rig.configure(
        {**{point: [{"command": rig.note(point)}] for point in points}, "stop": stop},
        validation=[check],
    )
    assert rig.run().code == 0
    iteration = ["pre_iteration", "check", "stop", "post_iteration"]
    assert rig.trace == ["session_start", *iteration, *iteration, "session_end"]


def test_an_agents_own_hooks_replace_those_of_their_point(cli: Cli) -> None:
    rig = Rig(cli)
    own = {
        "driver": "command",
        "command": f"sh {rig.box}/agent.sh",
        "hooks": {"pre_iteration": [hook("echo OWN")], "session_end": []},
    }
    rig.configure(
        {
            "pre_iteration": [hook("echo COMMON")],
            "post_iteration": [hook("echo AFTER")],
            "session_end": [{"command": rig.note("end")}],
        },
        agents={"other": own},
    )
    rig.run("--agent", "other", name="a", iterations=1)
    rig.run(name="b", iterations=1)
    (theirs, after), (ours, _) = rig.prompts("R-1"), rig.prompts("R-2")
    assert "OWN" in theirs.text
    assert "COMMON" not in theirs.text
    assert "AFTER" in after.text
    assert "COMMON" in ours.text
    assert rig.trace == ["end"]


# Speaks as Claude Code does in print mode; its arguments say which conversation it was given.
TALKER = """\
#!/bin/sh
cat > /dev/null
while [ $# -gt 0 ]; do
  case "$1" in --session-id|--resume) echo "$1 $2" >> {trace};; esac
  shift
done
[ "$(wc -l < {trace})" -ne 3 ] || exit 1
echo '{{"type": "result", "subtype": "success", "result": "said"}}'
"""


def test_what_is_said_in_between_goes_into_the_same_conversation(cli: Cli) -> None:
    rig = Rig(cli)
    talker = cli.put("talker", TALKER.format(trace=rig.trace_file), 0o755)
    rig.configure(
        {
            "post_iteration": [hook("echo NOW", deliver="now"), hook("echo HELD")],
            "on_error": [hook("echo LOOK")],
        },
        agents={"talker": {"driver": "claude-code", "command": str(talker)}},
    )
    assert rig.run("--agent", "talker", iterations=3).code == 5
    ways, names = zip(*(line.split() for line in rig.trace), strict=True)
    first, second, third = names[0], names[2], names[5]
    assert len({first, second, third}) == 3
    begins, goes_on = "--session-id", "--resume"
    # Each iteration begins a new one: deliver now; recovery and then deliver now; deliver now and
    # final delivery.
    assert ways == (begins, goes_on, begins, goes_on, goes_on, begins, goes_on, goes_on)
    assert names == (first, first, *[second] * 3, *[third] * 3)
