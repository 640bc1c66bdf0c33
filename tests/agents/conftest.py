"""Models that answer by a script, for the tests of agents."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING

import pytest

from tests.agents.model import Reply, Rule, ScriptedModel

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Script = Callable[..., ScriptedModel]


@pytest.fixture
def scripted() -> Iterator[Script]:
    """Starts a model with these replies or rules; it ends with the test."""
    with ExitStack() as models:

        def start(*script: Reply | Rule) -> ScriptedModel:
            return models.enter_context(ScriptedModel(script))

        yield start
