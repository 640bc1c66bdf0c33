"""Models that answer by a script, and projects in which agents work for them."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import pytest

from tests.agents.model import Reply, Rule, ScriptedModel
from tests.agents.session_desk import WORKERS, SessionDesk
from tests.e2e.conftest import Cli
from tests.e2e.pipeline_rig import Pipeline

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Script = Callable[..., ScriptedModel]
    Seat = Callable[[str], SessionDesk]


@pytest.fixture
def tmp_path() -> Iterator[Path]:
    """A folder outside of /dev, which agents' sandboxes hide."""
    with TemporaryDirectory(prefix="hookline-agents-", ignore_cleanup_errors=True) as folder:
        yield Path(folder)


@pytest.fixture
def scripted() -> Iterator[Script]:
    """Starts a model with these replies or rules; it ends with the test."""
    with ExitStack() as models:

        def start(*script: Reply | Rule) -> ScriptedModel:
            return models.enter_context(ScriptedModel(script))

        yield start


@pytest.fixture
def line(tmp_path: Path) -> Iterator[Pipeline]:
    """A repository whose work is merged; what was started there ends with the test."""
    pipeline = Pipeline(Cli(tmp_path))
    yield pipeline
    pipeline.cli.close()


@pytest.fixture
def seat(tmp_path: Path) -> Iterator[Seat]:
    """A desk for an agent; what was started there ends with the test."""
    desks: list[SessionDesk] = []

    def sit(agent: str) -> SessionDesk:
        desks.append(SessionDesk(tmp_path, WORKERS[agent]))
        return desks[-1]

    yield sit
    for desk in desks:
        desk.cli.close()
