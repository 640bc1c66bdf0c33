"""Twenty secrets and some tokens, and programs that tell them in every spelling."""

from __future__ import annotations

import base64
import html
import json
import sqlite3
import sys
import threading
import urllib.parse
from contextlib import closing, contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.e2e.conftest import Cli, Result

_BEGIN = "-----BEGIN OPENSSH " + "PRIVATE KEY-----"
_KEY = "\n".join(
    f"b3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQAAAAAAAAABAAAAMwAAAAtz{n}" for n in range(9)
)
SECRETS = {
    "OPENAI_API_KEY": "sk-" + "proj-" + "Ab3dEf6hIj9lMn2pQr5tUv8x" * 6,
    "GITHUB_TOKEN": "gh" + "p_" + "aB3dE5gH7jK9mN1pQ3sT5vX7zA9cE1gH3jK5",
    "AWS_SECRET_ACCESS_KEY": "wJalrXUtnFEMI/K7MDENG+bPxRfiCYzqT3nHb/sd",
    "SHORT_TOKEN": "q7#Zp!4w",
    "DB_PASSWORD": "correct horse battery staple",
    "QUOTED_SECRET": "she said \"no\" and 'yes'",
    "BACKSLASH_SECRET": "C:\\new\\table\\\\x",
    "UNICODE_PASSPHRASE": "pässwörd→日本語",
    "HEX_API_KEY": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "PERCENT_AUTH": "100%&sure=1?yes#top",
    "DATABASE_URL": "postgres://app:s3same-0pen@db.internal:5432/app",
    "SENTRY_DSN": "https://abcdef0123456789@o1.ingest.example/42",
    "SLACK_WEBHOOK": "https://chat.example.com/hooks/T00/B00/zzYYxxWWvvUU",
    "SIGNING_KEY": "MEQCIBase64LookingValue+/8rJ==",
    "DEPLOY_PRIVATE_KEY": f"{_BEGIN}\n{_KEY}\n{_BEGIN.replace('BEGIN', 'END')}\n",
    "MULTILINE_CREDENTIAL": '{\n  "client": "robot-7f3a",\n  "private": "k-1234567890abcdef"\n}',
    "JSON_CREDENTIALS": '{"user": "ada", "pass": "lovelace-1815"}',
    "NPM_PAT": "--dashes-at--the-start",
    "STRIPE_SECRET": "<script>&amp;amount=5</script>",
    "REPEATED_TOKEN": "abcabcabcabcabcabc",
}
# Tokens that no variable holds: only their shape tells what they are.
TOKENS = (
    "gl" + "pat-" + "aB3dE5gH7jK9mN1pQ3sT",
    "xo" + "xb-1234567890-" + "aB3dE5gH7jK9mN1p",
    "AK" + "IAQ3EGRIOSF5DNN7TQ",
)
# Prints every secret plainly, in pieces, and in each spelling, on both streams.
LEAK = f"""\
#!{{python}}
import base64, json, os, sys, urllib.parse
names = {list(SECRETS)!r}
values = [os.environ[name] for name in names if name in os.environ] + {list(TOKENS)!r}
def by_go(text):
    return text.replace("&", "\\\\u0026").replace("<", "\\\\u003c").replace(">", "\\\\u003e")
def spelled(v):
    raw = v.encode()
    yield from (v, json.dumps(v), json.dumps(v, ensure_ascii=False), json.dumps(json.dumps(v)))
    yield from (by_go(json.dumps(v)), json.dumps(by_go(json.dumps(v))))
    yield from (urllib.parse.quote(v), urllib.parse.quote(v, safe=""), urllib.parse.quote_plus(v))
    yield from (base64.b64encode(raw).decode(), base64.urlsafe_b64encode(raw).decode())
    yield from (base64.encodebytes(raw + b"\\n").decode(), base64.b64encode(b"me:" + raw).decode())
text = "\\n".join(each for value in values for each in spelled(value))
def leak(*, file):
    for value in values:
        for piece in (value[:5], value[5:], "\\n"):
            os.write(file, piece.encode())
    os.write(file, text.encode() + b"\\n")
if __name__ == "__main__":
    how = sys.argv[1] if len(sys.argv) > 1 else "plain"
    leak(file=2)
    if how == "plain":
        leak(file=1)
    elif how == "long":
        for _ in range(8):
            leak(file=1)
    else:
        answer = {{"text": text, "message": text, "reason": text, "actions": [
            {{"type": "create_task", "payload": {{"goal": text[:900], "notes": [text]}}}},
            {{"type": "log", "payload": {{"type": "told", "data": {{"said": text}}}}}},
            {{"type": text[:40], "payload": {{}}}},
        ]}}
        told = json.dumps({{**answer, **json.loads(sys.argv[2] if len(sys.argv) > 2 else "{{}}")}})
        print(by_go(told) if how == "go" else told)
    sys.exit(int(os.environ.get("LEAK_EXIT", "0")))
"""
PYTHON_HOOKS = """\
import os
from leak import leak, text

def react(event, context):
    leak(file=1)
    return {"actions": [{"type": "create_task", "payload": {"goal": text[:500], "notes": [text]}}]}

def fails(event, context):
    raise ValueError(text)

def counts():
    return {"said": text}
"""
FLOW = """\
import os
from hookline import flow
from leak import text
from policy import counts

@flow
async def leaky(ctx):
    first = await ctx.run("./leak.py long")
    assert os.environ["OPENAI_API_KEY"] not in first["stdout"]
    await ctx.call(counts)
    heard = await ctx.signal("go")
    failed = await ctx.run("LEAK_EXIT=3 ./leak.py", id="fails", check=False)
    return {"heard": heard, "failed": failed, "own": text}

@flow
async def raises(ctx):
    raise RuntimeError(text)
"""


def spelled() -> list[str]:
    """What must be found nowhere: what is told, and what a page would show of it."""
    within = [base64.b64encode(b"me:" + s.encode()).decode()[4:-4] for s in SECRETS.values()]
    lines = [base64.encodebytes(s.strip().encode() + b"\n").decode() for s in SECRETS.values()]
    wrapped = [line[:-4] for text in lines for line in text.splitlines()[1:] if len(line) > 16]
    found = {each for text in told() for each in (text, html.escape(text))}
    return sorted({*found, *within, *wrapped, "sesame-of-bot"})


def by_go(text: str) -> str:
    """JSON as Go writes it."""
    for mark in "&<>":
        text = text.replace(mark, f"\\u{ord(mark):04x}")
    return text


def told() -> list[str]:
    """Each secret in each spelling, and each of its lines."""
    found = list(TOKENS)
    for secret in SECRETS.values():
        value = secret.strip()
        lines = [line for line in value.splitlines() if len(line.strip()) >= 8]
        for text in (value, *(line for line in lines if not line.startswith("-----"))):
            found += [
                text,
                json.dumps(text)[1:-1],
                json.dumps(text, ensure_ascii=False)[1:-1],
                by_go(json.dumps(text)[1:-1]),
                urllib.parse.quote(text),
                urllib.parse.quote(text, safe=""),
                urllib.parse.quote_plus(text),
            ]
        raw = value.encode()
        found += [base64.b64encode(raw).decode(), base64.urlsafe_b64encode(raw).decode()]
        found.append(base64.b64encode(b"me:" + raw).decode())
    return found


@contextmanager
def telling() -> Iterator[str]:
    """A server whose every answer tells all; at `/fails` it is an error."""
    body = json.dumps({"text": "\n".join(told()), "actions": []}).encode()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["content-length"]))
            self.send_response(500 if self.path == "/fails" else 200)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *details: object) -> None:
            """Nothing."""

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


class Leaks:
    """A project in which everything tells secrets, and what was seen of them."""

    def __init__(self, cli: Cli) -> None:
        self.cli = cli
        cli.env |= SECRETS
        self.seen: dict[str, str] = {}
        cli.put("leak.py", LEAK.replace("{python}", sys.executable), 0o755)
        cli.put("policy.py", PYTHON_HOOKS)
        cli.put(".hookline/flows/leaky.py", FLOW)

    def __call__(self, *args: str, code: int | None = 0, stdin: str = "") -> Result:
        """Run a command, and keep what it shows."""
        done = self.cli(*args, stdin=stdin)
        assert code is None or done.code == code, done.stderr
        self.seen[f"{len(self.seen)} {args[:3]}"] = done.stdout + done.stderr
        return done

    def check(self, *files: Path, blobs: bool = True, **sent: str) -> None:
        """No secret is in what was shown, nor in any file, nor in these texts."""
        with closing(sqlite3.connect(self.cli.database)) as store:
            store.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        folder = self.cli.root / ".hookline"
        theirs = {"flows", "worktrees"}  # what people and agents wrote
        kept = [path for path in folder.rglob("*") if path.is_file() and not theirs & {*path.parts}]
        assert any(path.parent.parent.name == "blobs" for path in kept) or not blobs
        texts = {name: text.encode() for name, text in (self.seen | sent).items()}
        texts |= {str(path): path.read_bytes() for path in (*kept, *files)}
        needles = [each.encode() for each in spelled()]
        found = [
            f"{name}: {needle!r}"
            for name, text in texts.items()
            for needle in needles
            if needle in text
        ]
        assert found == [], found
        whole = b"".join(texts.values())
        for name in SECRETS:
            assert f"[redacted {name}]".encode() in whole
