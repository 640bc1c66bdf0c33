"""Steps in YAML: each kind on the context, values without evaluation, checks beforehand."""

from __future__ import annotations

import subprocess
import textwrap
from typing import TYPE_CHECKING, Any

import pytest

from hookline.config.load import read_settings
from hookline.domain.runs.model import FlowMistake
from hookline.errors import HookFailure
from hookline.flows.definitions.steps import fill, run_steps, shell_line
from hookline.project import Project
from tests.replaying import Journal

if TYPE_CHECKING:
    from pathlib import Path

    from hookline.config import Problem
    from hookline.flows.context import Context

SCOPE = {
    "input": {"name": "ada", "count": 3, "list": ["x", "y"], "none": None},
    "steps": {"lint": {"stdout": "fine\n", "exitCode": 0}, "skipped": None},
}


def begin(*steps: dict[str, Any], given: dict[str, Any] | None = None) -> Journal:
    async def flow(ctx: Context) -> dict[str, Any]:
        ctx.input = given or {}
        return await run_steps(ctx, steps)

    return Journal(flow)


# Each kind


KINDS: dict[str, tuple[dict[str, Any], str, dict[str, Any]]] = {
    "run": (
        {"run": "echo {{input.what}}", "check": False},
        "node",
        {
            "command": 'echo "${HOOKLINE_VALUE_1}"',
            "check": False,
            "env": {"HOOKLINE_VALUE_1": "all"},
        },
    ),
    "task": (
        {"task": {"goal": "make {{input.what}}", "labels": ["a"], "priority": 0}},
        "task",
        {"goal": "make all", "labels": ["a"], "deliverables": [], "priority": 0, "type": None},
    ),
    "flow": (
        {"flow": "build", "input": {"what": "{{input.what}}", "n": [1]}},
        "flow",
        {"flow": "build", "input": {"what": "all", "n": [1]}},
    ),
    "update_task": (
        {"update_task": {"id": "{{input.task}}", "action": "complete", "payload": {"result": "x"}}},
        "update_task",
        {"taskId": "T-1", "action": "complete", "payload": {"result": "x"}},
    ),
    "agent": ({"agent": "do {{input.what}}"}, "agent", {"prompt": "do all", "agent": None}),
    "agent by name": (
        {"agent": {"prompt": "do it", "agent": "ada"}},
        "agent",
        {"prompt": "do it", "agent": "ada"},
    ),
    "hook": ({"hook": "on_error"}, "hook", {"point": "on_error", "payload": {}}),
    "hook with a payload": (
        {"hook": {"point": "on_error", "payload": {"error": "{{input.what}}"}}},
        "hook",
        {"point": "on_error", "payload": {"error": "all"}},
    ),
    "breakpoint": (
        {"breakpoint": "Ship {{input.what}}?", "max_age": 60.0},
        "breakpoint",
        {"question": "Ship all?", "maxAge": 60.0},
    ),
    "sleep": ({"sleep": 2.0}, "sleep", {"seconds": 2.0}),
    "noop": ({"noop": True}, "noop", {}),
}


@pytest.mark.parametrize("name", KINDS)
def test_each_kind_of_step_is_the_effect_of_the_same_name(name: str) -> None:
    step, kind, args = KINDS[name]
    metadata = {"priority": 5}
    journal = begin(
        {"id": "it", **step, "metadata": metadata}, given={"what": "all", "task": "T-1"}
    )
    assert journal.pending == ["it"]
    effect = journal.effects["it"]
    assert (effect.kind, effect.args, effect.metadata) == (kind, args, metadata)
    journal.resolve("it", {"seen": 1})
    assert set(journal.result) == {"it"}


def test_steps_run_one_after_the_other_and_see_earlier_results() -> None:
    journal = begin(
        {"id": "one", "run": "echo hi"},
        {"id": "two", "breakpoint": "{{steps.one.stdout}}?", "when": "steps.one.exitCode == 0"},
    )
    assert journal.pending == ["one"]
    journal.resolve("one", {"stdout": "hi", "exitCode": 0})
    assert journal.effects["two"].args["question"] == "hi?"


def test_parallel_steps_run_together_under_their_own_names() -> None:
    journal = begin(
        {"id": "both", "parallel": [{"id": "a", "run": "a"}, {"id": "b", "run": "b"}]},
        {"id": "after", "run": "echo {{steps.a.stdout}}{{steps.both.b.stdout}}"},
    )
    assert journal.pending == ["both/a", "both/b"]
    journal.resolve("both/b", {"stdout": "B"})
    journal.resolve("both/a", {"stdout": "A"})
    env = journal.effects["after"].args["env"]
    assert env == {"HOOKLINE_VALUE_1": "A", "HOOKLINE_VALUE_2": "B"}


def test_a_step_whose_condition_is_false_is_left_out() -> None:
    journal = begin(
        {"id": "no", "run": "false", "when": "input.deploy"},
        {"id": "yes", "noop": True, "when": "steps.no == None"},
        given={"deploy": False},
    )
    assert journal.pending == ["yes"]


def test_a_condition_that_cannot_be_told_fails_the_flow_and_is_no_skip() -> None:
    journal = begin({"id": "it", "run": "true", "when": "input.deploy.now"})
    with pytest.raises(HookFailure, match="there is no 'deploy' in input"):
        _ = journal.result


# Values


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("{{input.count}}", 3),
        (" {{ input.list }} ", ["x", "y"]),
        ("{{input.list.1}}", "y"),
        ("{{input.none}}", None),
        ("{{steps.skipped}}", None),
        ("{{input}}", SCOPE["input"]),
        ("{{input.count}} of {{input.list}}", '3 of ["x","y"]'),
        ("\\{{input.name}}", "{{input.name}}"),
        ("\\\\{{input.name}}", "\\\\ada"),
        ("{{.Names}} {{ json . }} {not}", "{{.Names}} {{ json . }} {not}"),
        ({"a": ["{{input.name}}", 1]}, {"a": ["ada", 1]}),
    ],
)
def test_values_are_filled_in_by_their_path(text: Any, value: Any) -> None:
    assert fill(text, SCOPE) == value


def test_values_are_filled_in_once_and_never_evaluated() -> None:
    scope = {"input": {"a": "{{input.b}} ${HOME} __import__('os')", "b": "secret"}, "steps": {}}
    assert fill("<{{input.a}}>", scope) == "<{{input.b}} ${HOME} __import__('os')>"


@pytest.mark.parametrize(
    "text",
    ["{{input.gone}}", "{{steps.none.stdout}}", "{{steps.skipped.stdout}}", "{{input.name.upper}}"],
)
def test_a_value_that_is_not_there_is_told(text: str) -> None:
    with pytest.raises(FlowMistake, match="has no value"):
        fill(text, SCOPE)


@pytest.mark.parametrize("text", ["{{inputs.name}}", "{{name}}", "{{steps}}", "{{a.__class__}}"])
def test_other_names_are_no_values(text: str) -> None:
    with pytest.raises(FlowMistake, match="there is no value"):
        fill(text, SCOPE)
    with pytest.raises(FlowMistake, match="there is no value"):
        shell_line(f"echo {text}", SCOPE)


NASTY = (
    *("'; touch pwned; '", '"; touch pwned; "', "$(touch pwned)", "`touch pwned`", "; touch pwned"),
    *("a\ntouch pwned", "* ~ $HOME ${x:-$(touch pwned)}", "\\", "{{input.b}}", "-n", "é\u2028", ""),
)


@pytest.mark.parametrize("value", NASTY)
@pytest.mark.parametrize("line", ["printf %%s %s", 'printf %%s "%s"', "printf %%s '%s'"])
def test_a_value_in_a_shell_line_stays_a_value(tmp_path: Path, line: str, value: str) -> None:
    scope = {"input": {"a": value, "b": "other"}, "steps": {}}
    compiled, env = shell_line(line % "{{input.a}}", scope)
    done = subprocess.run(
        ("/bin/sh", "-c", compiled), cwd=tmp_path, env=env, capture_output=True, check=True
    )
    assert done.stdout.decode() == value
    assert list(tmp_path.iterdir()) == []


def test_an_escaped_reference_in_a_shell_line_is_the_text_itself() -> None:
    for line in ("printf %s \\{{input.name}}", "printf %s '\\{{input.name}}'"):
        compiled, env = shell_line(line, SCOPE)
        done = subprocess.run(("/bin/sh", "-c", compiled), env=env, capture_output=True, check=True)
        assert done.stdout == b"{{input.name}}"


def test_a_value_is_refused_where_the_shell_would_take_it_for_code() -> None:
    with pytest.raises(FlowMistake, match=r"\{\{input.name\}\} is free text") as told:
        shell_line("sh -c 'echo {{input.name}}'", SCOPE)
    assert "HOOKLINE_VALUE_1" in (told.value.help or "")


# The check of hookline.yaml


def problems(tmp_path: Path, steps: str) -> list[Problem]:
    text = (
        f"version: 1\nflows:\n  x:\n    steps:\n{textwrap.indent(textwrap.dedent(steps), '    ')}"
    )
    (tmp_path / "hookline.yaml").write_text(text, encoding="utf-8")
    project = Project(str(tmp_path), str(tmp_path / ".hookline"))
    return list(read_settings(project, str(tmp_path / "home")).settings.problems)


GOOD = """
- {id: a, run: "echo x {{input.x}} \\\\{{input.y}}"}
- id: both
  parallel:
    - {id: b, run: "echo x {{steps.a.stdout}}", when: "steps.a.exitCode == 0"}
    - {id: c, noop: true, when: "'a' in steps"}
- {id: d, breakpoint: "{{steps.b.stdout}} {{steps.both.c}}?", when: "steps['b'] != None"}
- {id: e, run: "docker ps --format '{{.Names}}'"}
"""

BAD = {
    "unknown-step": [
        '- {id: a, run: "echo {{steps.b.stdout}}"}',
        '- {id: a, breakpoint: "{{steps.a.x}}"}',
        '- {id: a, task: {goal: "x", labels: ["{{steps.gone.x}}"]}}',
        '- {id: a, flow: f, input: {x: "{{steps.gone.x}}"}}',
        "- {id: a, noop: true, when: steps.gone.exitCode == 0}",
        "- {id: a, noop: true, when: \"steps['gone'] != None\"}",
        '- {id: p, parallel: [{id: a, noop: true}, {id: b, run: "echo {{steps.a}}"}]}',
        '- {id: a, run: "echo {{steps.b}}"}\n- {id: b, noop: true}',
    ],
    "unknown-flow": ["- {id: a, flow: gone}"],
    "unknown-variable": ['- {id: a, run: "echo {{task_id}}"}', '- {id: a, agent: "{{in.x}}"}'],
    "unsafe-place": ["- {id: a, run: \"sh -c '{{input.x}}'\"}"],
    "bad-shell": ['- {id: a, run: "echo \'"}'],
    "bad-condition": ["- {id: a, noop: true, when: foo}", "- {id: a, noop: true, when: '1 +'}"],
    "duplicate-name": [
        "- {id: a, noop: true}\n- {id: a, noop: true}",
        "- {id: a, noop: true}\n- {id: p, parallel: [{id: a, noop: true}]}",
        "- {id: p, parallel: [{id: p, noop: true}]}",
    ],
    "bad-name": ['- {id: "a/b", noop: true}', '- {id: "a#2", noop: true}'],
    "one-act": ["- {id: a}", "- {id: a, noop: true, sleep: 1s}"],
    "unknown-key": ["- {id: a, runn: ls}"],
}


def test_sound_steps_have_no_problems(tmp_path: Path) -> None:
    assert problems(tmp_path, GOOD) == []


@pytest.mark.parametrize(("code", "steps"), [(c, s) for c, each in BAD.items() for s in each])
def test_what_could_never_work_is_told_before_it_runs(
    tmp_path: Path, code: str, steps: str
) -> None:
    assert code in [each.code for each in problems(tmp_path, steps)]


def test_a_flow_without_one_good_step_leaves_the_rest_of_the_configuration_readable(
    tmp_path: Path,
) -> None:
    (tmp_path / "hookline.yaml").write_text(
        "version: 1\ngates: {tries: 7}\nflows:\n  f:\n    steps: [{runn: ls}]\n  g: {steps: []}\n"
    )
    project = Project(str(tmp_path), str(tmp_path / ".hookline"))
    settings = read_settings(project, str(tmp_path / "home")).settings
    assert {each.code for each in settings.problems} >= {"unknown-key", "empty"}
    assert settings.sections.gates.tries == 7
    assert settings.sections.flows == {}


def test_the_caret_stands_under_the_reference(tmp_path: Path) -> None:
    text = '- {id: a, run: "echo x {{input.long_name}} {{steps.b}} {{input.x}}"}'
    (problem,) = problems(tmp_path, text)
    assert problem.column == 5 + text.index("{{steps")
    assert problem.length == len("{{steps.b}}")
    unsafe = "- {id: a, run: \"echo x {{input.long_name}} x; sh -c 'echo {{input.x}}'\"}"
    (problem,) = problems(tmp_path, unsafe)
    assert problem.column == 5 + unsafe.index("{{input.x")
