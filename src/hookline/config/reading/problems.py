"""Problems of a configuration: what is wrong, where, what follows from it, and the remedy."""

from __future__ import annotations

import msgspec

from hookline.immutable import Immutable

ERROR = "error"
WARNING = "warning"


class Mark(Immutable):
    """A place in a file, counted from 1; line 0 means the file as a whole."""

    file: str
    line: int = 0
    column: int = 0
    length: int = 0

    def __str__(self) -> str:
        return f"{self.file}:{self.line}" if self.line else self.file


class Problem(msgspec.Struct, frozen=True, kw_only=True):
    """One finding, with its place; the fields are those of `hookline check --format json`."""

    code: str
    severity: str
    message: str
    file: str
    line: int = 0
    column: int = 0
    length: int = 0
    consequence: str = ""
    help: str = ""


class Problems:
    """Collects problems, each once, so that all of them can be shown together."""

    def __init__(self) -> None:
        self._found: dict[Problem, None] = {}

    def error(
        self, code: str, mark: Mark, message: str, *, help: str = "", consequence: str = ""
    ) -> None:
        """Something that must be fixed before anything configured runs."""
        self._add(ERROR, code, mark, message, help, consequence)

    def warning(
        self, code: str, mark: Mark, message: str, *, help: str = "", consequence: str = ""
    ) -> None:
        """Something that works but hardly as intended."""
        self._add(WARNING, code, mark, message, help, consequence)

    def _add(
        self, severity: str, code: str, mark: Mark, message: str, help: str, consequence: str
    ) -> None:
        found = Problem(
            severity=severity,
            code=code,
            message=message,
            help=help,
            consequence=consequence,
            **msgspec.structs.asdict(mark),
        )
        self._found[found] = None

    @property
    def errors(self) -> int:
        """How many errors there are so far."""
        return sum(each.severity == ERROR for each in self._found)

    @property
    def problems(self) -> list[Problem]:
        """Every problem, by file and place."""
        return sorted(self._found, key=lambda each: (each.file, each.line, each.column))
