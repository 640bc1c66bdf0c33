"""Secrets and colour codes do not reach the records."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from hookline.adapters.processes import capture
from hookline.adapters.processes.process import LocalProcesses
from hookline.domain.text.cleaning import Cleaner
from hookline.domain.text.secret_patterns import SHAPES, SIGNS
from tests.unit.test_gate_secrets import SAMPLES

if TYPE_CHECKING:
    from collections.abc import Callable

    from hookline.ports.processes import Finished

SHA = "3f786850e387550fdab836ed7e6dc881de23001b"


@pytest.mark.parametrize(
    "name",
    [
        *("GITHUB_TOKEN", "CLIENT_SECRET", "DB_PASSWORD", "PGPASSWD", "OPENAI_API_KEY"),
        *("APIKEY", "CREDENTIALS", "SSH_PRIVATE_KEY", "AWS_ACCESS_KEY_ID", "NPM_AUTH"),
        *("SLACK_WEBHOOK_URL", "SENTRY_DSN", "DATABASE_URL", "github_token"),
    ],
)
def test_a_secret_is_replaced_by_its_name(name: str) -> None:
    cleaner = Cleaner({name: "s3cr3t/+value", "HOME": "/home/me"})
    text = "curl -H s3cr3t/+value /home/me s3cr3t/+value"
    assert cleaner.text(text) == f"curl -H [redacted {name}] /home/me [redacted {name}]"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("PATH", "/usr/bin:/bin"),
        ("GIT_AUTHOR_NAME", "Jane Doe"),
        ("SSH_AUTH_SOCK", "/tmp/ssh-agent.sock"),
        ("TOKEN_FILE", "/run/token"),
        ("MAX_TOKENS", "200000000"),
        ("USE_TOKEN", "disabled"),
        ("API_KEY", "seven77"),
        ("API_KEY", ""),
        ("HOOKLINE_CLAIM_TOKEN", "12345678"),
        ("HOOKLINE_IDEMPOTENCY_KEY", "delivery-12"),
        ("A_SECRET", "complete"),
        ("A_SECRET", "post_iteration"),
        ("A_SECRET", "needs_continuation"),
    ],
)
def test_what_is_no_secret_stays(name: str, value: str) -> None:
    text = f"before {value} after"
    assert Cleaner({name: value}).text(text) == text


@pytest.mark.parametrize(
    "text",
    [
        *(f"commit {SHA}", f"{SHA}{SHA[:24]}", "T-1 R-2 session-ada-3", "task_completed"),
        *("sk-learn is not a key", "the key-value store", "https://example.org:8080/a@b"),
        *("git@github.com:owner/repository.git", "-----BEGIN PRIVATE KEY-----", "ghp_short"),
        "AKIAIOSFODNN7EXAMPLE",
        "5f2b7c3e-9d1a-4f6b-8c2e-1a2b3c4d5e6f",
    ],
)
def test_ids_digests_and_prose_stay(text: str) -> None:
    assert Cleaner({}).text(text) == text


def test_the_longest_secret_wins() -> None:
    cleaner = Cleaner({"A_TOKEN": "abcdefgh", "B_TOKEN": "abcdefghi"})
    assert cleaner.text("abcdefghi abcdefgh") == "[redacted B_TOKEN] [redacted A_TOKEN]"


def test_one_value_under_two_names_has_the_first() -> None:
    cleaner = Cleaner({"A_TOKEN": "secret-1", "B_TOKEN": "secret-1"})
    assert cleaner.text("secret-1") == "[redacted A_TOKEN]"


def test_a_key_of_several_lines_is_found_line_by_line() -> None:
    cleaner = Cleaner({"DEPLOY_PRIVATE_KEY": "-----BEGIN-----\nMIIEvQ==abc\n"})
    assert cleaner.text('"MIIEvQ==abc\\n"') == '"[redacted DEPLOY_PRIVATE_KEY]\\n"'


def test_the_password_of_a_url_is_a_secret_by_itself() -> None:
    cleaner = Cleaner({"DATABASE_URL": "postgres://app:hunter2-hunter2@db/app"})
    assert cleaner.text("wrong password hunter2-hunter2") == (
        "wrong password [redacted DATABASE_URL]"
    )


@pytest.mark.parametrize("kind", SIGNS)
def test_every_kind_of_token_is_found(kind: str) -> None:
    token = SAMPLES[kind] + ("\\n" + "MIIEpAIBAAKCAQEA" * 4 if kind == "private-key" else "")
    clean = Cleaner({}).text(f'{{"said": "so:\\n{token}"}}')
    assert f"[redacted {kind}]" in clean
    assert token not in clean


def test_every_shape_but_assignments_has_a_sign() -> None:
    assert set(SHAPES) - set(SIGNS) == {"assigned-secret"}


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("\x1b[1;31mred\x1b[0m", "red"),
        ("\x1b]0;title\x07text", "text"),
        ("\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x1b(Bplain\x1b=", "plain"),
        ("\x9b31mred", "red"),
        ("sec\x1b[31mret-1", "[redacted A_TOKEN]"),
        ("50 % · naïve\ttab\r\n", "50 % · naïve\ttab\r\n"),
    ],
)
def test_colour_codes_go(text: str, plain: str) -> None:
    assert Cleaner({"A_TOKEN": "secret-1"}).text(text) == plain


def test_what_a_program_prints_is_clean_everywhere(tmp_path: Path) -> None:
    told: list[bytes] = []
    cleaner = Cleaner({"A_TOKEN": "hunter2-hunter2"})
    script = (
        "printf 'hunter2-'; sleep 0.2; printf 'hunter2\\033[31m\\n'; echo hunter2-hunter2 >&2;"
        " head -c 40000 /dev/zero | tr '\\0' x; printf hunter2-hunter2"
    )

    def run(on_output: Callable[[bytes], None] | None) -> Finished:
        return asyncio.run(
            LocalProcesses(str(tmp_path), cleaner).run(
                ("/bin/sh", "-c", script),
                cwd=str(tmp_path),
                env={"PATH": "/usr/bin:/bin"},
                timeout=60,
                on_output=on_output,
            )
        )

    whole = "[redacted A_TOKEN]\n" + "x" * 40000 + "[redacted A_TOKEN]"
    run(told.append)
    assert b"".join(told).decode() == whole
    done = run(None)
    assert done.stderr == "[redacted A_TOKEN]\n"
    assert done.blob is not None
    assert Path(done.blob).read_text() == whole
    assert done.stdout_bytes == len(whole)


@pytest.mark.parametrize("blobs", [True, False])
def test_the_end_of_endless_output_is_clean(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, blobs: bool
) -> None:
    monkeypatch.setattr(capture, "BLOB_CAP", 200_000)
    cleaner = Cleaner({"A_TOKEN": "hunter2-hunter2"})
    kept = capture.Capture(str(tmp_path) if blobs else None, cleaner.stream())
    line = b"some hunter2-hunter2 words\n"
    data = line * (5_000_000 // len(line)) + b"the end: hunter2-hunter2"
    for at in range(0, len(data), 65_536):
        kept.feed(data[at : at + 65_536])
    kept.end()
    text = kept.text()
    assert "hunter2" not in text
    assert text.endswith("the end: [redacted A_TOKEN]")
    assert text.count("[redacted A_TOKEN]") > 900
    assert 30_000 < len(text) < 40_000
    assert len(data) * 0.9 < kept.total < len(data) * 1.2
    blob = kept.publish()
    assert blob is None or b"hunter2" not in Path(blob).read_bytes()


def test_data_comes_as_it_is(tmp_path: Path) -> None:
    processes = LocalProcesses(str(tmp_path), Cleaner({"A_TOKEN": "hunter2-hunter2"}), exact=True)
    done = asyncio.run(
        processes.run(
            ("/bin/sh", "-c", "printf 'hunter2-hunter2\\033[m'; printf hunter2-hunter2 >&2"),
            cwd=str(tmp_path),
            env={},
            timeout=60,
        )
    )
    assert done.stdout == "hunter2-hunter2\x1b[m"
    assert done.stderr == "[redacted A_TOKEN]"
