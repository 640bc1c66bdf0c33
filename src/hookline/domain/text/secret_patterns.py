"""What credentials look like: shapes of well-known tokens, key blocks, and telling assignments.

Every pattern runs in linear time. A match is told by kind, place and length, never by its text.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Iterator
from functools import cache
from itertools import pairwise

from hookline.immutable import Immutable

ASSIGNMENT = "assigned-secret"
URL = "password-in-url"
TELEGRAM = "telegram-bot-token"

# kind -> pattern. The character before a match must not belong to the same word.
SHAPES: dict[str, str] = {
    "private-key": r"-----BEGIN (?:[A-Z0-9]{1,20} ){0,4}PRIVATE KEY(?: BLOCK)?-----",
    "age-key": r"AGE-SECRET-KEY-1[0-9A-Z]{58}",
    "aws-access-key": r"A(?:KIA|SIA|BIA|CCA)[A-Z2-7]{16}(?![A-Za-z0-9])",
    "azure-storage-key": r"AccountKey=[A-Za-z0-9+/]{86}==",
    "anthropic-key": r"sk-ant-[A-Za-z0-9_-]{20,200}",
    "atlassian-token": r"ATATT3[A-Za-z0-9_=-]{50,300}",
    "databricks-token": r"dapi[0-9a-f]{32}(?![0-9a-f])",
    "digitalocean-token": r"do[opr]_v1_[0-9a-f]{64}",
    "docker-token": r"dckr_(?:pat|oat)_[A-Za-z0-9_-]{20,100}",
    "github-token": r"gh[pousr]_[A-Za-z0-9]{36,251}",
    "github-fine-grained-token": r"github_pat_[A-Za-z0-9_]{40,251}",
    "gitlab-token": r"gl(?:pat|ptt|dt|rt|cbt|ft|soat)-[A-Za-z0-9_-]{20,200}",
    "google-api-key": r"AIza[A-Za-z0-9_-]{35}(?![A-Za-z0-9_-])",
    "google-oauth-secret": r"GOCSPX-[A-Za-z0-9_-]{28}",
    "google-oauth-token": r"ya29\.[A-Za-z0-9_-]{30,500}",
    "grafana-token": r"gl(?:c|sa)_[A-Za-z0-9+/=_]{32,400}",
    "hashicorp-vault-token": r"hv[bs]\.[A-Za-z0-9_-]{24,300}",
    "huggingface-token": r"hf_[A-Za-z0-9]{34,40}(?![A-Za-z0-9])",
    # Only where a word begins: else a long text of beginnings would be read again from each.
    "json-web-token": (
        r"eyJ(?<![A-Za-z0-9_-]eyJ)[A-Za-z0-9_-]{10,2000}+\.eyJ[A-Za-z0-9_-]{10,4000}+"
        r"\.[A-Za-z0-9_-]{10,2000}"
    ),
    "linear-key": r"lin_api_[A-Za-z0-9]{40}",
    "mailgun-key": r"key-[0-9a-f]{32}(?![0-9a-f])",
    "npm-token": r"npm_[A-Za-z0-9]{36}(?![A-Za-z0-9])",
    "openai-key": r"sk-(?:proj|svcacct|admin)-[A-Za-z0-9_-]{20,200}|sk-[A-Za-z0-9]{40,64}",
    "pypi-token": r"pypi-AgE[A-Za-z0-9_-]{50,500}",
    "sendgrid-key": r"SG\.[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43}",
    "sentry-token": r"sntry[su]_[A-Za-z0-9+/=_-]{40,500}",
    "shopify-token": r"shp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}",
    "slack-token": r"xox[abeoprs]-[A-Za-z0-9-]{10,250}",
    "slack-webhook": (
        r"hooks\.slack\.com/services/T[A-Z0-9]{5,15}/B[A-Z0-9]{5,15}/[A-Za-z0-9]{15,40}"
    ),
    "stripe-key": r"[rs]k_live_[A-Za-z0-9]{16,250}",
    TELEGRAM: r"[0-9]{8,10}:AA[A-Za-z0-9_-]{33}(?![A-Za-z0-9_-])",
    "twilio-key": r"SK[0-9a-f]{32}(?![0-9a-f])",
    URL: r"(?<=://)[A-Za-z0-9._~%+-]{1,64}:[^\s:/@'\"<>{}$*]{3,128}(?=@[A-Za-z0-9\[])",
    ASSIGNMENT: (
        r"(?i:secret|token|passwd|password|api[_-]?key|access[_-]?key|auth[_-]?key|private[_-]?key"
        r"|credential)[A-Za-z0-9_.-]{0,30}[\"'\]]{0,2}\s{0,8}(?::=|=>|[:=])\s{0,8}"
        r"(?:[\"'`](?P<quoted>[^\s\"'`]{16,512}+)[\"'`]"
        r"|(?P<bare>[A-Za-z0-9+/_-]{20,512}+={0,2})[ \t\r]{0,8}$)"
    ),
}
KINDS = tuple(SHAPES)
# kind -> how its matches begin, after a mark; Telegram's have digits and a colon before that, and
# URLs a colon. Assignments are left out: nobody can tell a password from a digest there.
SIGNS: dict[str, tuple[str, ...]] = {
    "private-key": ("-----BEGIN ",),
    "age-key": ("AGE-SECRET-KEY-1",),
    "aws-access-key": ("AKIA", "ASIA", "ABIA", "ACCA"),
    "azure-storage-key": ("AccountKey=",),
    "anthropic-key": ("sk-",),
    "atlassian-token": ("ATATT3",),
    "databricks-token": ("dapi",),
    "digitalocean-token": ("doo_v1_", "dop_v1_", "dor_v1_"),
    "docker-token": ("dckr_",),
    "github-token": ("ghp_", "gho_", "ghu_", "ghs_", "ghr_"),
    "github-fine-grained-token": ("github_pat_",),
    "gitlab-token": ("glpat-", "glptt-", "gldt-", "glrt-", "glcbt-", "glft-", "glsoat-"),
    "google-api-key": ("AIza",),
    "google-oauth-secret": ("GOCSPX-",),
    "google-oauth-token": ("ya29.",),
    "grafana-token": ("glc_", "glsa_"),
    "hashicorp-vault-token": ("hvb.", "hvs."),
    "huggingface-token": ("hf_",),
    "json-web-token": ("eyJ",),
    "linear-key": ("lin_api_",),
    "mailgun-key": ("key-",),
    "npm-token": ("npm_",),
    "openai-key": ("sk-",),
    "pypi-token": ("pypi-AgE",),
    "sendgrid-key": ("SG.",),
    "sentry-token": ("sntrys_", "sntryu_"),
    "shopify-token": ("shpat_", "shpca_", "shppa_", "shpss_"),
    "slack-token": ("xoxa-", "xoxb-", "xoxe-", "xoxo-", "xoxp-", "xoxr-", "xoxs-"),
    "slack-webhook": ("hooks.slack.com/services/",),
    "stripe-key": ("rk_live_", "sk_live_"),
    TELEGRAM: ("AA",),
    "twilio-key": ("SK",),
    URL: ("//",),
}

_PLACEHOLDER = (
    r"(?i)example|placeholder|changeme|change-me|dummy|redacted|your[-_]|xxxx|\*\*\*|\.\.\."
)
_WORDS = frozenset({"password", "passwd", "pass", "pwd", "secret", "token", "user", "test"})
# Only values as mixed as a random generator makes them: in bits for each character, and in how
# often the kind of character changes; names made of words have a digit or two at their end.
_BITS, _BITS_OF_HEX, _CHANGES = 3.5, 3.0, 0.25
_HEX = r"[0-9a-fA-F]+"


class Secret(Immutable):
    """Something that looks like a credential: its kind, where it begins, and how long it is."""

    kind: str
    start: int
    length: int


def find_secrets(text: str, ignore: Collection[str] = ()) -> Iterator[Secret]:
    """What looks like a credential in a text, kind by kind."""
    for kind, pattern in _compiled().items():
        if kind in ignore:
            continue
        for found in pattern.finditer(text):
            value = _value(found)
            if _begins_word(text, found.start(), kind) and is_real(kind, value):
                yield Secret(kind, found.start(), len(value))


@cache
def _compiled() -> dict[str, re.Pattern[str]]:
    return {kind: re.compile(text, re.ASCII | re.MULTILINE) for kind, text in SHAPES.items()}


def _value(found: re.Match[str]) -> str:
    groups = found.groupdict()
    return groups.get("quoted") or groups.get("bare") or found[0]


def _begins_word(text: str, start: int, kind: str) -> bool:
    if kind == ASSIGNMENT or start == 0:  # a name may begin before the telling word: db_password
        return True
    before = text[start - 1]
    return not (before.isascii() and before.isalnum())


def is_real(kind: str, value: str) -> bool:
    """Whether a match is not a placeholder, and as mixed as what a generator makes."""
    if re.search(_PLACEHOLDER, value):
        return False
    if kind == URL:
        return value.partition(":")[2].lower() not in _WORDS
    return kind != ASSIGNMENT or _is_random(value)


def _is_random(value: str) -> bool:
    kinds = [_kind(each) for each in value if each.isalnum()]
    if len(set(kinds)) < 2 or "digit" not in kinds or any(each in value for each in "(){}<>$"):
        return False
    changes = sum(one != other for one, other in pairwise(kinds))
    bits = _BITS_OF_HEX if re.fullmatch(_HEX, value) else _BITS
    return changes >= _CHANGES * len(kinds) and _entropy(value) >= bits


def _kind(character: str) -> str:
    if character.isdigit():
        return "digit"
    return "upper" if character.isupper() else "lower"


def _entropy(value: str) -> float:
    shares = [count / len(value) for count in Counter(value).values()]
    return -sum(share * math.log2(share) for share in shares)
