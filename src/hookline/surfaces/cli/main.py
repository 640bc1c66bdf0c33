"""The command line: finds the command, builds only its parser, and turns errors into exit codes.

This is the one module that imports others by name when they are asked for: a command pays only
for what it uses.
"""

from __future__ import annotations

import argparse
import os
import sys
from importlib import import_module
from typing import TYPE_CHECKING, NoReturn

from hookline.domain.known_secrets import MIN_LENGTH
from hookline.errors import INTERRUPTED, USAGE, HooklineError, UsageError
from hookline.surfaces.cli.endings import hear_endings
from hookline.surfaces.cli.output import columns, note, paint, say
from hookline.surfaces.cli.values import known_variables, without_secrets

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hookline.surfaces.cli.command import Command

_HERE = "hookline.surfaces.cli"

# command -> (module, the table in it, summary); a group's table has commands of its own.
COMMANDS: Mapping[str, tuple[str, str, str]] = {
    "init": ("init", "COMMANDS", "set up Hookline in this repository"),
    "demo": ("demo", "COMMANDS", "see it work in a temporary repository"),
    "run": ("run", "COMMANDS", "let an agent work until it is done"),
    "session": ("session", "SESSION_COMMANDS", "list, watch, steer and report sessions"),
    "task": ("task", "TASK_COMMANDS", "add, claim, finish and draw tasks"),
    "dep": ("dep", "DEP_COMMANDS", "dependencies between tasks"),
    "note": ("note", "NOTE_COMMANDS", "what the next one should know"),
    "checkpoint": ("checkpoint", "CHECKPOINT_COMMANDS", "where agents stood in their tasks"),
    "events": ("events", "COMMANDS", "read and follow the event log"),
    "emit": ("events", "COMMANDS", "send an event of your own"),
    "flow": ("flow", "FLOW_COMMANDS", "start, watch and steer runs of flows"),
    "effect": ("effect", "EFFECT_COMMANDS", "the effects of a run: list, run, post"),
    "orchestrate": ("orchestrate", "COMMANDS", "advance a run, steered by its hooks"),
    "work": ("work", "COMMANDS", "agents take tasks and see them merged"),
    "answer": ("orchestrate", "COMMANDS", "answer a breakpoint"),
    "worktree": ("worktree", "WORKTREE_COMMANDS", "the checkouts of tasks: list, clean"),
    "attention": ("attention", "COMMANDS", "what waits for a person"),
    "submit": ("submit", "COMMANDS", "let a task's work pass its gates"),
    "merge": ("submit", "COMMANDS", "merge a task's submitted work"),
    "gate": ("gate", "GATE_COMMANDS", "what gates say, and which stand where"),
    "hook": ("hook", "HOOK_COMMANDS", "list, test, replay and switch hooks"),
    "why": ("why", "COMMANDS", "explain an event, a hook, a task or a run"),
    "validate": ("validate", "COMMANDS", "run the validation rules now"),
    "points": ("config", "COMMANDS", "every hook point, its payload and variables"),
    "check": ("config", "COMMANDS", "find every problem in the configuration"),
    "config": ("config", "CONFIG_COMMANDS", "the effective configuration and its origins"),
    "schema": ("config", "COMMANDS", "JSON Schema of hookline.yaml, for editors"),
    "mcp": ("mcp", "COMMANDS", "serve the tools that agents call"),
    "trust": ("trust", "COMMANDS", "let this repository's hooks run"),
    "doctor": ("doctor", "COMMANDS", "check agents, hooks, store and log"),
}
# Commands whose `--json` is a line for each thing that happens.
STREAMS = frozenset(
    f"hookline {name}" for name in ("run", "work", "session attach", "session resume")
)
GROUPS = frozenset(
    {
        "session",
        "task",
        "dep",
        "note",
        "checkpoint",
        "flow",
        "effect",
        "gate",
        "hook",
        "config",
        "worktree",
    }
)


class Formatter(argparse.HelpFormatter):
    """Help of the terminal's width, found without shutil.

    argparse makes a formatter for each argument, and shutil with its compressors would cost
    more than the rest of the parser.
    """

    def __init__(self, prog: str) -> None:
        super().__init__(prog, width=columns() - 2)


class Parser(argparse.ArgumentParser):
    """An argument parser whose complaints are errors like all others."""

    def error(self, message: str) -> NoReturn:
        """Refuse the command line."""
        raise UsageError(message, help=f"`{self.prog} --help` shows what it takes")


def main() -> NoReturn:
    """Run the command line and exit.

    Everything that must be closed is closed by now. Taking the interpreter apart piece by piece
    would cost a tenth of a command and gain nothing.
    """
    _replace_closed_streams()
    hear_endings()
    code = run(sys.argv[1:])
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except (OSError, ValueError):  # nobody is left to tell
        code = code or 1
    os._exit(code)


def _replace_closed_streams() -> None:
    """Whoever closed stdout or stderr wants to hear nothing, and that is no error."""
    sys.stdin = sys.stdin or open(os.devnull)  # noqa: SIM115  # kept for the whole process
    sys.stdout = sys.stdout or open(os.devnull, "w")  # noqa: SIM115
    sys.stderr = sys.stderr or open(os.devnull, "w")  # noqa: SIM115


def run(argv: Sequence[str]) -> int:
    """Run one command; the exit code."""
    if any(len(word) >= MIN_LENGTH for word in argv):
        variables = known_variables()
        argv = [without_secrets(word, variables) for word in argv]
    try:
        code = _run(argv)
        sys.stdout.flush()
        return code
    except HooklineError as problem:
        _report(problem, as_json="--json" in argv)
        return problem.exit_code
    except KeyboardInterrupt as told:
        note(str(told) or "interrupted")
        return INTERRUPTED
    except BrokenPipeError:  # the reader went away
        _drop_stdout()
        return 1
    except Exception as problem:  # noqa: BLE001  # the outer boundary: a bug becomes a report
        return _last_resort(problem, argv)


def _last_resort(problem: Exception, argv: Sequence[str]) -> int:
    from hookline.surfaces.cli.crash import report_bug

    around = _surroundings(problem) if isinstance(problem, OSError) else None
    if around is None:
        return report_bug(problem, argv)
    _report(around, as_json="--json" in argv)
    return around.exit_code


def _surroundings(problem: OSError) -> HooklineError | None:
    """What is wrong around us, and no bug: stdout takes no more, or our folder is gone."""
    if _is_of_stdout(problem):
        _drop_stdout()
        return HooklineError(f"cannot write to stdout: {problem.strerror}")
    try:
        os.getcwd()
    except FileNotFoundError:
        return HooklineError("the current folder is gone", help="go to one that is there")
    return None


def _is_of_stdout(problem: OSError) -> bool:
    trace = problem.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is not None and trace.tb_frame.f_globals["__name__"] == say.__module__:
        return True
    try:
        sys.stdout.flush()  # what could not be written is still held, and tried again
    except OSError:
        return True
    return False


def _drop_stdout() -> None:
    """What Python still holds for stdout has nowhere to go."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _run(argv: Sequence[str]) -> int:
    if not argv or argv[0] in ("-h", "--help", "help"):
        return _help()
    if argv[0] in ("-V", "--version"):
        from hookline import __version__

        say(f"hookline {__version__}")
        return 0
    name, rest = argv[0], list(argv[1:])
    if name not in COMMANDS:
        raise UsageError(f"there is no command '{name}'", help=_suggest(name, COMMANDS))
    module, table, summary = COMMANDS[name]
    commands: dict[str, Command] = getattr(import_module(f"{_HERE}.{module}"), table)
    if name not in GROUPS:
        return _execute(f"hookline {name}", commands[name], rest)
    if not rest or rest[0] in ("-h", "--help"):
        return _group_help(name, summary, commands, asked=bool(rest))
    if rest[0] not in commands:
        raise UsageError(
            f"there is no command '{name} {rest[0]}'", help=_suggest(rest[0], commands, name)
        )
    return _execute(f"hookline {name} {rest[0]}", commands[rest[0]], rest[1:])


def _execute(prog: str, command: Command, argv: Sequence[str]) -> int:
    parser = Parser(
        prog=prog, description=command.summary, allow_abbrev=False, formatter_class=Formatter
    )
    command.arguments(parser)
    told = "a JSON value per line on stdout" if prog in STREAMS else "one JSON value on stdout"
    parser.add_argument("--json", action="store_true", help=told)
    return command.run(parser.parse_args(argv)) or 0


def _help() -> int:
    say("Hookline runs AI coding agents unattended, with a hook at every point of their work.")
    say()
    say("usage: hookline COMMAND [arguments] [--json]")
    say()
    for name, (_, _, summary) in COMMANDS.items():
        say(f"  {paint(f'{name:11}', 'bold')}  {summary}")
    say()
    say("`hookline COMMAND --help` explains each. First time here? Try `hookline demo`.")
    return 0


def _group_help(name: str, summary: str, commands: Mapping[str, Command], asked: bool) -> int:
    write = say if asked else note
    write(f"hookline {name}: {summary}")
    write("")
    for verb, command in commands.items():
        write(f"  hookline {name} {verb:10} {command.summary}")
    return 0 if asked else USAGE


def _suggest(name: str, known: Mapping[str, object], group: str = "") -> str:
    from difflib import get_close_matches  # only a wrong word needs it

    near = get_close_matches(name, list(known), n=1)
    prefix = f"hookline {group}".strip()
    if near:
        return f"did you mean `{prefix} {near[0]}`?"
    return f"`{prefix} --help` lists them all"


def _report(problem: HooklineError, *, as_json: bool) -> None:
    sys.stdout.flush()
    if as_json:
        from hookline.surfaces.cli.crash import error_json

        print(error_json(problem), file=sys.stderr)
        return
    note(f"{paint('error', 'red', sys.stderr)}[{problem.code}]: {problem.message}")
    if problem.help:
        note(f"  = help: {problem.help}")
