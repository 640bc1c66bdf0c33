"""The figures of the record in the text format of Prometheus."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from hookline.domain.telemetry import Figure

# What follows the names of units, as Prometheus wants them.
_UNITS = {"s": "seconds", "USD": "usd"}
_ESCAPES = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n"})


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
