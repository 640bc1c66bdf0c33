"""A secret that a program prints as Python does, in HTML or in base64, is found all the same."""

from __future__ import annotations

import base64
import html

import pytest

from hookline.domain.text.cleaning import Cleaner

SECRETS = ("p'ss\"w\\rd-1<2>&3", "pässwörd-é☃'", "tab\there\x01and-more", 'only"double-quotes&')


@pytest.mark.parametrize("secret", SECRETS)
def test_as_python_shows_it(secret: str) -> None:
    cleaner = Cleaner({"MY_TOKEN": secret})
    for text in (repr(secret), repr({"a": secret}), repr(secret.encode()), ascii(secret)):
        assert "[redacted MY_TOKEN]" in cleaner.text(text), text


@pytest.mark.parametrize("secret", SECRETS)
def test_in_html(secret: str) -> None:
    cleaner = Cleaner({"MY_TOKEN": secret})
    by_go = html.escape(secret).replace("&quot;", "&#34;").replace("&#x27;", "&#39;")
    for text in (html.escape(secret), html.escape(secret, quote=False), by_go):
        assert cleaner.text(f"<b>{text}</b>") == "<b>[redacted MY_TOKEN]</b>", text


@pytest.mark.parametrize("end", [b"", b"\n", b"\r\n", b"\n\n"])
@pytest.mark.parametrize("size", [40, 58, 59, 60, 100, 144])
def test_in_lines_of_base64(end: bytes, size: int) -> None:
    """A line end after the value, as `echo` adds it, changes the last line."""
    secret = ("Ab3dEf6hIj9lMn2pQr5tUv8x" * 6)[:size]
    text = base64.encodebytes(secret.encode() + end).decode()
    shown = Cleaner({"MY_TOKEN": secret}).text(text)
    last = text.splitlines()[-1]
    assert len(last) < 12 or last[:-4] not in shown
    assert len(shown.replace("[redacted MY_TOKEN]", "").strip()) < 12
