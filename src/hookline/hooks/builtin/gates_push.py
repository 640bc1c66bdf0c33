"""Bringing the work to where the forge sees it: before anything is asked about it there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookline.domain.repository import Refused
from hookline.hooks.builtin.gates_common import refused
from hookline.hooks.framing import framed

if TYPE_CHECKING:
    from hookline.domain.answers import GateAnswer
    from hookline.hooks.builtin.gates_common import Judging

# How a push was refused, in the context of a gate's answer.
PUSH = "push"


async def push(judging: Judging) -> GateAnswer | None:
    """Push where the forge lives on a remote; what stands in the way, if something does."""
    remote = judging.forge.push_remote
    if remote is None or judging.is_trial or judging.context.extra.get("skip_pr") is True:
        return None
    branch = judging.context.branch_name
    pushed = await judging.repository.push(judging.folder, branch, remote)
    if not isinstance(pushed, Refused):
        return None
    return refused(*refusal(pushed, branch, remote), {PUSH: pushed.kind})


def refusal(pushed: Refused, branch: str, remote: str) -> tuple[str, str | None]:
    """Why a push came to nothing, and what an agent can do about it."""
    output = framed("What was said", f"{pushed.reason}\n{pushed.output}")
    if pushed.kind == "diverged":
        return (
            pushed.reason,
            f"The branch `{branch}` at {remote} has commits that you do not have. Fetch them and"
            f" rebase yours onto them, so that nobody's work is lost.\n\n{output}",
        )
    if pushed.kind == "rejected":
        return (
            pushed.reason,
            f"A rule or a hook of {remote} rejected the push of `{branch}`. If it names something"
            " in your work or your commits, fix that. Do not work around the rule. The push is"
            f" repeated for you.\n\n{output}",
        )
    return f"{pushed.reason}: {pushed.output}", None
