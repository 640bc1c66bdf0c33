"""What a report in one file holds: the shell that runs one script, and the data in it."""

from __future__ import annotations

import json
import re
from base64 import b64encode
from hashlib import sha256
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

_SCRIPT = re.compile(r"<script[^>]*>")
_ELEMENT = re.compile(r'<script type="application/json" id="report">(.*?)</script>', re.DOTALL)
_OWN = re.compile(r'<script type="module">(.*?)</script>', re.DOTALL)


class ReportFile:
    """A report, of which nothing but its own script can run."""

    def __init__(self, text: str) -> None:
        (data,) = _ELEMENT.findall(text)
        (script,) = _OWN.findall(text)
        assert len(_SCRIPT.findall(text)) == 2
        assert "<" not in data
        digest = b64encode(sha256(script.encode()).digest()).decode()
        (policy,) = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]*)"', text)
        assert f"default-src 'none'; script-src 'sha256-{digest}'; style-src 'sha256-" in policy
        assert "unsafe" not in policy
        self.data: dict[str, Any] = json.loads(data)
        self.text = "\n".join(map(str, _values(self.data)))

    @property
    def session(self) -> dict[str, Any]:
        """A session's part."""
        found: dict[str, Any] = self.data["session"]
        return found

    @property
    def work(self) -> dict[str, Any]:
        """A project's part."""
        found: dict[str, Any] = self.data["work"]
        return found

    def only_task(self) -> dict[str, Any]:
        """The one task that it is about."""
        (found,) = self.work["tasks"]
        assert isinstance(found, dict)
        return found

    def calls(self, hook: str) -> list[dict[str, Any]]:
        """The calls of a hook in the iterations that are told in full."""
        steps = (step for each in self.session["story"] for step in each["page"]["steps"])
        calls = (call for step in steps for call in step.get("calls", ()))
        return [call for call in calls if call["name"] == hook]


def changed_lines(change: dict[str, Any] | None) -> list[str]:
    """The lines of a diff that differ, each with its sign."""
    signs = {"added": "+", "removed": "-"}
    hunks = (hunk for file in (change or {"files": []})["files"] for hunk in file["hunks"])
    lines = (line for hunk in hunks for line in hunk["lines"] if line["kind"] in signs)
    return [f"{signs[line['kind']]}{line['text']}" for line in lines]


def _values(found: object) -> Iterator[object]:
    if isinstance(found, dict):
        for value in found.values():
            yield from _values(value)
    elif isinstance(found, list):
        for value in found:
            yield from _values(value)
    else:
        yield found
