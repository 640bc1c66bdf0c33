"""What a prompt is made of, and planning."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.e2e.session_rig import HOOKLINE, PROMISE, Rig, hook, in_order

if TYPE_CHECKING:
    from tests.e2e.conftest import Cli


def test_a_prompt_names_the_goal_the_iteration_and_how_to_end(cli: Cli) -> None:
    rig = Rig(cli)
    rig.configure({})
    rig.run(goal="make {{iteration}} work", iterations=7, name="mine")
    first = rig.prompts()[0].text
    assert in_order(first, "# Goal", "make {{iteration}} work", "iteration 1 of at most 7")
    assert "session `mine`" in first
    assert "<promise>COMPLETE</promise>" in first


def test_notes_of_one_iteration_are_in_the_next(cli: Cli) -> None:
    rig = Rig(cli)
    note = f"{HOOKLINE} note add --kind"
    rig.turns(f"{note} learning 'the port is 8081'; {note} stuck 'no network'")
    rig.configure({})
    rig.run()
    first, second = rig.prompts()
    assert "8081" not in first.text
    assert in_order(second.text, "# Notes", "learning: the port is 8081", "stuck: no network")


def test_notes_of_people_and_on_the_task_are_in_every_prompt(cli: Cli) -> None:
    rig = Rig(cli)
    rig.turns(f"{HOOKLINE} note add 'the lexer is generated' > /dev/null")
    rig.configure({})
    task, other = cli.add("a task"), cli.add("another")
    cli("note", "add", "ask Eve about names", "--task", task)
    cli("note", "add", "the build is slow", "--kind", "tip")
    cli("note", "add", "not for this one", "--task", other)
    said = ("# Notes", "learning: ask Eve about names", "tip: the build is slow")
    cli("run", "--task", task, "--iterations", "1")
    cli("run", "--task", task)
    prompts = [each.text for each in (*rig.prompts("R-1"), *rig.prompts("R-2"))]
    assert len(prompts) > 1
    assert all(in_order(text, *said) for text in prompts)
    assert not any("not for this one" in text for text in prompts)
    # What a session on the task learnt is known to the next one.
    assert "the lexer is generated" in prompts[-1]


def test_notes_of_another_session_are_not(cli: Cli) -> None:
    rig = Rig(cli)
    rig.turns(f'{HOOKLINE} note add --kind tip "a secret of $HOOKLINE_SESSION" > /dev/null')
    rig.configure({})
    rig.run(name="one")
    rig.run(name="two")
    first, second = rig.prompts("R-2")
    assert "a secret of" not in first.text
    assert "a secret of two" in second.text
    assert "a secret of one" not in second.text


def test_tasks_below_the_sessions_own_are_listed_while_they_can_be_worked_on(cli: Cli) -> None:
    rig = Rig(cli)
    add = f'{HOOKLINE} task add --parent "$HOOKLINE_TASK_ID"'
    parts = f"{add} 'first part'; {add} 'second part' --depends-on T-3"
    rig.turns(f"({parts}; {rig.complete_child('third part')}) > /dev/null")
    rig.configure({})
    cli.add("not of this session", quiet=False)
    rig.run()
    _, second = rig.prompts()
    assert in_order(
        second.text,
        "Tasks (1 of 3 done)",
        "- T-3 (ready): first part",
        "(waits for T-3): second part",
    )
    for other in ("third part", "not of this session"):
        assert other not in second.text


def test_a_template_of_ones_own_replaces_the_prompt(cli: Cli) -> None:
    rig = Rig(cli)
    head = "OURS {{iteration}}/{{iterations}} {{session}}: {{goal}}"
    cli.put("ours.md", f"{head}\n{{{{history}}}}\nEND\n")
    rig.configure(
        {"pre_iteration": [hook("echo BEFORE; echo; echo; echo; echo AFTER")]},
        session={"prompt": "ours.md"},
    )
    rig.turns("echo 'said {{goal}}'")
    rig.run()
    first, second = rig.prompts()
    assert in_order(first.text, "BEFORE\n\n\n\nAFTER", "OURS 1/2 s: do it", "END")
    assert "How to work" not in first.text
    assert in_order(second.text, "OURS 2/2 s: do it", "said {{goal}}", "END")


def test_the_next_prompt_of_a_stop_hook_is_heard_under_a_template_of_ones_own(cli: Cli) -> None:
    rig = Rig(cli)
    cli.put("ours.md", "OURS {{goal}}\n")
    rig.configure(
        {"stop": [{"command": "echo FIX $((1 + 1)); false"}]}, session={"prompt": "ours.md"}
    )
    rig.run()
    _, second = rig.prompts()
    assert in_order(second.text, "OURS do it", "FIX 2")


def test_a_template_that_is_not_there_is_told_before_anything_runs(cli: Cli) -> None:
    rig = Rig(cli)
    rig.configure(
        {"session_start": [{"command": rig.note("start")}]}, session={"prompt": "gone.md"}
    )
    result = cli("run", "do it", "--agent", "bot", "--json")
    assert result.code in (1, 2)
    assert "gone.md" in result.stderr
    assert rig.trace == []


def test_a_template_with_an_unknown_variable_is_told_before_anything_runs(cli: Cli) -> None:
    rig = Rig(cli)
    cli.put("ours.md", "# Ours\n\nDo {{gaol}}.\n")
    rig.configure(
        {"session_start": [{"command": rig.note("start")}]}, session={"prompt": "ours.md"}
    )
    result = cli("run", "do it", "--agent", "bot")
    assert result.code == 2
    assert "ours.md:3:4" in result.stderr
    assert "did you mean 'goal'?" in result.stderr
    assert rig.trace == []
    cli.put("ours.md", "# Ours\n\nDo {{goal}}.\n")
    cli.json("trust", "--yes")
    assert rig.run(iterations=1).code == 5
    assert rig.trace == ["start"]
    (cli.root / "ours.md").unlink()
    cli.json("trust", "--yes")
    code, error = cli.refused("run", "--resume", "--iterations", "3")
    assert (code, error["code"]) == (2, "bad-input")
    assert error["message"].startswith("the prompt ours.md cannot be read")


def test_a_profiles_own_prompt_is_part_of_it(cli: Cli) -> None:
    rig = Rig(cli)
    cli.put("role.md", "You are careful.\n")
    agent = {"driver": "command", "command": f"sh {rig.box}/agent.sh", "prompt": "role.md"}
    rig.configure({}, agents={"careful": agent})
    rig.run("--agent", "careful", iterations=1)
    assert in_order(rig.prompts()[0].text, "You are careful.", "# Goal")


def test_planning_comes_before_the_first_iteration(cli: Cli) -> None:
    rig = Rig(cli)
    rig.configure(
        {
            "session_start": [hook("echo STARTED")],
            "pre_iteration": [hook("echo BEFORE {{iteration}}")],
            "post_iteration": [{"command": rig.note("post {{iteration}}")}],
        },
        session={"plan": True},
    )
    add = f'{HOOKLINE} task add --parent "$HOOKLINE_TASK_ID"'
    rig.turns(f"{add} 'write it'; {add} 'test it' --depends-on T-2", "echo one", PROMISE)
    ended = rig.run("--yes", iterations=5)
    assert ended.said[:2] == (0, "completed")
    assert ended.data["iterations"] == 2
    plan, first, _ = rig.prompts()
    assert [each.iteration for each in rig.prompts()] == [0, 1, 2]
    assert "Plan first" in plan.text
    assert "BEFORE" not in plan.text
    assert in_order(first.text, "STARTED", "BEFORE 1", "Tasks (0 of 2 done)", "(ready): write it")
    assert "Plan first" not in first.text
    assert rig.trace == ["post 1", "post 2"]


def test_a_plan_that_fails_is_recovered_like_any_turn(cli: Cli) -> None:
    rig = Rig(cli)
    rig.configure({"on_error": [hook("echo LOOK {{iteration}}")]}, session={"plan": True})
    rig.turns("exit 3", "echo recovered", PROMISE)
    assert rig.run("--yes").said[:2] == (0, "completed")
    _, recovery, first = rig.prompts()
    assert "LOOK" in recovery.text
    assert first.iteration == 1
