"""`hookline completion`: a script that lets a shell complete commands, their options, and names."""

from __future__ import annotations

import argparse
from contextlib import closing
from importlib import import_module
from typing import TYPE_CHECKING, Any

from hookline.app import App
from hookline.errors import HooklineError, UsageError
from hookline.queries.references import RUNS, SESSIONS, TASKS, known_names
from hookline.surfaces.cli import main
from hookline.surfaces.cli.command import Command, TaskName, run_name, run_of_folder
from hookline.surfaces.cli.output import answer

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Iterator

# The kind of what an argument names, by how the argument is read.
_KINDS: dict[Any, str] = {TaskName: TASKS, run_of_folder: SESSIONS, run_name: RUNS}
HOW = {
    "bash": 'add to ~/.bashrc: eval "$(hookline completion bash)"',
    "zsh": 'add to ~/.zshrc: eval "$(hookline completion zsh)"',
    "fish": "run once: hookline completion fish > ~/.config/fish/completions/hookline.fish",
}


def _arguments(p: ArgumentParser) -> None:
    p.add_argument("shell", nargs="?", choices=tuple(HOW), help="; ".join(HOW.values()))
    help = "print ids and names for the completion scripts"
    p.add_argument("--names", nargs="+", choices=(TASKS, SESSIONS, RUNS), help=help)


def _completion(args: Namespace) -> None:
    if args.names is not None:
        names = _names(args.names)
        answer(args, names, *names)
        return
    if args.shell is None:
        raise UsageError("name a shell", help="; ".join(HOW.values()))
    text = {"bash": _bash, "zsh": _zsh, "fish": _fish}[args.shell]()
    answer(args, {"shell": args.shell, "script": text}, *text.rstrip("\n").split("\n"))


def _names(kinds: list[str]) -> list[str]:
    try:
        with closing(App.open(read_only=True)) as app, app.read() as view:
            return known_names(view, kinds)
    except HooklineError:  # nobody asked for this command, so nobody is told
        return []


def _words() -> Iterator[tuple[str, list[str], list[str]]]:
    """What may follow each command: its own commands, or its options and kinds of names."""
    for name, (module, table, _) in main.COMMANDS.items():
        commands = getattr(import_module(f"{main.PACKAGE}.{module}"), table)
        if name not in main.GROUPS:
            yield name, *_options(commands[name])
            continue
        yield name, list(commands), []
        for verb, command in commands.items():
            yield f"{name} {verb}", *_options(command)


def _options(command: Command) -> tuple[list[str], list[str]]:
    parser = argparse.ArgumentParser(add_help=False)
    command.arguments(parser)
    found = [word for action in parser._actions for word in action.option_strings]
    choices = [str(c) for a in parser._actions if not a.option_strings for c in a.choices or ()]
    options = [*choices, *(word for word in found if word.startswith("--")), "--json", "--help"]
    kinds = {_KINDS[action.type] for action in parser._actions if action.type in _KINDS}
    return options, sorted(kinds)


def _bash() -> str:
    cases = "\n".join(
        f'    "{key}") words="{" ".join(found)}" names="{" ".join(names)}" ;;'
        for key, found, names in _words()
    )
    return f"""\
_hookline() {{
  local words names key="${{COMP_WORDS[1]}}" current="${{COMP_WORDS[COMP_CWORD]}}"
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W "{" ".join(main.COMMANDS)}" -- "$current"))
    return
  fi
  if [ "$COMP_CWORD" -gt 2 ]; then
    case " {" ".join(sorted(main.GROUPS))} " in *" $key "*) key="$key ${{COMP_WORDS[2]}}" ;; esac
  fi
  case "$key" in
{cases}
  esac
  if [ -n "$names" ] && [ "${{current#-}}" = "$current" ]; then
    words="$words $(hookline completion --names $names 2> /dev/null)"
  fi
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}}
complete -o default -F _hookline hookline
"""


def _zsh() -> str:
    return f"autoload -Uz bashcompinit && bashcompinit\n{_bash()}"


def _fish() -> str:
    lines = ["complete -c hookline -f"]
    for name, (_, _, summary) in main.COMMANDS.items():
        told = summary.replace("'", "\\'")
        lines.append(f"complete -c hookline -n __fish_use_subcommand -a {name} -d '{told}'")
    for key, found, names in _words():
        first, _, verb = key.partition(" ")
        seen = f"__fish_seen_subcommand_from {first}"
        if verb:
            seen += f"; and __fish_seen_subcommand_from {verb}"
        lines.append(f"complete -c hookline -n '{seen}' -a '{' '.join(found)}'")
        if names:
            ask = f"(hookline completion --names {' '.join(names)} 2> /dev/null)"
            lines.append(f"complete -c hookline -n '{seen}' -a '{ask}'")
    return "\n".join(lines) + "\n"


COMMANDS = {"completion": Command("print a shell's completion script", _arguments, _completion)}
