"""`hookline version`: which version this is."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from hookline.surfaces.cli.command import Command, no_arguments
from hookline.surfaces.cli.output import answer
from hookline.version import __version__

if TYPE_CHECKING:
    from argparse import Namespace


def _version(args: Namespace) -> None:
    python = ".".join(map(str, sys.version_info[:3]))
    answer(args, {"version": __version__, "python": python}, f"hookline {__version__}")


COMMANDS = {"version": Command("print the version", no_arguments, _version)}
