"""Outside text made fit to be kept, shown and told to agents: no secrets, no colour codes.

The one place for both. It is used where text enters: what programs print, what servers answer, what
agents say, what people type. `docs/hooks.md` says what is found, and what cannot be.
"""

from __future__ import annotations

import re
import sys
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any

import msgspec

from hookline.domain.text.known_secrets import spellings
from hookline.domain.text.secret_patterns import SHAPES, SIGNS, TELEGRAM, URL, is_real
from hookline.immutable import Immutable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from hookline.domain.text.known_secrets import Names

PRIVATE_KEY, JWT = "private-key", "json-web-token"
LONGEST_KEY = 16 * 1024
# No token is longer, and none has a blank in it.
LONGEST_TOKEN = 9 * 1024
# How much of what comes before a token has to be seen.
CONTEXT = 16
# Shorter texts are searched for one known secret after the other.
SHORT = 4 * 1024

_HEADER = r"-----BEGIN (?:[A-Z0-9]{1,20} ){0,4}PRIVATE KEY(?: BLOCK)?-----"
# What may come between the first and the last line of a key; it never reaches the next header.
_BODY = rf"(?:[A-Za-z0-9+/=\s\\:,.()]|-(?!----)){{0,{LONGEST_KEY}}}+"
_FOOTER = r"-----END [A-Z0-9 ]{1,90}-----"
_BASE64 = r"(?=(?:\\[rn]|\s)*[A-Za-z0-9+/]{40})"
# The gate has to see that a key begins; here all of it goes, also one without its last line.
_SHAPES = SHAPES | {
    PRIVATE_KEY: f"{_HEADER}(?:{_BODY}{_FOOTER}|{_BASE64}{_BODY})",
    URL: rf"://{SHAPES[URL].removeprefix('(?<=://)')}",
    JWT: SHAPES[JWT].replace(
        "(?<![A-Za-z0-9_-]eyJ)", r"(?:(?<![A-Za-z0-9_-]eyJ)|(?<=\\[bfnrt]eyJ)|(?<=%[0-9A-F]{2}eyJ))"
    ),
}
_KEY_BEGINS = SIGNS[PRIVATE_KEY][0].encode()
_OPEN_KEY = (
    rf"-----BEGIN [A-Z0-9 ]{{0,100}}(?:-{{0,4}}|-----{_BODY}"
    r"(?:-----(?:E(?:N(?:D(?: [A-Z0-9 ]{0,90}-{0,4})?)?)?)?)?)"
)
# How a word ends that may continue as a token: with half a sign, or what may come before one.
_HALF_SIGNS = tuple(
    {
        sign[:size].encode()
        for signs in SIGNS.values()
        for sign in signs
        for size in range(len(sign))
    }
    - {b""}
    | {mark.encode() for mark in "0123456789:"}
)
_DIGITS = frozenset(b"0123456789")
# Commands to a terminal: those with parameters (colours), those with text (titles, links), others.
# None has more than two marks before its last letter: the five of a private key are not one.
_PARAMETERS = rb"(?:\x1b\[|\xc2\x9b)[0-?]{0,64}[ -/]{0,2}"
_TEXT = (
    rb"(?:\x1b[\]PX^_]|\xc2[\x90\x98\x9d\x9e\x9f])"
    rb"(?:[^\x07\x1b\xc2]|\xc2(?![\x80-\x9f])){0,4096}+"
)
_CODES = (
    _PARAMETERS + rb"[@-~]|" + _TEXT + rb"(?:\x07|\x1b\\|\xc2\x9c)"
    rb"|\x1b(?:[ -/]{0,2}[0-~])?|\xc2[\x80-\x9f]"
)
_OPEN_CODE = rb"(?:" + _PARAMETERS + rb"|" + _TEXT + rb"\x1b?|\x1b[ -/]{0,2}|\xc2)\Z"
LONGEST_CODE = 4200
_CONTROLS = dict.fromkeys({*range(0x20), *range(0x7F, 0xA0)} - {ord("\n"), ord("\t")})


class FoundSecret(Immutable):
    """A secret in a text: where it is, and what is written in its place."""

    start: int
    end: int
    label: str


class Cleaner:
    """Takes the secrets of an environment, tokens, and colour codes out of outside text.

    It leaves the `names` that a project gives to what it has.
    """

    def __init__(self, environ: Mapping[str, str], names: Names = tuple) -> None:
        self._environ, self._names = environ, names

    def text(self, text: str) -> str:
        """The text, clean."""
        data = text.encode("utf-8", "surrogatepass")
        clean = self.data(data)
        return text if clean is data else clean.decode("utf-8", "surrogatepass")

    def data(self, data: bytes) -> bytes:
        """Bytes that are a whole text, clean."""
        plain = without_codes(data)
        clean, _ = self.replaced(plain, 0, len(plain))
        return data if clean == data else clean

    def value(self, value: Any) -> Any:
        """A value whose texts are clean; keys of objects are left alone."""
        return _with_texts(value, self.text)

    def stream(self) -> Stream:
        """Cleans what comes in pieces."""
        return Stream(self)

    def replaced(self, data: bytes, start: int, end: int) -> tuple[bytes, int]:
        """What is between, with every secret that begins there replaced, and where it ends."""
        found = [*self._known_in(data, start), *_tokens_in(data, start)]
        parts, done = [], start
        # Of those that begin together, known ones come first, and the longest of them.
        for each in sorted(found, key=lambda each: each.start):
            if done <= each.start < end:
                parts += [data[done : each.start], f"[redacted {each.label}]".encode()]
                done = each.end
        end = max(done, end)
        return b"".join((*parts, data[done:end])), end

    def decided(self, data: bytes, start: int) -> int:
        """Up to where nothing that follows can make a difference."""
        halves = (_half(data, start, known) for known in self._known)
        return max(start, min(_open_key(data, start), _open_token(data), *halves))

    @cached_property
    def _known(self) -> dict[bytes, str]:
        return spellings(self._environ, self._names)

    @cached_property
    def _pieces(self) -> dict[int, set[bytes]]:
        """Every four bytes of a known secret, as a number -> the secrets that hold them."""
        found: dict[int, set[bytes]] = {}
        for known in self._known:
            for at in range(len(known) - 3):
                piece = int.from_bytes(known[at : at + 4], sys.byteorder)
                found.setdefault(piece, set()).add(known)
        return found

    def _known_in(self, data: bytes, start: int) -> Iterator[FoundSecret]:
        for known in self._worth_a_search(data):
            at = data.find(known, start)
            while at >= 0:
                yield FoundSecret(at, at + len(known), self._known[known])
                at = data.find(known, at + 1)

    def _worth_a_search(self, data: bytes) -> list[bytes]:
        """The known secrets that a text may hold, the longest first.

        Wherever a secret is, it holds a whole number of the text taken as numbers of
        four bytes. So one look at each of those does for any number of secrets.
        """
        if len(data) < SHORT or not self._known:
            return list(self._known)
        numbers = memoryview(data)[: len(data) & ~3].cast("I")
        if self._pieces.keys().isdisjoint(numbers):
            return []
        near = set().union(*(self._pieces.get(number, ()) for number in set(numbers)))
        return [known for known in self._known if known in near]


class Stream:
    """Cleans bytes that come in pieces of any size; the pieces together are the clean whole.

    What may be the beginning of a secret is held until that is known, never more than the longest.
    """

    def __init__(self, cleaner: Cleaner) -> None:
        self._cleaner = cleaner
        self._waiting = b""
        self._before = b""
        self._held = b""

    def feed(self, chunk: bytes) -> bytes:
        """Take the next piece; return what can be shown by now."""
        if not chunk:  # of the many hooks that say nothing: no pattern is compiled for them
            return b""
        data = self._waiting = self._waiting + chunk
        # Much that is held is not looked at again for a few bytes more; a line never waits.
        if len(data) * 16 < len(self._held) and b"\n" not in chunk:
            return b""
        cut = _code_begins(data)
        self._waiting = data[cut:]
        return self._take(without_codes(data[:cut]), ends=False)

    def end(self) -> bytes:
        """There is no more: what was held."""
        data, self._waiting = self._waiting, b""
        return self._take(without_codes(data), ends=True) if data or self._held else b""

    def _take(self, plain: bytes, *, ends: bool) -> bytes:
        data, start = self._before + self._held + plain, len(self._before)
        until = len(data) if ends else self._cleaner.decided(data, start)
        clean, until = self._cleaner.replaced(data, start, until)
        self._before, self._held = data[max(0, until - CONTEXT) : until], data[until:]
        return clean


def without_codes(data: bytes) -> bytes:
    """Text without commands to a terminal."""
    return _compiled(_CODES).sub(b"", data) if b"\x1b" in data or b"\xc2" in data else data


def typed_text(text: str) -> str:
    """What a person or an agent typed, as text that can be told: lines and tabs, nothing else."""
    if text.isprintable():
        return text
    return _plain_text(text).translate(_CONTROLS)


def typed_value(value: Any) -> Any:
    """A value whose texts were typed; keys of objects are left alone."""
    return _with_texts(value, typed_text)


def plain_value(value: Any) -> Any:
    """A value of JSON without commands to a terminal, which JSON spells so that none was seen."""
    return _with_texts(value, _plain_text)


def _plain_text(text: str) -> str:
    if text.isprintable():
        return text
    return without_codes(text.encode("utf-8", "surrogatepass")).decode("utf-8", "surrogatepass")


def _with_texts(value: Any, change: Callable[[str], str]) -> Any:
    """A value with each of its texts changed; keys stay."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, msgspec.Struct):
        fields = msgspec.structs.asdict(value)
        return msgspec.structs.replace(value, **_with_texts(fields, change))
    if isinstance(value, dict):
        return {key: _with_texts(each, change) for key, each in value.items()}
    if isinstance(value, list | tuple):
        parts = [_with_texts(each, change) for each in value]
        if hasattr(value, "_fields"):
            return type(value)(*parts)
        return parts if isinstance(value, list) else tuple(parts)
    return value


def _code_begins(data: bytes) -> int:
    """Where a command begins that is not whole yet; else the end."""
    found = _compiled(_OPEN_CODE).search(data, max(0, len(data) - LONGEST_CODE))
    return len(data) if found is None else found.start()


def _half(data: bytes, start: int, secret: bytes) -> int:
    """Where the text ends with the beginning of a secret; else its end."""
    at = data.find(secret[:1], max(start, len(data) - len(secret) + 1))
    while at >= 0:
        if secret.startswith(data[at:]):
            return at
        at = data.find(secret[:1], at + 1)
    return len(data)


def _open_key(data: bytes, start: int) -> int:
    """Where a private key begins that may continue; else the end."""
    at = data.rfind(_KEY_BEGINS, max(start, len(data) - LONGEST_KEY - 400))
    if at >= 0 and _compiled(_OPEN_KEY).fullmatch(data, at):
        return at
    return _half(data, start, _KEY_BEGINS)


def _open_token(data: bytes) -> int:
    """Where the last word begins, if it may be a token or become one; else the end."""
    first = max(0, len(data) - LONGEST_TOKEN)
    word = data[first:]
    blank = max(map(word.rfind, (b" ", b"\n", b"\t", b"\r")))
    word = word[blank + 1 :]
    if word.endswith(_HALF_SIGNS) or _any_sign().search(b" " + word):
        return first + blank + 1
    return len(data)


# Tokens


# Tokens of these kinds can be in pieces too short for a long word, so their signs are looked for.
_IN_PIECES = ("azure-storage-key", "atlassian-token", "grafana-token", "sentry-token")
_LOOKED_FOR = (b"://", *(s.encode() for kind in (*_IN_PIECES, PRIVATE_KEY) for s in SIGNS[kind]))
# The longest escape, and the mark before a word.
BEFORE = 7
_IN_WORDS = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-"
_MARKS = bytes(ord("x") if byte in _IN_WORDS else ord(" ") for byte in range(256))
_LONG_WORD = b"x" * 15


@cache
def _kinds() -> dict[bytes, list[str]]:
    """How tokens begin -> the kinds that begin so."""
    found: dict[bytes, list[str]] = {}
    for kind, signs in SIGNS.items():
        for sign in signs:
            found.setdefault(sign.encode(), []).append(kind)
    return found


@cache
def _any_sign() -> re.Pattern[bytes]:
    """Finds a sign where a word begins: after a mark, or a letter that stands for one."""
    signs = b"|".join(map(re.escape, _kinds()))
    escape = rb"(?<=\\)(?:[bfnrt]|u[0-9A-Fa-f]{4})|(?<=%)[0-9A-Fa-f]{2}"
    return re.compile(rb"[^A-Za-z0-9](?:" + escape + rb")?(?=(" + signs + rb"))")


@cache
def _compiled(pattern: str | bytes) -> re.Pattern[bytes]:
    """A pattern, compiled when it is first needed: most commands need none."""
    return re.compile(pattern.encode() if isinstance(pattern, str) else pattern, re.ASCII)


def _tokens_in(data: bytes, start: int) -> Iterator[FoundSecret]:
    data = b" " + data  # so that something comes before the first word, too
    for first, last in _places(data):
        for sign in _any_sign().finditer(data, first, last):
            for kind in _kinds()[sign[1]]:
                found = _token(data, sign.start(1), start + 1, kind)
                if found is not None:
                    yield FoundSecret(found.start - 1, found.end - 1, found.label)


def _places(data: bytes) -> Iterator[tuple[int, int]]:
    """Where the sign of a token can be: in a long word, or where it was found. The rest is text."""
    marks = data.translate(_MARKS)
    at = marks.find(_LONG_WORD)
    while at >= 0:
        end = marks.find(b" ", at)
        end = end if end >= 0 else len(data)
        # What comes before the word decides, and a sign may continue after it.
        yield max(0, at - BEFORE), end + 16
        at = marks.find(_LONG_WORD, end)
    for sign in _LOOKED_FOR:
        at = data.find(sign)
        while at >= 0:
            yield max(0, at - BEFORE), at + len(sign)
            at = data.find(sign, at + 1)


def _token(data: bytes, at: int, start: int, kind: str) -> FoundSecret | None:
    """The token of a kind whose sign is there, if it is one."""
    if kind == TELEGRAM:
        at = _first_digit(data, at - 1, start)
    elif kind == URL:
        at -= 1
    found = _compiled(_SHAPES[kind]).match(data, at)
    if found is None or at < start:
        return None
    if not is_real(kind, found[0].decode("utf-8", "replace").removeprefix("://")):
        return None
    # Of a URL the host stays, which explains more than it gives away.
    return FoundSecret(at + len("://") if kind == URL else at, found.end(), kind)


def _first_digit(data: bytes, at: int, start: int) -> int:
    first = max(start, at - 10)
    while at > first and data[at - 1] in _DIGITS:
        at -= 1
    return at
