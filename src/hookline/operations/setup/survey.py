"""What `init` knows before it writes anything: the folder, the agents, the tests, the linters.

Nothing of the repository runs here. Agents are asked for their versions in an empty folder.
"""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING

import msgspec

from hookline.config.detection import VersionControl, find_agents, find_repository
from hookline.files import bytes_of, safe_environment
from hookline.hooks.runners.folder import Runner
from hookline.hooks.runners.search import LINTERS, TESTS, find_runners
from hookline.project import CONFIG_NAME
from hookline.queries.doctor.agents import AgentAnswer, ask_agents
from hookline.wiring.working.inspection import repository_problem

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from hookline.project import Project


MAX_IGNORED = 1 << 20
# What the tests of a language leave behind, and how else a .gitignore may name it.
_LEFT_BEHIND = {
    "python": ("__pycache__/", "__pycache__", "*.pyc", "*.py[cod]", "*.py[co]"),
    "javascript": ("node_modules/", "node_modules"),
    "rust": ("target/", "target"),
}


class Survey(msgspec.Struct, frozen=True, rename="camel"):
    """What was found. `other_tests` are commands that the tests here make needless."""

    agents: list[AgentAnswer]
    tests: list[Runner]
    other_tests: list[Runner]
    linters: list[Runner]
    version_control: VersionControl | None

    @property
    def startable(self) -> list[AgentAnswer]:
        """The agents that a session can use."""
        return [each for each in self.agents if each.is_startable]


def survey(project: Project, environ: Mapping[str, str]) -> Survey:
    """Look around in a project's folder; for a new hookline.yaml, ask the agents on PATH."""
    environ = safe_environment(environ)
    root, path = project.root, environ["PATH"]
    is_new = not os.path.lexists(project.config)
    unasked = [AgentAnswer(name) for name in find_agents(environ)]
    tests = find_runners(TESTS, root, path)
    return Survey(
        ask_agents(environ, outside=root) if is_new else unasked,
        list(tests.chosen),
        list(tests.others),
        list(find_runners(LINTERS, root, path).chosen),
        _repository(project, environ),
    )


def _repository(project: Project, environ: Mapping[str, str]) -> VersionControl | None:
    """The repository, and whether git reads it: not if it belongs to another user, say."""
    found = find_repository(project.root)
    if found is None:
        return None
    problem = asyncio.run(repository_problem(project, environ))
    return msgspec.structs.replace(found, problem=problem)


def remarks(project: Project, found: Survey) -> Iterator[str]:
    """What a person should know about what was found, and what was not."""
    repository = found.version_control
    if repository is not None and repository.root != project.root:
        root = repository.root
        yield f"the root of the repository is {root}: a project there is found from all its folders"
    if repository is not None and repository.problem is not None:
        yield f"{repository.problem}; run `git status` there, and do what it says"
    for agent in found.agents:
        if agent.problem is not None:
            way = f"; {agent.help}" if agent.help else ""
            yield f"{agent.name} cannot work yet: {agent.problem}{way}"
    for runner in (*found.tests, *found.linters):
        if runner.missing is not None:
            yield f"{runner.missing} is not on PATH: `{runner.command}` is written as a comment"
    yield from _unignored(project, found)
    if not found.tests:
        yield f"no tests were found: write yours under `validation:` in {CONFIG_NAME}"


def _unignored(project: Project, found: Survey) -> Iterator[str]:
    """What tests leave behind, where git does not ignore it and an agent's turn would count it."""
    if found.version_control is None:
        return
    places = {found.version_control.root, project.root}
    places |= {os.path.join(project.root, each.folder) for each in found.tests}
    texts = (bytes_of(os.path.join(each, ".gitignore"), MAX_IGNORED) for each in places)
    ignored = b"\n".join(texts).decode("utf-8", "replace")
    languages = dict.fromkeys(each.language for each in found.tests)
    left = [_LEFT_BEHIND[each] for each in languages if each in _LEFT_BEHIND]
    names = [names[0] for names in left if not any(name in ignored for name in names)]
    if names:
        yield f"git does not ignore {', '.join(names)}: it would count as a change by the agent"
