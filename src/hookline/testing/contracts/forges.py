"""What every forge does, whether git merges for it or it merges itself."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import pytest

from hookline.domain.forge import ForgeMissing, MergeOutcome, MergePlan, Remark
from hookline.plugins import FORGES

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from pathlib import Path

    from hookline.domain.forge import PullRequest
    from hookline.ports.work import Forge

HEAD = "a" * 40
T = TypeVar("T")


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

    def test_long_and_odd_texts_are_kept_in_bounds(self, site: Site) -> None:
        number = site.open().number
        changed = do(
            site.forge.update_pull_request(number, title="a\nb\0" + "c" * 999, body="d" * 99_999)
        )
        assert (changed.title[:3], len(changed.title), len(changed.body)) == ("a b", 256, 65_536)
        assert do(site.forge.pull_request(number)) == changed

    def test_a_forge_without_rules_has_no_problems(self, site: Site) -> None:
        assert do(site.forge.problems(MergePlan("main", "squash", past_pull_requests=True))) == []
