"""Whether the forge allows what the settings want: found before an agent is paid."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookline.adapters.process import LocalProcesses
from hookline.adapters.repository import GitRepository
from hookline.domain.forge import ForgeError, ForgeSetup, ForgeTemporary, MergePlan
from hookline.domain.repository import Problem, RepositoryError
from hookline.domain.submissions import PEOPLE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hookline.app import App
    from hookline.config.types import Sections
    from hookline.project import Project

GITHUB = "github"


async def forge_problems(
    project: Project, sections: Sections, environ: Mapping[str, str], *, ask: bool
) -> list[Problem]:
    """What stands in the way at the forge; without `ask` only what can be told offline."""
    gates = sections.gates
    if gates.forge != GITHUB:
        return []
    from hookline.adapters.forges.github import github_forge  # brings an HTTP client

    git = GitRepository(
        LocalProcesses(project.blobs),
        project.root,
        project.folder,
        environ,
        base=gates.base,
        remote=gates.remote,
        trusted=False,
    )
    remote = gates.remote or "origin"
    try:
        url = await git.remote_url(remote)
        forge = github_forge(url, environ, api=gates.api, push_remote=remote)
        if not ask:
            return []
        return await forge.problems(_plan(sections, await git.base_branch()))
    except (RepositoryError, ForgeError) as problem:
        blocks = not isinstance(problem, ForgeTemporary)
        return [Problem(problem.code, problem.message, problem.help or "", blocks)]


def _plan(sections: Sections, base: str) -> MergePlan:
    gates = sections.gates
    skips = any(each.skip_pr for each in sections.task_types.values())
    return MergePlan(base, None if gates.merge == PEOPLE else gates.method, skips)


async def check_forge(app: App) -> list[Problem]:
    """Refuse to begin where the forge would refuse the work in the end; what else is to be told."""
    if app.settings is None:
        return []
    found = await forge_problems(app.project, app.settings.sections, app.environ, ask=True)
    for problem in found:
        if problem.blocks:
            raise ForgeSetup(problem.message, help=problem.help)
    return found
