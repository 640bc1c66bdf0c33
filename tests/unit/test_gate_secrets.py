"""What is taken for a credential, and what is not."""

from __future__ import annotations

import pytest

from hookline.domain.text.secret_patterns import KINDS, find_secrets

# Every value is made up, and put together here so that no scanner takes this file for a leak.
_BASE62 = "aB3dE5gH7jK9mN1pQ3sT5vX7zA9cE1gH3jK5mN7pQ9sT1vX3zB5dF7hJ9kL1nP3rT5vW7yZ9bD1f"
_HEX = "4f9c1e7a3b8d2065e1f0a9c8b7d6e5f40912837465afbecd"

SAMPLES = {
    "private-key": "-----BEGIN " + "RSA PRIVATE KEY-----",
    "age-key": "AGE-SECRET-" + "KEY-1" + "Q3" * 29,
    "aws-access-key": "AK" + "IAQ3EGRIOSF5DNN7TQ",
    "azure-storage-key": "Account" + "Key=" + (_BASE62 * 2)[:86] + "==",
    "anthropic-key": "sk-" + "ant-api03-" + _BASE62[:40],
    "atlassian-token": "ATA" + "TT3x" + _BASE62[:60],
    "databricks-token": "da" + "pi" + _HEX[:32],
    "digitalocean-token": "dop" + "_v1_" + (_HEX * 2)[:64],
    "docker-token": "dckr_" + "pat_" + _BASE62[:27],
    "github-token": "gh" + "p_" + _BASE62[:36],
    "github-fine-grained-token": "github_" + "pat_" + _BASE62[:22] + "_" + _BASE62[:40],
    "gitlab-token": "gl" + "pat-" + _BASE62[:20],
    "google-api-key": "AI" + "za" + _BASE62[:35],
    "google-oauth-secret": "GOC" + "SPX-" + _BASE62[:28],
    "google-oauth-token": "ya" + "29." + _BASE62[:60],
    "grafana-token": "gl" + "sa_" + _BASE62[:32] + "_" + _HEX[:8],
    "hashicorp-vault-token": "hv" + "s." + _BASE62[:30],
    "huggingface-token": "h" + "f_" + _BASE62[:34],
    "json-web-token": "ey" + "JhbGciOiJIUzI1NiJ9." + "ey" + "JzdWIiOiIxMjM0In0." + _BASE62[:43],
    "linear-key": "lin_" + "api_" + _BASE62[:40],
    "mailgun-key": "ke" + "y-" + _HEX[:32],
    "npm-token": "np" + "m_" + _BASE62[:36],
    "openai-key": "sk-" + "proj-" + _BASE62[:48],
    "pypi-token": "py" + "pi-AgE" + _BASE62[:70],
    "sendgrid-key": "S" + "G." + _BASE62[:22] + "." + _BASE62[:43],
    "sentry-token": "sn" + "trys_" + _BASE62[:60],
    "shopify-token": "shp" + "at_" + _HEX[:32],
    "slack-token": "xo" + "xb-1234567890-" + _BASE62[:24],
    "slack-webhook": "https://hooks.slack" + ".com/services/T0AB12CD3/B0AB12CD3/" + _BASE62[:24],
    "stripe-key": "sk_" + "live_" + _BASE62[:24],
    "telegram-bot-token": "123456789:" + "AA" + _BASE62[:33],
    "twilio-key": "S" + "K" + _HEX[:32],
    "password-in-url": "postgres://app:" + "s3cretpw@db.internal/x",
    "assigned-secret": "db_password = '" + _BASE62[:24] + "'",
}


def kinds(text: str) -> set[str]:
    return {each.kind for each in find_secrets(text)}


def test_every_kind_has_a_sample() -> None:
    assert set(SAMPLES) == set(KINDS)


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_is_found_in_a_line_of_code(kind: str) -> None:
    assert kind in kinds(
        f"call(x, {SAMPLES[kind]})\n" if kind != "assigned-secret" else SAMPLES[kind]
    )
    assert kind in kinds(f"first\n{SAMPLES[kind]}\nlast")


@pytest.mark.parametrize("kind", KINDS)
def test_a_kind_that_is_ignored_is_not_found(kind: str) -> None:
    found = {each.kind for each in find_secrets(SAMPLES[kind], ignore=[kind])}
    assert kind not in found


@pytest.mark.parametrize(
    "line",
    [
        f'API_KEY="{_BASE62[:32]}"',
        f"api-key: {_HEX[:40]}",
        f"export AUTH_TOKEN={_BASE62[:40]}",
        f"export AUTH_TOKEN={_BASE62[:40]}\r",
        f"{{'clientSecret': '{_BASE62[:30]}'}}",
        f'"access_key" => "{_BASE62[:30]}",',
        f"const token = `{_BASE62[:30]}`;",
    ],
)
def test_values_that_look_random_under_a_telling_name(line: str) -> None:
    assert kinds(line) == {"assigned-secret"}


@pytest.mark.parametrize(
    "line",
    [
        "token = os.environ['TOKEN']",
        "token = get_token_from_request(request, 2)",
        "password = input('Password: ')",
        "api_key: ${{ secrets.API_KEY }}",
        "API_KEY=your-api-key-goes-here-1234",
        "api_key: my-service-key-name-2024",
        "secretName: database-credentials-v2",
        "AKIAIOSFODNN7EXAMPLE",
        "https://user:password@example.org/",
        "postgres://app:${PASSWORD}@db/x",
        "sha256: " + _HEX,
        "tokens = count_tokens(text)",
        "token_hash = 'sha256'",
        "import secrets",
        "def test_password_is_hidden_in_log_output_number_2():",
    ],
)
def test_code_that_only_speaks_of_secrets_passes(line: str) -> None:
    assert kinds(line) == set()


def test_a_place_tells_where_and_how_long() -> None:
    token = SAMPLES["github-token"]
    (only,) = find_secrets(f"a\nb {token}")
    assert (only.kind, only.start, only.length) == ("github-token", 4, 40)


@pytest.mark.examples(3)
@pytest.mark.parametrize(
    "piece", ["eyJ", "eyJa.", "token=", "token='a", "://a:", "-----BEGIN ", "A" * 50, "sk-", "1"]
)
def test_hostile_text_is_read_in_linear_time(piece: str) -> None:
    """Only that it ends: the test's own limit stands for patience."""
    list(find_secrets(piece * (2_000_000 // len(piece))))
