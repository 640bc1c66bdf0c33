"""What a turn of Codex used.

Codex counts all turns of a conversation together, and tells the sum at the end of a turn. What
an interrupted turn used is in the record that Codex keeps during the turn.
"""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING

import msgspec

from hookline import typed
from hookline.adapters.agents.codex_record import CodexRecord, Tokens
from hookline.adapters.agents.lines import notice
from hookline.domain.sessions.turns import Usage
from hookline.files import own_folder, publish, read_regular

if TYPE_CHECKING:
    from hookline.ports.agents import DriverTurn

MAX_KEPT = 1 << 16


class TurnTokens:
    """The tokens of one turn: what its conversation has used, less what it had before."""

    def __init__(self, talk: DriverTurn) -> None:
        self._talk = talk
        self._conversation: str | None = None
        self.record: CodexRecord | None = None
        self._before = self._total = Tokens()

    def begin(self, conversation: str) -> None:
        """The turn belongs to this conversation."""
        self._conversation = conversation
        self.record = CodexRecord({**os.environ, **self._talk.request.env}, conversation)
        with suppress(OSError, msgspec.MsgspecError):
            kept = read_regular(self._kept(conversation), MAX_KEPT)
            self._before = self._total = typed.decode(kept, Tokens)

    def tell(self) -> None:
        """Report what is known by now: a killed process cannot report it later."""
        known = self.record.total() if self.record is not None else None
        if known is not None and known != self._total:
            self._talk.request.on_usage(self.used(known))

    def used(self, total: Tokens | None) -> Usage:
        """What the turn used, by Codex's last word, or as far as it has recorded it."""
        recorded = self.record.total() if total is None and self.record is not None else None
        now = self._total = total or recorded or self._total
        self._keep()
        before = self._before
        return Usage(
            input_tokens=max(now.input_tokens - before.input_tokens, 0),
            output_tokens=max(now.output_tokens - before.output_tokens, 0),
            cached_tokens=max(now.cached_input_tokens - before.cached_input_tokens, 0),
        )

    def _kept(self, conversation: str) -> str:
        """Our file with a conversation's sum at the end of its last turn."""
        talk = self._talk
        folder = talk.request.env.get("HOOKLINE_DIR") or os.path.join(talk.root, ".hookline")
        return os.path.join(folder, "agents", f"codex-{conversation.replace('/', '_')}")

    def _keep(self) -> None:
        if self._conversation is None:
            return
        place, name = os.path.split(self._kept(self._conversation))
        try:
            with own_folder(*os.path.split(place)) as folder:
                publish(folder, name, msgspec.json.encode(self._total))
        except OSError as problem:
            said = f"the next turn will also count the tokens of this one: {problem}"
            notice(self._talk, said)
