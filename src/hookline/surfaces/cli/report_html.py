"""A session's story as HTML. Everything foreign is escaped; nothing is loaded, nothing runs."""

from __future__ import annotations

import html
import os
from functools import cache
from typing import TYPE_CHECKING, Any

import msgspec

from hookline.surfaces.cli.live_lines import money
from hookline.surfaces.cli.live_text import plural, size, thousands, took
from hookline.surfaces.cli.report_data import Checked, Fired, Told, Turn, piped_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from hookline.domain.records import Delivery
    from hookline.surfaces.cli.report_data import Chapter, Step

MAX_TEXT = 256 * 1024
HEAD = """\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>{title}</title>
<style>
{style}</style>
</head>
<body>
<main>
"""
FOOT = "</main>\n</body>\n</html>\n"


def head(title: str) -> str:
    """The page up to its content."""
    return HEAD.format(title=text(title), style=_style())


@cache
def _style() -> str:
    path = os.path.join(os.path.dirname(__file__), "report.css")
    with open(path, encoding="utf-8") as file:
        return file.read()


def text(value: object) -> str:
    """Foreign text as text, whatever it holds; control characters are made visible."""
    shown = _bounded(str(value))
    if not shown.isprintable():
        shown = "".join(c if c.isprintable() or c in "\n\t" else f"\\x{ord(c):02x}" for c in shown)
    return html.escape(shown)


def _bounded(value: str) -> str:
    if len(value) <= MAX_TEXT:
        return value
    half = MAX_TEXT // 2
    left_out = len(value) - 2 * half
    return f"{value[:half]}\n… {left_out:,} characters left out …\n{value[-half:]}"


def folded(title: str, content: str, *, is_open: bool = False) -> str:
    """A long text behind its title; nothing where it is empty."""
    if not content:
        return ""
    length = size(len(content.encode("utf-8", "replace")))
    return (
        f"<details{' open' if is_open else ''}><summary>{text(title)}"
        f" <small>{length}</small></summary><pre>{text(content)}</pre></details>\n"
    )


def badge(status: str) -> str:
    """A word that says how something ended."""
    return f'<span class="badge {_class(status)}">{text(status)}</span>'


def _class(status: str) -> str:
    good = ("completed", "ok", "passed", "complete")
    bad = ("failed", "timeout", "escalated", "escalate", "killed", "dead")
    return "good" if status in good else "bad" if status in bad else "other"


def pairs(rows: Iterable[tuple[str, object]]) -> str:
    """Names and values."""
    shown = "".join(
        f"<dt>{text(name)}</dt><dd>{text(value)}</dd>\n"
        for name, value in rows
        if value not in (None, "")
    )
    return f"<dl>\n{shown}</dl>\n"


def table(heads: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Rows under heads; cells are text."""
    top = "".join(f"<th>{text(each)}</th>" for each in heads)
    body = "".join(
        "<tr>" + "".join(f"<td>{text(cell)}</td>" for cell in row) + "</tr>\n" for row in rows
    )
    return f"<table>\n<thead><tr>{top}</tr></thead>\n<tbody>\n{body}</tbody>\n</table>\n"


# The story


def chapter_html(chapter: Chapter) -> str:
    """One iteration."""
    ended = chapter.ended or {}
    status = ended.get("decision") or ended.get("status") or "not over"
    number = chapter.iteration if chapter.iteration is not None else "?"
    why = ended.get("reason") or ended.get("error") or ""
    steps = "".join(_STEPS[type(step)](step) for step in chapter.steps)
    return (
        f'<section class="iteration">\n<h3>Iteration {text(number)} {badge(status)}'
        f" <small>{text(_cost(ended))}</small></h3>\n"
        f"<p>{text(why)}</p>\n<ol>\n{steps}</ol>\n</section>\n"
    )


def _cost(ended: dict[str, Any]) -> str:
    parts = [plural(len(ended["filesModified"]), "file")] if ended.get("filesModified") else []
    if ended.get("usd"):
        parts.append(money(ended["usd"]))
    if ended.get("tokens"):
        parts.append(f"{thousands(ended['tokens'])} tokens")
    return " · ".join(parts)


def _item(mark: str, title: str, more: str, content: str = "") -> str:
    return (
        f'<li class="{_class(mark)}"><span class="step">{text(title)}</span>'
        f' <span class="more">{text(more)}</span>\n{content}</li>\n'
    )


def _time(at: str, duration: float | None) -> str:
    clock = at[11:19]
    return f"{clock} · {took(duration)}" if duration is not None else f"{clock} · not over"


def _turn(turn: Turn) -> str:
    details = [_time(turn.at, turn.seconds)]
    if turn.tools:
        details.append(plural(turn.tools, "tool"))
    tokens = (turn.usage.get("inputTokens") or 0) + (turn.usage.get("outputTokens") or 0)
    if tokens:
        details.append(f"{thousands(tokens)} tokens")
    if turn.usage.get("usd"):
        details.append(money(turn.usage["usd"]))
    content = (
        (f'<p class="error">{text(turn.error)}</p>\n' if turn.error else "")
        + folded("What the agent was told", turn.prompt)
        + folded("What it said", turn.text)
        + folded(plural(len(turn.files), "file") + " changed", "\n".join(turn.files))
    )
    mark = "failed" if turn.error else "ok"
    return _item(mark, f"agent: {turn.step}", " · ".join(details), content)


def _checked(checked: Checked) -> str:
    rows = [
        (
            "passed" if each.get("passed") else "failed",
            each.get("ruleName", ""),
            each.get("command") or "",
            "" if each.get("exitCode") is None else each["exitCode"],
            each.get("message") or "",
        )
        for each in checked.results
    ]
    failed = any(row[0] == "failed" for row in rows)
    content = table(("", "rule", "command", "exit", "message"), rows) if rows else ""
    mark = "failed" if failed else "ok"
    return _item(mark, "validation", _time(checked.at, checked.seconds), content)


def _fired(fired: Fired) -> str:
    calls = "".join(_call(fired.point, call) for call in fired.calls)
    if fired.decision is None:
        return calls
    told = fired.decision.get("nextPrompt")
    content = f"<p>{text(fired.decision.get('reason', ''))}</p>\n"
    content += folded("Next prompt", told if isinstance(told, str) else "")
    action = str(fired.decision["action"])
    return calls + _item(action, f"decision: {action}", fired.at[11:19], content)


def _call(point: str, call: Delivery) -> str:
    duration = (call.duration_us or 0) / 1_000_000
    details = [call.status, took(duration)]
    if call.exit_code is not None:
        details.append(f"exit {call.exit_code}")
    if call.status == "skipped" and call.condition:
        details = [f"skipped: when {call.condition} is false"]
    content = f'<p class="error">{text(call.error)}</p>\n' if call.error else ""
    content += folded("Output", piped_text(call))
    content += folded("On stderr", call.stderr or "")
    if call.condition_values:
        content += folded("Values of the condition", _json(call.condition_values))
    if isinstance(call.answer, dict) and "text" not in call.answer:
        content += folded("Answer", _json(call.answer))
    where = f" ({call.origin})" if call.origin else ""
    return _item(call.status, f"{point}: {call.hook}", " · ".join(details) + where, content)


def _json(value: Any) -> str:
    return msgspec.json.format(msgspec.json.encode(value), indent=2).decode()


def _told(told: Told) -> str:
    return _item("", told.title, told.at[11:19], folded("Text", told.text))


_STEPS: dict[type[Step], Callable[[Any], str]] = {
    Turn: _turn,
    Checked: _checked,
    Fired: _fired,
    Told: _told,
}


def receipt_html(receipt: dict[str, Any]) -> Iterator[str]:
    """The proof that a stop hook kept: which diff, which checks, and how they ended."""
    yield pairs((("diff", receipt.get("diffHash")), ("files", receipt.get("changedFiles"))))
    checks = receipt.get("checks")
    rows = [
        (each.get("name", ""), each.get("command") or "", each.get("exitCode", ""))
        for each in (checks if isinstance(checks, list) else ())
        if isinstance(each, dict)
    ]
    yield table(("check", "command", "exit"), rows)
