"""Which answers of a Temporal server are waited out, and which end a worker."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

import pytest
from temporalio.service import RPCError, RPCStatusCode

from hookline.adapters.temporal.client import translated
from hookline.config.types import SchedulerSection
from hookline.errors import SchedulerUnreachable

if TYPE_CHECKING:
    from hookline.ports.schedulers import SchedulerSite

SETTINGS = SchedulerSection(kind="temporal", address="temporal.example.org:7233")
SITE = cast("SchedulerSite", SimpleNamespace(settings=SETTINGS))


@pytest.mark.parametrize("status", ["UNAVAILABLE", "UNKNOWN", "INTERNAL", "ABORTED", "CANCELLED"])
def test_a_server_that_ends_in_the_middle_of_an_answer_is_away(status: str) -> None:
    problem = RPCError("transport error", RPCStatusCode[status], b"")
    found = translated(SITE, problem)
    assert isinstance(found, SchedulerUnreachable)
    assert "temporal.example.org:7233 does not answer: transport error" in found.message


@pytest.mark.parametrize("status", ["PERMISSION_DENIED", "INVALID_ARGUMENT", "NOT_FOUND"])
def test_what_does_not_pass_by_itself_ends_a_worker(status: str) -> None:
    found = translated(SITE, RPCError("no", RPCStatusCode[status], b""))
    assert not isinstance(found, SchedulerUnreachable)
