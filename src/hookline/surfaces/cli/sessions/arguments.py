"""Arguments that several commands about sessions take."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookline.domain.sessions.limits import BUDGETS, limit_problem
from hookline.errors import BadInput
from hookline.surfaces.cli.command import run_of_folder

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace


def session_argument(p: ArgumentParser, *, obvious: str | None = None) -> None:
    """The session that a command is about; without a name, the `obvious` one."""
    help = "the session's name, its run, such as R-3, the run's folder, or its task"
    if obvious is None:
        p.add_argument("name", help=help, type=run_of_folder)
    else:
        help = f"{help} (default: {obvious})"
        p.add_argument("name", nargs="?", help=help, type=run_of_folder)


def limit_arguments(p: ArgumentParser) -> None:
    """What a session may use."""
    p.add_argument("--iterations", type=int, metavar="N", help="stop after N iterations")
    p.add_argument("--minutes", type=float, metavar="N", help="stop after N minutes")
    p.add_argument("--usd", type=float, metavar="N", help="stop once this much is spent")
    p.add_argument("--tokens", type=int, metavar="N", help="stop after N tokens")


def verbose_argument(p: ArgumentParser) -> None:
    """How much is shown."""
    help = "show more about each step; -vv adds what hooks and the agent say"
    p.add_argument("-v", dest="verbose", action="count", default=0, help=help)


def given_limits(args: Namespace) -> dict[str, float]:
    """The limits that were typed; each must leave room for something."""
    limits = {name: value for name in BUDGETS if (value := getattr(args, name)) is not None}
    for name, value in limits.items():
        if (problem := limit_problem(name, value)) is not None:
            help = f"such as --{name} 10; leave it out for what hookline.yaml says"
            raise BadInput(f"--{name} {problem}", help=help)
    return limits
