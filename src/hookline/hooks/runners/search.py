"""The one search for a project's tests and linters: `init`, `check` and the gates all ask here."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from hookline.hooks.runners import node, others, python
from hookline.hooks.runners.folder import Folder, Runner, SearchedNames

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hookline.hooks.runners.others import Finder

# Packages are at most so deep: `web`, `packages/web`.
_DEPTH = 2
_MOST = 20


class RunnerTable(NamedTuple):
    """What is asked of a folder, in order: a runner of each language, or one that covers all."""

    languages: tuple[Finder, ...]
    umbrella: Finder


TESTS = RunnerTable(
    (
        python.tests,
        node.tests,
        others.deno,
        others.cargo("cargo test --quiet{every}"),
        others.go("test"),
        others.gradle,
        others.maven,
        others.sbt,
        others.mix,
        others.ruby_tests,
        others.php,
        others.swift,
        others.dart,
    ),
    others.targets("test", "check"),
)
LINTERS = RunnerTable(
    (
        python.linter,
        node.linter,
        others.golangci,
        others.go("vet"),
        others.clippy,
        others.rubocop,
        others.credo,
    ),
    others.targets("lint"),
)


class Runners(NamedTuple):
    """What is to be run, all of it; what else could be; and which files that depends on."""

    chosen: tuple[Runner, ...]
    others: tuple[Runner, ...]
    asked: SearchedNames


def find_runners(table: RunnerTable, root: str, path: str | None) -> Runners:
    """What a repository's files show; PATH says what is installed.

    The root speaks for its packages. Packages in folders count for languages that the root says
    nothing about. With several languages, a target of make or just that covers all comes first.
    """
    top = Folder(root, path)
    here = _of(table, top)
    found = [*here, *_below(table, top, {each.language for each in here})]
    umbrella = table.umbrella(top)
    if umbrella is None:
        chosen, rest = found[:_MOST], found[_MOST:]
    elif here and len({each.language for each in found}) == 1:
        chosen, rest = found, [umbrella]
    else:
        chosen, rest = [umbrella], found
    return Runners(tuple(chosen), tuple(rest), top.asked)


def _of(table: RunnerTable, folder: Folder) -> list[Runner]:
    """The first runner of each language in a folder."""
    found: dict[str, Runner] = {}
    for finder in table.languages:
        if (each := finder(folder)) is not None:
            found.setdefault(each.language, each)
    return list(found.values())


def _below(table: RunnerTable, top: Folder, covered: set[str]) -> Iterator[Runner]:
    inside: set[str] = set()
    for folder in top.packages(_DEPTH):
        if folder.name.rpartition("/")[0] in inside:  # a part of that package
            continue
        found = [each for each in _of(table, folder) if each.language not in covered]
        if not found and not covered and (target := table.umbrella(folder)):
            found = [target]
        if found:
            inside.add(folder.name)
            yield from found
