"""Kills, takeovers and wake-ups on a system that has neither /proc nor inotify, as macOS has not.

The same tests as on Linux: what Hookline itself may look at is hidden from it, and the tests look.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from hookline.adapters.processes.identity import NO_PROC
from tests.e2e.conftest import Cli
from tests.e2e.test_concurrency import test_a_follower_sees_everything_once_and_in_order
from tests.e2e.test_cut_calls import (
    test_a_gate_is_called_again_and_waits_meanwhile,
    test_a_hook_of_a_flow_is_called_again_under_its_key,
    test_a_hook_of_an_event_is_called_again_by_the_next_command,
)
from tests.e2e.test_delivery import (
    test_a_kill_before_the_process_was_recorded_leaves_nothing_behind,
    test_the_old_group_is_killed_before_the_next_attempt_begins,
)
from tests.e2e.test_flow_crash import (
    relay,
    test_a_frozen_and_revived_process_changes_nothing,
    test_a_killed_process_is_followed_by_another,
    test_cancelling_kills_the_children,
    test_many_processes_post_at_once,
)
from tests.e2e.test_reaper import (
    test_a_program_is_asked_to_end_before_it_is_killed,
    test_what_a_killed_command_had_started_ends_by_itself,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = [
    "relay",
    "test_a_follower_sees_everything_once_and_in_order",
    "test_a_frozen_and_revived_process_changes_nothing",
    "test_a_gate_is_called_again_and_waits_meanwhile",
    "test_a_hook_of_a_flow_is_called_again_under_its_key",
    "test_a_hook_of_an_event_is_called_again_by_the_next_command",
    "test_a_kill_before_the_process_was_recorded_leaves_nothing_behind",
    "test_a_killed_process_is_followed_by_another",
    "test_a_program_is_asked_to_end_before_it_is_killed",
    "test_cancelling_kills_the_children",
    "test_many_processes_post_at_once",
    "test_the_old_group_is_killed_before_the_next_attempt_begins",
    "test_what_a_killed_command_had_started_ends_by_itself",
]


@pytest.fixture
def cli(tmp_path: Path) -> Iterator[Cli]:
    runner = Cli(tmp_path)
    runner.env[NO_PROC] = "1"
    yield runner
    runner.close()
