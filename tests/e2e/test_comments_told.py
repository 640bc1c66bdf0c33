"""What reviewers comment on is told by `work` as it happens, also where they approve."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from tests.e2e.pipeline_rig import Pipeline, keepers

if TYPE_CHECKING:
    from tests.e2e.conftest import Cli


def test_comments_stand_below_the_verdict_and_long_lists_are_cut(cli: Cli) -> None:
    line = Pipeline(cli)
    said = [{"file": "log", "line": n, "comment": f"remark {n} \x1b[2J"} for n in range(1, 8)]
    verdict = {"verdict": "approve", "summary": "good", "comments": said}
    gates = "hooks: {before_merge: [{gatekeeper: [qa]}]}\ngates: {test: 'true'}\n"
    answer = json.dumps(verdict).replace("\\", "\\\\")
    line.begin(gates, remote=False, agents=keepers(line, qa=f"printf '{answer}'"))
    task = cli.add("a part")
    told = cli("work", "--once").stderr
    assert f"{task}   ✓ before_merge" in told
    assert f"{task}         │ log:1: remark 1" in told
    assert "log:5: remark 5" in told
    assert "log:6" not in told
    assert f"2 more comments: hookline gate list {task}" in told
    assert "\x1b[2J" not in told
