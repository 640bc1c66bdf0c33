"""Keeps secrets of the environment out of what is recorded."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from hookline.digest import sha256

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

MIN_LENGTH = 6
_SECRET_NAME = re.compile(
    r"TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|API_?KEY|CREDENTIAL|WEBHOOK"
    r"|(PRIVATE|ACCESS|SIGNING|ENCRYPTION)_?KEY"
    r"|(^|_)(AUTH|DSN|PAT|DATABASE_URL|CONNECTION_STRING)(_|$)"
)
# These hold the place of a secret, which explains a failure and gives nothing away.
_PLACE_NAME = re.compile(r"_(FILE|PATH|DIR|SOCK)$")
_PLAIN_VALUE = re.compile(r"[\d.,]+|true|false|none|null|enabled|disabled|default", re.IGNORECASE)


def redactor(environ: Mapping[str, str]) -> Callable[[str], str]:
    """A function that replaces the values of secret-looking variables by `[redacted NAME]`."""
    names: dict[str, str] = {}
    for name, secret in _secrets(environ):
        names.setdefault(secret, name)
    if not names:
        return _unchanged
    longest_first = sorted(names, key=len, reverse=True)
    pattern = re.compile("|".join(map(re.escape, longest_first)))
    return lambda text: pattern.sub(lambda found: f"[redacted {names[found[0]]}]", text)


def redact_file(path: str | None, redact: Callable[[str], str]) -> str | None:
    """A file of recorded output without secrets: the same one, or a new one in its place."""
    if path is None or redact is _unchanged:
        return path
    try:
        with open(path, encoding="utf-8", errors="surrogateescape") as file:
            text = file.read()
        clean = redact(text)
        if clean == text:
            return path
        data = clean.encode("utf-8", "surrogateescape")
        name = str(sha256(data).hexdigest())
        home = os.path.join(os.path.dirname(os.path.dirname(path)), name[:2])
        os.makedirs(home, exist_ok=True)
        with open(path, "wb") as whole:
            whole.write(data)
        os.replace(path, os.path.join(home, name))
        return os.path.join(home, name)
    except OSError:  # better no output than one with secrets in it
        os.unlink(path)
        return None


def _secrets(environ: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    for name, value in environ.items():
        upper = name.upper()
        if not _SECRET_NAME.search(upper) or _PLACE_NAME.search(upper):
            continue
        # A key of several lines is recognised whole, and line by line in other layouts.
        for part in {value.strip(), *map(str.strip, value.splitlines())}:
            if len(part) >= MIN_LENGTH and not _PLAIN_VALUE.fullmatch(part):
                yield name, part


def _unchanged(text: str) -> str:
    return text
