"""Whether the forge and the remote take what the settings want: found before an agent is paid."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookline.adapters.process import LocalProcesses
from hookline.adapters.repository import GitRepository
from hookline.domain.forge import ForgeError, ForgeSetup, ForgeTemporary, MergePlan
from hookline.domain.repository import Problem, RepositoryError
from hookline.domain.submissions import PEOPLE
from hookline.wiring.calls import is_trusted

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hookline.app import App
    from hookline.config.types import Sections
    from hookline.project import Project

GITHUB = "github"
_REACH = "see whether GitHub can be reached from here (GITHUB_API_URL, HTTPS_PROXY), or try later"


async def forge_problems(
    project: Project,
    sections: Sections,
    environ: Mapping[str, str],
    *,
    ask: bool,
    trusted: bool = False,
) -> list[Problem]:
    """What stands in the way at the forge; without `ask` only what can be told offline.

    The remote is asked as well, by git, which does so only in a repository that is trusted.
    """
    gates = sections.gates
    git = GitRepository(
        LocalProcesses(project.blobs),
        project.root,
        project.folder,
        environ,
        base=gates.base,
        remote=gates.remote,
        trusted=trusted,
    )
    is_github = gates.forge == GITHUB
    found = await _of_github(git, sections, environ, ask=ask) if is_github else []
    if ask and trusted and not any(each.blocks for each in found):
        problem = await git.push_problem(_github_remote(sections) if is_github else None)
        found += [problem] if problem is not None else []
    return found


def _github_remote(sections: Sections) -> str:
    return sections.gates.remote or "origin"


async def _of_github(
    git: GitRepository, sections: Sections, environ: Mapping[str, str], *, ask: bool
) -> list[Problem]:
    from hookline.adapters.forges.github import github_forge  # brings an HTTP client

    remote = _github_remote(sections)
    try:
        url = await git.remote_url(remote)
        forge = github_forge(url, environ, api=sections.gates.api, push_remote=remote)
        if not ask:
            return []
        return await forge.problems(_plan(sections, await git.base_branch()))
    except (RepositoryError, ForgeError) as problem:
        help = _REACH if isinstance(problem, ForgeTemporary) else problem.help or ""
        return [Problem(problem.code, problem.message, help, blocks=True)]


def _plan(sections: Sections, base: str) -> MergePlan:
    gates = sections.gates
    skips = any(each.skip_pr for each in sections.task_types.values())
    return MergePlan(base, None if gates.merge == PEOPLE else gates.method, skips)


async def check_forge(app: App) -> list[Problem]:
    """Refuse to begin where the forge would refuse the work in the end; what else is to be told."""
    if app.settings is None:
        return []
    found = await forge_problems(
        app.project, app.settings.sections, app.environ, ask=True, trusted=is_trusted(app)
    )
    for problem in found:
        if problem.blocks:
            raise ForgeSetup(problem.message, help=problem.help)
    return found
