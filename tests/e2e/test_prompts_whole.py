"""Every prompt whole, as an agent gets it; tests/prompts holds the texts."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest

from tests.e2e.mcp_rig import Agent
from tests.e2e.pipeline_rig import Pipeline, keepers
from tests.e2e.prompt_rig import check_prompt
from tests.e2e.session_rig import HOOKLINE, PROMISE, Rig, hook
from tests.prompts.snapshots import HERE

if TYPE_CHECKING:
    from tests.e2e.conftest import Cli

GOAL = "Add a part\n\nIt has to be listed in the log."
DELIVERABLES = ("parts/T-1", "a line in log")
NOTE = "keep the log in order"
FOUND = "it is not signed"
RULE = {"name": "listed", "type": "command", "command": "grep -q T-1 log"}
SIGNED = {"name": "signed", "command": f"cat signed || {{ echo {FOUND}; exit 1; }}"}
APPROVE = 'echo \'{"verdict": "approve", "summary": "good", "comments": []}\''
GATES = {
    "before_submit": [
        "rebase_on_main",
        "run_tests",
        "secrets",
        {"diff_limits": {"files": 20, "forbid": [".github/**"]}},
        SIGNED,
        "create_pr",
    ],
    "before_merge": [{"gatekeeper": ["qa"]}],
}
TYPES = {"part": {"agents": {"implementer": ["bot"]}, "hooks": GATES}}
FULL = f"gates: {{tries: 1}}\ntask_types: {json.dumps(TYPES)}\nvalidation: {json.dumps([RULE])}\n"
# Lines of a task's texts are indented, so that none passes for a heading of ours.
TOLD = "Add a part\n\n  It has to be listed in the log."
THEIRS = (TOLD, *DELIVERABLES, NOTE, SIGNED["command"])


def begin(cli: Cli, script: str) -> tuple[Pipeline, str]:
    """A project with gates and a reviewer, and a task for its agent."""
    line = Pipeline(cli)
    line.begin(FULL, agents=keepers(line, qa=APPROVE))
    line.turn(script)
    more = [word for each in DELIVERABLES for word in ("--deliverable", each)]
    task = cli.add(GOAL, "--type", "part", "--note", NOTE, *more)
    return line, task


@pytest.mark.torture
def test_a_task_in_a_worktree_is_told_its_gates_and_why_it_was_sent_back(cli: Cli) -> None:
    line, task = begin(
        cli, "case $n in 1) work ;; 2) echo 'No pen.' ;; *) echo me > signed ;; esac\n"
    )
    assert line.worker(code=4)["sentBack"] == [task]
    assert cli("run", "--task", task, "--agent", "bot", "--name", "again").code == 0
    first, _, again = line.prompts(task)
    check_prompt(cli, "first-in-a-worktree", first, THEIRS)
    check_prompt(cli, "sent-back", again, (*THEIRS, FOUND))
    assert cli("submit", task).code == 0
    assert line.merges() == [task]


def test_a_failed_turn_is_continued_and_what_it_ends_with_is_known(cli: Cli) -> None:
    rig = Rig(cli)
    rig.configure({"on_error": [hook("echo LOOK AT half")]}, validation=[RULE])
    rig.turns(
        "echo half > half; exit 3",
        "echo T-1 > half; echo The log is half done.",
        "echo More.",
    )
    rig.run(iterations=2)
    _, recovery, second = (each.text for each in rig.prompts())
    check_prompt(cli, "recovery", recovery, ("do it", "LOOK AT half", RULE["command"]))
    check_prompt(cli, "after-a-recovery", second, ("do it", RULE["command"]))


def test_output_that_comes_late_is_delivered(cli: Cli) -> None:
    rig = Rig(cli)
    late = {**hook("echo 1 test fails"), "deliver": "now"}
    rig.configure({"post_iteration": [late]})
    rig.turns("echo I made it.", "echo I looked.")
    rig.run(iterations=1)
    _, delivery = (each.text for each in rig.prompts())
    check_prompt(cli, "delivery", delivery, ("do it", "1 test fails"))


def test_a_role_notes_a_persons_words_and_work_that_must_be_committed(cli: Cli) -> None:
    line = Pipeline(cli)
    cli.put("roles/bot.md", "You write small parts.\n")
    bot = {"driver": "command", "command": f"sh {line.box}/agent.sh", "prompt": "roles/bot.md"}
    types = {
        "part": {"agents": {"implementer": ["bot"]}, "hooks": {"before_submit": ["run_tests"]}}
    }
    text = f"gates: {{uncommitted: refuse}}\ntask_types: {json.dumps(types)}\n"
    line.begin(text, agents=f"agents: {json.dumps({'bot': bot})}\n")
    # It asks for a person who goes on with the session.
    line.turn("echo 'Which colour?'; echo '<promise>BLOCKED</promise>'\n")
    task = cli.add("a part", "--type", "part")
    run = ("run", "--task", task, "--agent", "bot", "--iterations", "3", "--name", "s")
    assert cli(*run).code == 4
    assert cli("note", "add", "--kind", "tip", "--task", task, "Mix it yourself.").code == 0
    assert cli("session", "message", "s", "Blue.\n\n# Nothing else").code == 0
    cli("run", "--resume", "--name", "s")
    told = line.prompts(task)[-1]
    theirs = ("You write small parts.", "a part", "Blue.\n\n  # Nothing else")
    assert "Commit all of your work on this branch: uncommitted work is refused." in told
    check_prompt(cli, "role-notes-message", told, theirs)


def test_the_users_own_folder_has_no_gates(cli: Cli) -> None:
    rig = Rig(cli)
    rig.configure({})
    rig.turns(PROMISE)
    rig.run(goal="Say hello")
    check_prompt(cli, "own-folder", rig.prompts()[0].text, ("Say hello",))


def test_a_template_of_ones_own_is_completed(cli: Cli) -> None:
    rig = Rig(cli)
    cli.put("ours.md", "Work hard on {{goal}}.\n")
    rig.configure({"stop": [{"name": "lint", "command": "true"}]}, session={"prompt": "ours.md"})
    rig.turns(PROMISE)
    rig.run()
    check_prompt(cli, "own-template", rig.prompts()[0].text, ("Work hard on do it.",))


def test_a_plan_and_what_begins_with_it(cli: Cli) -> None:
    rig = Rig(cli)
    rig.configure({}, session={"plan": True})
    add = f'{HOOKLINE} task add --parent "$HOOKLINE_TASK_ID"'
    parts = f"({add} 'write it'; {add} 'test it' --depends-on T-2) > /dev/null"
    rig.turns(f"{parts}; echo Two parts.", PROMISE)
    task = cli.add("Say hello", "--deliverable", "hello.txt", quiet=False)
    rig.run("--yes", "--task", task, goal="Say hello")
    plan, first = (each.text for each in rig.prompts())
    check_prompt(cli, "plan", plan, ("Say hello", "hello.txt"))
    check_prompt(cli, "after-a-plan", first, ("Say hello", "hello.txt", "write it"))


def test_the_tool_server_tells_of_one_loop_and_serves_what_prompts_name(cli: Cli) -> None:
    env = {
        "HOOKLINE_DIR": str(cli.root / ".hookline"),
        "HOOKLINE_SESSION": "s",
        "HOOKLINE_RUN_ID": "R-1",
        "HOOKLINE_TASK_ID": "T-1",
    }
    served: dict[str, list[str]] = {}
    for name, inside in (("tools", {}), ("tools-in-a-session", env)):
        with Agent.in_process(cli, env=inside) as agent:
            served[name] = [tool.name for tool in agent.tools().tools]
            check_prompt(cli, name, f"{agent.instructions}\n\nTools: {', '.join(served[name])}\n")
    told = "\n".join(path.read_text() for path in HERE.glob("*.md") if path.stem != "tools")
    named = {tool for tool in served["tools"] if re.search(rf"\b{tool}\b", told)}
    assert {"note_add", "task_create", "dep_add", "task_complete"} <= named
    assert named <= set(served["tools-in-a-session"])


def test_a_session_after_one_that_asked_a_person_is_told_what_was_asked(cli: Cli) -> None:
    line, task = begin(cli, "echo 'Which colour? <promise>BLOCKED</promise>'; exit 0\n")
    assert cli("run", "--task", task, "--agent", "bot", "--name", "first").code == 4
    assert cli("task", "unblock", task).code == 0
    cli("run", "--task", task, "--agent", "bot", "--name", "second")
    told = line.prompts(task)[-1]
    assert "# Asked before\n" in told
    check_prompt(cli, "asked-before", told, THEIRS)
