"""Codex's own record of a conversation, of which its newest entries are read.

It says what Codex does not print: the tokens of a turn under way, and the code of an error.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from glob import escape, glob
from typing import Annotated

import msgspec

from hookline import typed
from hookline.files import open_regular

# What is looked for is near the end.
TAIL = 1 << 18
Count = Annotated[int, msgspec.Meta(ge=0, le=2**53)]


class Tokens(msgspec.Struct, frozen=True):
    """A sum of Codex's."""

    input_tokens: Count = 0
    output_tokens: Count = 0
    cached_input_tokens: Count = 0


class ErrorDetails(msgspec.Struct, frozen=True):
    """More about an error: the status that a server answered with."""

    http_status_code: int | None = None


class RecordedError(msgspec.Struct, frozen=True):
    """How a turn failed: a code, some with details."""

    message: str = ""
    codex_error_info: str | dict[str, ErrorDetails | None] | None = None

    @property
    def code(self) -> str | None:
        """The code."""
        info = self.codex_error_info
        return next(iter(info), None) if isinstance(info, dict) else info

    @property
    def status(self) -> int | None:
        """The status that the model's server answered with, if it did."""
        info = self.codex_error_info
        details = next(iter(info.values()), None) if isinstance(info, dict) else None
        return details.http_status_code if details is not None else None


class _Info(msgspec.Struct):
    total_token_usage: Tokens


class _Payload(msgspec.Struct):
    """After each answer of the model a sum is recorded; older versions do so after its tools."""

    thread_token_usage: Tokens | None = None
    info: _Info | None = None
    error: RecordedError | None = None

    @property
    def total(self) -> Tokens | None:
        if self.thread_token_usage is None and self.info is not None:
            return self.info.total_token_usage
        return self.thread_token_usage


class _RecordLine(msgspec.Struct):
    payload: _Payload


class CodexRecord:
    """The record of one conversation, which Codex may still be writing."""

    def __init__(self, env: Mapping[str, str], conversation: str) -> None:
        self._env, self._conversation = env, conversation
        self._path: str | None = None

    def total(self) -> Tokens | None:
        """The newest sum of tokens."""
        found = (payload.total for payload in self._entries(b'_token_usage":'))
        return next((total for total in found if total is not None), None)

    def error(self, message: str) -> RecordedError | None:
        """The newest error, if it is the one with this message."""
        found = (payload.error for payload in self._entries(b'"codex_error_info":'))
        newest = next((error for error in found if error is not None), None)
        return newest if newest is not None and newest.message == message else None

    def _entries(self, mark: bytes) -> Iterator[_Payload]:
        """The entries with a mark, the newest first."""
        for line in reversed(self._tail()):
            if mark in line:
                with suppress(msgspec.MsgspecError):
                    yield typed.decode(line, _RecordLine).payload

    def _tail(self) -> list[bytes]:
        self._path = self._path or self._found()
        if self._path is None:
            return []
        with suppress(OSError), open(open_regular(self._path), "rb") as file:
            file.seek(max(os.fstat(file.fileno()).st_size - TAIL, 0))
            return file.read(TAIL).split(b"\n")
        return []

    def _found(self) -> str | None:
        home = self._env.get("CODEX_HOME") or os.path.join(self._env.get("HOME", ""), ".codex")
        name = f"rollout-*-{self._conversation}.jsonl"
        files = glob(os.path.join(escape(home), "sessions", "*", "*", "*", name))
        return max(files, default=None)
