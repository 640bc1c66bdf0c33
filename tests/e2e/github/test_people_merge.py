"""Work that people merge, and work that waits for their reviews at the forge."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.e2e.pipeline_rig import Pipeline

if TYPE_CHECKING:
    from tests.e2e.conftest import Cli
    from tests.e2e.hub_rig import Hub, HubPipeline

PEOPLE = "gates: {merge: people}\n"


def attention(cli: Cli, task: str) -> dict[str, Any]:
    """What attention says of a task."""
    (item,) = (each for each in cli("attention", "--json").json if each["id"] == task)
    found: dict[str, Any] = item
    return found


@pytest.mark.parametrize("how", ["squash", pytest.param("merge", marks=pytest.mark.torture)])
def test_git_merges_what_a_person_merges(cli: Cli, how: str) -> None:
    local = Pipeline(cli)
    local.begin(f"{PEOPLE}hooks: {{before_submit: []}}\n", remote=False)
    task = cli.add("a part")
    local.by_hand(task)
    result = cli("submit", task, "--json")
    assert (result.code, result.json["outcome"]) == (4, "waiting")
    assert (cli.task(task)["state"], local.merges()) == ("submitted", [])
    (pull,) = local.pulls()  # although no gate opens one
    assert (pull["branch"], pull["state"]) == (f"hookline/{task}", "open")
    item = attention(cli, task)
    assert item["command"] == f"git switch main && git merge --no-ff hookline/{task}"
    assert f"Pull request {pull['number']} waits to be merged into main" in item["message"]
    assert cli.refused("gate", "approve", task)[1]["code"] == "illegal-transition"
    assert local.worker(code=4)["merged"] == []  # it does not stay until somebody merges
    assert cli("merge", task, "--json").json["outcome"] == "waiting"

    if how == "merge":
        local.git("merge", "--quiet", "--no-ff", f"hookline/{task}")
    else:
        local.git("merge", "--quiet", "--squash", f"hookline/{task}")
        local.git("commit", "--quiet", "--message", "squashed by a person")
    result = cli("merge", task, "--json")
    assert (result.code, result.json["outcome"]) == (0, "merged")
    assert cli.task(task)["state"] == "completed"
    (pull,) = local.pulls()
    assert (pull["state"], pull["mergedSha"]) == ("merged", local.git("rev-parse", "main"))


@pytest.mark.torture
def test_the_forge_says_when_a_person_has_merged(line: HubPipeline, hub: Hub, cli: Cli) -> None:
    line.begin_at(hub)
    config = (cli.root / "hookline.yaml").read_text().replace("method: squash", "merge: people")
    cli.configure(config.removeprefix("version: 1\n"))
    task, closed = cli.add("a part"), cli.add("another part")
    line.by_hand(task)
    line.by_hand(closed)
    for each in (task, closed):
        assert cli("submit", each, "--json").json["outcome"] == "waiting"
    item = attention(cli, task)
    assert item["command"] == "gh pr merge 1"
    assert hub.pulls[1]["html_url"] in item["message"]
    assert hub.merges == []
    hub.squash(1)
    hub.pulls[2] |= {"state": "closed"}
    assert cli("merge", task, "--json").json["outcome"] == "merged"
    assert cli.task(task)["artifacts"] == [hub.pulls[1]["merge_commit_sha"]]
    result = cli("merge", closed, "--json")
    assert (result.code, result.json["outcome"]) == (3, "sent_back")
    assert "pull request 2 was closed without being merged" in result.json["reason"]


@pytest.mark.torture
def test_a_merge_waits_for_approvals_of_this_commit(line: HubPipeline, hub: Hub, cli: Cli) -> None:
    line.begin_at(hub)
    config = (cli.root / "hookline.yaml").read_text()
    cli.configure(
        config.removeprefix("version: 1\n").replace(
            "[create_pr]}", "[create_pr], before_merge: [reviews: 2]}"
        )
    )
    task = cli.add("a part")
    place = line.by_hand(task)
    head = line.git("rev-parse", "HEAD", at=place)

    def waits(message: str) -> None:
        (*_, last) = cli("gate", "run", task, "before_merge", "--json").json
        assert (last["hook"], last["status"]) == ("before_merge[0]:reviews", "pending")
        assert last["message"] == f"{head[:12]} {message}"

    assert cli("submit", task, "--no-merge", "--json").json["outcome"] == "submitted"
    waits("has 0 of 2 approvals")
    hub.review("ada", "APPROVED", "f" * 40)  # of another commit
    hub.review("eve", "APPROVED", head, role="NONE")  # who may not write here
    hub.review("helper[bot]", "APPROVED", head)
    hub.review("bob", "APPROVED", head)
    hub.review("bob", "COMMENTED", head)
    waits("has 1 of 2 approvals, by bob")
    hub.review("bob", "APPROVED", head)
    waits("has 1 of 2 approvals, by bob")
    hub.review("cyd", "APPROVED", head)
    hub.review("bob", "DISMISSED", head)
    waits("has 1 of 2 approvals, by cyd")
    hub.review("bob", "CHANGES_REQUESTED", head)
    result = cli("merge", task, "--json")
    assert (result.json["outcome"], result.json["hook"]) == ("sent_back", "before_merge[0]:reviews")
    assert "bob asked for changes" in result.json["reason"]
    hub.review("bob", "APPROVED", head)
    assert cli("submit", task, "--json").json["outcome"] == "merged"


@pytest.mark.torture
def test_people_approve_by_command_where_there_is_no_server(cli: Cli) -> None:
    local = Pipeline(cli)
    local.begin("hooks: {before_submit: [], before_merge: [reviews: 2]}\n", remote=False)
    task = cli.add("a part")
    local.by_hand(task)
    assert cli("submit", task, "--json").json["outcome"] == "waiting"
    for name, outcome in (("ada", "waiting"), ("ada", "waiting"), ("bob", "merged")):
        local.git("config", "user.name", name)
        cli.json("gate", "approve", task)
        assert cli("merge", task, "--json").json["outcome"] == outcome
    (*_, last) = (each for each in cli.json("gate", "list", task) if each["hook"])
    assert "is approved by ada" in last["message"]
    assert "bob" in last["message"]
