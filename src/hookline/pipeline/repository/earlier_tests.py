"""Tests that the work may edit are also run as they were, so that weakening them gains nothing."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING

import msgspec

from hookline import typed
from hookline.domain.sessions.model import FLOW as SESSION
from hookline.domain.sessions.validation import ValidationRule
from hookline.hooks.followed import followed_files, steering_files
from hookline.sessions.state import PINS
from hookline.sessions.told.prompts import code
from hookline.tasks.task_runs import runs_on

if TYPE_CHECKING:
    from collections.abc import Iterable

    from hookline.domain.hooks.answers import GateAnswer
    from hookline.domain.work.repository import FileChange
    from hookline.ports.store import View

# What a person names to pass work whose earlier tests fail, as they must where the goal says so.
EARLIER_TESTS = "earlier_tests"


def followed_commands(view: View, task_id: str) -> list[str]:
    """The lines of the validation rules that let the agent of a task edit its tests."""
    found = list(runs_on(view, task_id, SESSION))
    rules = found[-1].pins.get(PINS, {}).get("rules", []) if found else []
    known = typed.convert(rules, list[ValidationRule])
    return [rule.command for rule in known if rule.follow and rule.command]


def edited_tests(
    folder: str, commands: Iterable[str], changes: Iterable[FileChange]
) -> list[FileChange]:
    """The test files of those lines, and what steers their runner, that the work changes."""
    known = (followed_files, steering_files)
    names = {name for line in commands for find in known for name in find(folder, line)}
    return [each for each in changes if each.path in names]


def put_back(names: Iterable[str], line: str, base: str, folder: str) -> list[str]:
    """Replace files of a line in a checkout by those of another one; the ones that differed.

    What steers the runner is removed where the other one has none. A test that is new stays, and
    where all are new there is nothing to go back to.
    """
    tests, steering = followed_files(folder, line), steering_files(folder, line)
    if not any(os.path.isfile(os.path.join(base, name)) for name in tests):
        return []
    known = [n for n in names if n in steering or os.path.isfile(os.path.join(base, n))]
    for name in known:
        ours, theirs = os.path.join(folder, name), os.path.join(base, name)
        if os.path.lexists(ours):
            os.unlink(ours)  # what a link names is not ours to write
        if os.path.isfile(theirs):
            shutil.copyfile(theirs, ours)
    return known


def with_base_tests(answer: GateAnswer, names: list[str], base: str) -> GateAnswer:
    """What failed, and that the tests were those of the base."""
    files = ", ".join(map(code, names))
    lead = (
        f"Your work edits tests that check it: {files}. The merged result must pass with these"
        f" files as they are in {base}, too. Make your work pass with both versions. If the task"
        " cannot be done that way, that needs a person."
    )
    prompt = answer.remediation_prompt
    return msgspec.structs.replace(
        answer,
        message=f"with {', '.join(names)} as in {base}: {answer.message}",
        remediation_prompt=f"{lead}\n\n{prompt}" if prompt else lead,
    )
