"""Prompts as an agent got them in a project, compared whole."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.prompts import snapshots

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.e2e.conftest import Cli


def check_prompt(cli: Cli, name: str, text: str, theirs: Sequence[str] = ()) -> None:
    """A prompt is as its file says, and no longer than it may be beside words of others."""
    snapshots.check_prompt(name, text, {str(cli.root): "/project"}, theirs)
