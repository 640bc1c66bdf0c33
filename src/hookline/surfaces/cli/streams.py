"""The streams of a command: there even if they were closed, and able to take any text."""

from __future__ import annotations

import codecs
import io
import os
import sys

_ERRORS = "hookline.plain"
# What a stream shows that has no such characters: as wide, and each mark unlike the others.
_PLAIN = dict(
    zip(
        "✓✗●○·–…│├└─┄→←⑂▲⧖↻⊘⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏✅❌🟡",  # noqa: RUF001  # the marks that we print
        r"+x*o--~||`-.><Y!%@/|/-\|/-\|/Vx!",
        strict=True,
    )
)


def prepare_streams() -> None:
    """Have all three streams; what one of them cannot encode is replaced, never an error.

    Whoever closed stdout or stderr wants to hear nothing, and that is not an error.
    """
    sys.stdin = sys.stdin or open(os.devnull)  # noqa: SIM115  # kept for the whole process
    sys.stdout = sys.stdout or open(os.devnull, "w")  # noqa: SIM115
    sys.stderr = sys.stderr or open(os.devnull, "w")  # noqa: SIM115
    codecs.register_error(_ERRORS, _in_plain)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors=_ERRORS)


def _in_plain(problem: UnicodeError) -> tuple[str, int]:
    if not isinstance(problem, UnicodeEncodeError):
        raise problem
    unknown = problem.object[problem.start : problem.end]
    return "".join(_PLAIN.get(each, "?") for each in unknown), problem.end
