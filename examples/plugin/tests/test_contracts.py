"""The kind, the driver and the forge keep to Hookline's contracts."""

from __future__ import annotations

import shlex
import sys
from typing import TYPE_CHECKING

import pytest
from hookline_example.forge import SharedFolder

from hookline.domain.sessions.turns import Usage
from hookline.testing.contracts import (
    Agent,
    DriverContract,
    ForgeContract,
    KindContract,
    Site,
)

if TYPE_CHECKING:
    from pathlib import Path

    from hookline.testing.contracts import Behaviour

PROGRAM = """\
import json, sys, time
behaviour, asked = sys.argv[1], json.load(sys.stdin)
if behaviour == "fails":
    sys.exit("no luck")
if behaviour == "hangs":
    time.sleep(300)
with open("prompt", "w", encoding="utf-8") as file:
    file.write(asked["prompt"])
used = {"inputTokens": 3, "outputTokens": 2}
print(json.dumps({"text": "fine", "conversation": asked["conversation"] or "c-1", "usage": used}))
"""


class TestAnswerFile(KindContract):
    name = "answer_file"
    failure = "missing.json cannot be read: No such file or directory"
    sees_payload = False

    def answering(self, folder: Path) -> str:
        return "answer.json"

    def failing(self, folder: Path) -> str:
        return "missing.json"

    def named(self, folder: Path) -> list[Path]:
        return [folder / "answer.json"]


class TestJson(DriverContract):
    name = "json"
    usage = Usage(input_tokens=3, output_tokens=2)

    def profile(self, folder: Path, behaviour: Behaviour) -> Agent:
        (folder / "agent.py").write_text(PROGRAM)
        return Agent(
            driver="json", command=shlex.join((sys.executable, str(folder / "agent.py"), behaviour))
        )


class TestSharedFolder(ForgeContract):
    name = "shared-folder"

    @pytest.fixture
    def site(self, tmp_path: Path) -> Site:
        def comments() -> list[str]:
            return [page.read_text() for page in (tmp_path / "pulls").glob("*.md")]

        return Site(SharedFolder(str(tmp_path / "pulls")), comments)
