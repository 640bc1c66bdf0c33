"""The hookline.yaml that `init` writes: a live hook where one makes sense, the rest explained."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookline.surfaces.cli.init_detect import AGENTS

if TYPE_CHECKING:
    from hookline.surfaces.cli.init_detect import Found

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

_LATER = """\

  # The points of sessions and gates, for versions that run agents. Remove the `# `.
  # post_iteration:                     # after each turn of the agent
  #   - {command: "LINT", timeout: 120, pipe_output: true}  # it reads what this prints
  # stop: [default]                     # when is it done? By default: all checks pass
  # before_submit: [rebase_on_main, run_tests, create_pr]  # all must pass, in order

# Agents by name, and the one to use.
# agents:
"""


def configuration(found: Found) -> str:
    """The text of a new hookline.yaml for what was found."""
    return _HEAD + _live(found) + _later(found) + _agents(found)


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


def _later(found: Found) -> str:
    return _LATER.replace("LINT", found.linter.command if found.linter else "make lint")


def _agents(found: Found) -> str:
    names = found.agents or ["claude"]
    lines = [f"#   {name}: {AGENTS[name]}\n" for name in names]
    return "".join(lines) + f"# agent: {names[0]}\n"
