"""What GitHub says about failed checks, so that they can be fixed without asking it again."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec

from hookline.adapters.github.answers import Annotation
from hookline.domain.text.forge_texts import shown
from hookline.domain.work.forge import ForgeError, ForgeTemporary

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hookline.adapters.github.answers import CheckRun
    from hookline.adapters.github.rest import GitHubRest
    from hookline.domain.work.forge import Check

# Each costs two requests, and the first few are usually most of them.
EXPLAINED = 10
ANNOTATIONS = 50
MAX_LOG = 8 * 1024
# Actions writes the moment before each line.
_MOMENT = re.compile(r"^\d{4}-\d\d-\d\dT[\d:.]+Z ", re.MULTILINE)


async def explained(rest: GitHubRest, runs: Sequence[CheckRun]) -> list[Check]:
    """Check runs as checks, the first that failed with all that GitHub tells about them."""
    failed = [run for run in runs if run.shown().status == "failure"][:EXPLAINED]
    return [await _explained(rest, run) if run in failed else run.shown() for run in runs]


async def _explained(rest: GitHubRest, run: CheckRun) -> Check:
    annotations = await _annotations(rest, run) if run.output.annotations_count else ()
    log = await _log(rest, run) if run.is_job else ""
    check: Check = msgspec.structs.replace(run.shown(), annotations=annotations, log=log)
    return check


async def _annotations(rest: GitHubRest, run: CheckRun) -> tuple[str, ...]:
    path = f"/check-runs/{run.id:d}/annotations"
    try:
        found = (await rest.get(path, per_page=ANNOTATIONS)).read(list[Annotation])
    except ForgeTemporary:
        raise
    except ForgeError as problem:
        return (f"(the annotations cannot be read: {shown(problem.message)})",)
    worst_first = sorted(found, key=lambda each: each.annotation_level != "failure")
    return tuple(each.line for each in worst_first)


async def _log(rest: GitHubRest, run: CheckRun) -> str:
    """The end of the log of a job of GitHub Actions, whose number is that of its check run."""
    try:
        text = await rest.linked_text(f"/actions/jobs/{run.id:d}/logs")
    except ForgeError as problem:
        return f"(the log cannot be read: {shown(problem.message)})"
    return _MOMENT.sub("", text)[-MAX_LOG:]
