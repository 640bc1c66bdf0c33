"""The schedulers that Hookline brings keep to the contract."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from hookline.adapters.schedulers import local, temporal
from hookline.config.types import SchedulerSection
from hookline.testing.contracts import SchedulerContract

if TYPE_CHECKING:
    from hookline.ports.schedulers import Scheduler, SchedulerSite
    from tests.temporal_server import TemporalServer


class TestLocal(SchedulerContract):
    def open_scheduler(self, site: SchedulerSite) -> Scheduler:
        return local.open_scheduler(site)


class TestTemporal(SchedulerContract):
    @pytest.fixture(autouse=True)
    def place(self, temporal_server: TemporalServer) -> None:
        self.settings = SchedulerSection(kind="temporal", address=temporal_server.address)

    def open_scheduler(self, site: SchedulerSite) -> Scheduler:
        return temporal.open_scheduler(site)
