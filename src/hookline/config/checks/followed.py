"""Validation rules that let an agent edit tests, but name none that it could: `check` warns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookline.config.reading.problems import Mark, Problem, Problems
from hookline.hooks.followed import followed_files
from hookline.project import CONFIG_NAME

if TYPE_CHECKING:
    from hookline.config.settings import Settings


def follows_nothing(settings: Settings, root: str) -> list[Problem]:
    """A warning for each rule whose `follow` changes nothing."""
    report = Problems()
    for rule in () if settings.has_errors else settings.sections.validation:
        if rule.follow and not followed_files(root, rule.command or ""):
            report.warning(
                "follow",
                Mark(CONFIG_NAME),
                f"`follow` of the rule '{rule.name}' changes nothing: its command names no test"
                " file that an agent may edit",
                help="it takes one plain command of a test runner: `pytest tests/test_a.py`",
            )
    return report.problems
