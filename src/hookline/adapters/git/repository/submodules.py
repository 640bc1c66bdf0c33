"""Submodules: fetched only from where the base says, because work can name any address."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING

from hookline.adapters.git.door import NETWORK, printable
from hookline.domain.work.repository import RepositoryError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from hookline.adapters.git.repository.plumbing import Plumbing

_GIT_DIR = "git rev-parse --absolute-git-dir"
_FILE = ".gitmodules"
_NEW = "the base does not have it, or from another address"


async def fetch_submodules(repo: Plumbing, top: str, base: str) -> tuple[str, ...]:
    """Bring the submodules of a checkout to the commits that are recorded; what fails is a notice.

    Those that a commit of the base does not name in the same way are left alone. At another commit
    than the base's, one can name others, which are left alone too.
    """
    path = os.path.join(top, _FILE)
    if not os.path.lexists(path):
        return ()
    if (odd := await _tied_elsewhere(repo, top)) is not None:
        return (f"submodules could not be updated: {odd}",)
    settings = await _settings(repo, top, "--file", path)
    new = await _new(repo, top, base, settings)
    listed = await repo.git(top, "ls-files", "-z", "-s")
    now = {place: about.split()[1] for about, place in _links(listed.names) if place not in new}
    before: set[tuple[str, str]] = set()
    for commit in await _known(repo, top, base):
        listed = await repo.git(top, "ls-tree", "-z", "-r", commit)
        before |= {(place, about.split()[2]) for about, place in _links(listed.names)}
    places = [place for place in _places(settings.values()) if place in now]
    same = [place for place in places if (place, now[place]) in before]
    moved = [place for place in places if place not in same]
    notices = [f"the submodule {printable(each)} is not fetched: {_NEW}" for each in sorted(new)]
    for some, how in ((same, ("--recursive",)), (moved, ())):
        named = (f":(literal){place}" for place in some)
        asked = ("submodule", "--quiet", "update", "--init", *how, "--", *named)
        said = await repo.git(top, *asked, timeout=NETWORK) if some else None
        if said is not None and said.code:
            notices.append(f"submodules could not be updated: {said.words}")
    return tuple(notices)


async def submodules(repo: Plumbing, folder: str, base: str) -> tuple[set[str], set[str]]:
    """The places of the submodules of HEAD, and those of them that the base does not name so."""
    found = await _settings(repo, folder, "--blob", f"HEAD:{_FILE}")
    return _places(found.values()), await _new(repo, folder, base, found)


async def _new(
    repo: Plumbing, folder: str, base: str, named: dict[str, dict[str, str]]
) -> set[str]:
    known = [
        await _settings(repo, folder, "--blob", f"{commit}:{_FILE}")
        for commit in await _known(repo, folder, base)
    ]
    return _places(
        each for name, each in named.items() if all(other.get(name) != each for other in known)
    )


async def _known(repo: Plumbing, folder: str, base: str) -> list[str]:
    """The base, and what the work began on."""
    with suppress(RepositoryError):  # they may have nothing in common
        return list({base, await repo.fork(folder, base)})
    return [base]


async def _settings(repo: Plumbing, folder: str, *where: str) -> dict[str, dict[str, str]]:
    """What is said of each submodule, by its name."""
    found: dict[str, dict[str, str]] = {}
    for entry in (await repo.git(folder, "config", "-z", *where, "--list")).names:
        setting, _, value = entry.partition("\n")
        name, _, key = setting.rpartition(".")
        found.setdefault(name, {})[key] = value
    return found


def _places(named: Iterable[dict[str, str]]) -> set[str]:
    return {each["path"] for each in named if "path" in each}


def _links(listed: list[str]) -> list[list[str]]:
    return [entry.split("\t", 1) for entry in listed if entry.startswith("160000 ")]


async def _tied_elsewhere(repo: Plumbing, top: str) -> str | None:
    """A submodule that is tied to a repository elsewhere, which an update would change."""
    asked = ("submodule", "--quiet", "foreach", "--recursive", _GIT_DIR)
    said = await repo.git(top, *asked)
    if said.code:
        return said.words
    own = (os.path.join(repo.at(top).git_dir, "modules", ""), os.path.join(top, ""))
    odd = (line for line in said.text.splitlines() if not line.startswith(own))
    return next((f"one is tied to {line}" for line in odd), None)
