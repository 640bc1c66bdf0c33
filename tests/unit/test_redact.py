"""Secrets of the environment do not reach the records."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from hookline.hooks.redact import redact_file, redactor


@pytest.mark.parametrize(
    "name",
    [
        *("GITHUB_TOKEN", "CLIENT_SECRET", "DB_PASSWORD", "PGPASSWD", "OPENAI_API_KEY"),
        *("APIKEY", "CREDENTIALS", "SSH_PRIVATE_KEY", "AWS_ACCESS_KEY_ID", "NPM_AUTH"),
        *("SLACK_WEBHOOK_URL", "SENTRY_DSN", "DATABASE_URL", "github_token"),
    ],
)
def test_a_secret_is_replaced_by_its_name(name: str) -> None:
    redact = redactor({name: "s3cr3t/+value", "HOME": "/home/me"})
    text = "curl -H s3cr3t/+value /home/me s3cr3t/+value"
    assert redact(text) == f"curl -H [redacted {name}] /home/me [redacted {name}]"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("PATH", "/usr/bin:/bin"),
        ("GIT_AUTHOR_NAME", "Jane Doe"),
        ("SSH_AUTH_SOCK", "/tmp/ssh-agent.sock"),
        ("TOKEN_FILE", "/run/token"),
        ("MAX_TOKENS", "200000"),
        ("USE_TOKEN", "disabled"),
        ("API_KEY", "short"),
        ("API_KEY", ""),
        ("HOOKLINE_IDEMPOTENCY_KEY", "delivery-12"),
    ],
)
def test_what_is_no_secret_stays(name: str, value: str) -> None:
    text = f"before {value} after"
    assert redactor({name: value})(text) == text


def test_the_longest_secret_wins() -> None:
    redact = redactor({"A_TOKEN": "abcdef", "B_TOKEN": "abcdefghi"})
    assert redact("abcdefghi abcdef") == "[redacted B_TOKEN] [redacted A_TOKEN]"


def test_a_replacement_is_not_searched_again() -> None:
    redact = redactor({"A_SECRET": "redacted", "B_TOKEN": "123-456"})
    assert redact("123-456") == "[redacted B_TOKEN]"


def test_one_value_under_two_names_has_the_first() -> None:
    assert redactor({"A_TOKEN": "secret-1", "B_TOKEN": "secret-1"})("secret-1") == (
        "[redacted A_TOKEN]"
    )


def test_a_key_of_several_lines_is_found_line_by_line() -> None:
    redact = redactor({"DEPLOY_PRIVATE_KEY": "-----BEGIN-----\nMIIEvQ==abc\n"})
    assert redact('"MIIEvQ==abc\\n"') == '"[redacted DEPLOY_PRIVATE_KEY]\\n"'


def test_a_kept_output_loses_its_secrets(tmp_path: Path) -> None:
    folder = tmp_path / "blobs" / "ab"
    folder.mkdir(parents=True)
    kept = folder / "abcdef"
    kept.write_bytes(b"x" * 40_000 + b" hunter2-hunter2 " + b"\xff" * 10)
    redact = redactor({"API_TOKEN": "hunter2-hunter2"})
    cleaned = redact_file(str(kept), redact)
    assert cleaned is not None
    content = Path(cleaned).read_bytes()
    assert content == b"x" * 40_000 + b" [redacted API_TOKEN] " + b"\xff" * 10
    assert not kept.exists()
    assert hashlib.sha256(content).hexdigest() == Path(cleaned).name


def test_a_kept_output_without_secrets_stays_where_it_is(tmp_path: Path) -> None:
    kept = tmp_path / "plain"
    kept.write_text("nothing to hide")
    assert redact_file(str(kept), redactor({"API_TOKEN": "hunter2-hunter2"})) == str(kept)
    assert redact_file(str(kept), redactor({})) == str(kept)
    assert redact_file(None, redactor({})) is None
