"""Secrets that the environment holds: which variables are secret, and how a value may be spelled.

A program that prints a secret seldom prints it plainly: it is in JSON, in a URL, in base64.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping

    Names = Callable[[], Collection[str]]

MIN_LENGTH = 8
# Letters alone are a word, unless there are more of them.
LONGEST_WORD = 16
# How wide the common tools make lines of base64.
_WIDTHS = (76, 64)
_URL_SAFE = str.maketrans("+/", "-_")
# What encoders leave as it is in a URL: letters and digits, and by their own rules these.
_PLAIN = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-~"
_KEPT_IN_URLS = (_PLAIN, _PLAIN + b"/", _PLAIN + b"/:", _PLAIN + b"!'()*")
# What stands for marks in HTML; of quotes there are several ways.
_MARKUP = frozenset("&<>\"'")
_ENTITIES = tuple(
    str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': double, "'": single})
    for double in ("&quot;", "&#34;", '"')
    for single in ("&#x27;", "&#39;", "&apos;", "'")
)
# What encoders of JSON spell by number, so that it fits into a page: Go, Gson, PHP and .NET.
_IN_PAGES = tuple(
    str.maketrans({mark: f"\\u{ord(mark):{form}}" for mark in marks})
    for marks, form in (("&<>", "04x"), ("&<>='", "04x"), ("&<>", "04X"), ("&<>'+`", "04X"))
)
# Every command looks at the names of variables, and compiling a pattern would take longer.
_IN_NAMES = (
    *("TOKEN", "SECRET", "PASSWORD", "PASSWD", "PASSPHRASE", "CREDENTIAL", "WEBHOOK"),
    *(
        f"{kind}{mark}KEY"
        for kind in ("API", "PRIVATE", "ACCESS", "SIGNING", "ENCRYPTION")
        for mark in ("", "_")
    ),
)
_AS_WORDS = tuple(
    f"_{word}_" for word in ("AUTH", "DSN", "PAT", "DATABASE_URL", "CONNECTION_STRING")
)
# These hold the place of a secret, which explains a failure and gives nothing away.
_PLACES = ("_FILE", "_PATH", "_DIR", "_SOCK")
_AFTER_USER = r"://[^\s/@:]*:([^\s/@]+)@"
# Words that occur in answers, records and everywhere: without them nothing could be read.
_WORDS = frozenset(
    """disabled password redacted
    breakpoint built-in cancelled complete completed continue created_at create_task end_turn
    escalate escalated exitcode executed-tasks execute_workflow executeat hookline interrupted
    needs_continuation needsmoreiterations nextprompt parallel remediationprompt retryafter
    schedule scripted submitted update_task updatedinput validate validation waitseconds""".split()
)


def spellings(environ: Mapping[str, str], names: Names = tuple) -> dict[bytes, str]:
    """Every way in which a secret of the environment may be written -> its variable's name.

    The project's own `names` do not count: a password like `postgres` would otherwise replace
    the type of that name.
    """
    # One look at all names together finds that most environments hold no secret.
    if not is_secret_name("_".join(environ).upper() + "_"):
        return {}
    found: dict[bytes, str] = {}
    secret = {name: value for name, value in environ.items() if is_secret_name(name.upper())}
    known = names() if secret else ()
    for name, value in secret.items():
        for spelled in _spelled_whole(value, known):
            found.setdefault(spelled.encode("utf-8", "surrogateescape"), name)
    return dict(sorted(found.items(), key=lambda each: -len(each[0])))


def knows(environ: Mapping[str, str], text: str) -> bool:
    """Whether a text holds a secret of the environment."""
    data = text.encode("utf-8", "surrogateescape")
    return any(spelled in data for spelled in spellings(environ))


def parts_of_url(url: str) -> list[str]:
    """What a server may repeat of a URL that is a secret: its path, its query, and parts of them.

    Words that such URLs are made of, such as `services`, give nothing away and occur everywhere.
    """
    place, _, query = url.strip().partition("://")[2].partition("#")[0].partition("?")
    path = f"/{place.partition('/')[2]}"
    values = [value for _, _, value in (each.partition("=") for each in query.split("&"))]
    found = [path, query, *path.split("/"), *values]
    if "%" in url:
        from urllib.parse import unquote_plus  # few URLs need it

        found += [unquote_plus(each) for each in found]
    return [each for each in found if len(each) >= MIN_LENGTH and not _is_word(each.strip("/"))]


def _is_word(text: str) -> bool:
    return text.isalpha() and len(text) <= LONGEST_WORD


def is_secret_name(name: str) -> bool:
    """Whether the name of a variable, in capitals, says that its value is a secret."""
    if name.endswith(_PLACES):
        return False
    words = f"_{name}_"
    return any(part in name for part in _IN_NAMES) or any(word in words for word in _AS_WORDS)


def _spelled_whole(value: str, known: Collection[str]) -> Iterator[str]:
    value = value.strip()
    lines = [line.strip() for line in value.splitlines()] if "\n" in value else []
    password = re.findall(_AFTER_USER, value) if "://" in value else []
    for part in {value, *lines, *password}.difference(known):
        if _is_secret(part):
            yield from _spelled(part)
    if value not in known and _is_secret(value):
        for spelled in _in_base64(value.encode("utf-8", "surrogateescape")):
            yield from (spelled, spelled.translate(_URL_SAFE))


def _is_secret(value: str) -> bool:
    if len(value) < MIN_LENGTH or not value.strip("0123456789.,"):
        return False
    if value.startswith("-----") and value.endswith("-----") and "\n" not in value:
        return False  # the first or last line of a key
    from hookline.points import POINTS  # most environments hold no secret

    return value.lower() not in _WORDS and value not in POINTS


def _spelled(value: str) -> Iterator[str]:
    """A value plainly, as Python shows it, in HTML, as JSON, as JSON in JSON, and in a URL."""
    yield value
    yield from (repr(value)[1:-1], ascii(value)[1:-1])
    yield repr(value.encode("utf-8", "surrogateescape"))[2:-1]
    for quotes in _ENTITIES if _MARKUP.intersection(value) else ():
        yield value.translate(quotes)
    for once in {_in_json(value), _in_ascii_json(value)}:
        for spelled in {once, *map(once.translate, _IN_PAGES)}:
            yield from (spelled, spelled.replace("/", "\\/"), _in_json(spelled))
    if not (value.isascii() and value.isalnum()):
        for kept in _KEPT_IN_URLS:
            quoted = _in_url(value.encode("utf-8", "surrogateescape"), kept)
            yield from (quoted, re.sub("%[0-9A-F]{2}", lambda found: found[0].lower(), quoted))
            yield quoted.replace("%20", "+")


def _in_json(value: str) -> str:
    try:
        return msgspec.json.encode(value).decode()[1:-1]
    except UnicodeEncodeError:  # JSON holds no bytes that are not text
        return value


def _in_ascii_json(value: str) -> str:
    """A value as encoders write it that keep to ASCII."""
    if value.isascii():
        return value
    import json  # few secrets are not ASCII

    return json.dumps(value)[1:-1]


def _in_url(value: bytes, kept: bytes) -> str:
    return "".join(chr(byte) if byte in kept else f"%{byte:02X}" for byte in value)


def _in_base64(value: bytes) -> Iterator[str]:
    """A value in base64: alone, in lines, and inside something longer.

    Three bytes become four characters, so a value is written in one of three ways, by where it
    begins. The characters that it shares with its neighbours are left out.
    """
    alone = _encode(value)
    yield alone
    # What `echo` or a file adds to the value, such as a line end, changes its last line.
    for text in (alone, alone[: len(value) * 4 // 3]):
        for width in _WIDTHS:
            if len(text) > width:
                pieces = (text[at : at + width] for at in range(0, len(text), width))
                yield from (piece for piece in pieces if len(piece) >= MIN_LENGTH)
    for before in range(3):
        first, last = -(-before * 4 // 3), (before + len(value)) * 4 // 3
        yield _encode(bytes(before) + value)[first:last]


def _encode(value: bytes) -> str:
    from binascii import b2a_base64  # most environments hold no secret

    return b2a_base64(value, newline=False).decode()
