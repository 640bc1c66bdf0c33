"""Work that a forge merges: GitHub's stand-in over a repository that is really there."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.e2e.conftest import eventually, kill
from tests.integration.github_stand_in import TOKEN

if TYPE_CHECKING:
    from tests.e2e.conftest import Cli
    from tests.e2e.hub_rig import Hub, HubPipeline


def two_commits(line: HubPipeline, task: str) -> None:
    """Work that a squash makes one commit of, so that git does not know it again."""
    place = line.by_hand(task)
    for text in ("first\n", "second\n"):
        (place / "parts" / task).write_text(text)
        line.commit(text, at=place)


def test_work_is_merged_by_github(line: HubPipeline, hub: Hub, cli: Cli) -> None:
    line.begin_at(hub)
    task = cli.add("a part")
    answer = line.worker()
    assert answer["merged"] == [task]
    (pull,) = hub.pulls.values()
    assert (pull["merged"], pull["head"]["ref"]) == (True, f"hookline/{task}")
    found = cli.task(task)
    assert (found["prUrl"], found["artifacts"]) == (pull["html_url"], [pull["merge_commit_sha"]])
    assert (line.parts(), found["commitsCount"]) == ({task}, 1)
    for path in cli.root.joinpath(".hookline").rglob("*"):
        assert not path.is_file() or TOKEN.encode() not in path.read_bytes(), path


@pytest.mark.torture
def test_what_a_person_has_merged_there_is_not_merged_again(
    line: HubPipeline, hub: Hub, cli: Cli
) -> None:
    line.begin_at(hub)
    task = cli.add("a part")
    two_commits(line, task)
    assert cli("submit", task, "--no-merge").code == 0
    hub.squash(1)
    answer = cli.json("merge", task)
    assert (answer["outcome"], answer["sha"]) == ("merged", hub.pulls[1]["merge_commit_sha"])
    assert (hub.merges, len(hub.pulls), cli.task(task)["commitsCount"]) == ([], 1, 3)
    assert line.parts() == {task}
    assert not (line.box / task).exists(), "nobody had anything to mend"


@pytest.mark.torture
def test_a_crash_after_the_merge_there_leads_to_no_second_one(
    line: HubPipeline, hub: Hub, cli: Cli
) -> None:
    line.begin_at(hub)
    task = cli.add("a part")
    two_commits(line, task)
    assert cli("submit", task, "--no-merge").code == 0
    process = cli.start("merge", task)
    eventually(lambda: bool(hub.pulls[1]["merged"]), "the merge")
    kill(process)
    assert cli.json("merge", task)["outcome"] == "merged"
    assert (hub.merges, len(hub.pulls)) == ([1], 1)
    assert line.git("rev-list", "--count", "main", at=line.remote) == "2"
    assert not (line.box / task).exists(), "nobody had anything to mend"
