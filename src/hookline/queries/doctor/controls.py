"""Positive controls: fixtures that MUST be blocked, run for real in a temporary project.

A guard that protects nothing is worse than none, so each of these is tried, not assumed.
"""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections.abc import Callable, Coroutine, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import msgspec

from hookline.app import App
from hookline.domain.hooks.records import FAILED, TIMEOUT, Outcome
from hookline.domain.sessions.promises import find_promises
from hookline.hooks.dispatch import dispatch
from hookline.hooks.frames import Frame
from hookline.hooks.language.templates import compile_line
from hookline.hooks.registry import Hook
from hookline.hooks.rules import RULES
from hookline.points import TASK
from hookline.queries.doctor.checks import Diagnosis, failed, ok
from hookline.tasks import verbs
from hookline.trust.book import TrustBook
from hookline.wiring.calling.calls import caller
from hookline.wiring.project.configured import trust_in
from hookline.wiring.working.inspection import is_alive, process_identity

REPORT = "do not rely on this version of Hookline, and please report this"
# How long a killed process may take to leave the process table.
_LAST_MOMENTS = 1.0
_POISON = """$(echo>pwned) `echo>pwned` '; echo>pwned; ' "; echo>pwned; " {{error}} & echo>pwned"""
_PROMISE = "<promise>COMPLETE</promise>"


class Breach(Exception):
    """Something that must be blocked was not."""


def control_checks() -> Iterator[Diagnosis]:
    """Every control, each in its own folder."""
    for name, (message, control) in _CONTROLS.items():
        with tempfile.TemporaryDirectory(prefix="hookline-control-") as folder:
            try:
                asyncio.run(control(folder))
            except Breach as problem:
                yield failed(name, str(problem), REPORT)
            else:
                yield ok(name, message)


async def _untrusted(folder: str) -> None:
    """A repository's hook does not run until it is trusted, and then it does."""
    line = "    - {name: fixture, command: 'echo > ran'}\n"
    _write(folder, f"hooks:\n  task_created:\n{line}")
    ran = os.path.join(folder, "ran")
    await _add_task(folder, "before")
    if os.path.exists(ran):
        raise Breach("a hook of an untrusted repository ran")
    _trust(folder)
    await _add_task(folder, "after")
    if not os.path.exists(ran):
        raise Breach("this control proves nothing: the hook does not run when trusted either")


async def _injection(folder: str) -> None:
    """A task's text never becomes shell code, whatever quotes surround its variable."""
    places = """{{task_content}} "{{task_content}}" '{{task_content}}'"""
    line = f"    - name: fixture\n      command: |-\n        printf '%s|' {places} > said\n"
    _write(folder, f"hooks:\n  task_created:\n{line}")
    _trust(folder)
    await _add_task(folder, _POISON)
    if os.path.exists(os.path.join(folder, "pwned")):
        raise Breach("the text of a task was run as a command")
    if _read(os.path.join(folder, "said")) != f"{_POISON}|" * 3:
        raise Breach("the text of a task did not reach its hook unchanged")


async def _nested(folder: str) -> None:
    """Free text inside another interpreter is refused before anything runs."""
    for line in ('sh -c "echo {{task_content}}"', 'eval "{{task_content}}"', "$({{task_content}})"):
        if not compile_line(line, TASK)[1]:
            raise Breach(f"this line is accepted: {line}")


async def _gate(folder: str) -> None:
    """A gate whose hook fails, crashes or is missing stays closed."""
    with _opened(folder) as app:
        for line in ("exit 1", "kill -9 $$", "./no-such-program"):
            answer = await _ask(app, "before_submit", "gate", line)
            if answer.status != "failure":
                raise Breach(f"a gate with the hook '{line}' said {answer.status}")


async def _guard(folder: str) -> None:
    """A guard whose hook crashes or is missing denies the tool."""
    with _opened(folder) as app:
        for line in ("exit 2", "kill -9 $$", "./no-such-program"):
            answer = await _ask(app, "pre_tool_use", "guard", line)
            if answer.verdict != "deny":
                raise Breach(f"a guard with the hook '{line}' said {answer.verdict}")


async def _stop(folder: str) -> None:
    """A stop hook that finds fault, crashes or is missing does not end a session as done."""
    with _opened(folder) as app:
        for line in ("exit 1", "kill -9 $$", "./no-such-program"):
            answer = await _ask(app, "stop", "decide", line)
            if answer.action == "complete":
                raise Breach(f"a stop hook with the line '{line}' completed")
        content = await _ask(app, "stop", "decide", "exit 0")
        if content.action != "complete":
            raise Breach("this control proves nothing: a content stop hook does not complete")


async def _promise(folder: str) -> None:
    """A quoted promise does not count; a real one is not a proof."""
    if find_promises(f"I will say `{_PROMISE}`.\n\n> {_PROMISE}\n"):
        raise Breach("a promise that was only quoted counts")
    made = msgspec.to_builtins(find_promises(f"Done. {_PROMISE}"))
    green, red = [{"ruleName": "tests", "passed": True}], [{"ruleName": "tests", "passed": False}]
    work = {"inRepository": True, "diffHash": "9f2c", "changedFiles": 1, "stable": True}
    with _opened(folder) as app:
        for results, done in (
            (red, work),
            ([], work),
            (green, None),
            (green, {**work, "changedFiles": 0}),
            (green, {**work, "stable": False}),
        ):
            context = {"completionPromises": made, "validationResults": results, "work": done}
            if await _ask_evidence(app, context) == "complete":
                raise Breach("a promise without proof completed")
        context = {"completionPromises": made, "validationResults": green, "work": work}
        if await _ask_evidence(app, context) != "complete":
            raise Breach("this control proves nothing: not even a proven promise completes")


async def _link_local(folder: str) -> None:
    """Requests are never sent to addresses that serve a machine's credentials."""
    with _opened(folder) as app:
        for host in ("169.254.169.254", "[fe80::1]", "[::ffff:169.254.169.254]"):
            outcome = await _call(app, "http", f"http://{host}/latest", "post_iteration", "feed")
            if outcome.status != FAILED or "refused" not in (outcome.error or ""):
                raise Breach(f"a request to {host} was not refused: {outcome.error}")


async def _timeout(folder: str) -> None:
    """A hook that times out leaves no process behind."""
    line = "sleep 60 & echo $! > child; sleep 60"
    with _opened(folder) as app:
        outcome = await _call(app, "command", line, "post_iteration", "feed", timeout=0.3)
    if outcome.status != TIMEOUT:
        raise Breach(f"a hook that never ends was not stopped: {outcome.status}")
    child = process_identity(int(_read(os.path.join(folder, "child"))))
    deadline = asyncio.get_running_loop().time() + _LAST_MOMENTS
    while child is not None and is_alive(child):
        if asyncio.get_running_loop().time() > deadline:
            raise Breach("a process that a stopped hook had started still runs")
        await asyncio.sleep(0.01)


_CONTROLS: dict[str, tuple[str, Callable[[str], Coroutine[Any, Any, None]]]] = {
    "untrusted hook": ("did not run; it ran once trusted", _untrusted),
    "injection": ("a hostile task stayed text, in every kind of quotes", _injection),
    "nested shell": ("free text in sh -c, eval and $(...) was refused", _nested),
    "closed gate": ("stayed closed when its hook failed, crashed or was missing", _gate),
    "guard": ("denied when its hook said so, crashed or was missing", _guard),
    "stop hook": ("did not complete when it found fault, crashed or was missing", _stop),
    "promise": ("did not complete when it was only quoted, or was not proven", _promise),
    "link-local": ("requests to link-local addresses were refused", _link_local),
    "timeout": ("a hook that never ends was killed, with the processes it had started", _timeout),
}


# The temporary project


def _environment(folder: str) -> Mapping[str, str]:
    """An environment without the user's own settings, switches or trust."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("HOOKLINE_")}
    return {**env, "HOOKLINE_HOME": os.path.join(folder, "home")}


def _write(folder: str, text: str) -> None:
    with open(os.path.join(folder, "hookline.yaml"), "w", encoding="utf-8") as file:
        file.write(f"version: 1\n{text}")


def _read(path: str) -> str:
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except FileNotFoundError as problem:
        raise Breach(f"this control proves nothing: there is no {path}") from problem


@contextmanager
def _opened(folder: str) -> Iterator[App]:
    os.makedirs(os.path.join(folder, ".hookline"), exist_ok=True)
    app = App.open(folder, environ=_environment(folder))
    try:
        yield app
    finally:
        app.close()


def _trust(folder: str) -> None:
    home = os.path.join(folder, "home")
    with _opened(folder) as app:
        assert app.settings is not None  # every control that trusts has written a configuration
        state = trust_in(app.project, home, app.settings, app.environ)
        TrustBook(home).grant(app.project, state.manifest)


async def _add_task(folder: str, goal: str) -> None:
    with _opened(folder) as app:
        app.change(verbs.add, goal)
        await app.deliver()


async def _ask(app: App, point: str, rule: str, line: str) -> Any:
    async def call(hook: Hook, payload: dict[str, Any]) -> Outcome:
        return await _call(app, "command", line, point, rule)

    return await dispatch(RULES[rule], [_fixture("command", line, point, 10)], {}, call)


async def _ask_evidence(app: App, context: dict[str, Any]) -> str:
    """What the built-in stop hook `evidence` decides."""
    outcome = await _call(app, "built-in", "evidence", "stop", "decide", payload=context)
    if outcome.answer is None:
        raise Breach(f"this control proves nothing: evidence has no answer: {outcome.error}")
    return str(outcome.answer.action)


async def _call(
    app: App,
    kind: str,
    target: str,
    point: str,
    rule: str,
    *,
    timeout: float = 10,
    payload: dict[str, Any] | None = None,
) -> Outcome:
    hook = _fixture(kind, target, point, timeout)
    return await caller(app).call(hook, Frame(point, RULES[rule], payload or {}, "control"))


def _fixture(kind: str, target: str, point: str, timeout: float) -> Hook:
    return Hook(name="fixture", points=(point,), kind=kind, target=target, timeout=timeout)
