"""What a turn of Codex used.

Codex counts all turns of a conversation together, and tells the sum at the end of a turn. A turn
that is cut short has no end; what it used stands in the record that Codex keeps as it goes on.
"""

from __future__ import annotations

import os
from contextlib import suppress
from glob import escape, glob
from typing import TYPE_CHECKING, Annotated

import msgspec

from hookline.adapters.agents.lines import notice
from hookline.domain.turns import Usage
from hookline.files import open_regular, own_folder, publish, read_regular

if TYPE_CHECKING:
    from hookline.adapters.agents.drivers import Talk

MAX_RECORD = 1 << 16
# The newest count stands near the end of Codex's record.
TAIL = 1 << 18
Count = Annotated[int, msgspec.Meta(ge=0, le=2**53)]


class Tokens(msgspec.Struct, frozen=True):
    """A sum of Codex's."""

    input_tokens: Count = 0
    output_tokens: Count = 0


class _Info(msgspec.Struct):
    total_token_usage: Tokens


class _Payload(msgspec.Struct):
    """After each answer of the model a sum is recorded; older versions do so after its tools."""

    thread_token_usage: Tokens | None = None
    info: _Info | None = None

    @property
    def total(self) -> Tokens | None:
        if self.thread_token_usage is None and self.info is not None:
            return self.info.total_token_usage
        return self.thread_token_usage


class _Entry(msgspec.Struct):
    payload: _Payload


class TurnTokens:
    """The tokens of one turn: what its conversation has used, less what it had before."""

    def __init__(self, talk: Talk) -> None:
        self._talk = talk
        self._conversation: str | None = None
        self._before = self._total = Tokens()
        self._found: str | None = None

    def begin(self, conversation: str) -> None:
        """The turn belongs to this conversation."""
        self._conversation = conversation
        with suppress(OSError, msgspec.MsgspecError):
            kept = msgspec.json.decode(
                read_regular(self._kept(conversation), MAX_RECORD), type=Tokens
            )
            self._before = self._total = kept

    def tell(self) -> None:
        """Tell what is known by now: whoever is killed cannot tell it later."""
        known = self._recorded()
        if known is not None and known != self._total:
            self._talk.request.on_usage(self.used(known))

    def used(self, total: Tokens | None) -> Usage:
        """What the turn used, by Codex's last word, or as far as it has recorded it."""
        self._total = total or self._recorded() or self._total
        self._keep()
        return Usage(
            input_tokens=max(self._total.input_tokens - self._before.input_tokens, 0),
            output_tokens=max(self._total.output_tokens - self._before.output_tokens, 0),
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
            said = f"the next turn's tokens will be those of this one, too: {problem}"
            notice(self._talk, said)

    def _recorded(self) -> Tokens | None:
        """The newest sum in Codex's own record of the conversation."""
        if self._conversation is None:
            return None
        if self._found is None:
            name = f"rollout-*-{self._conversation}.jsonl"
            files = glob(os.path.join(escape(self._home()), "sessions", "*", "*", "*", name))
            self._found = max(files, default=None)
        return None if self._found is None else _newest(self._found)

    def _home(self) -> str:
        env = {**os.environ, **self._talk.request.env}
        return env.get("CODEX_HOME") or os.path.join(env.get("HOME", ""), ".codex")


def _newest(path: str) -> Tokens | None:
    try:
        with open(open_regular(path), "rb") as file:
            file.seek(max(os.fstat(file.fileno()).st_size - TAIL, 0))
            lines = file.read(TAIL).split(b"\n")
    except OSError:
        return None
    for line in reversed(lines):
        if b'_token_usage":' in line:
            with suppress(msgspec.MsgspecError):
                total = msgspec.json.decode(line, type=_Entry).payload.total
                if total is not None:
                    return total
    return None
