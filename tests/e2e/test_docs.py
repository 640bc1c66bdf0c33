"""The commands of README.md and docs/ do what the text says, in a fresh project for each page.

How a page is written so that it can be run is explained in CONTRIBUTING.md.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.in_process import run_in_process

ROOT = Path(__file__).parents[2]
_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_FILE = re.compile(r"`([\w./-]+)`:\n\n\Z")
_NEEDS_SHELL = re.compile(r"[|&;<>()$`\\*?\[\]#~{}\n]|(^| )!|hookline demo")
# What stands in quotes means nothing to a shell, unless it is expanded there.
_QUOTED = re.compile(r"'[^']*'|\"[^\"$`\\]*\"")
_SILENCED = " > /dev/null"
_EXIT = re.compile(r"\[exit (\d+)\]")


class Write(NamedTuple):
    """A file that the page tells its reader to write."""

    path: str
    text: str


class Run(NamedTuple):
    """A command line, the output that the page shows, and the exit code."""

    line: str
    output: list[str]
    code: int


def steps(text: str) -> list[Write | Run]:
    """What a page does, in order."""
    found: list[Write | Run] = []
    for fence in _FENCE.finditer(text):
        named = _FILE.search(text, 0, fence.start())
        if fence[1] == "console":
            found += _commands(fence[2])
        elif named:
            found.append(Write(named[1], fence[2]))
    return found


def _commands(block: str) -> list[Run]:
    found = []
    for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        line, *output = part.rstrip("\n").split("\n")
        ending = _EXIT.fullmatch(output[-1]) if output else None
        shown = output[:-1] if ending else output
        found.append(Run(line, shown, int(ending[1]) if ending else 0))
    return found


def matches(shown: list[str], real: list[str]) -> bool:
    """Whether real lines are those of the page, where `...` stands for any lines or any text."""
    if not shown:
        return not real
    if shown[0] == "...":
        return any(matches(shown[1:], real[skip:]) for skip in range(len(real) + 1))
    pattern = ".*".join(map(re.escape, shown[0].split("...")))
    return bool(real) and bool(re.fullmatch(pattern, real[0])) and matches(shown[1:], real[1:])


class Reader:
    """Someone who follows a page step by step in a terminal of their own."""

    def __init__(self, folder: Path) -> None:
        self.here = folder / "work"
        self.here.mkdir()
        self._place = folder / "place"
        programs = str(Path(sys.executable).parent)
        self._env = {
            **{k: v for k, v in os.environ.items() if not k.startswith("HOOKLINE_")},
            "HOOKLINE_HOME": str(folder / "home"),
            "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
            "USER": "ada",
            "PLACE": str(self._place),
        }

    def follow(self, step: Write | Run) -> None:
        """Do one step and compare it with the page."""
        if isinstance(step, Write):
            path = self.here / step.path
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(step.text, encoding="utf-8")
            return
        done = self._run(step.line)
        real = [line.rstrip() for line in done.stdout.splitlines()]
        assert (done.returncode, matches(step.output, real)) == (step.code, True), (
            f"$ {step.line}\n" + "\n".join(real) + f"\n[exit {done.returncode}]"
        )

    def _run(self, line: str) -> subprocess.CompletedProcess[str]:
        command = line.removesuffix(_SILENCED)
        is_silenced = command != line
        if command.startswith("hookline ") and not _NEEDS_SHELL.search(_QUOTED.sub("", command)):
            words = shlex.split(command)[1:]
            together = not is_silenced
            said = run_in_process(words, cwd=self.here, env=self._env, together=together)
            said.stdout = said.stderr if is_silenced else said.stdout
            return said
        done = subprocess.run(
            ("/bin/sh", "-c", f'{line}\ncode=$?; pwd > "$PLACE"; exit $code'),
            cwd=self.here,
            env=self._env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            timeout=600,
        )
        self.here = Path(self._place.read_text(encoding="utf-8").strip())
        return done


def _pages() -> list[str]:
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
    return [str(p.relative_to(ROOT)) for p in pages if steps(p.read_text(encoding="utf-8"))]


@pytest.mark.parametrize("page", _pages())
def test_page_does_what_it_says(page: str, tmp_path: Path) -> None:
    reader = Reader(tmp_path)
    for step in steps((ROOT / page).read_text(encoding="utf-8")):
        reader.follow(step)


def _configurations() -> list[tuple[str, str]]:
    found = []
    for page in sorted((ROOT / "docs").glob("*.md")):
        text = page.read_text(encoding="utf-8")
        for number, fence in enumerate(_FENCE.finditer(text), 1):
            is_whole = fence[1] == "yaml" and fence[2].startswith("version: 1")
            if is_whole and not _FILE.search(text, 0, fence.start()):
                found.append((f"{page.name}#{number}", fence[2]))
    return found


@pytest.mark.parametrize(("name", "text"), _configurations())
def test_configuration_has_no_error(name: str, text: str, tmp_path: Path) -> None:
    reader = Reader(tmp_path)
    for script in re.findall(r"script: ([\w./-]+)", text):
        reader.follow(Write(script, "#!/bin/sh\n"))
        reader.follow(Run(f"chmod +x {script}", [], 0))
    reader.follow(Write("hookline.yaml", text))
    reader.follow(Run("hookline check --format json", ['...,"errors":0,...'], 0))


def test_dots_stand_for_any_lines_and_any_text() -> None:
    assert matches(["a", "...", "z"], ["a", "b", "c", "z"])
    assert matches(["a ... z", "..."], ["a b z"])
    assert not matches(["a"], ["a", "b"])
    assert not matches(["a", "...", "z"], ["a", "b"])


def test_page_is_read_in_order() -> None:
    page = (
        "Write `x.txt`:\n\n```text\nhello\n```\n\n```console\n$ cat x.txt y\nhello\n[exit 1]\n```\n"
    )
    assert steps(page) == [Write("x.txt", "hello\n"), Run("cat x.txt y", ["hello"], 1)]
