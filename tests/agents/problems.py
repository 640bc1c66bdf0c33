"""What goes wrong with a model, by name, and how each vendor says it over HTTP."""

from __future__ import annotations

import time
import uuid
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from tests.agents.dialects import Reply

Json = dict[str, Any]

KEY, CREDIT, MODEL = "invalid key", "no credit", "unknown model"
RATE, RATE_UNTIL, BROKEN, BUSY = "429", "429 with retry-after", "500", "overloaded"
USED_UP = "usage limit"


class HttpError(NamedTuple):
    """A status and the body that comes with it."""

    status: int
    body: Json


def _anthropic(status: int, kind: str, message: str) -> HttpError:
    error = {"type": kind, "message": message}
    return HttpError(status, {"type": "error", "error": error, "request_id": f"req_{uuid.uuid4()}"})


def _openai(status: int, kind: str, code: str | None, message: str) -> HttpError:
    error = {"message": message, "type": kind, "param": None, "code": code}
    return HttpError(status, {"error": error})


def _google(status: int, kind: str, message: str, *details: Json) -> HttpError:
    error = {"code": status, "message": message, "status": kind, "details": list(details)}
    return HttpError(status, {"error": error})


_LIMITED = "This request would exceed your organization's rate limit."
_NO_MONEY = (
    "Your credit balance is too low to access the Anthropic API."
    " Please go to Plans & Billing to upgrade or purchase credits."
)
ANTHROPIC = {
    KEY: _anthropic(401, "authentication_error", "invalid x-api-key"),
    MODEL: _anthropic(404, "not_found_error", "model: claude-none"),
    RATE: _anthropic(429, "rate_limit_error", _LIMITED),
    BROKEN: _anthropic(500, "api_error", "Internal server error"),
    BUSY: _anthropic(529, "overloaded_error", "Overloaded"),
    CREDIT: _anthropic(400, "invalid_request_error", _NO_MONEY),
}
_QUOTA = (
    "You exceeded your current quota, please check your plan and billing details."
    " For more information on this error, read the docs."
)
_NO_MODEL = "The model `gpt-none` does not exist or you do not have access to it."
OPENAI = {
    KEY: _openai(401, "invalid_request_error", "invalid_api_key", "Incorrect API key provided."),
    MODEL: _openai(404, "invalid_request_error", "model_not_found", _NO_MODEL),
    RATE: _openai(429, "requests", "rate_limit_exceeded", "Rate limit reached for requests."),
    BROKEN: _openai(500, "server_error", None, "The server had an error."),
    BUSY: _openai(
        503, "server_error", "server_is_overloaded", "The server is currently overloaded."
    ),
    CREDIT: _openai(429, "insufficient_quota", "insufficient_quota", _QUOTA),
}
_REASON = {
    "@type": "type.googleapis.com/google.rpc.ErrorInfo",
    "reason": "API_KEY_INVALID",
    "domain": "googleapis.com",
}
_NOT_VALID = "API key not valid. Please pass a valid API key."
_UNKNOWN = "models/gemini-none is not found for API version v1beta."
GOOGLE = {
    KEY: _google(400, "INVALID_ARGUMENT", _NOT_VALID, _REASON),
    MODEL: _google(404, "NOT_FOUND", _UNKNOWN),
    RATE: _google(429, "RESOURCE_EXHAUSTED", "Resource has been exhausted (e.g. check quota)."),
    BROKEN: _google(500, "INTERNAL", "An internal error has occurred."),
    BUSY: _google(503, "UNAVAILABLE", "The model is overloaded. Please try again later."),
    CREDIT: _google(429, "RESOURCE_EXHAUSTED", "Your prepayment credits are depleted."),
}


_PER_DAY = {
    "@type": "type.googleapis.com/google.rpc.QuotaFailure",
    "violations": [
        {
            "quotaMetric": "generativelanguage.googleapis.com/generate_content_free_tier_requests",
            "quotaId": "GenerateRequestsPerDayPerProjectPerModel-FreeTier",
        }
    ],
}
_DAY_IS_OVER = (
    "You exceeded your current quota, please check your plan and billing details. For more"
    " information on this error, head to: https://ai.google.dev/gemini-api/docs/rate-limits."
)


def used_up(until: int) -> tuple[tuple[str, str], ...]:
    """How Anthropic says, beside a 429, that a subscription is used up until then."""
    limit = "anthropic-ratelimit-unified"
    claim = (f"{limit}-representative-claim", "five_hour")
    return (f"{limit}-status", "rejected"), (f"{limit}-reset", str(until)), claim


def _used_up(spoken: dict[str, HttpError]) -> HttpError:
    """A limit of an account, as its vendor says it; OpenAI says until when."""
    if spoken is GOOGLE:
        return _google(429, "RESOURCE_EXHAUSTED", _DAY_IS_OVER, _PER_DAY)
    if spoken is ANTHROPIC:
        return ANTHROPIC[RATE]
    told = {"type": "usage_limit_reached", "message": "The usage limit has been reached"}
    return HttpError(
        429, {"error": {**told, "plan_type": "plus", "resets_at": int(time.time()) + 5}}
    )


def http_error(path: str, reply: Reply) -> HttpError:
    """An HTTP error as the vendor whose dialect was spoken sends it."""
    if reply.error is not None:
        return HttpError(reply.status, reply.error)
    spoken = OPENAI
    if path.endswith("/messages"):
        spoken = ANTHROPIC
    elif path.endswith("enerateContent"):
        spoken = GOOGLE
    if reply.problem == USED_UP:
        return _used_up(spoken)
    if reply.problem is not None:
        return spoken[reply.problem]
    found = next((each for each in spoken.values() if each.status == reply.status), None)
    return HttpError(reply.status, found.body if found else spoken[BROKEN].body)
