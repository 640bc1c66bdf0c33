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

from hookline.domain.text.known_secrets import MIN_LENGTH
from hookline.errors import INTERRUPTED, USAGE, HooklineError, UsageError
from hookline.surfaces.cli.command import WorkName
from hookline.surfaces.cli.endings import hear_endings
from hookline.surfaces.cli.output import columns, note, paint, say
from hookline.surfaces.cli.streams import prepare_streams
from hookline.surfaces.cli.values import known_variables, typed

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hookline.surfaces.cli.command import Command

# argparse would look for translations of each text, of which there are none.
argparse._ = str  # type: ignore[attr-defined]
PACKAGE = "hookline.surfaces.cli"

# Command -> (module, the table in it, summary); a group's table has its own commands. They are
# listed as a newcomer needs them.
SECTIONS: Mapping[str, Mapping[str, tuple[str, str, str]]] = {
    "Start here": {
        "demo": ("demo.demo", "COMMANDS", "see Hookline work in a temporary repository"),
        "init": ("project.init", "COMMANDS", "set up Hookline in this repository"),
        "run": ("sessions.run", "COMMANDS", "run an agent until its work is done"),
        "status": ("project.status", "COMMANDS", "show what runs, what waits and what was done"),
        "doctor": ("project.doctor", "COMMANDS", "check agents, hooks, store and log"),
    },
    "While agents work": {
        "attach": ("sessions.session", "SESSION_COMMANDS", "watch a session"),
        "logs": ("sessions.session", "SESSION_COMMANDS", "show what a session did"),
        "stop": ("sessions.session", "SESSION_COMMANDS", "stop a session, or the worker"),
        "resume": ("sessions.session", "SESSION_COMMANDS", "resume a session"),
        "attention": ("project.attention", "COMMANDS", "show what waits for a person"),
        "report": ("reports.command", "COMMANDS", "report what was done, proven and spent"),
        "insights": (
            "insights.command",
            "COMMANDS",
            "show how work is going, and what to improve",
        ),
        "answer": ("flows.orchestrate", "COMMANDS", "answer a breakpoint"),
        "session": ("sessions.session", "SESSION_COMMANDS", "list, watch and control sessions"),
    },
    "From tasks to merged code": {
        "task": ("tasks.task", "TASK_COMMANDS", "add, claim, finish and draw tasks"),
        "dep": ("tasks.dep", "DEP_COMMANDS", "add, remove and list dependencies"),
        "work": ("work.work", "COMMANDS", "let agents work on tasks until they are merged"),
        "submit": ("gates.submit", "COMMANDS", "submit a task's work to its gates"),
        "gate": ("gates.gate", "GATE_COMMANDS", "show verdicts, approve, reject or override gates"),
        "merge": ("gates.submit", "COMMANDS", "merge a task's submitted work"),
        "worktree": (
            "gates.worktree",
            "WORKTREE_COMMANDS",
            "list and remove the worktrees of tasks",
        ),
        "note": ("tasks.note", "NOTE_COMMANDS", "keep notes for later iterations"),
        "checkpoint": ("tasks.checkpoint", "CHECKPOINT_COMMANDS", "save an agent's progress"),
    },
    "Hooks and their records": {
        "why": ("hooks.why", "COMMANDS", "explain an event, a hook, a task or a run"),
        "hook": ("hooks.hook", "HOOK_COMMANDS", "list, test, replay, enable and disable hooks"),
        "stats": ("hooks.hook", "HOOK_COMMANDS", "show how often hooks ran, failed and decided"),
        "points": ("project.points", "COMMANDS", "list the hook points, or explain one"),
        "validate": ("hooks.validate", "COMMANDS", "run the validation rules now"),
        "events": ("hooks.events", "COMMANDS", "read and follow the event log"),
        "emit": ("hooks.events", "COMMANDS", "add your own event to the log"),
    },
    "Flows": {
        "flow": ("flows.flow", "FLOW_COMMANDS", "start, watch and control runs of flows"),
        "effect": ("flows.effect", "EFFECT_COMMANDS", "list and run a run's effects, post results"),
        "orchestrate": ("flows.orchestrate", "COMMANDS", "advance a run, steered by its hooks"),
    },
    "The project": {
        "check": ("project.config", "COMMANDS", "find every problem in the configuration"),
        "config": (
            "project.config",
            "CONFIG_COMMANDS",
            "show every setting and where it comes from",
        ),
        "schema": ("project.config", "COMMANDS", "print the JSON Schema of hookline.yaml"),
        "trust": ("project.trust", "COMMANDS", "let this repository's hooks run"),
        "prune": ("project.prune", "COMMANDS", "remove the details of old, finished work"),
        "hosts": ("project.hosts", "HOST_COMMANDS", "show and drain machines that share a store"),
        "store": ("project.store", "STORE_COMMANDS", "move the store to a server, or back"),
        "serve": ("project.serve", "COMMANDS", "show this project on a page in your browser"),
        "telemetry": (
            "project.telemetry",
            "TELEMETRY_COMMANDS",
            "send traces and metrics to a collector, and show what was sent",
        ),
        "metrics": ("project.telemetry", "COMMANDS", "print metrics for Prometheus"),
        "mcp": ("project.mcp", "COMMANDS", "serve tools to agents (MCP)"),
        "completion": ("project.completion", "COMMANDS", "print a shell's completion script"),
        "version": ("project.version", "COMMANDS", "print the version"),
        "help": ("project.help", "COMMANDS", "explain a command or a topic"),
    },
}
COMMANDS = {name: entry for section in SECTIONS.values() for name, entry in section.items()}
# Commands whose `--json` is a line for each thing that happens.
WATCHING = ("attach", "logs", "resume")
STREAMS = {
    *(f"hookline {name}" for name in ("run", "work", *WATCHING)),
    *(f"hookline session {name}" for name in WATCHING),
}
GROUPS = frozenset(
    "session task dep note checkpoint flow effect gate hook config worktree store hosts"
    " telemetry".split()
)
# What is meant by a group alone; that of others is their help.
ALONE = {"hosts": "list", "telemetry": "status"}


class Formatter(argparse.HelpFormatter):
    """Help of the terminal's width, found without shutil.

    argparse makes a formatter for each argument, and shutil with its compressors would cost
    more than the rest of the parser.
    """

    def __init__(self, prog: str) -> None:
        super().__init__(prog, width=columns() - 2)


class Parser(argparse.ArgumentParser):
    """An argument parser whose complaints are errors like all others."""

    def error(self, message: str, unknown: Sequence[str] = ()) -> NoReturn:
        """Refuse the command line, for words that it does not know or another reason."""
        help = f"`{self.prog} --help` lists its arguments"
        raise UsageError(message, help=f"{self._near(unknown)}{help}")

    def _near(self, unknown: Sequence[str]) -> str:
        """The option that an unknown one may have meant."""
        from difflib import get_close_matches  # only a wrong word needs it

        typed = next((word.partition("=")[0] for word in unknown if word.startswith("-")), "")
        near = get_close_matches(typed, list(self._option_string_actions), n=1) if typed else []
        return f"did you mean {near[0]}? " if near else ""


def main() -> NoReturn:
    """Run the command line and exit.

    Everything that must be closed is closed by now. Taking the interpreter apart piece by piece
    would cost a tenth of a command and gain nothing.
    """
    prepare_streams()
    hear_endings()
    code = run([_as_utf8(word) for word in sys.argv[1:]])
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except (OSError, ValueError):  # nobody is left to tell
        code = code or 1
    os._exit(code)


def _as_utf8(word: str) -> str:
    """A word as it was typed, where the locale knows ASCII only."""
    try:
        return word if word.isascii() else os.fsencode(word).decode()
    except UnicodeDecodeError:
        return word


def run(argv: Sequence[str]) -> int:
    """Run one command; the exit code."""
    if any(len(word) >= MIN_LENGTH or not word.isprintable() for word in argv):
        variables = known_variables()
        argv = [typed(word, variables) for word in argv]
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
    from hookline.surfaces.cli.crash import report_bug  # only a bug needs it

    around = _surroundings(problem) if isinstance(problem, OSError) else None
    if around is None:
        return report_bug(problem, argv)
    _report(around, as_json="--json" in argv)
    return around.exit_code


def _surroundings(problem: OSError) -> HooklineError | None:
    """What is wrong around us, and not a bug: stdout is full, or our folder is gone."""
    if _is_of_stdout(problem):
        _drop_stdout()
        return HooklineError(f"cannot write to stdout: {problem.strerror}")
    try:
        os.getcwd()
    except FileNotFoundError:
        return HooklineError("the current folder is gone", help="change to an existing folder")
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
    name, *rest = argv or [_bare()]
    name = {"-h": "help", "--help": "help", "-V": "version", "--version": "version"}.get(name, name)
    if name not in COMMANDS:
        raise UsageError(f"there is no command '{name}'", help=suggestion(name, COMMANDS))
    module, table, summary = COMMANDS[name]
    commands: dict[str, Command] = getattr(import_module(f"{PACKAGE}.{module}"), table)
    if name not in GROUPS:
        return _execute(f"hookline {name}", commands[name], rest)
    if name in ALONE and rest in ([], ["--json"]):
        rest = [ALONE[name], *rest]
    if not rest or rest[0] in ("-h", "--help"):
        return _group_help(name, summary, commands, asked=bool(rest))
    if rest[0] not in commands:
        help = suggestion(rest[0], commands, name)
        raise UsageError(f"there is no command '{name} {rest[0]}'", help=help)
    return _execute(f"hookline {name} {rest[0]}", commands[rest[0]], rest[1:])


def _execute(prog: str, command: Command, argv: Sequence[str]) -> int:
    parser = Parser(
        prog=prog, description=command.summary, allow_abbrev=False, formatter_class=Formatter
    )
    command.arguments(parser)
    told = "a JSON value per line on stdout" if prog in STREAMS else "one JSON value on stdout"
    parser.add_argument("--json", action="store_true", help=told)
    args, unknown = parser.parse_known_args(argv)
    if unknown:
        parser.error(f"unrecognized arguments: {' '.join(unknown)}", unknown)
    args.words = argv
    _settle_names(args)
    return command.run(args) or 0


def _settle_names(args: argparse.Namespace) -> None:
    """Let a task, a run and a session be named by each other."""

    def settled(value: object) -> object:
        return value.meant() if isinstance(value, WorkName) else value

    for name, value in vars(args).items():
        many = isinstance(value, list)
        setattr(args, name, [settled(each) for each in value] if many else settled(value))


def _bare() -> str:
    """What is meant by `hookline` alone: the project's status, or how to begin."""
    # A command that is named finds its project itself.
    from hookline.errors import NoProject
    from hookline.project import find_project

    try:
        return (
            "status" if os.path.exists(find_project(os.getcwd(), os.environ).database) else "help"
        )
    except NoProject:
        return "help"


def _group_help(name: str, summary: str, commands: Mapping[str, Command], asked: bool) -> int:
    write = say if asked else note
    write(f"hookline {name}: {summary}")
    write("")
    for verb, command in commands.items():
        write(f"  hookline {name} {verb:10} {command.summary}")
    return 0 if asked else USAGE


def suggestion(name: str, known: Mapping[str, object], group: str = "") -> str:
    """What to type instead of a word that nothing is called."""
    from difflib import get_close_matches  # only a wrong word needs it

    near = get_close_matches(name, list(known), n=1)
    prefix = f"hookline {group}".strip()
    return f"did you mean `{prefix} {near[0]}`?" if near else f"`{prefix} --help` lists them all"


def _report(problem: HooklineError, *, as_json: bool) -> None:
    sys.stdout.flush()
    if as_json:
        from hookline.surfaces.cli.crash import error_json  # only programs read it

        print(error_json(problem), file=sys.stderr)
        return
    note(f"{paint('error', 'red', sys.stderr)}[{problem.code}]: {problem.message}")
    if problem.help:
        note(f"  = help: {problem.help}")
