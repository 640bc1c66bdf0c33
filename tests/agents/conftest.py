"""Models that answer by a script, and projects whose work is merged, for the tests of agents."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING

import pytest

from tests.agents.model import Reply, Rule, ScriptedModel
from tests.e2e.conftest import Cli
from tests.e2e.pipeline_rig import Pipeline

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    Script = Callable[..., ScriptedModel]


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
