"""Work whose CI is slow keeps nobody waiting who is ready, and is not overtaken for ever."""

from __future__ import annotations

import json
import threading
from typing import TYPE_CHECKING

import pytest

from tests.e2e.conftest import PATIENCE, eventually
from tests.e2e.pipeline_rig import finish

if TYPE_CHECKING:
    from tests.e2e.conftest import Cli
    from tests.e2e.hub_rig import Hub, HubPipeline

HOOKS = "before_submit: [create_pr], before_merge: [{ci_status: {retry_after: 0.1}}]"


def submit(line: HubPipeline, cli: Cli) -> str:
    """Work that is in nobody's way; its commit."""
    task = cli.add("a part")
    place = line.place(task)
    line.git("worktree", "add", "--quiet", "-b", f"hookline/{task}", str(place), "main")
    (place / f"{task}.txt").write_text("done\n")
    line.commit(f"part {task}", at=place)
    assert cli("submit", task, "--no-merge", "--json").json["outcome"] == "submitted"
    return line.git("rev-parse", "HEAD", at=place)


@pytest.mark.torture
def test_work_that_waits_for_ci_lets_others_go_once(line: HubPipeline, hub: Hub, cli: Cli) -> None:
    line.begin_at(hub, hooks=HOOKS)
    hub.ci = lambda sha: "success"
    firsts = {submit(line, cli) for _ in range(3)}
    line.push_aside("aside", conflicting=False)
    running: set[str] = set()
    quick = threading.Event()

    def holds(sha: str, task: str) -> bool:
        return f"{task}.txt" in line.git("ls-tree", "--name-only", sha, at=line.remote).split()

    def ci(sha: str) -> str:
        """It is slow for T-1 whenever that was rebased."""
        if sha in firsts or quick.is_set() or not holds(sha, "T-1"):
            return "success"
        running.add(sha)
        return "pending"

    def waits_for_turn(task: str) -> bool:
        asked = (
            "SELECT 1 FROM effects JOIN runs ON run = number WHERE flow = 'merge'"
            " AND json_extract(input, '$.taskId') = ? AND resolved_seq IS NULL"
            " AND json_extract(args, '$.name') = 'merge-turn'"
        )
        return bool(cli.rows(asked, task))

    hub.ci = ci
    slow = cli.start("merge", "T-1", "--json")
    eventually(lambda: len(running) == 1, "CI of the rebased work")
    second = cli.start("merge", "T-2", "--json")
    eventually(lambda: 2 in hub.merges, "the merge of work that is ready")
    assert json.loads(finish(second, PATIENCE).stdout)["outcome"] == "merged"

    # The base has moved: T-1 is rebased again, and now it keeps its turn.
    eventually(lambda: len(running) == 2, "CI of what was rebased again")
    third = cli.start("merge", "T-3", "--json")
    eventually(lambda: waits_for_turn("T-3"), "T-3 in the queue")
    quick.set()
    for process in (slow, third):
        assert json.loads(finish(process, PATIENCE).stdout)["outcome"] == "merged"
    assert hub.merges == [2, 1, 3]
    assert set(hub.landed) <= hub.green
