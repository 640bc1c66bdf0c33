"""Work that a forge merges: GitHub's stand-in over a repository that is really there."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import pytest

from tests.e2e.conftest import eventually, kill
from tests.e2e.pipeline_rig import Pipeline
from tests.integration.github_description import Description
from tests.integration.github_stand_in import NAME, OWNER, TOKEN, GitHub

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.e2e.conftest import Cli
    from tests.integration.github_description import Operation
    from tests.integration.github_stand_in import Reply

# What a server does behind an address of ssh's kind, without a network.
SSH = """\
for words; do :; done
cd "$(dirname "$0")/server" && exec sh -c "$words"
"""


class Hub(GitHub):
    """Knows the branches of the repository, and squashes into its main what it merges."""

    line: HubPipeline

    def do(self, operation: Operation, query: dict[str, str], body: Any) -> Reply:
        listed = ("for-each-ref", "--format=%(refname:short) %(objectname)")
        refs = self.line.git(*listed, at=self.line.remote)
        self.heads = dict(ref.split() for ref in refs.splitlines())
        for pull in self.pulls.values():
            pull["head"]["sha"] = self.heads.get(pull["head"]["ref"], pull["head"]["sha"])
        merged = set(self.merges)
        reply = super().do(operation, query, body)
        for number in set(self.merges) - merged:
            self.squash(number)
            reply.value["sha"] = self.pulls[number]["merge_commit_sha"]
        return reply

    def squash(self, number: int) -> None:
        """Put the work of a pull request on main as one commit, as a person may wish."""
        pull, at, git = self.pulls[number], self.line.remote, self.line.git
        tree = git("merge-tree", "--write-tree", "main", pull["head"]["sha"], at=at)
        squashed = git("commit-tree", tree, "-p", "main", "-m", pull["title"], at=at)
        git("update-ref", "refs/heads/main", squashed, at=at)
        pull |= {"state": "closed", "merged": True, "merged_at": "2026-01-17T10:00:00Z"}
        pull["merge_commit_sha"] = squashed


class HubPipeline(Pipeline):
    """A project whose remote is at GitHub."""

    def __init__(self, cli: Cli) -> None:
        super().__init__(cli)
        self.remote = cli.root.parent / "server" / OWNER / f"{NAME}.git"
        self.remote.parent.mkdir(parents=True)
        ssh = cli.root.parent / "ssh.sh"
        ssh.write_text(SSH)
        self.git("config", "--global", "core.sshCommand", f"sh {ssh}", at=cli.root)
        self.git("config", "--global", "ssh.variant", "simple", at=cli.root)
        cli.env["GITHUB_TOKEN"] = TOKEN

    def begin_at(self, hub: Hub, more: str = "") -> None:
        """The project, with a task's pull requests made there."""
        gates = f"gates: {{forge: github, api: '{hub.url}', method: squash}}\n"
        self.begin(f"hooks: {{before_submit: [create_pr]}}\n{gates}{more}")
        self.git("remote", "set-url", "origin", f"git@github.com:{OWNER}/{NAME}.git")


@pytest.fixture
def line(cli: Cli) -> HubPipeline:
    return HubPipeline(cli)


@pytest.fixture
def hub(line: HubPipeline) -> Iterator[Hub]:
    with Hub(Description()) as running:
        running.line = line
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield running
        running.shutdown()
        thread.join()
    assert running.problems == []


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
