"""Coverage reports of every kind that is read, and those that are refused."""

from __future__ import annotations

import pytest

from hookline.domain.sessions.coverage import MAX_REPORT, line_coverage
from hookline.errors import BadInput

LCOV = b"""TN:
SF:src/a.py
DA:1,1
DA:2,0
DA:3,12
LF:3
LH:2
end_of_record
SF:src/b.py
DA:1,0
LF:1
LH:0
end_of_record
"""
COVERAGE_PY = b"""{"meta": {"version": "7.6"}, "files": {}, "totals":
{"covered_lines": 7, "num_statements": 8, "percent_covered": 87.5,
"percent_covered_display": "88"}}"""
ISTANBUL = b"""{"total": {"lines": {"total": 40, "covered": 30, "skipped": 0, "pct": 75},
"statements": {"total": 1, "covered": 1, "skipped": 0, "pct": 100}},
"/src/a.js": {"lines": {"total": 40, "covered": 30, "skipped": 0, "pct": 75}}}"""
COBERTURA = b"""<?xml version="1.0" ?>
<!DOCTYPE coverage SYSTEM "http://cobertura.sourceforge.net/xml/coverage-04.dtd">
<coverage version="7.6" lines-valid="8" lines-covered="7" line-rate="0.875">
<packages><package line-rate="0.1"/></packages></coverage>"""


@pytest.mark.parametrize(
    ("report", "percent"),
    [
        (LCOV, 50.0),
        (b"SF:a\nLF:4\nLH:1\nend_of_record\n", 25.0),
        (LCOV.replace(b"\n", b"\r\n"), 50.0),
        (COVERAGE_PY, 87.5),
        (ISTANBUL, 75.0),
        (COBERTURA, 87.5),
        (b'<coverage line-rate="1"/>', 100.0),
        (b"\xef\xbb\xbf" + COBERTURA, 87.5),
        (b"\n" + COVERAGE_PY, 87.5),
    ],
)
def test_report_is_read(report: bytes, percent: float) -> None:
    assert line_coverage(report) == percent


@pytest.mark.parametrize(
    ("report", "why"),
    [
        (b"", "not a whole lcov"),
        (b"all is well, 100 %", "not a whole lcov"),
        (LCOV[:-15], "not a whole lcov"),
        (LCOV.replace(b"DA:1,1", b"DA:1,many"), "not a number"),
        (LCOV.replace(b"DA:1,1", b"DA:1"), "not a number"),
        (b"SF:a\nLF:0\nLH:0\nend_of_record\n", "covers no lines"),
        (b"SF:a\nLF:1\nLH:5\nend_of_record\n", "500 percent"),
        (b"{}", "not one of coverage.py or Istanbul"),
        (COVERAGE_PY[:-2], "not one of coverage.py or Istanbul"),
        (b'{"totals": {"percent_covered": "100"}}', "not one of coverage.py or Istanbul"),
        (b'{"totals": {"percent_covered": 100, "num_statements": 0}}', "covers no lines"),
        (b'{"totals": {"percent_covered": 1e9, "num_statements": 1}}', "which is impossible"),
        (b"[" * 100_000, "not a whole lcov"),
        (b'{"total":' + b"[" * 100_000, "not one of coverage.py or Istanbul"),
        (b"<coverage", "not whole XML"),
        (COBERTURA[:-3], "not whole XML"),
        (b'<testsuite tests="1"/>', "root is <testsuite>"),
        (b'<coverage line-rate="nan"/>', "which is impossible"),
        (b'<coverage line-rate="much"/>', "not a number"),
        (b'<coverage line-rate="1" lines-valid="0"/>', "covers no lines"),
        (b" " * (MAX_REPORT + 1), "longer than 32 MiB"),
    ],
)
def test_what_is_no_whole_report_is_refused(report: bytes, why: str) -> None:
    with pytest.raises(BadInput, match=why):
        line_coverage(report)


def test_entities_are_refused_before_they_grow() -> None:
    bomb = b'<!DOCTYPE coverage [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;">]>'
    with pytest.raises(BadInput, match="declares XML entities"):
        line_coverage(bomb + b'<coverage line-rate="1">&b;</coverage>')
