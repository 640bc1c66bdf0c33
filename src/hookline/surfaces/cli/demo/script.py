"""What the demo says and types, step by step."""

from __future__ import annotations

from typing import NamedTuple

SUCCESS = (0,)


class Typed(NamedTuple):
    """A command line, the exit codes it may have, and whether its long lines are wrapped."""

    words: tuple[str, ...]
    codes: tuple[int, ...] = SUCCESS
    wrap: bool = True


class DemoStep(NamedTuple):
    """A part of the demo: what it shows, why, and the commands that show it."""

    title: str
    explanation: tuple[str, ...]
    commands: tuple[Typed, ...]


def _hookline(*words: str, wrap: bool = True) -> Typed:
    return Typed(("hookline", *words), wrap=wrap)


SCRIPT = (
    DemoStep(
        "1. Configure agents and hooks in hookline.yaml",
        (
            "Two agents, the project's tests, and hooks. Some hooks give output to the",
            "agent, some decide when the work is done, some are gates before the merge.",
            "(Both agents are scripted, so the demo needs no API key and no network.)",
        ),
        (Typed(("cat", "hookline.yaml")),),
    ),
    DemoStep(
        "2. Trust the repository",
        (
            "Hookline runs no code from a repository until you trust it. In a real project,",
            "read the files first. If one of them changes, you have to trust it again.",
        ),
        (_hookline("trust", "--yes"),),
    ),
    DemoStep(
        "3. Add three tasks, each depending on the one before",
        (
            "T-3 has the type `public`, so a gatekeeper reviews it before the merge. Its",
            "label `agent` adds a review task afterwards. In the graph, ○ is ready and",
            "· waits for its dependencies.",
        ),
        (
            _hookline("task", "add", "Write greet.sh to greet one person", "--type", "feature"),
            _hookline(
                "task", "add", "Greet several people", "--type", "feature", "--depends-on", "T-1"
            ),
            _hookline(
                *("task", "add", "Add --shout", "--type", "public", "--depends-on", "T-2"),
                *("--label", "agent"),
            ),
            _hookline("task", "graph"),
        ),
    ),
    DemoStep(
        "4. Let the agents work until everything is merged",
        (
            "T-1: ada says it is done, but a test fails. The stop hook continues the",
            "     session, ada gets the test output and fixes the bug. The hook `links`",
            "     is skipped, because nothing in doc/ has changed.",
            "T-2: the gate `changelog` fails. ada gets the reason and fixes it, and all",
            "     gates run again.",
            "T-3: the gatekeeper qa requests a change before the merge, then approves.",
        ),
        (
            _hookline("work", "--once", "-v", "--types", "feature,public", wrap=False),
            Typed(("git", "log", "--graph", "--format=%h %s"), wrap=False),
            Typed(("sh", "greet.sh", "--shout", "Ada", "Bob")),
        ),
    ),
    DemoStep(
        "5. Look at the results",
        (
            "A built-in hook added T-4, a review of the agent's work for you to do.",
            "Every hook call is recorded, so `why` can say why a hook ran or was skipped.",
            "The report shows a whole session on one page.",
        ),
        (
            _hookline("task", "graph"),
            _hookline("why", "links"),
            _hookline("session", "report", "T-1-ada"),
        ),
    ),
)
