"""GitHub's stand-in over a repository that is really there, and a project whose remote it is."""

from __future__ import annotations

import subprocess
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from tests.e2e.pipeline_rig import Pipeline
from tests.git_rig import branches
from tests.integration.github_acts import NAME, OWNER
from tests.integration.github_description import Description
from tests.integration.github_stand_in import TOKEN, Fault, GitHub, Rules

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.e2e.conftest import Cli
    from tests.integration.github_acts import Reply
    from tests.integration.github_description import Operation

# What a server does behind an address of ssh's kind, without a network.
SSH = """\
for words; do :; done
cd "${0%/*}/server" && eval "exec $words"
"""


class Hub(GitHub):
    """Knows the branches of the repository, and moves its main by what it merges.

    `ci` says how the checks of a commit stand; None is a repository without any. `green` are the
    commits that it has told somebody to be green, `landed` the heads that were merged here. What
    is in `meanwhile` happens when it is asked to merge, one for each time.
    """

    line: HubPipeline
    ci: Callable[[str], str] | None = None

    def __init__(self, description: Description) -> None:
        super().__init__(description)
        self.green: set[str] = set()
        self.landed: list[str] = []
        self.messages: list[str] = []
        self.meanwhile: list[Callable[[], object]] = []
        self._known: set[str] = set()

    def forget(self) -> None:
        """Back to a repository without rules, reviews, checks and faults."""
        self.rules, self.ci = Rules(), None
        self.reviews.clear()
        self.statuses.clear()
        self.suites.clear()
        self.faults.clear()

    def do(self, operation: Operation, query: dict[str, str], body: Any) -> Reply:
        self.look()
        merged = set(self.merges)
        reply = super().do(operation, query, body)
        runs = reply.value.get("check_runs", ()) if isinstance(reply.value, dict) else ()
        if runs and all(run["conclusion"] == "success" for run in runs):
            self.green.add(operation.values["ref"])
        for number in set(self.merges) - merged:
            self.messages.append(f"{body.get('commit_title')}\n\n{body.get('commit_message')}")
            self.landed.append(self.pulls[number]["head"]["sha"])
            self.join(number, body["merge_method"], self.messages[-1])
            reply.value["sha"] = self.pulls[number]["merge_commit_sha"]
        return reply

    def fault_for(self, method: str, path: str) -> Fault | None:
        if method == "PUT" and self.meanwhile:
            self.meanwhile.pop(0)()
            self.look()
        return super().fault_for(method, path)

    def look(self) -> None:
        """See where the branches are."""
        self.heads = branches(self.line.remote)
        for pull in self.pulls.values():
            if pull["state"] == "open":
                pull["head"]["sha"] = self.heads.get(pull["head"]["ref"], pull["head"]["sha"])

    def knows(self, sha: str) -> bool:
        if sha not in self._known:
            asked = ("git", "cat-file", "-e", sha)
            if subprocess.run(asked, cwd=self.line.remote, capture_output=True).returncode:
                return False
            self._known.add(sha)
        return True

    def patches_of(self, pull: dict[str, Any]) -> dict[str, str]:
        ends = f"main...{pull['head']['sha']}"
        git, at = self.line.git, self.line.remote
        names = git("diff", "--name-only", ends, at=at).splitlines()
        whole = {name: git("diff", ends, "--", name, at=at) for name in names}
        return {name: text[text.index("@@") :] for name, text in whole.items() if "@@" in text}

    def runs_of(self, sha: str) -> list[tuple[str, str, str | None]]:
        state = self.ci(sha) if self.ci is not None else "none"
        if state == "none":
            return []
        is_over = state != "pending"
        return [("build", "completed" if is_over else "in_progress", state if is_over else None)]

    def join(self, number: int, method: str, message: str) -> None:
        """Put the work of a pull request on its base."""
        pull, at, git = self.pulls[number], self.line.remote, self.line.git
        head, base = pull["head"]["sha"], pull["base"]["ref"]
        if method != "rebase":
            tree = git("merge-tree", "--write-tree", base, head, at=at)
            more = ("-p", head) if method == "merge" else ()
            head = git("commit-tree", tree, "-p", base, *more, "-m", message, at=at)
        git("update-ref", f"refs/heads/{base}", head, at=at)
        pull |= {"state": "closed", "merged": True, "merged_at": "2026-01-17T10:00:00Z"}
        pull["merge_commit_sha"] = head

    def squash(self, number: int) -> None:
        """A person squashes a pull request into its base."""
        self.join(number, "squash", self.pulls[number]["title"])


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

    def begin_at(
        self,
        hub: Hub,
        more: str = "",
        *,
        gates: str = "",
        hooks: str = "before_submit: [create_pr]",
        agents: str | None = None,
    ) -> None:
        """The project, with a task's pull requests made there."""
        given = f"forge: github, api: '{hub.url}', {gates or 'method: squash'}"
        self.begin(f"hooks: {{{hooks}}}\ngates: {{{given}}}\n{more}", agents=agents)
        self.git("remote", "set-url", "origin", f"git@github.com:{OWNER}/{NAME}.git")


@contextmanager
def running_hub(line: HubPipeline) -> Iterator[Hub]:
    """The stand-in while it listens; every request and answer must be as GitHub describes it."""
    with Hub(Description()) as running:
        running.line = line
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield running
        finally:
            running.shutdown()
            thread.join()
    assert running.problems == [], running.problems
