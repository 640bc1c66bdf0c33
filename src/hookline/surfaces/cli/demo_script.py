"""What the demo says and types, step by step."""

from __future__ import annotations

from typing import NamedTuple

SUCCESS = (0,)


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


def _hookline(*words: str, wrap: bool = True) -> Typed:
    return Typed(("hookline", *words), wrap=wrap)


SCRIPT = (
    Step(
        "1. Everything is a few lines in hookline.yaml",
        (
            "Two agents, the project's tests, and hooks around the work: some talk to the",
            "agent, some decide when it is done, some stand as gates before main.",
            "(The agents are scripts, so that this needs no key and no network.)",
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
            "The last one is of the type `public`, which a gatekeeper judges; its label",
            "`agent` asks for a review. In the graph, ○ can be worked on, · waits.",
        ),
        (
            _hookline("task", "add", "Write greet.sh, for one name", "--type", "feature"),
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
    Step(
        "4. The agents take them to merged code, alone",
        (
            "T-1: ada says that it is done, and a test fails. The stop hook goes on, the",
            "     failure goes to ada, and she fixes it. `links` has nothing to look at.",
            "T-2: the gate `changelog` blocks; ada is told why, and all gates run again.",
            "T-3: the gatekeeper qa asks for a change before the merge, then approves.",
        ),
        (
            _hookline("work", "--once", "-v", "--types", "feature,public", wrap=False),
            Typed(("git", "log", "--graph", "--format=%h %s"), wrap=False),
            Typed(("sh", "greet.sh", "--shout", "Ada", "Bob")),
        ),
    ),
    Step(
        "5. What came of it, and why",
        (
            "A built-in hook made the review T-4 of what an agent did; it is left to you.",
            "Every call is on record: the condition with its values, or what was said.",
            "The report is one page with the whole story of a session.",
        ),
        (
            _hookline("task", "graph"),
            _hookline("why", "links"),
            _hookline("session", "report", "T-1-ada"),
        ),
    ),
)
