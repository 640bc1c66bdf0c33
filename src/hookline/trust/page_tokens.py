"""The tokens of a project's page, in the user's own folder: of a person, a viewer and agents."""

from __future__ import annotations

import os
import secrets
import stat
from contextlib import suppress
from html import escape

import msgspec

from hookline import typed
from hookline.digest import sha256
from hookline.errors import Untrusted
from hookline.files import text_of
from hookline.trust.private import read_private, write_private

FOLDER = "page"
_LEADS_TO = """<!doctype html>
<meta charset="utf-8">
<meta name="referrer" content="no-referrer">
<meta http-equiv="refresh" content="0; url={0}">
<title>Hookline</title>
<a href="{0}">Hookline</a>
"""
PERSON, VIEWER, AGENT = "person", "viewer", "agent"


class PageTokens(msgspec.Struct, frozen=True):
    """Who brings which token: a person decides, a viewer sees, an agent uses tools."""

    person: str
    viewer: str
    agent: str

    @property
    def roles(self) -> dict[str, str]:
        """The role of each token."""
        return {self.person: PERSON, self.viewer: VIEWER, self.agent: AGENT}


def page_tokens(home: str, root: str, *, renew: bool = False) -> PageTokens:
    """The tokens of a project; new ones if there are none, or if they are to be replaced."""
    path = f"{_place(home, root)}.json"
    found = None if renew else _read(path)
    if found is None:
        found = PageTokens(*(secrets.token_urlsafe(32) for _ in range(3)))
        write_private(path, msgspec.json.encode(found))
    return found


def page_file(home: str, root: str, url: str) -> str:
    """A file for this user's browser that leads to the page.

    The address has a token, and everyone can read the arguments of a browser's process.
    """
    path = f"{_place(home, root)}.html"
    write_private(path, _LEADS_TO.format(escape(url)).encode())
    return path


def _place(home: str, root: str) -> str:
    name = sha256(os.fsencode(os.path.realpath(root))).hexdigest()[:32]
    return os.path.join(home, FOLDER, name)


def _read(path: str) -> PageTokens | None:
    data = read_private(path)
    if data is None:
        return None
    if stat.S_IMODE(os.stat(path).st_mode) & 0o077:
        help = "`hookline serve --new-tokens` replaces them"
        raise Untrusted(f"others can read the page's tokens in {text_of(path)}", help=help)
    with suppress(msgspec.MsgspecError):
        return typed.decode(data, PageTokens)
    return None
