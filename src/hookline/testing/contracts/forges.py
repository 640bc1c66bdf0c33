"""What every forge does, whether git merges for it or it merges itself."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import msgspec
import pytest

from hookline.adapters.agents.local_agents import LocalAgents
from hookline.adapters.git.repository.git_repository import GitRepository
from hookline.adapters.network.http import HttpClient
from hookline.adapters.processes.process import LocalProcesses
from hookline.domain.payloads import GateContext
from hookline.domain.work.forge import ForgeMissing, MergeOutcome, MergePlan, Remark
from hookline.hooks.builtin.gates.table import ask_gate
from hookline.hooks.kinds import Call, World
from hookline.hooks.registry import Hook
from hookline.plugins import FORGES

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from pathlib import Path

    from hookline.domain.hooks.answers import GateAnswer
    from hookline.domain.work.forge import PullRequest
    from hookline.ports.work import Forge

HEAD = "a" * 40
T = TypeVar("T")
_REPOSITORY = (
    "init --quiet",
    "config user.name Ada",
    "config user.email ada@example.org",
    "commit --quiet --allow-empty --message work",
)


def do(act: Coroutine[Any, Any, T]) -> T:
    """What an act of the forge comes to."""
    return asyncio.run(act)


class Site(NamedTuple):
    """A forge, and its comments as people read them."""

    forge: Forge
    comments: Callable[[], list[str]]

    def open(self, branch: str = "work") -> PullRequest:
        """A pull request."""
        found: PullRequest = do(
            self.forge.open_pull_request(branch, "main", "Say hello", "To all.")
        )
        return found


async def _judged(forge: Forge, gate: str, folder: Path, **extra: Any) -> GateAnswer:
    """What a built-in gate says about a commit in a repository, of which nothing is pushed."""
    processes = LocalProcesses(str(folder / "blobs"))
    env = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    root = folder / "repository"
    if not root.exists():
        root.mkdir()
        for line in _REPOSITORY:
            argv = ("git", *line.split())
            done = await processes.run(argv, cwd=str(root), env=env, timeout=60)
            assert done.exit_code == 0, done.stderr
    repository = GitRepository(processes, str(root), str(root / ".hookline"), env)
    state = await repository.describe(str(root))
    context = GateContext(
        task_id="T-1",
        task_title="Say hello",
        branch_name=state.branch or "",
        base_branch="main",
        task_path="",
        task_type=None,
        agent_name="bot",
        commits_count=1,
        worktree=str(root),
        extra={"trial": True, **extra},
    )
    hook = Hook(name=gate, points=("before_merge",), kind="built-in", target=gate)
    call = Call(
        point="before_merge", payload=msgspec.json.encode(context), values={}, env={}, timeout=60
    )
    world = World(
        root=str(root),
        folder=str(root),
        processes=processes,
        http=HttpClient(),
        agents=LocalAgents({}, None, str(root), processes),
        environ=env,
        ask=_nobody,
        repository=repository,
        forge=forge,
    )
    return await ask_gate(hook, call, world)


async def _nobody(hook: Any) -> Any:
    raise AssertionError("no gate asks another hook")


class ForgeContract:
    """A forge: `name` is that of its entry point, the fixture `site` gives a new one.

    class TestMine(ForgeContract):
        name = "mine"

        @pytest.fixture
        def site(self, tmp_path):
            return Site(MyForge(tmp_path), lambda: comments_in(tmp_path))
    """

    name: str

    @pytest.fixture
    def site(self, tmp_path: Path) -> Site:
        """A forge without pull requests."""
        raise NotImplementedError

    def test_it_is_found_by_its_name(self, site: Site) -> None:
        kind = FORGES.load(self.name)
        assert site.forge.name == self.name
        assert site.forge.merges is kind.MERGES
        assert kind.REMOTE is None or isinstance(kind.REMOTE, str)
        assert site.forge.has_checks is kind.CHECKS
        assert site.forge.has_reviews is kind.REVIEWS

    def test_one_open_pull_request_for_a_branch(self, site: Site) -> None:
        first, again = site.open(), site.open()
        assert (first.number, first.state, first.branch, first.base) == (
            again.number,
            "open",
            "work",
            "main",
        )
        assert (first.title, first.body) == ("Say hello", "To all.")
        other = site.open("other")
        assert other.number != first.number
        assert do(site.forge.find_pull_request("work", "main")) == first
        assert do(site.forge.find_pull_request("work", "elsewhere")) is None
        assert do(site.forge.pull_request(other.number)) == other

    def test_what_is_given_is_changed_and_nothing_else(self, site: Site) -> None:
        number = site.open().number
        assert do(site.forge.update_pull_request(number, body="All of you.")).title == "Say hello"
        changed = do(site.forge.update_pull_request(number, title="Say hi"))
        assert (changed.title, changed.body) == ("Say hi", "All of you.")
        assert do(site.forge.pull_request(number)) == changed

    def test_a_comment_is_made_once(self, site: Site) -> None:
        pull = site.open()
        for text, key in (("Well done.", "a"), ("Well done!", "a"), ("Hm.", None), ("Hm.", None)):
            do(site.forge.comment(pull, text, key=key))
        said = "\n".join(site.comments())
        assert [said.count(text) for text in ("Well done.", "Well done!", "Hm.")] == [1, 0, 1]
        remarks = [Remark("Why?", "a.py", 3), Remark("Nice.")]
        for _ in range(2):
            do(site.forge.comment(pull, "Look.", key="b", head=HEAD, remarks=remarks))
        said = "\n".join(site.comments())
        assert [said.count(text) for text in ("- a.py:3: Why?", "- Nice.")] == [1, 1]

    def test_a_merge_is_made_once_and_known_later(self, site: Site) -> None:
        pull = site.open()
        first = do(site.forge.merge(pull, HEAD, "squash", "Say hello\n\nTask: T-1\n"))
        assert not first.already
        now = do(site.forge.pull_request(pull.number))
        assert (now.state, now.merged_sha) == ("merged", first.sha)
        again = do(site.forge.merge(pull, HEAD, "squash"))
        assert again == MergeOutcome(first.sha, already=True, head=first.head)
        assert do(site.forge.find_pull_request("work", "main")) is None
        assert site.open().number != pull.number, "merged work is not added to"

    def test_nothing_is_known_of_what_is_not_there(self, site: Site) -> None:
        with pytest.raises(ForgeMissing):
            do(site.forge.pull_request(77))
        assert do(site.forge.checks(HEAD)).status == "none"
        assert do(site.forge.reviews(site.open())) == []

    def test_the_gate_ci_status_waits_only_where_checks_may_come(
        self, site: Site, tmp_path: Path
    ) -> None:
        answer = do(_judged(site.forge, "ci_status", tmp_path))
        assert answer.status == ("pending" if site.forge.has_checks else "skip")

    def test_the_gate_reviews_asks_people_where_they_review(
        self, site: Site, tmp_path: Path
    ) -> None:
        waits = do(_judged(site.forge, "reviews", tmp_path))
        at_forge = site.forge.has_reviews
        assert waits.status == "pending"
        assert waits.context["waitsFor"] == ("reviews" if at_forge else "person")
        head = waits.context.get("asksAbout")
        assert (head is None) is at_forge
        given = {"hook": "reviews", "decision": "approve", "head": head, "by": "ada"}
        answer = do(_judged(site.forge, "reviews", tmp_path, approvals=[given]))
        assert answer.status == ("pending" if at_forge else "success")

    def test_long_and_odd_texts_are_kept_in_bounds(self, site: Site) -> None:
        number = site.open().number
        changed = do(
            site.forge.update_pull_request(number, title="a\nb\0" + "c" * 999, body="d" * 99_999)
        )
        assert (changed.title[:3], len(changed.title), len(changed.body)) == ("a b", 256, 65_536)
        assert do(site.forge.pull_request(number)) == changed

    def test_a_forge_without_rules_has_no_problems(self, site: Site) -> None:
        assert do(site.forge.problems(MergePlan("main", "squash", past_pull_requests=True))) == []
