"""hookline.yaml: what loads, what is refused, and where the caret points."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any

import pytest

from hookline.config.load import read_settings
from hookline.points import POINTS, rule_of
from hookline.project import Project

if TYPE_CHECKING:
    from pathlib import Path

    from hookline.config import Problem, Settings

SESSION_AND_GATES = """
version: 1

hooks:
  session_start:
    - command: "git pull --rebase"
      timeout: 30
    - command: "go build ./..."
      timeout: 60
      pipe_output: true  # agent sees build errors

  pre_iteration:
    - command: "golangci-lint run ./..."
      timeout: 30
      pipe_output: true

  post_iteration:
    - command: "go test ./... -short"
      timeout: 120
      pipe_output: true  # agent sees test failures next iteration
    - command: "curl -X POST $SLACK_WEBHOOK -d '{\\"text\\": \\"Iteration {{iteration}} done\\"}'"
      timeout: 5
      # pipe_output: false (default) - just notification

  session_end:
    - command: "git push origin HEAD"
      timeout: 30
    - command: "./scripts/notify-complete.sh {{session}}"
      timeout: 10

  on_task_complete:
    - command: "./scripts/validate-task.sh {{task_id}}"
      timeout: 30
      pipe_output: true

  on_error:
    - command: "git diff HEAD"
      timeout: 10
      pipe_output: true  # show agent what changed before error

  before_submit:
    - rebase_on_main
    - create_pr

task_types:
  product:
    hooks:
      before_submit:
        - rebase_on_main
        - run_tests
        - create_pr
      before_merge:
        - gatekeeper: [qa, architecture]
    # Which agents can work on this type
    agents:
      implementer: [implementer-1, implementer-2]
      gatekeeper: [gatekeeper-qa]

  infrastructure:
    hooks:
      before_submit:
        - rebase_on_main
        - create_pr
      # No before_merge — auto-accept
    agents:
      implementer: [implementer-1]
"""


def load(tmp_path: Path, text: str, user: str = "") -> Settings:
    root, home = tmp_path / "project", tmp_path / "home"
    root.mkdir(exist_ok=True)
    home.mkdir(exist_ok=True)
    (root / "hookline.yaml").write_text(textwrap.dedent(text), encoding="utf-8")
    if user:
        (home / "hookline.yaml").write_text(textwrap.dedent(user), encoding="utf-8")
    return read_settings(Project(str(root), str(root / ".hookline")), str(home)).settings


def errors(settings: Settings) -> list[Problem]:
    return [each for each in settings.problems if each.severity == "error"]


def only_error(tmp_path: Path, text: str) -> Problem:
    found = errors(load(tmp_path, text))
    assert len(found) == 1, found
    return found[0]


def hook_error(tmp_path: Path, entry: str, point: str = "task_completed") -> Problem:
    return only_error(tmp_path, f"hooks:\n  {point}:\n    - {entry}\n")


def marked(tmp_path: Path, problem: Problem) -> str:
    """The text that the caret stands under."""
    line = (tmp_path / "project" / "hookline.yaml").read_text("utf-8").split("\n")[problem.line - 1]
    return line[problem.column - 1 : problem.column - 1 + problem.length]


def test_both_families_of_hooks_load_side_by_side(tmp_path: Path) -> None:
    settings = load(tmp_path, SESSION_AND_GATES)
    assert errors(settings) == []
    assert [hook.name for hook in settings.hooks] == [
        "session_start[0]:git",
        "session_start[1]:go",
        "pre_iteration[0]:golangci-lint",
        "post_iteration[0]:go",
        "post_iteration[1]:curl",
        "session_end[0]:git",
        "session_end[1]:notify-complete.sh",
        "on_task_complete[0]:validate-task.sh",
        "on_error[0]:git",
        "before_submit[0]:rebase_on_main",
        "before_submit[1]:create_pr",
    ]
    assert [hook.pipe_output for hook in settings.hooks[:5]] == [False, True, True, True, False]
    assert [hook.timeout for hook in settings.hooks[:5]] == [30, 60, 30, 120, 5]
    product = settings.type_hooks["product"]
    assert [hook.target for hook in product["before_submit"]] == [
        "rebase_on_main",
        "run_tests",
        "create_pr",
    ]
    (gatekeeper,) = product["before_merge"]
    assert gatekeeper.metadata["arguments"] == {"names": ["qa", "architecture"]}
    assert "before_merge" not in settings.type_hooks["infrastructure"]
    assert settings.sections.task_types["product"].agents.gatekeeper == ["gatekeeper-qa"]


def test_an_entry_becomes_a_hook_with_all_its_options(tmp_path: Path) -> None:
    settings = load(
        tmp_path,
        """
        hooks:
          pre_tool_use:
            - name: careful
              command: ./guard.sh {{tool}}
              when: tool == 'Bash'
              timeout: 2m
              priority: 0
              enabled: no
              on_failure: ask
              rewrites: true
              env: {LEVEL: 3, FLAG: no}
              description: Looks at shell commands.
        """,
    )
    (hook,) = settings.hooks
    assert errors(settings) == []
    assert (hook.name, hook.points, hook.kind) == ("careful", ("pre_tool_use",), "command")
    assert (hook.timeout, hook.priority, hook.enabled) == (120, 0, False)
    assert (hook.on_failure, hook.rewrites) == ("ask", True)
    assert hook.env == {"LEVEL": "3", "FLAG": "no"}
    assert (hook.origin, hook.layer) == ("hookline.yaml:4", "project")


def test_sections_are_typed(tmp_path: Path) -> None:
    settings = load(
        tmp_path,
        """
        session: {iterations: 20, budget: {minutes: 240, usd: 2.5, tokens: 1000}}
        validation: [{name: tests_pass, type: command, command: pytest -q}]
        agent: worker
        agents:
          worker: {driver: command, command: my-agent, input: file, env: {A: 1}}
        flows:
          ship:
            steps:
              - {id: lint, run: make lint, metadata: {priority: 3}}
              - {id: both, parallel: [{id: a, run: x}, {id: b, sleep: 2s}]}
              - {id: ok, breakpoint: "Ship it?"}
              - {id: doc, task: {goal: Write it}}
        """,
    )
    assert settings.problems == []
    assert settings.sections.session.iterations == 20
    assert settings.sections.session.budget.usd == 2.5
    assert settings.sections.validation[0].command == "pytest -q"
    assert settings.sections.agent == "worker"
    assert settings.sections.agents["worker"].env == {"A": "1"}
    steps = settings.sections.flows["ship"].steps
    assert steps[0].metadata == {"priority": 3}
    assert steps[1].parallel is not None
    assert steps[1].parallel[1].sleep == 2
    assert steps[3].task is not None
    assert steps[3].task.goal == "Write it"


@pytest.mark.parametrize("text", ["", "# nothing\n", "hooks:\n", "hooks: {}\n", "version: 1\n"])
def test_an_empty_file_is_fine(tmp_path: Path, text: str) -> None:
    settings = load(tmp_path, text)
    assert (settings.problems, settings.hooks) == ([], [])


def test_an_empty_list_is_a_mention_and_null_is_none(tmp_path: Path) -> None:
    settings = load(tmp_path, "hooks:\n  before_submit: []\n  stop:\n")
    assert settings.points == ("before_submit",)
    assert settings.problems == []


def test_a_misspelt_point_names_the_right_one(tmp_path: Path) -> None:
    problem = only_error(tmp_path, "hooks:\n  post_iteratoin:\n    - {command: x}\n")
    assert problem.code == "unknown-point"
    assert (problem.line, problem.column) == (2, 3)
    assert marked(tmp_path, problem) == "post_iteratoin"
    assert problem.consequence == "this hook would never run"
    assert "did you mean 'post_iteration'?" in problem.help
    assert "`events:`" in problem.help


@pytest.mark.parametrize(
    ("entry", "code", "under_caret"),
    [
        ("{command: x, timeuot: 3}", "unknown-key", "timeuot"),
        ("{command: x, timeout: 0}", "out-of-range", "0"),
        ("{command: x, timeout: 25h}", "out-of-range", "25h"),
        ("{command: x, timeout: soon}", "wrong-type", "soon"),
        ("{command: x, priority: high}", "wrong-type", "high"),
        ('{command: x, enabled: "no"}', "wrong-type", '"no"'),
        ("{command: x, on_failure: opne}", "unknown-value", "opne"),
        ("{command: x, env: [a]}", "wrong-type", "["),
        ("{command: x, script: y}", "one-act", "script"),
        ("{timeout: 3}", "no-act", "{"),
        ("{command: ''}", "empty", "''"),
        ("{command: }", "empty", "}"),
        ("{command: [a]}", "wrong-type", "["),
        ("[a]", "wrong-type", "["),
        ("rebase_on_mian", "unknown-built-in", "rebase_on_mian"),
        ("rebase_on_main", "misplaced-built-in", "rebase_on_main"),
        ("pytest -q", "unknown-built-in", "pytest -q"),
        ("{gatekeeper: [qa]}", "misplaced-built-in", "gatekeeper"),
        ("{name: nothing-known}", "unknown-built-in", "nothing-known"),
        ("{python: page_me}", "bad-function", "page_me"),
        ("{http: 'ftp://example.org'}", "bad-url", "'ftp://example.org'"),
        ("{http: 'https://'}", "bad-url", "'https://'"),
        ("{http: 'https://{{task_id}}.example.org'}", "bad-url", None),
        ("{http: 'https://example.org/{{nope}}'}", "unknown-variable", "{{nope}}"),
        ("{script: ./none.sh}", "no-such-script", "./none.sh"),
        ("{agent: nobody}", "unknown-agent", "nobody"),
        ("{command: x, when: labels == 3}", "bad-condition", "labels == 3"),
        ("{command: x, when: '1 +'}", "bad-condition", "'1 +'"),
        ("{command: x, name: auto-create-review-task}", "duplicate-name", None),
        ("{name: auto-create-review-task, timeout: 3}", "fixed-built-in", "timeout"),
    ],
)
def test_a_bad_entry_is_one_error_at_its_place(
    tmp_path: Path, entry: str, code: str, under_caret: str | None
) -> None:
    problem = hook_error(tmp_path, entry)
    assert problem.code == code
    assert problem.line == 3
    if under_caret is not None:
        assert marked(tmp_path, problem) == under_caret


@pytest.mark.parametrize(
    "entry",
    [
        "command: echo {{nope}} x",
        "{command: 'echo ''a'' {{nope}} x'}",
        '{command: "say \\"é\\" {{nope}} x"}',
        '{command: "tab\\t\\x41 {{nope}} x"}',
    ],
)
def test_the_caret_points_at_the_variable(tmp_path: Path, entry: str) -> None:
    problem = hook_error(tmp_path, entry)
    assert problem.code == "unknown-variable"
    assert marked(tmp_path, problem) == "{{nope}}"


def test_a_variable_in_a_block_scalar_is_marked_at_the_value(tmp_path: Path) -> None:
    text = "hooks:\n  task_completed:\n    - command: |\n        echo\n        echo {{nope}}\n"
    problem = only_error(tmp_path, text)
    assert (problem.line, problem.column) == (3, 16)


def test_all_problems_are_found_at_once_and_the_rest_is_kept(tmp_path: Path) -> None:
    settings = load(
        tmp_path,
        """
        sesion: {}
        hooks:
          task_created:
            - {command: echo good}
            - {command: echo, timeout: -1}
            - nonsense
          task_complete: []
        agents: {a: {driver: comand}}
        """,
    )
    assert [each.code for each in errors(settings)] == [
        "unknown-key",
        "out-of-range",
        "unknown-built-in",
        "unknown-point",
        "unknown-value",
    ]
    assert [hook.target for hook in settings.hooks] == ["echo good", "echo"]
    assert settings.has_errors


def test_duplicate_names_name_both_places(tmp_path: Path) -> None:
    text = """
    hooks:
      task_created: [{name: a, command: x}]
      task_completed: [{name: a, command: y}]
    """
    problem = only_error(tmp_path, text)
    assert problem.code == "duplicate-name"
    assert problem.line == 4
    assert "hookline.yaml:3" in problem.message


def test_an_alias_is_one_hook_at_several_points(tmp_path: Path) -> None:
    settings = load(
        tmp_path,
        """
        hooks:
          task_created: [&ring {name: ring, command: echo {}}, {command: y}]
          task_completed: [*ring, {command: z}]
        """.replace("{}", "hi"),
    )
    assert settings.problems == []
    assert settings.hooks[0].points == ("task_created", "task_completed")
    assert [hook.position for hook in settings.hooks] == [1, 2, 3]


def test_an_alias_cannot_have_two_places_in_the_order(tmp_path: Path) -> None:
    text = """
    hooks:
      task_created: [&ring {name: ring, command: x}]
      task_completed: [{command: first}, *ring]
    """
    assert only_error(tmp_path, text).code == "order"


def test_merge_keys_add_what_is_not_said(tmp_path: Path) -> None:
    settings = load(
        tmp_path,
        """
        hooks:
          task_created:
            - &base {command: echo a, timeout: 5, priority: 7}
            - {<<: *base, command: echo b}
        """,
    )
    assert settings.problems == []
    first, second = settings.hooks
    assert (second.target, second.timeout, second.priority) == ("echo b", 5, 7)
    assert first.target == "echo a"


def test_custom_events_are_points(tmp_path: Path) -> None:
    settings = load(
        tmp_path,
        """
        events: [deploy_done]
        hooks:
          deploy_done: [{command: "echo {{event_type}}", when: event.data.ok}]
        """,
    )
    assert settings.problems == []
    assert settings.events == ("deploy_done",)


@pytest.mark.parametrize("name", ["task_completed", "hook_error", "stop", "a b", "1x"])
def test_some_names_cannot_be_declared(tmp_path: Path, name: str) -> None:
    problem = only_error(tmp_path, f"events: ['{name}']\n")
    assert problem.code == "bad-event"
    assert marked(tmp_path, problem) == f"'{name}'"


def test_built_ins_are_tuned(tmp_path: Path) -> None:
    settings = load(
        tmp_path,
        """
        hooks:
          task_completed:
            - {name: auto-create-review-task, enabled: false}
            - {name: check-dependency-satisfaction, priority: 3}
          task_created:
            - track-agent-task-lifecycle
        """,
    )
    assert settings.problems == []
    assert settings.hooks == []
    found = {name: (t.enabled, t.priority, t.origin) for name, t in settings.tuning.items()}
    assert found == {
        "auto-create-review-task": (False, None, "hookline.yaml:4"),
        "check-dependency-satisfaction": (None, 3, "hookline.yaml:5"),
        "track-agent-task-lifecycle": (True, None, "hookline.yaml:7"),
    }


def test_points_that_nothing_fires_yet_are_told_once_each(tmp_path: Path) -> None:
    text = """
    hooks:
      pre_tool_use: [{command: x}]
    task_types:
      a: {hooks: {pre_tool_use: [{command: y}]}}
    """
    found = load(tmp_path, text).problems
    assert [(each.code, each.severity, each.line) for each in found] == [
        ("never-fires", "warning", 3)
    ]


OWN_POINTS = [
    *("session_start", "pre_iteration", "post_iteration", "session_end", "on_task_complete"),
    *("on_error", "stop", "before_submit", "after_submit", "before_merge", "after_merge"),
]


@pytest.mark.parametrize("owner", ["agents: {a: {driver: codex, ", "task_types: {a: {"])
def test_own_hooks_stand_where_somebody_asks_for_them_and_nowhere_else(
    tmp_path: Path, owner: str
) -> None:
    points = [name for name, point in POINTS.items() if point.fires] + ["deploy"]
    own = [name for name in points if rule_of(name) in ("feed", "decide", "gate")]
    assert set(OWN_POINTS) <= set(own)
    given = ", ".join(f"{name}: [{{command: x}}]" for name in points)
    settings = load(tmp_path, f"{owner}hooks: {{{given}}}}}}}\nevents: [deploy]\n")
    assert [*(settings.agent_hooks or settings.type_hooks)["a"]] == own
    refused = [name for name in points if name not in own]
    assert [each.code for each in settings.problems] == ["misplaced-hooks"] * len(refused)
    assert [marked(tmp_path, each) for each in settings.problems] == refused


def test_an_empty_list_at_a_point_of_events_silences_nobody(tmp_path: Path) -> None:
    text = "agents: {a: {driver: codex, hooks: {task_completed: []}}}\n"
    assert only_error(tmp_path, text).code == "misplaced-hooks"


def test_own_hooks_have_their_priorities(tmp_path: Path) -> None:
    late, soon = "{name: late, command: x, priority: 200}", "{name: soon, command: x}"
    settings = load(tmp_path, f"task_types: {{a: {{hooks: {{before_submit: [{late}, {soon}]}}}}}}")
    assert errors(settings) == []
    assert [hook.name for hook in settings.type_hooks["a"]["before_submit"]] == ["soon", "late"]


GATE = """
task_types:
  product:
    hooks: {before_merge: [{gatekeeper: [qa]}]}
    agents: {gatekeeper: [judge]}
agents:
  NAME: {driver: codex}
"""


@pytest.mark.parametrize(
    ("profile", "warned"),
    [("qa", False), ("gatekeeper-qa", False), ("judge", False), ("other", True)],
)
def test_gatekeepers_are_found_by_profile_or_type(
    tmp_path: Path, profile: str, warned: bool
) -> None:
    settings = load(tmp_path, GATE.replace("NAME", profile))
    assert errors(settings) == []
    codes = [each.code for each in settings.problems]
    assert ("unknown-gatekeeper" in codes) is warned


@pytest.mark.parametrize("key", ["pipe_output: true", "on_failure: open", "headers: {a: b}"])
def test_an_option_without_effect_is_a_warning(tmp_path: Path, key: str) -> None:
    settings = load(tmp_path, f"hooks:\n  task_created:\n    - {{command: x, {key}}}\n")
    assert [(each.code, each.severity) for each in settings.problems] == [("no-effect", "warning")]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("hooks: [a]", "wrong-type"),
        ("- a", "wrong-type"),
        ("hooks:\n\tstop: []\n", "syntax"),
        ("hooks: {stop: [default\n", "syntax"),
        ("a: \x01", "syntax"),
        ("version: 1\n---\nversion: 1\n", "syntax"),
        ("hooks: {}\nhooks: {}\n", "duplicate-key"),
        ("version: 2", "unknown-version"),
        ("version: one", "unknown-version"),
        ("hooks: *nothing", "bad-alias"),
        ("hooks: &a {stop: *a}", "bad-alias"),
        ("hooks: !!python/object/apply:os.system ['true']", "tag"),
        ("? [a]\n: b\n", "bad-key"),
        ("session: " + "[" * 200 + "]" * 200, "too-deep"),
    ],
)
def test_a_bad_file_is_told_with_its_place(tmp_path: Path, text: str, code: str) -> None:
    found = errors(load(tmp_path, text))
    assert code in [each.code for each in found]
    assert all(each.line >= 1 for each in found)


def test_true_is_a_text_only_where_it_can_be_one(tmp_path: Path) -> None:
    settings = load(
        tmp_path,
        """\
        version: 1
        hooks: {post_iteration: [{name: yes, command: true}]}
        agents: {bot: {driver: command, command: "true", env: {DEBUG: true}}}
        """,
    )
    assert errors(settings) == []
    (hook,) = settings.hooks
    assert (hook.name, hook.target) == ("yes", "true")
    assert settings.sections.agents["bot"].env == {"DEBUG": "true"}
    (problem,) = errors(load(tmp_path, "version: 1\nagent: true\n"))
    assert (problem.code, problem.help) == (
        "wrong-type",
        "write 'true' in quotes if it is the text",
    )


def test_keys_stay_as_they_are_written(tmp_path: Path) -> None:
    problem = only_error(tmp_path, "on: {}\n")
    assert (problem.code, problem.message) == ("unknown-key", "the file has no key 'on'")


def test_an_alias_bomb_is_refused(tmp_path: Path) -> None:
    levels = ["a: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    levels += [f"b{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 9)]
    assert only_error(tmp_path, "\n".join(levels)).code == "too-large"


@pytest.mark.parametrize(
    ("section", "code"),
    [
        ("session: {iterations: 0}", "out-of-range"),
        ("session: {iterations: '20'}", "wrong-type"),
        ("session: {budgt: {}}", "unknown-key"),
        ("validation: [{name: a, type: command}]", "missing-key"),
        ("validation: [{type: command, command: x}]", "missing-key"),
        ("validation: [{name: a, type: content_pattern, pattern: '(', files: [x]}]", "bad-pattern"),
        ("validation: [{name: a, type: content_pattern, pattern: 'a{9999999999}'}]", "bad-pattern"),
        ("validation: [{name: a, type: custom, python: checks}]", "bad-rule"),
        ("validation: [{name: a, type: file_existence, files: [ok, ../x]}]", "bad-rule"),
        ("validation: [{name: a, type: coverage, minimum: 80, report: /tmp/x}]", "bad-rule"),
        ("agents: {a: {driver: command}}", "missing-key"),
        ("agents: {a: {driver: scripted}}", "missing-key"),
        ("agent: nobody", "unknown-agent"),
        ("flows: {f: {steps: [{id: a}]}}", "one-act"),
        ("flows: {f: {steps: [{id: a, run: x, sleep: 2s}]}}", "one-act"),
        ("flows: {f: {steps: [{id: a, run: x}, {id: a, run: y}]}}", "duplicate-name"),
        ("flows: {f: {steps: []}}", "empty"),
        ("task_types: {a: {agents: {implementr: [x]}}}", "unknown-key"),
    ],
)
def test_sections_are_checked(tmp_path: Path, section: str, code: str) -> None:
    assert only_error(tmp_path, section).code == code


def test_the_project_beats_the_user_and_hooks_of_both_count(tmp_path: Path) -> None:
    settings = load(
        tmp_path,
        """
        session: {iterations: 5, guards: {failures: 7}}
        hooks: {task_created: [{command: mine}]}
        agents: {a: {driver: codex}}
        """,
        user="""
        session: {iterations: 9, budget: {usd: 3}, guards: {failures: 2, no_change: 0}}
        hooks:
          task_created: [{command: mine}]
          task_completed: [{name: auto-create-review-task, enabled: false}]
        agents: {a: {driver: acp, command: "x acp"}, b: {driver: codex}}
        agent: b
        """,
    )
    assert settings.problems == []
    assert (settings.sections.session.iterations, settings.sections.session.budget.usd) == (5, 3)
    guards = settings.sections.session.guards
    assert (guards.failures, guards.no_change, guards.thrashing) == (7, 0, 4)
    assert {name: agent.driver for name, agent in settings.sections.agents.items()} == {
        "a": "codex",
        "b": "codex",
    }
    assert settings.sections.agent == "b"
    layers: list[Any] = [(hook.name, hook.layer) for hook in settings.hooks]
    assert layers == [
        ("task_created[0]:mine", "project"),
        ("user/task_created[0]:mine", "user"),
    ]
    assert settings.tuning["auto-create-review-task"].enabled is False
