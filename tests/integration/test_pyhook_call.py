"""Functions that flows call: in a child of their own, with JSON in and out."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from typing import TYPE_CHECKING, Any

import pytest

from hookline.adapters.processes.process import LocalProcesses

if TYPE_CHECKING:
    from pathlib import Path

    from hookline.ports.processes import Finished

OURS = """
from __future__ import annotations

import time
from dataclasses import dataclass

from hookline import flow

OFFSET = 10


@dataclass
class Pair:
    left: int
    right: int


class Nest:
    @staticmethod
    def three():
        return 3


def add(a, b=0, *, times=1):
    print("this is no answer")
    return (Pair(a, b).left + b + OFFSET) * times


async def later(value):
    return {"value": value}


def wrong():
    raise ValueError("so wrong")


def strange():
    return object()


def hang():
    time.sleep(300)


def big():
    return "x" * 500_000


@flow
async def ours(ctx):
    return await ctx.call(add, 1)
"""


def call(root: Path, target: str, *args: Any, timeout: float = 30, **kwargs: Any) -> Finished:
    (root / "ours.py").write_text(OURS, encoding="utf-8")
    flows = root / ".hookline" / "flows"
    flows.mkdir(parents=True, exist_ok=True)
    (flows / "my flow.py").write_text(OURS, encoding="utf-8")
    return asyncio.run(
        LocalProcesses(str(root / "blobs")).run(
            (sys.executable, "-P", "-m", "hookline.pyhook", "call", target),
            cwd=str(root),
            env={"PATH": os.environ["PATH"], "HOOKLINE_HOME": str(root / "home")},
            timeout=timeout,
            stdin=json.dumps({"args": args, "kwargs": kwargs}).encode(),
        )
    )


def answer(done: Finished) -> Any:
    assert (done.exit_code, done.timed_out) == (0, False), done.stderr
    return json.loads(done.stdout)["answer"]


@pytest.mark.parametrize("home", ["ours", ".hookline/flows/my flow.py"])
def test_functions_of_modules_and_of_the_flows_own_file_are_called(
    tmp_path: Path, home: str
) -> None:
    done = call(tmp_path, f"{home}:add", 1, 2, times=2)
    assert answer(done) == 26
    assert done.stderr == "this is no answer\n"
    assert answer(call(tmp_path, f"{home}:later", [1, {"a": None}])) == {"value": [1, {"a": None}]}
    assert answer(call(tmp_path, f"{home}:Nest.three")) == 3


def test_nothing_is_left_in_the_repository(tmp_path: Path) -> None:
    answer(call(tmp_path, ".hookline/flows/my flow.py:add", 1))
    assert os.listdir(tmp_path / ".hookline" / "flows") == ["my flow.py"]


@pytest.mark.parametrize(
    ("target", "error"),
    [
        ("ours:wrong", "ValueError: so wrong"),
        ("ours:add", "TypeError: add() missing 1 required positional argument: 'a'"),
        ("ours:gone", "there is no 'gone' in what ours:gone names"),
        ("ours:OFFSET", "ours:OFFSET is not a function: it is a int"),
        ("gone:add", "there is no module 'gone', which gone:add names"),
        (".hookline/flows/gone.py:f", ".hookline/flows/gone.py cannot be loaded: FileNotFoundE"),
    ],
)
def test_what_went_wrong_is_told(tmp_path: Path, target: str, error: str) -> None:
    done = call(tmp_path, target)
    assert done.exit_code == 70
    assert json.loads(done.stdout)["error"].startswith(error)


def test_an_answer_that_is_no_json_is_told(tmp_path: Path) -> None:
    error = json.loads(call(tmp_path, "ours:strange").stdout)["error"]
    assert error.startswith("the answer of ours:strange cannot be written as JSON")


def test_a_function_that_hangs_is_killed(tmp_path: Path) -> None:
    begun = time.monotonic()
    done = call(tmp_path, "ours:hang", timeout=1)
    assert done.timed_out
    assert time.monotonic() - begun < 100


def test_a_long_answer_is_kept_whole_aside(tmp_path: Path) -> None:
    done = call(tmp_path, "ours:big")
    assert done.blob is not None
    with open(done.blob, "rb") as file:
        assert len(json.load(file)["answer"]) == 500_000
