"""The figures of the record in the text format of Prometheus."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from hookline.queries.telemetry.figures import FigureReader

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from hookline.app import App
    from hookline.domain.telemetry import Figure

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
# What follows the names of units, as Prometheus wants them.
_UNITS = {"s": "seconds", "USD": "usd"}
_ESCAPES = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n"})


class MetricsPage:
    """What `/metrics` shows; kept, it reads the log only as far as that grew."""

    def __init__(self, app: App) -> None:
        self._app = app
        self._reader = FigureReader(app.cleaner)

    def text(self) -> str:
        """All figures as they are now."""
        with self._app.read() as view:
            return prometheus_text(self._reader.read(view))


def prometheus_text(figures: Iterable[Figure]) -> str:
    """Figures as Prometheus reads them."""
    return "".join(f"{line}\n" for each in figures for line in _lines(each))


def _lines(figure: Figure) -> Iterator[str]:
    name = re.sub(r"[^a-zA-Z0-9_]", "_", figure.name)
    if figure.unit in _UNITS:
        name = f"{name}_{_UNITS[figure.unit]}"
    if figure.kind == "counter":
        name = f"{name}_total"
    yield f"# HELP {name} {figure.help}"
    yield f"# TYPE {name} {figure.kind}"
    for each in figure.series:
        labels = ",".join(f'{key}="{_escaped(text)}"' for key, text in each.labels.items())
        shown = repr(float(each.value)).removesuffix(".0")
        yield f"{name}{{{labels}}} {shown}" if labels else f"{name} {shown}"


def _escaped(text: str) -> str:
    return text.translate(_ESCAPES)
