"""The files of the page: made from the sources that are here, small, and alone."""

from __future__ import annotations

import gzip
import json
import os
import re
import shutil
import subprocess
from hashlib import sha256
from pathlib import Path

import pytest

TOP = Path(__file__).parents[2]
WEB = TOP / "web"
STATIC = TOP / "src/hookline/surfaces/web/static"
# What the files are made from, besides `web/src`.
INPUTS = ("build.mjs", "package.json", "package-lock.json", "tsconfig.json")
TOOLS = WEB / "node_modules/ready"
needs_tools = pytest.mark.skipif(
    not TOOLS.exists() or shutil.which("node") is None, reason="web/ has no tools: `npm ci` there"
)


def digest(path: Path) -> str:
    return sha256(path.read_bytes()).hexdigest()


def test_the_files_are_made_from_these_sources() -> None:
    built = json.loads((STATIC / "built.json").read_text())
    names = [str(path.relative_to(WEB)) for path in (WEB / "src").rglob("*") if path.is_file()]
    lines = [f"{digest(WEB / name)}  {name}\n" for name in sorted([*names, *INPUTS])]
    again = "`npm ci && npm run build` in web/ makes them again"
    assert sha256("".join(lines).encode()).hexdigest() == built["sources"], again
    assert {name: digest(STATIC / name) for name in built["files"]} == built["files"], again
    assert {path.name for path in STATIC.iterdir()} == {*built["files"], "built.json"}


@needs_tools
def test_a_new_build_is_the_same(tmp_path: Path) -> None:
    env = {**os.environ, "HOOKLINE_PAGE_INTO": str(tmp_path / "static")}
    subprocess.run(("node", "build.mjs"), cwd=WEB, env=env, check=True)
    made = {path.name: path.read_bytes() for path in (tmp_path / "static").iterdir()}
    assert made == {path.name: path.read_bytes() for path in STATIC.iterdir()}


@needs_tools
def test_the_sources_are_typed_and_leave_text_text() -> None:
    for command in (("node_modules/.bin/tsc", "--noEmit"), ("node", "lint.mjs")):
        done = subprocess.run(command, cwd=WEB, capture_output=True, text=True)
        assert (done.returncode, done.stdout + done.stderr) == (0, "")


def test_the_page_is_small_and_alone() -> None:
    code = (STATIC / "app.js").read_bytes()
    assert len(gzip.compress(code, 9)) <= 60_000
    page = (STATIC / "index.html").read_text()
    assert re.findall(r"<script(?![^>]* src=)|<style|\son\w+=|style=", page) == []
    assert re.findall(r"(?:src|href)=\"(?!app\.js|style\.css|icon\.svg)", page) == []
    style = (STATIC / "style.css").read_text()
    assert re.findall(r"url\(|@import|https?:", style) == []


def test_the_lock_names_no_registry() -> None:
    lock = json.loads((WEB / "package-lock.json").read_text())
    assert [name for name, package in lock["packages"].items() if "resolved" in package] == []
