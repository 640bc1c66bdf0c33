"""What gatekeepers say about lines stands at these lines of the pull request, and once."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.e2e.conftest import eventually
from tests.e2e.pipeline_rig import keepers

if TYPE_CHECKING:
    import subprocess

    from tests.e2e.conftest import Cli
    from tests.e2e.hub_rig import Hub, HubPipeline

HOOKS = "before_submit: [create_pr], before_merge: [gatekeeper: [qa]]"
ASKS: dict[str, Any] = {
    "verdict": "request_changes",
    "summary": "Two things.",
    "comments": [
        {"file": "parts/T-1", "line": 1, "blocking": True, "comment": "Say who did it."},
        {"file": "./log", "line": 1, "blocking": False, "comment": "Sort it."},
        {"file": "log", "line": 99, "blocking": False, "comment": "There is no such line."},
        {"file": "Makefile", "line": 1, "blocking": False, "comment": "Not changed here."},
        {"file": None, "line": None, "blocking": False, "comment": "Well done."},
    ],
}
APPROVES = {**ASKS, "verdict": "approve", "comments": ASKS["comments"][1:2]}
BELOW = [
    "- log:99: optional: There is no such line.",
    "- Makefile:1: optional: Not changed here.",
    "- optional: Well done.",
]


def begin(line: HubPipeline, hub: Hub) -> None:
    """A gatekeeper that asks for changes until the agent has made some."""
    for name, verdict in (("asks", ASKS), ("approves", APPROVES)):
        (line.box / name).write_text(json.dumps(verdict))
    answer = f"[ -e fixed ] && cat {line.box}/approves || cat {line.box}/asks"
    line.begin_at(hub, hooks=HOOKS, agents=keepers(line, qa=answer))
    line.turn('if [ "$n" = 1 ]; then work; else touch fixed; fi\n')


@pytest.mark.torture
def test_comments_stand_at_their_lines_of_the_judged_commit(
    line: HubPipeline, hub: Hub, cli: Cli
) -> None:
    begin(line, hub)
    task = cli.add("a part")
    assert line.worker()["merged"] == [task]
    asked, approved = hub.reviews
    assert (asked["state"], approved["state"]) == ("COMMENTED", "COMMENTED")
    assert approved["commit_id"] == hub.landed[0] != asked["commit_id"]
    first, second = hub.remarks.values()
    assert first == [
        ("parts/T-1", 1, "blocking: Say who did it."),
        ("log", 1, "optional: Sort it."),
    ]
    assert second == [("log", 1, "optional: Sort it.")]
    head, summary, *below, mark = asked["body"].split("\n\n")
    assert head == f"Gatekeeper qa (agent qa) asks for changes to {asked['commit_id'][:12]}."
    assert (summary, below, mark[:4]) == ("Two things.", BELOW, "<!--")


@pytest.mark.torture
def test_a_verdict_is_posted_once_although_hookline_dies_of_it(
    line: HubPipeline, hub: Hub, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin(line, hub)
    task = cli.add("a part")
    place = line.by_hand(task)
    (place / "fixed").touch()
    line.commit("fixed", at=place)
    assert cli("submit", task, "--no-merge").code == 0
    started: list[subprocess.Popen[str]] = []
    post = hub.review

    def post_and_kill(*args: Any, **given: Any) -> None:
        post(*args, **given)
        eventually(lambda: bool(started), "the process")
        started[0].kill()
        started[0].wait()

    with monkeypatch.context() as patch:
        patch.setattr(hub, "review", post_and_kill)
        started.append(cli.start("merge", task))
        eventually(lambda: started[0].poll() is not None, "the end of it")
    assert cli.json("merge", task)["outcome"] == "merged"
    assert (len(hub.comments), hub.acts("POST", "/reviews")) == (1, 1)
    assert hub.remarks[1] == [("log", 1, "optional: Sort it.")]
