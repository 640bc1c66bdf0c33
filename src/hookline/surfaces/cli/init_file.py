"""The hookline.yaml that `init` writes: what makes sense here is live, the rest is explained."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookline.surfaces.cli.init_detect import AGENTS

if TYPE_CHECKING:
    from hookline.surfaces.cli.init_detect import Found, Tool

_HEAD = """\
# What Hookline runs, and when. After a change: `hookline check`, then `hookline trust`.
# `hookline points` lists every point; `hookline why NAME` explains what a hook did.
version: 1

hooks:
  # Each time a task is completed. A hook gets the event as JSON on stdin, and
  # HOOKLINE_TASK_ID and the like in its environment.
  task_completed:
"""

_JOURNAL = """\
    - name: journal                     # the name that `hookline why journal` takes
      # {{task_id}} and {{task_title}} are filled in by the environment, never as text.
      command: 'echo "{{task_id}} {{task_title}}" >> .hookline/logs/completed.txt'
      timeout: 10                       # seconds; then it is stopped, with all it started
"""

_TESTS = """\
    - name: tests                       # the name that `hookline why tests` takes
      COMMAND# because of SOURCE
      when: "'agent' in task.labels"    # only for tasks with the label `agent`
      timeout: 600                      # seconds; then it is stopped, with all it started
"""

_SESSIONS = """\

  # Sessions, `hookline run "GOAL"`: session_start, then in each iteration pre_iteration, the
  # agent's turn, validation, stop, post_iteration; session_end. To use one, remove the `# `.
  # post_iteration:                     # with pipe_output the agent reads what this prints
  #   - {command: "LINT", timeout: 120, pipe_output: true}
  # stop: [evidence]                    # done is what is promised, checked and changed; the
  #                                     # default believes a promise, or checks that all pass
  # before_submit: [rebase_on_main, run_tests, create_pr]  # gates; all must pass, in order

# A session ends when it is done, or at one of its limits.
# session: {iterations: 20, budget: {minutes: 120, usd: 10}}
"""

_VALIDATION = """\

# Checks of the agent's work, after each iteration. `hookline validate` tries them now.
"""

_AGENTS = """\

# Agents by name, and the one to use. `permissions: read|work|full` says what one may do unasked.
"""


def configuration(found: Found) -> str:
    """The text of a new hookline.yaml for what was found."""
    return _HEAD + _live(found) + _sessions(found) + _validation(found.tests) + _agents(found)


def _live(found: Found) -> str:
    if found.tests is None:
        return _JOURNAL
    command = f'command: "{found.tests.command}"  '.ljust(34)
    tests = _TESTS.replace("COMMAND", command).replace("SOURCE", found.tests.source)
    if found.tests.available:
        return tests
    program = found.tests.command.split()[0]
    commented = "".join(f"    # {line[4:]}\n" for line in tests.splitlines())
    return f"{_JOURNAL}    # Once {program} is on PATH, remove the `# `:\n{commented}"


def _sessions(found: Found) -> str:
    return _SESSIONS.replace("LINT", found.linter.command if found.linter else "make lint")


def _validation(tests: Tool | None) -> str:
    line = tests.command if tests is not None else "make test"
    rules = f'validation:\n  - {{name: tests_pass, type: command, command: "{line}"}}\n'
    is_live = tests is not None and tests.available
    return _VALIDATION + (rules if is_live else _commented(rules))


def _agents(found: Found) -> str:
    names = found.agents or ["claude"]
    lines = "".join(f"  {name}: {AGENTS[name]}\n" for name in names)
    profiles = f"agent: {names[0]}\nagents:\n{lines}"
    return _AGENTS + (profiles if found.agents else _commented(profiles))


def _commented(text: str) -> str:
    return "".join(f"# {line}\n" for line in text.splitlines())
