"""The names of what is sent, and how figures and variables are read and written."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from opentelemetry import semconv
from opentelemetry.semconv.schemas import Schemas

from hookline.domain.telemetry import CONVENTIONS, SCHEMA_URL, Figure, Series
from hookline.queries.telemetry.prometheus import prometheus_text

if TYPE_CHECKING:
    from types import ModuleType

SOURCES = Path(__file__).parents[2] / "src" / "hookline"
# Those whose names others define: Phoenix (openinference, llm, input, output, tool), Langfuse.
OTHERS = ("openinference.", "llm.", "langfuse.", "hookline.", "input.", "output.", "tool.")
_NAME = re.compile(r'"((?:gen_ai|error|session|service)\.[a-z_.]+)"')


def known_names() -> set[str]:
    """Every attribute that the pinned conventions name."""
    folder = Path(semconv.__path__[0])
    places = [*folder.glob("attributes/*.py"), *folder.glob("_incubating/attributes/*.py")]
    modules: list[ModuleType] = [
        import_module(
            f"opentelemetry.semconv.{'.'.join(path.relative_to(folder).with_suffix('').parts)}"
        )
        for path in places
        if path.stem != "__init__"
    ]
    return {
        value
        for module in modules
        for name, value in vars(module).items()
        if name.isupper() and isinstance(value, str)
    }


def test_names_are_those_of_the_pinned_conventions() -> None:
    texts = [
        (SOURCES / path).read_text(encoding="utf-8")
        for path in (
            "queries/telemetry/spans.py",
            "queries/telemetry/turn_spans.py",
            "queries/telemetry/content.py",
            "adapters/network/otlp.py",
            "wiring/running/telemetry.py",
        )
    ]
    used = {name for text in texts for name in _NAME.findall(text)}
    assert len(used) > 10
    messages = {f"gen_ai.{way}.messages" for way in ("input", "output")}
    assert (used | messages) - known_names() == set()


def test_the_version_of_the_conventions_is_the_one_that_the_package_ends_with() -> None:
    assert [each.value for each in Schemas][-1] == SCHEMA_URL
    page = (SOURCES.parents[1] / "docs" / "telemetry.md").read_text(encoding="utf-8")
    assert f"semantic conventions {CONVENTIONS} of OpenTelemetry" in page


def test_figures_as_prometheus_reads_them() -> None:
    figures = [
        Figure(
            name="hookline.cost",
            kind="counter",
            unit="USD",
            help="What agents cost.",
            series=[Series(1.25, {"agent": 'a"b\\c\nd'}), Series(12345678.0, {"agent": "e"})],
        ),
        Figure(name="hookline.idle", kind="gauge", unit="s", help="Idle.", series=[Series(0.0)]),
    ]
    assert prometheus_text(figures) == (
        "# HELP hookline_cost_usd_total What agents cost.\n"
        "# TYPE hookline_cost_usd_total counter\n"
        'hookline_cost_usd_total{agent="a\\"b\\\\c\\nd"} 1.25\n'
        'hookline_cost_usd_total{agent="e"} 12345678\n'
        "# HELP hookline_idle_seconds Idle.\n"
        "# TYPE hookline_idle_seconds gauge\n"
        "hookline_idle_seconds 0\n"
    )
