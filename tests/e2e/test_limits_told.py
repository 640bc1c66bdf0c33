"""A session at a limit says what was wrong last, wherever it is shown."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.e2e.session_rig import Rig

if TYPE_CHECKING:
    from tests.e2e.conftest import Cli

NEVER = {"name": "tests_pass", "type": "command", "command": "false"}


@pytest.mark.parametrize(
    ("turn", "rules", "told"),
    [
        ("sh lost.sh", [], "2 of 2 iterations used; last: every turn failed: "),
        ("echo $n", [NEVER], "2 of 2 iterations used; last: 1 of 1 validation rule fails: tests_"),
    ],
)
def test_a_limit_tells_what_was_last_wrong(
    cli: Cli, turn: str, rules: list[dict[str, str]], told: str
) -> None:
    rig = Rig(cli)
    rig.configure(validation=rules)
    rig.turns(rest=turn)
    ended = rig.run(iterations=2)
    assert ended.said == (5, "limit", "iterations")
    assert ended.data["message"].startswith(told)
    for command in ("status", "attention", "report"):
        shown = " ".join(cli(command).stdout.split())
        assert told in shown, shown


def test_a_limit_alone_is_all_that_is_told(cli: Cli) -> None:
    rig = Rig(cli)
    rig.configure()
    assert rig.run(iterations=2).data["message"] == "2 of 2 iterations used"
