"""Gates that let others check the work: the project's tests and linter, and the forge's checks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookline.domain.excerpts import last_line
from hookline.errors import HookTimeout
from hookline.hooks.builtin.gates_common import (
    astray,
    passed,
    refused,
    skipped,
    standing,
    waiting,
)
from hookline.hooks.builtin.gates_push import push
from hookline.hooks.builtin.gates_runners import LINTERS, TEST_RUNNERS
from hookline.hooks.builtin.test_runners import (
    Limits,
    find_runner,
    run_found,
    run_line,
)
from hookline.hooks.framing import MAX_OUTPUT, ends, framed
from hookline.hooks.templates import fill_line
from hookline.points import POINTS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hookline.domain.answers import GateAnswer
    from hookline.domain.forge import Check
    from hookline.hooks.builtin.gates_arguments import CiStatus, Program, Tests
    from hookline.hooks.builtin.gates_common import Judging
    from hookline.hooks.builtin.gates_runners import Runner
    from hookline.hooks.builtin.test_runners import Tested

SHOWN_CHECKS = 50
LOCAL = "local"


async def run_tests(judging: Judging) -> GateAnswer:
    """The project's tests must pass, those that are configured or that its files tell of."""
    given: Tests = judging.arguments
    return await _check(judging, TEST_RUNNERS, "tests", given.retries)


async def lint(judging: Judging) -> GateAnswer:
    """The project's linter must be content, the one configured or that its files tell of."""
    return await _check(judging, LINTERS, "linter")


async def _check(
    judging: Judging, table: Sequence[Runner], what: str, retries: int = 0
) -> GateAnswer:
    tested, runs = await _run_again(judging, table, retries)
    into = judging.context.extra.get("mergedInto")
    if tested is None:
        where = "the merged result" if into else judging.folder
        return skipped(f"no {what} found in {where}: nothing was run")
    if tested.empty:
        return skipped(f"`{tested.command}` found nothing to run")
    told = {"source": tested.source, "printed": last_line(tested.output)}
    context = {"command": tested.command, **{name: text for name, text in told.items() if text}}
    if tested.passed:
        left = f"; not run: {', '.join(tested.others)}" if tested.others else ""
        again = f" at run {runs} of {retries + 1}" if runs > 1 else ""
        return passed(f"`{tested.command}` passed{again}{left}", context)
    again = f" {runs} times" if runs > 1 else ""
    where = " on the merged result" if into else ""
    message = f"`{tested.command}` {'fails' if into else 'failed'}{again}{where}"
    return refused(message, _failing(tested, into), context)


def _failing(tested: Tested, into: str | None) -> str:
    """What the author of the work is told about a check that fails."""
    told = f"`{tested.command}` failed on your work. Run it in this folder to see the failure."
    if into:
        told = (
            f"A trial merge of your work into {into} fails `{tested.command}`. Nothing was merged."
            " Run it in this folder to see the failure. If it passes here, the cause is in commits"
            f" that this folder does not have: `git log HEAD..{into.rpartition(' ')[2]}` shows"
            " them."
        )
    return f"{told}\n\n" + framed(f"What `{tested.command}` printed", tested.output)


async def _run_again(
    judging: Judging, table: Sequence[Runner], retries: int
) -> tuple[Tested | None, int]:
    """Run it until it passes, so many times more; how it went at last, and at which run."""
    for made in range(1, retries + 1):
        try:
            tested = await _run(judging, table)
        except HookTimeout:
            continue
        if tested is None or tested.passed:
            return tested, made
    return await _run(judging, table), retries + 1


async def _run(judging: Judging, table: Sequence[Runner]) -> Tested | None:
    given: Program = judging.arguments
    world, env = judging.world, judging.env
    limits = Limits(given.timeout or judging.call.timeout, world.on_start)
    if given.command is not None:
        allowed = POINTS[judging.call.point].variables
        line = fill_line(given.command, allowed, judging.call.values, options=given.options)
        return await run_line(line, judging.folder, world.processes, env, limits, given.command)
    found = await find_runner(table, judging.folder, world.processes, env)
    if found is None:
        return None
    return await run_found(found, judging.folder, world.processes, env, limits)


async def ci_status(judging: Judging) -> GateAnswer:
    """The checks of the forge must have passed for the commit that is judged."""
    given: CiStatus = judging.arguments
    state = await standing(judging)
    if (answer := astray(judging, state)) is not None:
        return answer
    assert state.head is not None
    if (answer := await push(judging)) is not None:
        return answer
    found = await judging.forge.checks(state.head)
    short = state.head[:12]
    if found.status == "success":
        return passed(f"every check of {short} passed", {"ciHead": state.head})
    if found.status == "none":
        return _unchecked(judging, short, given)
    if found.status == "pending":
        names = ", ".join(_names(found.checks, "pending"))
        return waiting(f"checks of {short} still run: {names}", "checks", given.retry_after)
    names = ", ".join(_names(found.checks, "failure"))
    return refused(f"checks of {short} failed: {names}", _broken(found.checks, short))


def _unchecked(judging: Judging, short: str, given: CiStatus) -> GateAnswer:
    """Right after a push a server has not begun yet; without a server nothing ever will."""
    otherwise = "skip" if judging.forge.name == LOCAL else "pending"
    message = f"nothing checks {short} at {judging.forge.name}"
    if (given.without_checks or otherwise) == "skip":
        return skipped(message)
    return waiting(f"{message} yet", "checks", given.retry_after)


def _names(checks: Sequence[Check], status: str) -> list[str]:
    return [each.name for each in checks if each.status == status][:SHOWN_CHECKS]


def _broken(checks: Sequence[Check], short: str) -> str:
    failed = [each for each in checks if each.status == "failure"][:SHOWN_CHECKS]
    share = MAX_OUTPUT // max(len(failed), 1)
    found = "\n\n".join(ends(_described(each), share) for each in failed)
    return (
        f"These checks failed on the CI server, on your commit {short}. Find the cause in their"
        " output, and fix it. Run the same commands here if you can. All that the server reported"
        " is below, so that you need no network.\n\n"
        + framed("The failed checks", found, MAX_OUTPUT + 4 * SHOWN_CHECKS)
    )


def _described(check: Check) -> str:
    """All that is known about a failed check, its log last."""
    found = [f"{check.name}: {check.status} {check.url}".rstrip(), check.title, check.summary]
    found += [f"- {each}" for each in check.annotations]
    if check.log:
        found.append(f"The end of its log:\n{check.log}")
    return "\n".join(part for part in found if part)
