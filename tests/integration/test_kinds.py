"""Commands, scripts and functions as hooks: what they answer, and every way they can fail."""

from __future__ import annotations

import asyncio
import json
import os
import time
from typing import TYPE_CHECKING, Any

import pytest

from hookline.adapters.agents.local_agents import LocalAgents
from hookline.adapters.processes.process import LocalProcesses
from hookline.errors import HookFailure, HookTimeout
from hookline.hooks.kinds import Call, World, load_kind
from hookline.hooks.registry import Hook

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from hookline.domain.hooks.records import Reply
    from hookline.ports.network import HttpReply
    from hookline.ports.processes import ProcessGroup

EVENT = {
    "seq": 7,
    "id": "s-000000000007",
    "timestamp": "2025-01-01T00:00:00Z",
    "type": "task_completed",
    "nodeId": "T-1",
    "data": {"result": "fine"},
    "metadata": {},
}


class NoNetwork:
    """Nothing here may reach for the network."""

    async def post(
        self, url: str, *, body: bytes, headers: Mapping[str, str], timeout: float, limit: int
    ) -> HttpReply:
        raise AssertionError(url)


async def nobody(hook: Any) -> Any:
    """These hooks are not made of others."""
    raise AssertionError(hook)


def call(
    kind: str,
    target: str,
    root: Path,
    *,
    point: str = "post_iteration",
    payload: Any = None,
    env: dict[str, str] | None = None,
    hook_env: dict[str, str] | None = None,
    timeout: float = 30,
    groups: list[ProcessGroup] | None = None,
) -> Reply:
    hook = Hook(name="h", points=(point,), kind=kind, target=target, env=hook_env or {})
    processes = LocalProcesses(str(root / "blobs"))
    world = World(
        root=str(root),
        folder=str(root),
        processes=processes,
        http=NoNetwork(),
        agents=LocalAgents({}, None, str(root), processes),
        ask=nobody,
        environ={"PATH": os.environ["PATH"], "BASE": "base", "BOTH": "base"},
        on_start=groups.append if groups is not None else None,
    )
    this_call = Call(
        point=point,
        payload=json.dumps({} if payload is None else payload).encode(),
        values={},
        env=env or {},
        timeout=timeout,
    )
    return asyncio.run(load_kind(kind)(hook, this_call, world))


def program(path: Path, text: str, mode: int = 0o755) -> str:
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    path.chmod(mode)
    return str(path)


# Commands.


def test_a_command_gives_its_text_and_its_code(tmp_path: Path) -> None:
    reply = call("command", "echo out; echo err >&2; exit 1", tmp_path)
    assert (reply.text, reply.stderr, reply.exit_code) == ("out\n", "err\n", 1)
    assert reply.answer is None


def test_a_command_gets_payload_environment_and_folder(tmp_path: Path) -> None:
    reply = call(
        "command",
        'echo "$BASE $BOTH $HOOKLINE_POINT"; pwd; cat',
        tmp_path,
        payload={"a": 1},
        env={"HOOKLINE_POINT": "here"},
        hook_env={"BOTH": "hook", "HOOKLINE_POINT": "never"},
    )
    assert reply.text == f'base hook here\n{tmp_path}\n{{"a": 1}}'


def test_variables_reach_a_command_as_values(tmp_path: Path) -> None:
    reply = call(
        "command",
        "echo {{session}}",
        tmp_path,
        env={"HOOKLINE_SESSION": "$(touch pwned) `id` 'x' {{error}}"},
    )
    assert reply.text == "$(touch pwned) `id` 'x' {{error}}\n"
    assert not (tmp_path / "pwned").exists()


def test_a_variable_that_the_point_does_not_have_is_a_failure(tmp_path: Path) -> None:
    with pytest.raises(HookFailure, match="tool_input") as caught:
        call("command", "touch ran; echo {{tool_input}}", tmp_path)
    assert "TemplateProblem" not in str(caught.value)
    assert not (tmp_path / "ran").exists()


def test_an_event_that_nobody_declared_has_the_variables_of_events(tmp_path: Path) -> None:
    env = {"HOOKLINE_EVENT_TYPE": "deployed"}
    reply = call("command", "echo {{event_type}}", tmp_path, point="deployed", env=env)
    assert reply.text == "deployed\n"


@pytest.mark.parametrize(
    ("printed", "answer"),
    [
        ('{"status": "success"}', {"status": "success"}),
        ('\n  {"a": [1, null]}\n\n', {"a": [1, None]}),
        ("{}", {}),
        ('log\n{"a": 1}', None),
        ("[1]", None),
        ("1", None),
        ("null", None),
        ("", None),
    ],
)
def test_only_a_whole_json_object_is_an_answer(
    tmp_path: Path, printed: str, answer: dict[str, Any] | None
) -> None:
    (tmp_path / "printed").write_text(printed)
    reply = call("command", "cat printed", tmp_path)
    assert reply.answer == answer
    assert reply.text == printed


@pytest.mark.parametrize(
    ("printed", "why"),
    [
        ('{"a": 1} {"b": 2}', "trailing characters"),
        ("{broken", "malformed"),
        ('{"a":' * 100_000 + "1" + "}" * 100_000, "100 levels deep"),
        (json.dumps({"text": "x" * 1024 * 1024}), "longer than 1 MiB"),
    ],
    ids=["two", "broken", "deep", "long"],
)
def test_an_object_that_cannot_be_read_is_a_failure(tmp_path: Path, printed: str, why: str) -> None:
    (tmp_path / "printed").write_text(printed)
    with pytest.raises(HookFailure, match=f"its answer cannot be read: .*{why}") as caught:
        call("command", "cat printed", tmp_path)
    assert caught.value.stdout.startswith(printed[:6])
    assert caught.value.program_exit == 0


def test_an_answer_longer_than_the_cap_is_read_from_its_blob(tmp_path: Path) -> None:
    answer = {"text": "x" * 500_000}
    (tmp_path / "printed").write_text(json.dumps(answer))
    reply = call("command", "cat printed", tmp_path)
    assert reply.answer == answer
    assert "bytes left out" in reply.text
    assert reply.blob is not None


@pytest.mark.parametrize("code", [0, 1, 2, 75, 125, 128, 160, 255])
def test_a_code_is_a_reply(tmp_path: Path, code: int) -> None:
    assert call("command", f"exit {code}", tmp_path).exit_code == code


@pytest.mark.parametrize(
    ("line", "code", "message"),
    [
        ("no-such-program-here", 127, "no-such-program-here"),
        ("./plain", 126, "may not be executed"),
        ("kill -9 $$", -9, "SIGKILL"),
        ("sh -c 'kill -9 $$'; exit $?", 137, "SIGKILL"),
        ("sh -c 'kill -SEGV $$'; exit $?", 139, "SIGSEGV"),
    ],
)
def test_what_is_no_verdict_is_a_failure(
    tmp_path: Path, line: str, code: int, message: str
) -> None:
    program(tmp_path / "plain", "#!/bin/sh\n", mode=0o644)
    with pytest.raises(HookFailure, match=message) as caught:
        call("command", f"echo out; echo err >&2; {line}", tmp_path)
    assert not isinstance(caught.value, HookTimeout)
    assert caught.value.program_exit == code
    assert caught.value.stdout == "out\n"
    assert caught.value.stderr.startswith("err\n")


def test_a_timeout_keeps_what_was_said(tmp_path: Path) -> None:
    started = time.monotonic()
    with pytest.raises(HookTimeout, match="2 s") as caught:
        call("command", "echo out; echo err >&2; sleep 300 & sleep 300", tmp_path, timeout=2)
    assert time.monotonic() - started < 100
    assert (caught.value.stdout, caught.value.stderr) == ("out\n", "err\n")


def test_the_group_of_a_hook_is_told(tmp_path: Path) -> None:
    groups: list[ProcessGroup] = []
    reply = call("command", "echo $$", tmp_path, groups=groups)
    assert [str(group.pgid) for group in groups] == [reply.text.strip()]


# Scripts.


def test_a_script_answers_in_json(tmp_path: Path) -> None:
    text = '#!/bin/sh\nprintf \'{"point": "%s", "got": %s}\' "$HOOKLINE_POINT" "$(cat)"\n'
    program(tmp_path / "my hooks" / "say it.sh", text)
    for target in ("my hooks/say it.sh", str(tmp_path / "my hooks" / "say it.sh")):
        reply = call(
            "script", target, tmp_path, payload={"n": 1}, env={"HOOKLINE_POINT": "p; exit 9"}
        )
        assert reply.answer == {"point": "p; exit 9", "got": {"n": 1}}
        assert reply.exit_code == 0


def test_a_script_may_say_plain_things(tmp_path: Path) -> None:
    program(tmp_path / "hook", "#!/bin/sh\necho no; exit 2\n")
    reply = call("script", "hook", tmp_path)
    assert (reply.answer, reply.text, reply.exit_code) == (None, "no\n", 2)


def test_a_script_that_cannot_run_says_what_to_do(tmp_path: Path) -> None:
    program(tmp_path / "plain", "#!/bin/sh\n", mode=0o644)
    program(tmp_path / "headless", "echo hi\n")
    program(tmp_path / "orphan", "#!/no/such/interpreter\n")
    for target, reason in {
        "plain": "chmod +x",
        "headless": "#!/bin/sh",
        "orphan": "interpreter",
        "missing": "not a file",
        ".": "not a file",
    }.items():
        with pytest.raises(HookFailure) as caught:
            call("script", target, tmp_path)
        assert reason in str(caught.value)
        assert target in str(caught.value)


def test_a_script_that_hangs_or_dies(tmp_path: Path) -> None:
    program(tmp_path / "hangs", "#!/bin/sh\necho out\nsleep 300\n")
    program(tmp_path / "dies", "#!/bin/sh\nkill -9 $$\n")
    with pytest.raises(HookTimeout) as caught:
        call("script", "hangs", tmp_path, timeout=2)
    assert caught.value.stdout == "out\n"
    with pytest.raises(HookFailure, match="SIGKILL"):
        call("script", "dies", tmp_path)


# Functions.

MODULE = """
import os, subprocess, sys, time
from dataclasses import dataclass

from hookline import hook


@dataclass
class Finding:
    line: int


class Checks:
    @staticmethod
    def nested(payload, context):
        return "nested"


NUMBER = 5


def give(payload, context):
    return payload["give"]


def where(payload, context):
    return {"cwd": os.getcwd(), "first": sys.path[0], "env": os.environ.get("HOOKLINE_POINT")}


def finding(payload, context):
    return [Finding(3)]


def noisy(payload, context):
    print("printed")
    subprocess.run(["echo", "from a child"])
    os.write(1, b"raw\\n")
    return {"ok": True}


async def waits(payload, context):
    import asyncio
    await asyncio.sleep(0)
    return {"got": payload}


def event(event, context):
    return [type(event).__name__, event.type, event.node_id, event.data]


@hook("task_completed")
def decorated(event, context):
    return event.seq


def fails(payload, context):
    print("before")
    inner({})


def inner(value):
    return value + 1


async def fails_later(payload, context):
    inner({})


def leaves(payload, context):
    sys.exit(0)


def dies(payload, context):
    os._exit(3)


def hangs(payload, context):
    print("begun", flush=True)
    time.sleep(300)


def unwritable(payload, context):
    return object()


def one_argument(payload):
    return None


def long(payload, context):
    return "x" * payload["size"]
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "checks").mkdir()
    (tmp_path / "checks" / "__init__.py").write_text("")
    (tmp_path / "checks" / "mine.py").write_text(MODULE)
    (tmp_path / "needs.py").write_text("import no_such_dependency\n")
    (tmp_path / "broken.py").write_text("def f(:\n")
    return tmp_path


@pytest.mark.parametrize("value", [None, True, 0, 1.5, "text", [1, [2]], {"a": {"b": None}}])
def test_a_function_may_answer_any_json_value(project: Path, value: Any) -> None:
    reply = call("python", "checks.mine:give", project, payload={"give": value})
    assert reply.answer == value
    assert type(reply.answer) is type(value)
    assert reply.exit_code is None


def test_a_function_runs_in_the_project(project: Path) -> None:
    (project / "json.py").write_text("raise RuntimeError('not the standard library')\n")
    reply = call("python", "checks.mine:where", project, env={"HOOKLINE_POINT": "here"})
    assert reply.answer == {"cwd": str(project), "first": str(project), "env": "here"}


@pytest.mark.parametrize(
    ("function", "answer"),
    [
        ("finding", [{"line": 3}]),
        ("Checks.nested", "nested"),
        ("waits", {"got": {"k": "v"}}),
    ],
)
def test_functions_of_all_sorts(project: Path, function: str, answer: Any) -> None:
    assert call("python", f"checks.mine:{function}", project, payload={"k": "v"}).answer == answer


def test_what_a_function_prints_is_not_its_answer(project: Path) -> None:
    reply = call("python", "checks.mine:noisy", project)
    assert reply.answer == {"ok": True}
    assert reply.stderr == "printed\nfrom a child\nraw\n"


@pytest.mark.parametrize("point", ["task_completed", "deployed"])
def test_a_function_at_an_event_gets_the_event(project: Path, point: str) -> None:
    payload = {"event": EVENT, "task": None}
    reply = call("python", "checks.mine:event", project, point=point, payload=payload)
    assert reply.answer == ["Event", "task_completed", "T-1", {"result": "fine"}]


def test_a_decorated_function_is_called(project: Path) -> None:
    payload = {"event": EVENT}
    reply = call(
        "python", "checks.mine:decorated", project, point="task_completed", payload=payload
    )
    assert reply.answer == 7


@pytest.mark.parametrize("function", ["fails", "fails_later"])
def test_an_exception_is_a_failure_with_the_users_frames(project: Path, function: str) -> None:
    with pytest.raises(HookFailure) as caught:
        call("python", f"checks.mine:{function}", project)
    error = caught.value
    assert str(error) == "TypeError: unsupported operand type(s) for +: 'dict' and 'int'"
    assert error.program_exit == 70
    lines = error.stderr.splitlines()
    files = [line for line in lines if line.lstrip().startswith("File ")]
    assert [f'"{project}/checks/mine.py"' in line for line in files] == [True, True]
    assert lines[-1] == str(error)
    assert lines[0] == ("before" if function == "fails" else "Traceback (most recent call last):")


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("no_such_module:f", "no module 'no_such_module'"),
        ("checks.none:f", r"no module 'checks\.none'"),
        ("checks.mine:none", "no 'none'"),
        ("checks.mine:Checks.none", "no 'none'"),
        ("checks.mine:NUMBER", "not a function: it is a int"),
        ("checks.mine", "module:function"),
        ("needs:f", "No module named 'no_such_dependency'"),
        ("broken:f", "SyntaxError"),
        ("checks.mine:leaves", "SystemExit: 0"),
        ("checks.mine:dies", "exit code 3 and no answer"),
        ("checks.mine:unwritable", "cannot be written as JSON"),
        ("checks.mine:one_argument", "TypeError: one_argument"),
    ],
)
def test_a_function_that_gives_no_answer(project: Path, target: str, message: str) -> None:
    with pytest.raises(HookFailure, match=message):
        call("python", target, project)


def test_a_function_that_hangs_is_killed(project: Path) -> None:
    with pytest.raises(HookTimeout) as caught:
        call("python", "checks.mine:hangs", project, timeout=4)
    assert caught.value.stderr == "begun\n"


def test_a_long_answer_survives_and_one_too_long_is_a_failure(project: Path) -> None:
    reply = call("python", "checks.mine:long", project, payload={"size": 900_000})
    assert reply.answer == "x" * 900_000
    with pytest.raises(HookFailure, match="longer than 1 MiB"):
        call("python", "checks.mine:long", project, payload={"size": 1_100_000})
