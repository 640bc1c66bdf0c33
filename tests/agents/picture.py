"""A terminal as an SVG picture: what its screen shows, in its colours."""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.sax.saxutils import escape

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import pyte

WIDE, HIGH, MARGIN, BAR = 8.4, 19, 16, 34
COLOURS = {
    "default": "#d8dee9",
    "red": "#ff6b6b",
    "green": "#7ad88f",
    "brown": "#e8c26a",
    "yellow": "#e8c26a",
    "blue": "#7aa2f7",
    "magenta": "#c792ea",
    "cyan": "#6fd3e0",
}
# Browsers draw several blanks as one.
NO_BREAK = "\u00a0"


def svg(rows: Sequence[Mapping[int, pyte.screens.Char]], columns: int, title: str) -> str:
    """The rows of a screen as a picture with a frame."""
    width, height = columns * WIDE + 2 * MARGIN, len(rows) * HIGH + BAR + 2 * MARGIN
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}"'
        f' viewBox="0 0 {width:.0f} {height:.0f}" role="img" aria-label="{escape(title)}">',
        f"<title>{escape(title)}</title>",
        f'<rect width="{width:.0f}" height="{height:.0f}" rx="10" fill="#1d2230"/>',
        *(
            f'<circle cx="{22 + 20 * n}" cy="20" r="6" fill="{colour}"/>'
            for n, colour in enumerate(("#ff5f57", "#febc2e", "#28c840"))
        ),
        '<g font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, monospace" font-size="14">',
        *(line for y, row in enumerate(rows) for line in _row(row, columns, y)),
        "</g>",
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def _row(row: Mapping[int, pyte.screens.Char], columns: int, y: int) -> Iterator[str]:
    """A row as texts of one style, each at its own place, whatever the font."""
    place = BAR + MARGIN + (y + 0.7) * HIGH
    for start, text, style in _runs(row, columns):
        if text.strip():
            lead = len(text) - len(text.lstrip(" "))
            x = MARGIN + (start + lead) * WIDE
            shown = text.strip(" ")
            length = len(shown) * WIDE
            yield (
                f'<text x="{x:.1f}" y="{place:.1f}" textLength="{length:.1f}" {style}>'
                f"{escape(shown).replace(' ', NO_BREAK)}</text>"
            )


def _runs(row: Mapping[int, pyte.screens.Char], columns: int) -> Iterator[tuple[int, str, str]]:
    start, text, style = 0, "", ""
    for x in range(columns):
        char = row[x]
        now = _style(char)
        if now != style and text:
            yield start, text, style
            start, text = x, ""
        style, text = now, text + (char.data or " ")
    yield start, text, style


def _style(char: pyte.screens.Char) -> str:
    colour = COLOURS.get(char.fg, COLOURS["default"])
    return f'fill="{colour}"' + (' font-weight="bold"' if char.bold else "")
