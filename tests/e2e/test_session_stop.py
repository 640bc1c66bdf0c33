"""When a session is done: promises, validation, stop hooks, and what the agent is told next."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.e2e.session_rig import HOOKLINE, PROMISE, Rig, hook, in_order

if TYPE_CHECKING:
    from tests.e2e.conftest import Cli

SAY = "cat <<'END'\n{}\nEND"
GREEN = [{"name": "green", "type": "command", "command": "test -e good"}]


@pytest.mark.parametrize(
    "text",
    [
        "<promise>COMPLETE</promise>",
        "<promise> COMPLETE </promise>",
        "<promise>\n  COMPLETE\n</promise>",
        "All is done.\n\n<promise>COMPLETE</promise>",
    ],
)
def test_a_promise_completes(cli: Cli, text: str) -> None:
    rig = Rig(cli)
    rig.turns(SAY.format(text))
    rig.configure({})
    assert rig.run(iterations=1).said[:2] == (0, "completed")


@pytest.mark.parametrize(
    "text",
    [
        "I will end with `<promise>COMPLETE</promise>`.",
        "```\n<promise>COMPLETE</promise>\n```",
        "    <promise>COMPLETE</promise>",
        "> <promise>COMPLETE</promise>",
        "COMPLETE",
        "<promise>complete</promise>",
        "<promise>COMPLETE",
    ],
)
def test_what_is_quoted_or_no_promise_does_not_complete(cli: Cli, text: str) -> None:
    rig = Rig(cli)
    rig.turns(SAY.format(text))
    rig.configure({})
    assert rig.run(iterations=1).said == (5, "limit", "iterations")


def test_an_agent_that_repeats_its_prompt_promises_nothing(cli: Cli) -> None:
    rig = Rig(cli)
    say = 'cat "$box"/$(printf %03d $n)-*'
    rig.turns("echo 'is <promise>COMPLETE</promise> right?'; exit 1", rest=say)
    rig.configure(
        {
            "pre_iteration": [hook("echo 'say <promise>COMPLETE</promise>'")],
            "post_iteration": [hook("echo '<promise> COMPLETE </promise>'")],
            "on_error": [hook("echo '<promise>COMPLETE</promise>'")],
            "stop": ["promise", {"command": "echo 'end with <promise>COMPLETE</promise>'; exit 1"}],
        }
    )
    goal = "make it work, then say <promise>COMPLETE</promise>"
    assert rig.run(goal=goal, iterations=4).said == (5, "limit", "iterations")
    assert all("COMPLETE" in prompt.text for prompt in rig.prompts())


def test_stop_hooks_see_the_results_of_their_own_iteration(cli: Cli) -> None:
    rig = Rig(cli)
    rig.turns("echo no", "touch good; echo yes")
    seen = "import json, sys; print(json.load(sys.stdin)['validationResults'][0]['passed'])"
    look = {"command": f'python3 -c "{seen}" >> {rig.trace_file}; false', "name": "look"}
    rig.configure({"stop": [look, "validation"]}, validation=GREEN)
    ended = rig.run(iterations=5)
    assert ended.said == (0, "completed", "All validation rules pass (1)")
    assert ended.data["iterations"] == 2
    assert rig.trace == ["False", "True"]


def test_stop_hooks_see_the_files_that_git_saw(cli: Cli) -> None:
    rig = Rig(cli)
    rig.turns("touch one 'two words'", rest=PROMISE)
    seen = "import json, sys; print(json.load(sys.stdin)['filesModified'])"
    look = {"command": f'python3 -c "{seen}" >> {rig.trace_file}; false', "name": "look"}
    rig.configure({"stop": [look, "default"]})
    rig.repository()
    rig.run(iterations=5)
    assert rig.trace == ["['one', 'two words']", "[]"]


def test_what_failed_reaches_the_agent_as_its_next_prompt(cli: Cli) -> None:
    rig = Rig(cli)
    rig.turns("echo no", f"touch good; {PROMISE}")
    say = [
        {"name": "green", "type": "command", "command": "printf 'GOOD IS %s' MISSING; test -e good"}
    ]
    rig.configure({"stop": ["validation"]}, validation=say)
    assert rig.run().code == 0
    first, second = rig.prompts()
    assert "GOOD IS MISSING" not in first.text
    assert in_order(second.text, "do it", "GOOD IS MISSING", "How to work")


def test_a_command_is_a_stop_hook_as_it_is(cli: Cli) -> None:
    rig = Rig(cli)
    rig.turns("echo first", "touch done")
    rig.configure({"stop": [{"command": "echo NOT YET; test -f done"}]})
    ended = rig.run(iterations=5)
    assert ended.said[:2] == (0, "completed")
    assert ended.data["iterations"] == 2
    assert "NOT YET" in rig.prompts()[1].text


def test_stop_hooks_run_in_order_until_one_completes(cli: Cli) -> None:
    rig = Rig(cli)
    rig.configure(
        {
            "stop": [
                {"command": f"{rig.note('off')}", "enabled": False},
                {"command": f"{rig.note('last')}", "priority": 200},
                {"command": f"{rig.note('first')}; echo FIRST; false", "priority": 0},
                {"command": f"{rig.note('second')}; test $HOOKLINE_ITERATION = 2"},
            ]
        }
    )
    ended = rig.run(iterations=5)
    assert ended.said[:2] == (0, "completed")
    # In the first iteration `last` completes; nothing after the one that completes is asked.
    assert rig.trace == ["first", "second", "last"]


def test_without_stop_hooks_only_limits_end_a_session(cli: Cli) -> None:
    rig = Rig(cli)
    rig.turns(rest=PROMISE)
    rig.configure({"stop": []})
    assert rig.run().said == (5, "limit", "iterations")


def test_a_stop_hook_that_breaks_asks_for_a_person(cli: Cli) -> None:
    rig = Rig(cli)
    rig.configure(
        {
            "stop": [{"command": "no-such-judge", "name": "judge"}, "default"],
            "session_end": [{"command": rig.note("end {{status}}")}],
        }
    )
    rig.turns(rest=PROMISE)
    ended = rig.run()
    assert ended.said[:2] == (4, "escalated")
    assert ended.data["iterations"] == 1
    assert cli.task("T-1")["state"] == "blocked"
    assert "no-such-judge" in cli("attention").stdout
    assert rig.trace == ["end escalated"]


def test_checks_that_pass_do_not_end_work_that_its_agent_calls_unfinished(cli: Cli) -> None:
    rig = Rig(cli)
    half = "echo x > good; echo 'The rest is left. <promise>CONTINUE</promise>'"
    rig.turns(half, "echo 'Now all is there.'")
    rig.configure({"stop": ["default"]}, validation=GREEN)
    ended = rig.run()
    assert ended.said == (0, "completed", "All validation rules pass (1)")
    assert len(rig.prompts()) == 2
    assert "<promise>CONTINUE</promise>" in rig.prompts()[0].text


# Without stop hooks of one's own


def test_a_promise_counts_once_a_file_has_changed(cli: Cli) -> None:
    rig = Rig(cli)
    rig.repository()
    cli.put(".gitignore", "*.log\n")
    talks, hides = PROMISE, f"echo x > it.log; echo x > .hookline/own; {PROMISE}"
    rig.turns(talks, hides, f"echo x > good; {PROMISE}")
    rig.configure({})
    said = rig.run(iterations=3).said
    assert said == (0, "completed", "Promised; no check is configured, 1 file changed")
    first, second, third = rig.prompts()
    assert "It counts only if this session changed files." in first.text
    for prompt in (second, third):
        assert "a change: the diff is empty (ignored files and .hookline do not count)" in (
            prompt.text
        )


def test_a_promise_does_not_count_while_a_check_fails(cli: Cli) -> None:
    rig = Rig(cli)
    rig.turns(PROMISE, f"echo x > good; {PROMISE}")
    rig.configure({}, validation=GREEN)
    assert rig.run().said == (0, "completed", "Promised; 1 check passed")
    first, second = rig.prompts()
    assert "It counts only if no check fails." in first.text
    assert "Fix your work until these checks pass." in second.text


def test_checks_that_pass_are_no_promise(cli: Cli) -> None:
    rig = Rig(cli)
    rig.turns("echo x > good; echo halfway", f"echo x > rest; {PROMISE}")
    rig.configure({}, validation=GREEN)
    assert rig.run().said == (0, "completed", "Promised; 1 check passed")
    assert len(rig.prompts()) == 2


def test_a_task_that_needs_no_change_is_done_without_one(cli: Cli) -> None:
    rig = Rig(cli)
    rig.repository()
    rig.turns(PROMISE)
    rig.configure({})
    task = cli.add("look around")
    cli("task", "update", task, "--changes", "none")
    assert cli("run", "--task", task, "--agent", "bot").code == 0
    (prompt,) = rig.prompts()
    assert "It counts only" not in prompt.text


# Evidence


def evidence(rig: Rig) -> None:
    """A project in which only proof completes."""
    rig.configure({"stop": ["evidence"]}, validation=GREEN)
    rig.repository()


@pytest.mark.examples(2)
@pytest.mark.parametrize(
    "turn",
    [
        PROMISE,
        f"touch other; {PROMISE}",
        "touch good; echo 'no promise'",
        f'{HOOKLINE} task complete "$HOOKLINE_TASK_ID"; {PROMISE}',
        f'{HOOKLINE} task complete "$HOOKLINE_TASK_ID"',
        f"{HOOKLINE} hook disable 'stop[0]:evidence'; {PROMISE}",
    ],
)
def test_an_agent_does_not_get_past_evidence(cli: Cli, turn: str) -> None:
    rig = Rig(cli)
    rig.turns(rest=turn)
    evidence(rig)
    assert rig.run().said == (5, "limit", "iterations")
    assert cli.task("T-1")["state"] == "needs_continuation"


def test_evidence_completes_what_is_proven_and_keeps_the_receipt(cli: Cli) -> None:
    rig = Rig(cli)
    rig.turns(PROMISE, f"echo x > good; {PROMISE}")
    evidence(rig)
    ended = rig.run()
    assert ended.said == (0, "completed", "Proven: green passed on a diff of 1 file")
    assert "green" in rig.prompts()[1].text
    first, second = cli.calls("stop[0]:evidence", "answer")
    assert "receipt" not in first
    assert '"changedFiles":1' in second
    assert '"exitCode":0' in second
    assert "Proven" in cli("why", "stop[0]:evidence").stdout


def test_committed_work_is_proof_as_well(cli: Cli) -> None:
    rig = Rig(cli)
    commit = "git -c user.name=a -c user.email=a@b commit -q -m done"
    rig.turns(f"echo x > good; git add -A; {commit}; {PROMISE}")
    evidence(rig)
    assert rig.run().said[:2] == (0, "completed")


def test_the_word_of_the_sessions_own_agent_is_a_promise(cli: Cli) -> None:
    rig = Rig(cli)
    rig.turns(f'{HOOKLINE} task complete "$HOOKLINE_TASK_ID" --result done')
    rig.configure({})
    assert rig.run().said[:2] == (0, "completed")
    assert cli.task("T-1")["state"] == "completed"


def test_only_stop_hooks_that_look_at_the_diff_make_git_be_asked(cli: Cli) -> None:
    """A line of a hook may mention their names."""
    validated = "SELECT count(*) FROM effects WHERE json_extract(args, '$.rules') IS NOT NULL"
    says = '{"action": "complete", "reason": "checked the evidence"}'
    rig = Rig(cli)
    rig.configure({"stop": [{"command": f"echo '{says}'"}]})
    assert rig.run(iterations=1).said[:2] == (0, "completed")
    assert cli.rows(validated) == [(0,)]
    rig.configure({"stop": [{"any_of": ["promise", {"not": "checked"}]}]})
    rig.run(iterations=1, name="t")
    assert cli.rows(validated) == [(1,)]


def test_output_of_a_stop_hook_is_not_piped_and_breaks_nothing(cli: Cli) -> None:
    says = '{"action": "complete", "reason": "fine"}'
    rig = Rig(cli)
    rig.configure({"stop": [hook(f"echo '{says}'")]})
    assert rig.run(iterations=1).said[:2] == (0, "completed")
