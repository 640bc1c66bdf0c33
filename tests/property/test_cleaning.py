"""Cleaning outside text: no secret survives in any spelling, in pieces of any size."""

from __future__ import annotations

import base64
import json
import urllib.parse

from hypothesis import example, given, settings
from hypothesis import strategies as st

from hookline.domain.text.cleaning import LONGEST_KEY, LONGEST_TOKEN, Cleaner

SECRET = 'tr0ub4dor&3/+ "quoted" ü'
LINES = "first-line-of-a-secret\nshort\nsecond/line=of+it"
KEY = "\n".join(
    [
        "-----BEGIN RSA PRIVATE KEY-----",
        *["MIIEpAIBAAKCAQEA" * 4] * 12,
        "-----END RSA PRIVATE KEY-----",
    ]
)
ENVIRON = {
    "A_TOKEN": SECRET,
    "B_PASSWORD": LINES,
    "C_SECRET": "aaaaaaaa",
    "D_SECRET": "aaaaaaaaa",
    "E_API_KEY": "sk-proj-abc",
    "F_API_KEY": "x" * 200 + "0123456789" * 10,
}
TOKENS = [
    "ghp_" + "aB3" * 12,
    "sk-proj-" + "Zx9_" * 10,
    "AKIA" + "QWERTYUIOPASDFGH",
    "xoxb-1234567890-abcdefghij",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N",
    "123456789:AA" + "Hd7" * 11,
    "hooks.slack.com/services/T12345678/B12345678/abcdefghijklmnopqrst",
    "AccountKey=" + "a+/B" * 21 + "ab==",
]
CLEANER = Cleaner(ENVIRON)


def spelled(secret: str) -> list[str]:
    data = secret.encode()
    return [
        secret,
        json.dumps(secret)[1:-1],
        json.dumps(secret, ensure_ascii=False)[1:-1],
        json.dumps(json.dumps(secret, ensure_ascii=False), ensure_ascii=False),
        urllib.parse.quote(secret),
        urllib.parse.quote(secret, safe=""),
        urllib.parse.quote_plus(secret),
        base64.b64encode(data).decode(),
        base64.urlsafe_b64encode(data).decode(),
        base64.b64encode(data + b"\n").decode(),
        base64.b64encode(b"user:" + data).decode(),
        base64.b64encode(b"user: " + data + b"..").decode(),
        base64.encodebytes(data).decode(),
    ]


whole_secrets = st.sampled_from(
    [
        *(each for value in (SECRET, ENVIRON["F_API_KEY"]) for each in spelled(value)),
        *TOKENS,
        LINES,
        KEY,
    ]
    + [f"https://bob:{token}@example.org/" for token in ("hunter2hunter2", "a%20b%20c")]
)
codes = st.sampled_from(
    [
        "\x1b[31m",
        "\x1b[0m",
        "\x1b]0;a title\x07",
        "\x1b]8;;http://x\x1b\\",
        "\x1b",
        "\x1b[",
        "\x9b1m",
    ]
)
filling = st.sampled_from(
    ["", " ", "\n", "a", "s", "sk-", "gh", "-", "-----", "-----BEGIN ", "\\n", "%20", "é", "1", ":"]
)
pieces = st.one_of(whole_secrets, codes, filling, st.text(max_size=12))
texts = st.lists(pieces, max_size=12).map("".join)


def fed(data: bytes, sizes: list[int]) -> bytes:
    stream, out, at = CLEANER.stream(), b"", 0
    for size in sizes:
        out += stream.feed(data[at : at + size])
        at += size
    return out + stream.feed(data[at:]) + stream.end()


@given(texts, st.lists(st.integers(0, 40), max_size=60))
@settings(deadline=None)
@example(KEY[:-3], [200] * 4)
@example("a" * 40, [1] * 39)
@example("x" * (LONGEST_TOKEN * 2) + TOKENS[0], [LONGEST_TOKEN + 7])
@example(f"{KEY[:32]}{'A' * (LONGEST_KEY + 99)}", [1000] * 40)
def test_pieces_of_any_size_give_the_same_as_the_whole(text: str, sizes: list[int]) -> None:
    data = text.encode("utf-8", "replace")
    assert fed(data, sizes) == CLEANER.data(data)


@given(st.text(max_size=20), whole_secrets, st.text(max_size=20), st.lists(st.integers(0, 40)))
@example("\x9b", KEY, "", [])
@example("\x1b", KEY, "", [])
def test_no_secret_survives(before: str, secret: str, after: str, sizes: list[int]) -> None:
    text = f"{before} {secret} {after}"
    left = fed(text.encode("utf-8", "replace"), sizes).decode()
    for line in secret.split("\n"):
        assert len(line) < 8 or line.startswith(("-----", "https")) or line not in left
    assert "hunter2" not in left
    assert "a%20b%20c" not in left


@given(texts)
def test_no_command_to_a_terminal_survives(text: str) -> None:
    clean = CLEANER.text(text)
    assert not {"\x1b", "\x9b"} & set(clean)


@given(
    st.recursive(
        texts | st.integers() | st.none(), lambda s: st.lists(s) | st.dictionaries(texts, s)
    )
)
def test_values_keep_their_shape_and_their_keys(value: object) -> None:
    def shape(part: object) -> object:
        if isinstance(part, dict):
            return {key: shape(each) for key, each in part.items()}
        if isinstance(part, list):
            return [shape(each) for each in part]
        return type(part)

    assert shape(CLEANER.value(value)) == shape(value)


@given(
    st.dictionaries(st.sampled_from("abc"), st.sampled_from([SECRET, LINES, ENVIRON["F_API_KEY"]]))
)
def test_json_stays_json(value: dict[str, str]) -> None:
    for ascii_only in (True, False):
        said = json.dumps(value, ensure_ascii=ascii_only)
        assert json.loads(CLEANER.text(said)) == CLEANER.value(value)
