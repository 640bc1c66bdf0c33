"""Runs validation rules: concurrently, each with its own timeout and isolated from the others."""

from __future__ import annotations

import asyncio
import os
import sys
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from hookline import typed
from hookline.cancelling import end
from hookline.domain.sessions.coverage import MAX_REPORT, USUAL_REPORTS, line_coverage
from hookline.domain.sessions.validation import PATTERN_FLAGS, RuleFinding, ValidationRule
from hookline.domain.text.display import line_of
from hookline.domain.text.excerpts import first_few, headed_excerpt
from hookline.errors import BadInput, HookFailure, Untrusted
from hookline.hooks.calls.program import check_exit, ended, failure, json_object, whole_output
from hookline.hooks.followed import without_followed
from hookline.hooks.kinds.command import SHELL
from hookline.hooks.projectfiles import files_like, is_there, read_file, stamp
from hookline.hooks.rules import unsaid
from hookline.programs import own_program

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence

    from hookline.domain.payloads import ValidationResult
    from hookline.ports.processes import Finished, Processes, ProcessGroup

AT_ONCE = 4
TIMEOUT = 300.0
# A search that takes longer than this will not end.
PATTERN_TIMEOUT = 10.0
MAX_COMMAND = 200
MAX_SEARCHED = 32 * 1024 * 1024
_MATCHING = (sys.executable, "-I", "-S", os.path.join(os.path.dirname(__file__), "matching.py"))


class ValidationWorld(NamedTuple):
    """What rules need around them: the project's root, the door to processes, the environment.

    `verify` raises Untrusted for a command that would run untrusted code.
    """

    root: str
    processes: Processes
    environ: Mapping[str, str]
    on_start: Callable[[ProcessGroup], None] | None = None
    verify: Callable[[str], None] = lambda line: None


class _Ruling(NamedTuple):
    """Whether a rule holds, what to say about it, how its program ended, what it measured."""

    passed: bool
    message: str
    exit_code: int | None = None
    coverage: float | None = None


async def validate(
    rules: Sequence[ValidationRule],
    world: ValidationWorld,
    agent_output: str = "",
    *,
    at_once: int = AT_ONCE,
) -> list[ValidationResult]:
    """A finding for each rule, in their order. No rules give no findings, which is not a pass.

    Rules that only look at files wait for those that run something, which may write the files.
    """
    slots = asyncio.Semaphore(at_once)
    said = agent_output.encode("utf-8", "replace").decode()

    async def check(place: int) -> RuleFinding:
        async with slots:
            return await _finding(rules[place], world, said)

    acting = [place for place, rule in enumerate(rules) if rule.command or rule.python]
    looking = [place for place in range(len(rules)) if place not in acting]
    found: dict[int, RuleFinding] = {}
    for places in (acting, looking):
        found |= zip(places, await _together([check(place) for place in places]), strict=True)
    return [found[place] for place in range(len(rules))]


async def _together(checks: list[Coroutine[Any, Any, RuleFinding]]) -> list[RuleFinding]:
    tasks = [asyncio.ensure_future(each) for each in checks]
    try:
        return await asyncio.gather(*tasks)
    finally:
        await end(*tasks)


async def _finding(rule: ValidationRule, world: ValidationWorld, agent_output: str) -> RuleFinding:
    start = perf_counter_ns()
    try:
        verdict = await _TYPES[rule.type](rule, world, agent_output)
    except HookFailure as problem:
        said = _said(problem.stdout, unsaid(problem.stderr, problem.message))
        message = f"the rule could not run: {problem.message}\n{said}"
        verdict = _Ruling(False, message.rstrip(), problem.program_exit)
    except Untrusted as problem:
        verdict = _Ruling(False, f"the rule could not run: {problem.message}")
    except BadInput as problem:
        verdict = _Ruling(False, problem.message)
    except TimeoutError:
        verdict = _Ruling(False, f"the rule could not run: timed out after {_time(rule):g} s")
    return RuleFinding(
        rule_name=rule.name,
        passed=verdict.passed,
        message=headed_excerpt(verdict.message),
        type=rule.type,
        command=rule.command,
        exit_code=verdict.exit_code,
        duration_ms=(perf_counter_ns() - start) // 1_000_000,
        coverage=verdict.coverage,
    )


# The types of rules


async def _command(rule: ValidationRule, world: ValidationWorld, output: str) -> _Ruling:
    assert rule.command is not None
    line = rule.command
    world.verify(without_followed(world.root, line) if rule.follow else line)
    finished = await _run((SHELL, "-c", rule.command), world, _time(rule))
    check_exit(finished)
    code = finished.exit_code
    said = _said(finished.stdout, finished.stderr)
    if code and not said:
        silent = f"exit code {code}: `{line_of(rule.command, MAX_COMMAND)}` printed nothing"
        return _Ruling(False, silent, code)
    return _Ruling(code == 0, f"exit code {code}\n{said}".rstrip(), code)


async def _content_pattern(rule: ValidationRule, world: ValidationWorld, output: str) -> _Ruling:
    if not rule.files:
        found = await _search(rule, world, [output])
        return _Ruling(found, f"{'found' if found else 'no match'} in what the agent said")
    for name in rule.files:
        async with asyncio.timeout(_time(rule)):
            texts = await asyncio.to_thread(_texts, world.root, name)
        if not await _search(rule, world, list(texts.values())):
            return _Ruling(False, f"no match in {first_few(list(texts), 10)}")
    return _Ruling(True, f"found in {first_few(rule.files, 10)}")


async def _coverage(rule: ValidationRule, world: ValidationWorld, output: str) -> _Ruling:
    assert rule.minimum is not None
    names: tuple[str, ...] = (rule.report,) if rule.report else USUAL_REPORTS
    code = None
    if rule.command:
        before = [stamp(world.root, name) for name in names]
        made = await _command(rule, world, output)
        if not made.passed:
            return made
        code = made.exit_code
        written = zip(names, before, strict=True)
        names = tuple(name for name, was in written if stamp(world.root, name) != was)
    report = next((name for name in names if is_there(world.root, name)), None)
    if report is None:
        return _Ruling(False, _no_report(rule), code)
    async with asyncio.timeout(_time(rule)):
        percent = await asyncio.to_thread(
            lambda: line_coverage(read_file(world.root, report, MAX_REPORT))
        )
    # Cut, not rounded: 79.999 must not read as the 80 that were asked for.
    shown = f"{int(percent * 100) / 100:g} % of the lines are covered"
    wanted = f"at least {rule.minimum:g} % are required ({report})"
    return _Ruling(percent >= rule.minimum, f"{shown}, {wanted}", code, percent)


async def _file_existence(rule: ValidationRule, world: ValidationWorld, output: str) -> _Ruling:
    def missing() -> list[str]:
        return [name for name in rule.files if not files_like(world.root, name)]

    async with asyncio.timeout(_time(rule)):
        absent = await asyncio.to_thread(missing)
    if absent:
        return _Ruling(False, f"missing: {first_few(absent, 10)}")
    return _Ruling(True, f"found: {first_few(rule.files, 10)}")


async def _custom(rule: ValidationRule, world: ValidationWorld, output: str) -> _Ruling:
    assert rule.python is not None
    # -P: a json.py in the project's root must not replace the one that Hookline imports.
    argv = own_program("hookline.pyhook", "payload", rule.python)
    given = {"ruleName": rule.name, "agentOutput": output, "project": world.root}
    finished = await _run(argv, world, _time(rule), msgspec.json.encode(given))
    message = json_object(whole_output(finished))
    code = finished.exit_code
    if message is None:
        raise failure(f"{rule.python} ended with exit code {code} and no answer", finished)
    if "error" in message:
        raise HookFailure(str(message["error"]), stderr=finished.stderr, exit_code=code)
    return _answer(message.get("answer"), rule.python, finished)


_TYPES: Mapping[str, Callable[[ValidationRule, ValidationWorld, str], Awaitable[_Ruling]]] = {
    "command": _command,
    "content_pattern": _content_pattern,
    "coverage": _coverage,
    "file_existence": _file_existence,
    "custom": _custom,
}

# What they share


def _time(rule: ValidationRule) -> float:
    return rule.timeout or TIMEOUT


async def _run(
    argv: tuple[str, ...], world: ValidationWorld, timeout: float, stdin: bytes = b""
) -> Finished:
    env, on_start = world.environ, world.on_start
    run = world.processes.run(
        argv, cwd=world.root, env=env, timeout=timeout, stdin=stdin, on_start=on_start
    )
    return await ended(run, timeout)


async def _search(rule: ValidationRule, world: ValidationWorld, texts: list[str]) -> bool:
    """Whether a text contains the rule's pattern, searched by a child that can be killed."""
    if sum(map(len, texts)) > MAX_SEARCHED:
        raise BadInput(f"there is more than {MAX_SEARCHED >> 20} MiB of text to search")
    given = {"pattern": rule.pattern, "flags": int(PATTERN_FLAGS), "texts": texts}
    limit = min(_time(rule), PATTERN_TIMEOUT)
    finished = await _run(_MATCHING, world, limit, msgspec.json.encode(given))
    try:
        return typed.decode(finished.stdout, bool)
    except msgspec.MsgspecError as problem:
        raise failure("the search ended without an answer", finished) from problem


def _texts(root: str, name: str) -> dict[str, str]:
    """File -> its text, for those that a path or a pattern names."""
    names = files_like(root, name)
    if not names:
        raise BadInput(f"{name} does not exist")
    room = MAX_SEARCHED
    texts: dict[str, str] = {}
    for path in names:
        data = read_file(root, path, room)
        room -= len(data)
        texts[path] = data.decode("utf-8", "replace")
    return texts


def _no_report(rule: ValidationRule) -> str:
    if rule.command:
        return f"the command wrote no new {rule.report or 'coverage report'}"
    if rule.report:
        return f"{rule.report} does not exist"
    return f"there is no coverage report: none of {', '.join(USUAL_REPORTS)} exists"


def _answer(answer: Any, target: str, finished: Finished) -> _Ruling:
    if isinstance(answer, bool):
        answer = {"passed": answer}
    passed = answer.get("passed") if isinstance(answer, dict) else None
    if not isinstance(passed, bool):
        wanted = 'True, False or {"passed": ..., "message": ...}'
        raise failure(f"{target} must return {wanted}", finished)
    said = answer.get("message")
    return _Ruling(passed, str(said) if said else f"{target} says {'yes' if passed else 'no'}")


def _said(stdout: str, stderr: str) -> str:
    return "\n".join(text for text in (stdout.strip(), stderr.strip()) if text)
