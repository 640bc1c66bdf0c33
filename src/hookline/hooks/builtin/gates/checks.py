"""Gates that run checks: the project's tests and linter, and the forge's checks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

import msgspec

from hookline import typed
from hookline.domain.text.excerpts import last_line
from hookline.errors import HookFailure, HookTimeout
from hookline.hooks.builtin.gates.commands import DetectedTests, find_runner
from hookline.hooks.builtin.gates.common import Judging, passed, refused, skipped, waiting
from hookline.hooks.calls.program import NOT_FOUND, check_exit, failure
from hookline.hooks.framing import MAX_OUTPUT, ends, framed, printed
from hookline.hooks.gates.reports import runnable
from hookline.hooks.language.templates import fill_line
from hookline.hooks.runners.search import LINTERS, TESTS
from hookline.hooks.texts import told
from hookline.hooks.told_commands import ELSEWHERE, named_command
from hookline.points import POINTS
from hookline.ports.processes import CannotStart, Finished

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hookline.domain.hooks.answers import GateAnswer
    from hookline.domain.work.forge import Check
    from hookline.hooks.builtin.gates.arguments import CiStatus, Program, Tests
    from hookline.hooks.runners.search import RunnerTable

SHOWN_CHECKS = 50
SHELL = "/bin/sh"
# Among what else a gate is told.
MERGED = "mergedResult"
Seen = Literal["rebased", "own", "earlier"]


class _Tested(NamedTuple):
    """A project's own check, and how it ended."""

    check: DetectedTests
    end: Finished

    @property
    def command(self) -> str:
        return self.check.shown

    @property
    def is_empty(self) -> bool:
        """Whether it found nothing to look at."""
        return self.end.exit_code != 0 and self.end.exit_code == self.check.nothing

    @property
    def passed(self) -> bool:
        return self.end.exit_code == 0 or self.is_empty

    @property
    def output(self) -> str:
        return "\n".join(filter(None, (self.end.stdout.rstrip(), self.end.stderr.rstrip())))


class MergedResult(msgspec.Struct, frozen=True):
    """That the folder of a gate holds the work merged with a commit of the base.

    `seen` is how its author can see the same: the work is `rebased` onto that commit, or it is on a
    person's `own` branch, or the tests are `earlier` ones.
    """

    base: str
    onto: str
    seen: Seen


def _merged(judging: Judging) -> MergedResult | None:
    found = judging.context.extra.get(MERGED)
    return None if found is None else typed.convert(found, MergedResult)


async def run_tests(judging: Judging) -> GateAnswer:
    """The project's tests must pass: the configured ones, or those found by its files."""
    given: Tests = judging.arguments
    return await _check(judging, TESTS, "tests", given.retries)


async def lint(judging: Judging) -> GateAnswer:
    """The project's linter must pass: the configured one, or the one found by its files."""
    return await _check(judging, LINTERS, "linter")


async def _check(judging: Judging, table: RunnerTable, what: str, retries: int = 0) -> GateAnswer:
    tested, runs = await _run_again(judging, table, retries)
    into = _merged(judging)
    if tested is None:
        where = "the merged result" if into else judging.folder
        return skipped(f"no {what} found in {where}: nothing was run")
    if tested.is_empty:
        return skipped(f"`{tested.command}` found nothing to run")
    more = {"source": tested.check.source, "printed": last_line(tested.output)}
    context = {"command": tested.command, **{name: text for name, text in more.items() if text}}
    if tested.passed:
        left = f"; not run: {', '.join(tested.check.others)}" if tested.check.others else ""
        again = f" at run {runs} of {retries + 1}" if runs > 1 else ""
        return passed(f"`{tested.command}` passed{again}{left}", context)
    again = f" {runs} times" if runs > 1 else ""
    where = " on the merged result" if into else ""
    message = f"`{tested.command}` {'fails' if into else 'failed'}{again}{where}"
    return refused(message, _failing(tested, into), context)


def _failing(tested: _Tested, into: MergedResult | None) -> str:
    """What the author of the work is told about a check that fails, also of a trial merge."""
    source = tested.check.source
    named = named_command(tested.command, f"what {source} asks for" if source else ELSEWHERE)
    said = f"{named.begins} failed on your work. Run it in this folder to see the failure."
    if into:
        how = told("fix", f"merged-{into.seen}", base=into.base, onto=into.onto)
        about = {"base": into.base, "onto": into.onto, "command": named.name}
        said = told("fix", "merged", **about, how=how)
    return named.block + said + printed("it", tested.output)


async def _run_again(
    judging: Judging, table: RunnerTable, retries: int
) -> tuple[_Tested | None, int]:
    """Run it until it passes, with a number of retries; return the last result and its run."""
    for made in range(1, retries + 1):
        try:
            tested = await _run(judging, table)
        except HookTimeout:
            continue
        if tested is None or tested.passed:
            return tested, made
    return await _run(judging, table), retries + 1


async def _run(judging: Judging, table: RunnerTable) -> _Tested | None:
    given: Program = judging.arguments
    call = judging.call
    found: DetectedTests | None
    if given.command is not None:
        allowed = POINTS[call.point].variables
        line = fill_line(given.command, allowed, call.values, options=given.options)
        shown = runnable(given.command, call.values) or given.command
        found = DetectedTests(line, shown)
    else:
        found = await find_runner(table, judging.folder, judging.world.processes, judging.env)
    return None if found is None else _Tested(found, await _end_of(judging, found.line))


async def _end_of(judging: Judging, line: str) -> Finished:
    """The result of a check; a failure if it timed out or was killed."""
    given: Program = judging.arguments
    world, timeout = judging.world, given.timeout or judging.call.timeout
    argv = (SHELL, "-c", line)
    try:
        done = await world.processes.run(
            argv, cwd=judging.folder, env=judging.env, timeout=timeout, on_start=world.on_start
        )
    except CannotStart as problem:
        raise HookFailure(str(problem), exit_code=NOT_FOUND) from problem
    if done.timed_out:
        late = f"`{line}` timed out after {timeout:g} s"
        raise HookTimeout(late, stdout=done.stdout, stderr=done.stderr)
    if done.exit_code < 0:
        raise failure(f"`{line}` was killed by signal {-done.exit_code}", done)
    check_exit(done)
    return done


async def ci_status(judging: Judging) -> GateAnswer:
    """The checks of the forge must have passed for the head of the task's branch."""
    given: CiStatus = judging.arguments
    head = await judging.head()
    await judging.push()
    found = await judging.forge.checks(head, base=await _asked_base(judging))
    short = head[:12]
    if found.status == "success":
        return passed(f"every check of {short} passed", {"ciHead": head})
    if found.status == "none":
        return _unchecked(judging, short, given)
    with_it = [each for each in found.checks if each.status == found.status][:SHOWN_CHECKS]
    names = ", ".join(each.name for each in with_it)
    if found.status == "pending":
        return waiting(f"checks of {short} are still running: {names}", "checks", given.retry_after)
    return refused(f"checks of {short} failed: {names}", _broken(with_it, short))


async def _asked_base(judging: Judging) -> str | None:
    """The base whose rules count: checks of pull requests begin when there is one."""
    context = judging.context
    pull = await judging.forge.find_pull_request(context.branch_name, context.base_branch)
    return pull.base if pull is not None else None


def _unchecked(judging: Judging, short: str, given: CiStatus) -> GateAnswer:
    """No checks: right after a push they may still start, but without a server they never will."""
    otherwise = "pending" if judging.forge.has_checks else "skip"
    message = f"no checks of {short} at {judging.forge.name}"
    if (given.without_checks or otherwise) == "skip":
        return skipped(message)
    return waiting(f"{message} yet", "checks", given.retry_after)


def _broken(failed: Sequence[Check], short: str) -> str:
    share = MAX_OUTPUT // max(len(failed), 1)
    found = "\n\n".join(ends(_described(each), share) for each in failed)
    return (
        f"These checks failed on the CI server, on your commit {short}. Find the cause in what they"
        " reported, and fix it. You need no network: what the server reported is below. If you find"
        " no cause in your work, or cannot tell, that needs a person. The server checks your fix"
        " after your turn.\n\n" + framed("The failed checks", found, MAX_OUTPUT + 4 * SHOWN_CHECKS)
    )


def _described(check: Check) -> str:
    """All that is known about a failed check, its log last."""
    found = [f"{check.name}: {check.status} {check.url}".rstrip(), check.title, check.summary]
    found += [f"- {each}" for each in check.annotations]
    if check.log:
        found.append(f"The end of its log:\n{check.log}")
    return "\n".join(part for part in found if part)
