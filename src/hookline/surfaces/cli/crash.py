"""What happens to errors: JSON for programs, and a log to paste for a bug of Hookline."""

from __future__ import annotations

import os
import platform
import sys
import tempfile
import traceback
from collections.abc import Sequence

from hookline.domain.text.display import json_line
from hookline.errors import FAILED, HooklineError
from hookline.surfaces.cli.output import note
from hookline.version import __version__


def error_json(problem: HooklineError) -> str:
    """An error as `{"error": {"code", "message", "help"}}`."""
    # JSON holds text alone: bytes that were none are shown as such.
    message = problem.message.encode("utf-8", "backslashreplace").decode()
    return json_line({"error": {"code": problem.code, "message": message, "help": problem.help}})


def report_bug(problem: BaseException, argv: Sequence[str]) -> int:
    """Write a log that can be pasted into a report, and say where it is."""
    details = "".join(traceback.format_exception(problem))
    text = (
        f"hookline {__version__}, Python {platform.python_version()}, {platform.platform()}\n"
        f"command: {' '.join(argv[:2])}\n\n{details}"
    )
    handle, path = tempfile.mkstemp(prefix="hookline-", suffix=".log")
    with os.fdopen(handle, "w", encoding="utf-8", errors="backslashreplace") as file:
        file.write(text)
    message = f"this is a bug in Hookline: {type(problem).__name__}: {problem}"
    bug = HooklineError(message, help=f"please report it with {path}")
    if "--json" in argv:
        print(error_json(bug), file=sys.stderr)
    else:
        note(f"error[bug]: {bug.message}")
        note(f"  = help: {bug.help}")
    return FAILED
