"""A project whose remote is at GitHub's stand-in; a module that needs other ones has its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.e2e.hub_rig import HubPipeline, running_hub

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.e2e.conftest import Cli
    from tests.e2e.hub_rig import Hub


@pytest.fixture
def line(cli: Cli) -> HubPipeline:
    return HubPipeline(cli)


@pytest.fixture
def hub(line: HubPipeline) -> Iterator[Hub]:
    with running_hub(line) as running:
        yield running
