"""The forges that Hookline brings keep to the contract; GitHub is a stand-in on this machine."""

from __future__ import annotations

import threading
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from hookline.adapters.forges.github import GitHubForge
from hookline.adapters.forges.local import LocalForge
from hookline.adapters.github.remotes import GitHubRepository
from hookline.adapters.github.rest import GitHubRest
from hookline.adapters.store.sqlite import SqliteStore
from hookline.testing.contracts import ForgeContract, Site
from hookline.wiring.working.forges import StoredPulls
from tests.integration.github_acts import NAME, OWNER
from tests.integration.github_description import Description
from tests.integration.github_stand_in import TOKEN, GitHub

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


class TestLocal(ForgeContract):
    name = "local"

    @pytest.fixture
    def site(self, tmp_path: Path) -> Site:
        (tmp_path / ".hookline").mkdir()
        pulls = tmp_path / ".hookline" / "pulls"
        pages = lambda: ["\n".join(path.read_text() for path in pulls.glob("*.md"))]  # noqa: E731
        return Site(LocalForge(str(pulls)), pages)


class TestSharedLocal(ForgeContract):
    """Its records are in a store that several clones share."""

    name = "local"

    @pytest.fixture
    def site(self, tmp_path: Path) -> Iterator[Site]:
        pulls = tmp_path / ".hookline" / "pulls"
        pulls.parent.mkdir()
        pages = lambda: ["\n".join(path.read_text() for path in pulls.glob("*.md"))]  # noqa: E731
        with closing(SqliteStore(str(tmp_path / "store.db"))) as store:
            yield Site(LocalForge(str(pulls), shared=StoredPulls(store)), pages)
        assert list(pulls.glob("*.json")) == []


class TestGitHub(ForgeContract):
    name = "github"

    @pytest.fixture
    def site(self) -> Iterator[Site]:
        with GitHub(Description()) as hub:
            thread = threading.Thread(target=hub.serve_forever, kwargs={"poll_interval": 0.01})
            thread.start()
            place = GitHubRepository("github.com", OWNER, NAME)
            yield Site(GitHubForge(GitHubRest(hub.url, place, TOKEN)), lambda: hub.comments)
            hub.shutdown()
            thread.join()
        assert hub.problems == []
