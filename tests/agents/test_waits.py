"""What agents' errors say about the model, in the words of those that were seen."""

from __future__ import annotations

from datetime import datetime

import pytest

from hookline.adapters.agents.problems import model_wait
from hookline.domain.sessions.turns import ModelWait

NOON = datetime(2026, 11, 15, 12, 0, 30)


@pytest.mark.parametrize(
    "error",
    [
        "API Error: 529 Overloaded. This is a server-side issue",
        '{"type":"error","error":{"type":"overloaded_error"}}',
        "unexpected status 529 <unknown status code>: Internal server error",
        "exceeded retry limit, last status: 429 Too Many Requests",
        "Selected model is at capacity. Please try a different model.",
        "API Error: Request rejected (429) · This request would exceed your rate limit.",
        "We\u2019re currently experiencing high demand, which may cause temporary errors.",
    ],
)
def test_a_model_that_has_too_much_to_do(error: str) -> None:
    assert model_wait(error) == ModelWait(kind="overloaded")


@pytest.mark.parametrize(
    "error",
    [
        "unexpected status 401 Unauthorized: Incorrect API key provided.",
        "Quota exceeded. Check your plan and billing details.",
        "the agent exited 1: 529 files were read",
        "Credit balance is too low",
        "",
    ],
)
def test_what_waiting_does_not_cure(error: str) -> None:
    assert model_wait(error) is None


@pytest.mark.parametrize(
    ("error", "until"),
    [
        ("You\u2019ve hit your usage limit. Try again later.", None),
        ("You've hit your 5-hour limit · resets 5pm (UTC)", None),
        ("usage limit; or try again at 5:00 PM.", datetime(2026, 11, 15, 17, 1)),
        ("usage limit; or try again at 11:58 AM.", datetime(2026, 11, 15, 11, 59)),
        ("usage limit; or try again at 9:30 AM.", datetime(2026, 11, 16, 9, 31)),
        ("usage limit; try again at Dec 2nd, 2026 12:05 AM.", datetime(2026, 12, 2, 0, 6)),
        ("usage limit; try again at Feb 31st, 2026 12:05 AM.", None),
        ("usage limit; try again at 99:99 PM.", None),
    ],
)
def test_a_limit_and_its_end(error: str, until: datetime | None) -> None:
    moment = until.timestamp() if until else None
    assert model_wait(error, NOON.timestamp()) == ModelWait(kind="usage_limit", until=moment)


def test_a_limit_whose_end_is_a_number() -> None:
    error = "Claude AI usage limit reached|1794762003"
    assert model_wait(error) == ModelWait(kind="usage_limit", until=1794762003.0)
