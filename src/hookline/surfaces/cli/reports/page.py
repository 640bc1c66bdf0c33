"""A report as one file: the page's components with the data in it, and nothing that is loaded."""

from __future__ import annotations

import html
from base64 import b64encode
from importlib import resources
from typing import TYPE_CHECKING

import msgspec

from hookline.digest import sha256

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hookline.queries.page.report import ReportFile

# Only this very script runs, and only this style applies, whatever the data contains; the file asks
# nobody for anything.
POLICY = (
    "default-src 'none'; script-src '{script}'; style-src '{style}'; base-uri 'none'; "
    "form-action 'none'"
)
HEAD = """\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="referrer" content="no-referrer">
<meta name="color-scheme" content="light dark">
<title>{title} · Hookline</title>
<style>{style}</style>
</head>
<body>
<div id="page"></div>
<noscript>This report needs JavaScript; `hookline report --markdown` does not.</noscript>
<script type="application/json" id="report">{data}</script>
<script type="module">{script}</script>
</body>
</html>
"""


def parts(found: ReportFile) -> Iterator[str]:
    """The file."""
    static = resources.files("hookline.surfaces.web").joinpath("static")
    script, style = (
        static.joinpath(name).read_text("utf-8") for name in ("report.js", "style.css")
    )
    policy = POLICY.format(script=_digest(script), style=_digest(style))
    yield HEAD.format(
        policy=policy, title=html.escape(found.title), style=style, data=_data(found), script=script
    )


def _data(found: ReportFile) -> str:
    """JSON in which nothing can end the element that it is in."""
    return msgspec.json.encode(found).decode().replace("<", "\\u003c")


def _digest(text: str) -> str:
    return f"sha256-{b64encode(sha256(text.encode()).digest()).decode()}"
