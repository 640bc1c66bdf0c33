"""A secret that a program prints as Python shows it, or in HTML, is found all the same."""

from __future__ import annotations

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
