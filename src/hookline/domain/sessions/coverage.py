"""How much of the code a coverage report says is covered: lcov, JSON or Cobertura's XML.

A report is a file that anyone can write, so it is read within bounds and believed only if whole.
"""

from __future__ import annotations

import io
import math
from collections.abc import Callable
from typing import Any
from xml.parsers import expat

import msgspec

from hookline import typed
from hookline.errors import BadInput

MAX_REPORT = 32 * 1024 * 1024
# Where the common tools leave their reports; the first that is there is read.
USUAL_REPORTS = (
    "coverage.xml",
    "coverage.json",
    "lcov.info",
    "coverage.lcov",
    "coverage/lcov.info",
    "coverage/coverage-summary.json",
    "coverage/cobertura-coverage.xml",
)


class _Totals(msgspec.Struct):
    """coverage.py's sums; without statements it reports 100 per cent."""

    percent_covered: float
    num_statements: int


class _CoveragePy(msgspec.Struct):
    totals: _Totals


class _LineCounts(msgspec.Struct):
    total: int
    covered: int


class _Total(msgspec.Struct):
    lines: _LineCounts


class _Istanbul(msgspec.Struct):
    total: _Total


def line_coverage(report: bytes) -> float:
    """The covered lines in per cent; BadInput for what is not a whole report of a known kind."""
    if len(report) > MAX_REPORT:
        raise BadInput(f"the coverage report is longer than {MAX_REPORT >> 20} MiB")
    text = report.removeprefix(b"\xef\xbb\xbf").lstrip()
    percent = _reader_of(text)(text)
    if not math.isfinite(percent) or not 0 <= percent <= 100:
        raise BadInput(f"the coverage report says {percent:g} percent, which is impossible")
    return percent


def _reader_of(text: bytes) -> Callable[[bytes], float]:
    if text.startswith(b"<"):
        return _cobertura
    if text.startswith(b"{"):
        return _json
    return _lcov


def _json(text: bytes) -> float:
    try:
        if "totals" in typed.decode(text, dict[str, msgspec.Raw]):
            totals = typed.decode(text, _CoveragePy).totals
            return _counted(totals.num_statements, totals.percent_covered)
        lines = typed.decode(text, _Istanbul).total.lines
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as problem:
        raise BadInput(
            f"the coverage report is not one of coverage.py or Istanbul: {problem}",
            help="make it with `coverage json`, or with Istanbul's json-summary reporter",
        ) from problem
    return _counted(lines.total, 100 * lines.covered / max(lines.total, 1))


def _lcov(text: bytes) -> float:
    counts = {b"LF": 0, b"LH": 0}
    lines = hit_lines = 0
    is_open = is_whole = False
    for line in io.BytesIO(text):
        key, _, value = line.strip().partition(b":")
        if key == b"SF":
            is_open = True
        elif key == b"end_of_record":
            is_open, is_whole = False, True
        elif key == b"DA":
            lines += 1
            hit_lines += _number(value.split(b",")[1:2]) > 0
        elif key in counts:
            counts[key] += _number([value])
    if is_open or not is_whole:
        help = "lcov records begin with SF: and end with end_of_record"
        raise BadInput("the coverage report is not a whole lcov, JSON or Cobertura file", help=help)
    if not lines:
        lines, hit_lines = counts[b"LF"], counts[b"LH"]
    return _counted(lines, 100 * hit_lines / max(lines, 1))


def _number(found: list[bytes]) -> int:
    digits = found[0] if found else b""
    if not digits.isdigit() or len(digits) > 18:
        raise BadInput(f"the coverage report counts {digits[:40]!r}, which is not a number")
    return int(digits)


def _cobertura(text: bytes) -> float:
    root: dict[str, Any] = {}

    def begin(name: str, attributes: dict[str, str]) -> None:
        if not root:
            root.update(attributes, _name=name)

    parser = expat.ParserCreate()
    parser.StartElementHandler = begin
    parser.EntityDeclHandler = _refuse_entity
    try:
        parser.Parse(text, True)
    except expat.ExpatError as problem:
        raise BadInput(f"the coverage report is not whole XML: {problem}") from problem
    if root["_name"] != "coverage" or "line-rate" not in root:
        raise BadInput(
            f"the coverage report is not Cobertura's: its root is <{root['_name'][:40]}>",
            help="Cobertura's root is <coverage line-rate=...>; `coverage xml` writes that",
        )
    # Reports that do not count their lines are believed to have some.
    lines = _number([str(root.get("lines-valid", "1")).encode()])
    return _counted(lines, 100 * _rate(root["line-rate"]))


def _refuse_entity(*details: object) -> None:
    raise BadInput("the coverage report declares XML entities, which are not allowed")


def _rate(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise BadInput(f"the coverage report's line-rate is {text[:40]!r}, not a number") from None


def _counted(lines: int, percent: float) -> float:
    if lines <= 0:
        raise BadInput("the coverage report covers no lines", help="run the tests with coverage on")
    return percent
