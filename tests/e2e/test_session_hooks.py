"""What the hooks of a session are told, and what becomes of those that fail."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from tests.e2e.session_rig import HOOKLINE, Rig, hook

if TYPE_CHECKING:
    from tests.e2e.conftest import Cli

HOSTILE = '\'; touch owned; echo "$(touch owned)" `touch owned` {{error}} $HOME \\ \n#x'


def test_variables_carry_hostile_values_as_they_are(cli: Cli) -> None:
    rig = Rig(cli)
    kept = rig.file("kept")
    bare = f"printf '%s\\0' {{{{session}}}} {{{{task_id}}}} {{{{task_content}}}} >> {kept}"
    quoted = f'printf "%s\\0" "{{{{task_content}}}}" \'{{{{session}}}}\' >> {kept}'
    rig.configure({"on_task_complete": [{"command": bare}, {"command": quoted}]})
    task = cli.add(HOSTILE, quiet=False)
    rig.turns(f"{HOOKLINE} task complete {task}")
    name = 's\'; touch owned; "$(touch owned)"'
    rig.run(name=name, iterations=1)
    content = cli.task(task)["goal"]
    assert kept.read_text().split("\0") == [name, task, content, content, name, ""]
    assert not (cli.root / "owned").exists()


def test_an_error_is_told_as_it_is(cli: Cli) -> None:
    rig = Rig(cli)
    kept = rig.file("kept")
    rig.turns("echo \"bad; \\$(touch owned) '{{session}}'\" >&2; exit 3")
    line = f"printf '%s|%s|%s' {{{{session}}}} {{{{iteration}}}} {{{{error}}}} > {kept}"
    rig.configure({"on_error": [{"command": line}]})
    rig.run(iterations=1)
    session, iteration, error = kept.read_text().split("|")
    assert (session, iteration) == ("s", "1")
    assert error.startswith("the agent exited 3")
    assert error.endswith("bad; $(touch owned) '{{session}}'")
    assert not (cli.root / "owned").exists()


def test_variables_that_a_point_does_not_have_are_refused(cli: Cli) -> None:
    hooks = {"post_iteration": [hook("echo {{error}}"), hook("echo {{task_content}}")]}
    cli.configure(f"hooks: {json.dumps(hooks)}\n", trust=False)
    checked = cli("check", "--json")
    assert checked.code == 2
    assert [each["code"] for each in checked.json["problems"]] == ["unknown-variable"] * 2


def test_a_failing_hook_is_text_for_the_agent_and_the_session_goes_on(cli: Cli) -> None:
    rig = Rig(cli)
    rig.configure(
        {
            "session_start": [hook("no-such-program --at all", name="missing")],
            "pre_iteration": [
                hook("echo PARTIAL; sleep 60", name="slow", timeout=1),
                hook("echo FINDING; exit 7", name="finding"),
                hook("echo REST", name="rest"),
            ],
            "post_iteration": [{"command": "exit 9", "name": "quiet"}],
        }
    )
    assert rig.run(iterations=2).said == (5, "limit", "iterations")
    first, second = rig.prompts()
    assert "missing" in first.text
    assert "no-such-program" in first.text
    for prompt in (first, second):
        assert prompt.text.count("PARTIAL") == 1
        assert "timed out" in prompt.text
        assert prompt.text.count("FINDING") == 1
        assert prompt.text.count("REST") == 1
    assert "quiet" not in second.text
    assert cli.calls("slow") == ["timeout", "timeout"]
    assert len(cli.events("hook_error")) >= 3


def test_hooks_of_every_kind_speak_to_the_agent(cli: Cli) -> None:
    rig = Rig(cli)
    body = "return {'text': 'PYTHON ' + payload['session']}"
    cli.put("ours.py", f"def say(payload, context):\n    {body}\n")
    cli.put("say", '#!/bin/sh\necho \'{"text": "SCRIPT"}\'\n', 0o755)
    rig.configure(
        {
            "pre_iteration": [
                {"python": "ours:say", "pipe_output": True},
                {"script": "./say", "pipe_output": True},
                hook("echo COMMAND", when="iteration == 1"),
            ]
        }
    )
    rig.run(iterations=2)
    first, second = rig.prompts()
    assert "PYTHON s" in first.text
    assert "SCRIPT" in first.text
    assert "COMMAND" in first.text
    assert "COMMAND" not in second.text
    assert "PYTHON s" in second.text


def test_a_hook_that_is_switched_off_says_nothing(cli: Cli) -> None:
    rig = Rig(cli)
    rig.configure(
        {"pre_iteration": [hook("echo OFF", enabled=False), hook("echo OTHER", name="other")]}
    )
    cli.json("hook", "disable", "other", quiet=False)
    rig.run(iterations=1)
    (prompt,) = rig.prompts()
    assert "OFF" not in prompt.text
    assert "OTHER" not in prompt.text
