"""What the demo says and types, step by step. `@task_started` stands for that event's number."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

SUCCESS = (0,)
WEBHOOK = "WEBHOOK"


class Typed(NamedTuple):
    """A command line, the exit codes that belong to the story, and whether long lines go on."""

    words: tuple[str, ...]
    codes: tuple[int, ...] = SUCCESS
    wrap: bool = True


class Step(NamedTuple):
    """A part of the demo: what it shows, why, and the commands that show it."""

    title: str
    explanation: tuple[str, ...]
    commands: tuple[Typed, ...]


def fill(step: Step, received: Sequence[str]) -> Step:
    """The step with what the demo's web server has received until now."""
    seen = ", ".join(received) or "nothing"
    return step._replace(explanation=tuple(t.replace(WEBHOOK, seen) for t in step.explanation))


def _hookline(*words: str, wrap: bool = True) -> Typed:
    return Typed(("hookline", *words), wrap=wrap)


SCRIPT = (
    Step(
        "1. Hooks are a few lines in hookline.yaml",
        (
            "A shell line, a script, a Python function or a URL, at any event of a task.",
            "One of these will fail, one will hang, and one has a condition.",
        ),
        (Typed(("cat", "hookline.yaml")),),
    ),
    Step(
        "2. Nothing that a repository brings runs until you trust it",
        ("You would look at the files first. A change in any of them asks again.",),
        (_hookline("trust", "--yes"),),
    ),
    Step(
        "3. Three tasks; two wait for the one before",
        (
            "The label `agent` says that an agent does the first one.",
            "In the graph, ○ can be worked on, · waits, ✓ is done.",
        ),
        (
            _hookline("task", "add", "Write the parser", "--label", "agent"),
            _hookline("task", "add", "Test the parser", "--depends-on", "T-1"),
            _hookline("task", "add", "Publish it", "--depends-on", "T-2"),
            _hookline("task", "graph"),
        ),
    ),
    Step(
        "4. Work begins, and two hooks misbehave",
        (
            "`linter` fails; `stuck` has a second and is killed with all it started.",
            "Neither breaks the other, nor the command: the task is started.",
        ),
        (_hookline("task", "start", "T-1"),),
    ),
    Step(
        "5. The agent is done: now the hooks react",
        (
            "A built-in hook makes a review task of the agent's work, another one makes",
            "T-2 ready. `announce`, written in Python, asks for a task of its own.",
        ),
        (
            _hookline("task", "complete", "T-1", "--result", "200 lines, no dependencies"),
            _hookline("task", "graph"),
            Typed(("cat", "journal.txt")),
        ),
    ),
    Step(
        "6. Every change is an event, with what caused it",
        (f"The web server of this demo was sent: {WEBHOOK}.",),
        (_hookline("events", "--since", "@task_started", wrap=False),),
    ),
    Step(
        "7. Why did a hook not run? Why did one fail?",
        ("Each call is on record: the condition with its values, or the output.",),
        (_hookline("why", "pager"), _hookline("why", "stuck"), _hookline("why", "linter")),
    ),
    Step(
        "8. Run a hook again on the recorded event",
        ("Dry: its answer is compared with the recorded one, and not carried out.",),
        (_hookline("hook", "replay", "announce", "--event", "@task_completed"),),
    ),
)
