"""What others do at GitHub while work is merged there: only what was judged and tested is told as
plainly merged, and only work that the base holds completes a task.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from hookline.adapters.forges import github
from hookline.adapters.github import rest as github_rest
from hookline.pipeline.repository import unmerged
from tests.integration.github_stand_in import Fault

if TYPE_CHECKING:
    from tests.e2e.conftest import Cli
    from tests.e2e.hub_rig import Hub, HubPipeline

GATES = "method: squash, tries: 1, test: '! test -e broken'"
FAILS = Fault("PUT", "/merge", "answer", 503)
LIMIT = Fault("PUT", "/merge", "answer", 429, b"{}", {"retry-after": "1"})


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (github, github_rest):
        monkeypatch.setattr(module, "BACKOFF", (0.01, 0.01, 0.01))
    monkeypatch.setattr(unmerged, "CHECKS_WAIT", 0.01)


def push(line: HubPipeline, branch: str, name: str) -> str:
    """A person adds a file to a branch at the server."""
    elsewhere = line.cli.root.parent / f"clone-{name}"
    line.git("clone", "--quiet", "--branch", branch, str(line.remote), str(elsewhere))
    (elsewhere / name).write_text("by a person\n")
    line.commit(f"add {name}", at=elsewhere)
    line.git("push", "--quiet", "origin", branch, at=elsewhere)
    return line.git("rev-parse", "HEAD", at=elsewhere)


def part(line: HubPipeline) -> str:
    """A task that is done, and its branch."""
    task = line.cli.add("a part")
    line.git("fetch", "--quiet", "origin")
    line.by_hand(task, "origin/main")
    return task


def attention(cli: Cli, task: str) -> str:
    """What a person is told of a task."""
    found = cli("attention", "--json").json
    return " ".join(f"{each['message']} {each['command']}" for each in found if each["id"] == task)


def untested(cli: Cli, task: str) -> dict[str, Any]:
    """The event that tells of an untested merge."""
    asked = "SELECT data FROM events WHERE type = 'merged_untested' AND node_id = ?"
    ((data,),) = cli.rows(asked, task)
    found: dict[str, Any] = json.loads(data)
    return found


@pytest.mark.torture
@pytest.mark.examples(1)
@pytest.mark.parametrize("fault", [FAILS, LIMIT], ids=["503", "429"])
def test_the_base_is_compared_before_every_try(
    line: HubPipeline, hub: Hub, cli: Cli, fault: Fault
) -> None:
    line.begin_at(hub, gates=GATES)
    task = part(line)
    hub.faults.append(fault)
    hub.meanwhile.append(lambda: push(line, "main", "broken"))
    found = cli("submit", task, "--json").json
    assert (found["outcome"], hub.merges, hub.acts("PUT")) == ("sent_back", [], 1), found
    assert task not in line.parts()


@pytest.mark.torture
def test_a_result_that_nobody_tested_is_told_as_that(line: HubPipeline, hub: Hub, cli: Cli) -> None:
    line.begin_at(hub, gates=GATES)
    task = part(line)
    hub.meanwhile.append(lambda: push(line, "main", "broken"))  # and the merge goes through
    found = cli("submit", task, "--json").json
    why = "main moved while it was merged: the result is not what was tested"
    assert (found["outcome"], found["untested"]) == ("merged", why)
    assert untested(cli, task) == {"sha": found["sha"], "reason": why, "unjudged": True}
    assert why in cli("task", "show", task).stdout
    assert why in attention(cli, task)
    assert f"git diff {found['sha']}^" in attention(cli, task)

    # The next merge that is as it was judged ends that.
    line.git("fetch", "--quiet", "origin")
    place = line.by_hand(later := cli.add("another part"), "origin/main")
    line.git("rm", "--quiet", "broken", at=place)
    line.commit("mend it", at=place)
    assert cli("submit", later, "--json").json["untested"] is None
    assert attention(cli, task) == ""


@pytest.mark.torture
def test_what_somebody_merges_that_no_gate_judged_is_told_by_name(
    line: HubPipeline, hub: Hub, cli: Cli
) -> None:
    line.begin_at(hub, gates=GATES)
    line.turn("work\n")
    task = cli.add("a part")
    pushed: list[str] = []

    def merge_more() -> None:
        pushed.append(push(line, f"hookline/{task}", "more"))
        hub.look()
        hub.squash(1)

    hub.meanwhile.append(merge_more)
    hub.faults.append(FAILS)
    news = cli("work", "--once")
    why = f"it was merged by someone else at {pushed[0][:12]}, which no gate has checked"
    assert f"merged untested {hub.pulls[1]['merge_commit_sha'][:12]}: {why}" in news.stderr
    assert untested(cli, task)["reason"] == why
    assert why in cli("task", "show", task).stdout
    assert why in attention(cli, task)
    assert f"(then: hookline gate approve {task})" in attention(cli, task)
    assert cli("gate", "approve", task, "--comment", "I read it").code == 0
    assert attention(cli, task) == ""

    # Without all of the work the task is not complete.
    task = part(line)

    def merge_other() -> None:
        line.git("update-ref", f"refs/heads/hookline/{task}", "main", at=line.remote)
        push(line, f"hookline/{task}", "other")
        hub.look()
        hub.squash(2)

    hub.meanwhile.append(merge_other)
    hub.faults.append(FAILS)
    found = cli("submit", task, "--json").json
    assert found["outcome"] == "sent_back"
    assert "pull request 2 was merged by someone else at" in found["reason"]
    assert task not in line.parts()


@pytest.mark.torture
def test_work_is_merged_into_its_base_and_no_other_branch(
    line: HubPipeline, hub: Hub, cli: Cli
) -> None:
    line.begin_at(hub, gates=GATES)
    line.git("branch", "release", "main", at=line.remote)

    def retarget(number: int, base: str = "release") -> None:
        hub.pulls[number]["base"]["ref"] = base

    task = part(line)
    assert cli("submit", task, "--no-merge", "--json").code == 0
    retarget(1)
    found = cli("merge", task, "--json").json
    assert (found["outcome"], hub.acts("PUT")) == ("waiting", 0)
    assert "request 1 targets release, not main" in attention(cli, task)
    retarget(1, "main")
    assert cli("merge", task, "--json").json["outcome"] == "merged"

    # By a person, and while GitHub is asked to merge.
    task = part(line)
    assert cli("submit", task, "--no-merge", "--json").code == 0
    retarget(2)
    hub.squash(2)
    found = cli("merge", task, "--json").json
    assert (found["outcome"], found["state"]) == ("sent_back", "needs_continuation")
    assert found["reason"] == "merge: pull request 2 was merged into release, not into main"
    task = part(line)
    hub.meanwhile.append(lambda: retarget(3))
    found = cli("submit", task, "--json").json
    assert found["reason"] == "merge: pull request 3 was merged into release, not into main"
    assert (cli.task(task)["state"], task in line.parts()) == ("needs_continuation", False)


@pytest.mark.torture
def test_people_merge_into_the_base_what_the_gates_judged(
    line: HubPipeline, hub: Hub, cli: Cli
) -> None:
    line.begin_at(hub, gates="merge: people")
    line.git("branch", "release", "main", at=line.remote)
    other, more = part(line), part(line)
    for task in (other, more):
        assert cli("submit", task, "--json").json["outcome"] == "waiting"
    hub.pulls[1]["base"]["ref"] = "release"
    assert "targets release, not main" in cli("merge", other, "--json").json["reason"]
    hub.squash(1)
    found = cli("merge", other, "--json").json
    assert (found["outcome"], found["state"]) == ("sent_back", "needs_continuation")
    head = push(line, f"hookline/{more}", "more")
    hub.look()
    hub.squash(2)
    found = cli("merge", more, "--json").json
    why = f"it was merged by someone else at {head[:12]}, which no gate has checked"
    assert (found["outcome"], found["untested"]) == ("merged", why)


def test_a_branch_that_is_force_pushed_while_it_is_merged_is_not(
    line: HubPipeline, hub: Hub, cli: Cli
) -> None:
    line.begin_at(hub, gates=GATES)
    task = part(line)

    def force_push() -> None:
        line.git("update-ref", f"refs/heads/hookline/{task}", "main", at=line.remote)
        push(line, f"hookline/{task}", "other")

    hub.meanwhile.append(force_push)
    found = cli("submit", task, "--json").json
    assert (found["outcome"], hub.merges) == ("sent_back", [])
    assert "the head of pull request 1 moved" in found["reason"]
