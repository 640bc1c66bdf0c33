"""Arguments that several commands about sessions take."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from hookline.domain.limits import BUDGETS
from hookline.errors import BadInput
from hookline.surfaces.cli.command import run_argument

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

MOST = {"iterations": 1_000_000, "tokens": 10**15}


def session_argument(p: ArgumentParser) -> None:
    """The session that a command is about."""
    run_argument(p, "name", help="the session's name, or its run such as R-3, or that one's folder")


def limit_arguments(p: ArgumentParser) -> None:
    """What a session may use."""
    p.add_argument("--iterations", type=int, metavar="N", help="at most so many iterations")
    p.add_argument("--minutes", type=float, metavar="N", help="at most so many minutes")
    p.add_argument("--usd", type=float, metavar="N", help="at most so much money")
    p.add_argument("--tokens", type=int, metavar="N", help="at most so many tokens")


def verbose_argument(p: ArgumentParser) -> None:
    """How much is shown."""
    p.add_argument(
        "-v",
        dest="verbose",
        action="count",
        default=0,
        help="more about each step; -vv shows what hooks and the agent say",
    )


def given_limits(args: Namespace) -> dict[str, Any]:
    """The limits that were typed; each must leave room for something."""
    limits = {name: value for name in BUDGETS if (value := getattr(args, name)) is not None}
    for name, value in limits.items():
        least = 1 if isinstance(value, int) else 0
        if name in MOST and value > MOST[name]:
            raise BadInput(f"--{name} must be at most {MOST[name]:,}")
        if not math.isfinite(value):
            raise BadInput(f"--{name} must be a number")
        if value < least or not value:
            raise BadInput(f"--{name} must be {'at least 1' if least else 'more than 0'}")
    return limits
