"""What people and agents said, for those who opted in; always without secrets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from hookline.domain.hooks.names import outside_name, short_name
from hookline.immutable import Immutable

if TYPE_CHECKING:
    from hookline.domain.telemetry import Value
    from hookline.domain.text.cleaning import Cleaner

# A collector refuses large spans; the record has all of it.
LONGEST = 32 * 1024
LONGEST_NAME = 200


class SentContent(Immutable):
    """What may leave the record: `is_wanted` is whether that includes what was said."""

    cleaner: Cleaner
    is_wanted: bool = False

    def name(self, text: object) -> str:
        """A name: of a hook, an agent, a model or a tool."""
        return self.cleaner.text(str(text).partition("\n")[0][:LONGEST_NAME])

    def hook(self, hook: str, kind: str) -> str:
        """The name of a hook. What an unnamed one runs is content."""
        return self.name(short_name(hook) if self.is_wanted else outside_name(hook, kind))

    def said(self, text: str | None) -> str:
        """A text, if that is wanted."""
        return self._cut(text) if self.is_wanted and text else ""

    def exchange(self, given: str | None, answer: str | None) -> dict[str, Value]:
        """What an agent was told and what it said."""
        found: dict[str, Value] = {}
        if not self.is_wanted:
            return found
        for way, role, text in (("input", "user", given), ("output", "assistant", answer)):
            if text:
                clean = self._cut(text)
                part = {"type": "text", "content": clean}
                message: dict[str, Any] = {"role": role, "parts": [part]}
                if way == "output":
                    message["finish_reason"] = "stop"
                found[f"gen_ai.{way}.messages"] = msgspec.json.encode([message]).decode()
                found[f"{way}.value"] = clean
        return found

    def values(self, given: str | None, answer: str | None) -> dict[str, Value]:
        """What went into something other than an agent, and what came out."""
        said = {"input.value": self.said(given), "output.value": self.said(answer)}
        return {name: text for name, text in said.items() if text}

    def _cut(self, text: str) -> str:
        clean = self.cleaner.text(text)
        return clean if len(clean) <= LONGEST else f"{clean[:LONGEST]}…"
