"""`hookline help`: the commands in groups, one command, a hook point, or a topic."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookline.errors import UsageError
from hookline.points import POINTS
from hookline.surfaces.cli import main
from hookline.surfaces.cli.command import Command
from hookline.surfaces.cli.output import answer, paint, untrusted

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Iterator

# What people look for that is not a command.
TOPICS = {
    "agents": """\
Hookline drives Claude Code, Codex, every agent that speaks the Agent Client Protocol, and any
program that takes a prompt. A profile under `agents:` in hookline.yaml says how; `hookline init`
writes one for each agent that it finds, `hookline doctor` says which can start.""",
    "budget": """\
A session ends at its limits: --iterations, --minutes, --usd, --tokens, or `session: {budget: ...}`
in hookline.yaml. It also ends when the agent repeats itself, changes nothing or keeps failing.
`hookline session show` says how much is used, `hookline resume --iterations N` raises a limit.""",
    "environment": """\
HOOKLINE_HOME  your own folder: trust, user hooks (default ~/.config/hookline)
HOOKLINE_DIR   the project's .hookline folder (default: found from the current folder)
NO_COLOR       no colours
Hooks and agents get HOOKLINE_TASK_ID, HOOKLINE_SESSION and others: `hookline points NAME`.""",
    "exit-codes": """\
0 ok    1 failed    2 wrong usage or configuration    3 blocked by a gate
4 needs a person    5 a limit was reached    130 interrupted""",
    "files": """\
hookline.yaml          the configuration; `hookline check` finds its problems
.hookline/hookline.db  tasks, events and records of hooks; never edit it
.hookline/hooks/       hook scripts of the project, one folder for each point
.hookline/worktrees/   a checkout for each task that goes through gates
.hookline/logs/        a line for each hook call, and what background commands print""",
    "overnight": """\
hookline run "GOAL" --detach    an agent works on one goal, in the background
hookline work --detach          agents take task after task until they are merged
hookline status                 what runs, what waits for you, what was merged
hookline report                 in the morning: what was done, and what proves it
Closing the terminal changes nothing. A killed session is resumed once, then waits for you.""",
    "telemetry": """\
`telemetry: {endpoint: URL}` in your own hookline.yaml, or OTEL_EXPORTER_OTLP_ENDPOINT, sends each
iteration as a trace to a collector: turns, tools, hooks and gates, without what was said. It needs
`hookline[otel]`. `hookline telemetry status` says what was sent, `hookline metrics` prints figures
for Prometheus.""",
    "trust": """\
Code that comes with a repository runs only after `hookline trust`: hookline.yaml, the scripts it
names, and .hookline/hooks. After a change, what changed waits until you trust it again. An agent
runs as your user: this is not a security boundary.""",
    "undo": """\
A session in your own folder changes files and commits nothing: `git status` shows it,
`git stash -u -- ':!hookline.yaml'` takes it away. The work of a task is on its own branch,
hookline/T-12; a merge is a commit like any other (`git revert -m 1`). `hookline stop` stops an
agent, `hookline task cancel` a task.""",
}


def _arguments(p: ArgumentParser) -> None:
    names = ", ".join(TOPICS)
    p.add_argument("topic", nargs="*", help=f"a command, a hook point, or one of: {names}")


def _help(args: Namespace) -> int:
    first = args.topic[0] if args.topic else None
    if first is None:
        told = {
            name: {c: entry[2] for c, entry in group.items()}
            for name, group in main.SECTIONS.items()
        }
        answer(args, told, *_overview())
        return 0
    if first in TOPICS:
        answer(args, {"topic": first, "text": TOPICS[first]}, *TOPICS[first].split("\n"))
        return 0
    if first in main.COMMANDS:
        return main.run([*args.topic, "--help"])
    if first in POINTS:
        return main.run(["points", first])
    near = main.suggestion(first, {**TOPICS, **main.COMMANDS}, "help")
    raise UsageError(f"there is no command or topic '{untrusted(first, 60)}'", help=near)


def _overview() -> Iterator[str]:
    yield "Hookline runs AI coding agents unattended, with a hook at every point of their work."
    yield ""
    yield "usage: hookline COMMAND [arguments] [--json]"
    for title, group in main.SECTIONS.items():
        yield ""
        yield paint(title, "bold")
        for name, (_, _, summary) in group.items():
            yield f"  {name:11}  {summary}"
    yield ""
    yield "`hookline COMMAND --help` explains a command, `hookline help TOPIC` one of:"
    yield f"  {', '.join(TOPICS)}"


COMMANDS = {"help": Command("explain a command or a topic", _arguments, _help)}
