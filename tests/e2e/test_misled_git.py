"""Proof of a change is a change in the folder, whatever an agent tells git about its files."""

from __future__ import annotations

import shutil
import sys
from typing import TYPE_CHECKING

import pytest

from tests.e2e.session_rig import PROMISE, Rig

if TYPE_CHECKING:
    from tests.e2e.conftest import Cli

OTHER = 'b=$(echo x | git hash-object -w --stdin); git update-index --add --cacheinfo "100644,$b,'
RULES = [{"name": "t", "type": "command", "command": "true"}]
FOLLOWED = "pytest -q tests/test_shop.py"
STOPS = ("evidence", "checked")
MARKS = ("--skip-worktree", "--assume-unchanged")


@pytest.fixture
def project(cli: Cli) -> Rig:
    """A repository with a file, a test, and a pytest that passes."""
    folder = cli.root.parent / "bin"
    folder.mkdir()
    (folder / "pytest").write_text("#!/bin/sh\n")
    (folder / "pytest").chmod(0o755)
    cli.env["PATH"] = f"{folder}:{cli.env['PATH']}"
    cli.put("shop.py", "price = 1\n")
    cli.put("tests/test_shop.py", "def test_a():\n    assert 1\n    assert 2\n")
    rig = Rig(cli)
    rig.repository()
    return rig


@pytest.mark.examples(4)
@pytest.mark.parametrize("form", ["2", "4", "split"])
@pytest.mark.parametrize("mark", MARKS)
@pytest.mark.parametrize("name", ["ghost", "shop.py"])
@pytest.mark.parametrize("stop", STOPS)
def test_an_entry_of_the_index_is_no_change(
    project: Rig, stop: str, name: str, mark: str, form: str
) -> None:
    project.configure({"stop": [stop]}, validation=RULES)
    kind = "--split-index" if form == "split" else f"--index-version {form}"
    script = f'{OTHER}{name}"; git update-index {mark} {name}; git update-index {kind}'
    project.turns(f"{script}; {PROMISE}", rest=PROMISE)
    done = project.run()
    assert (done.code, done.data["reason"]) == (5, "iterations")
    assert "Proven" not in done.stderr
    assert not (project.cli.root / "ghost").exists()


@pytest.mark.parametrize("mark", MARKS)
def test_a_test_that_git_does_not_look_at_is_seen_to_be_edited(project: Rig, mark: str) -> None:
    rule = {"name": "t", "type": "command", "command": FOLLOWED, "follow": True}
    project.configure({"stop": ["evidence"]}, validation=[rule])
    name = "tests/test_shop.py"
    weaken = f"git update-index {mark} {name}; echo 'def test_a(): pass' > {name}"
    project.turns(f"{weaken}; echo 'price = 2' > shop.py; {PROMISE}")
    done = project.run()
    proof = "Proven: t passed on a diff of 2 files; edited tests: tests/test_shop.py (+1 -3)"
    assert done.said == (0, "completed", proof)


@pytest.mark.parametrize("mark", MARKS)
def test_a_turn_lists_what_it_changed_and_git_does_not_look_at(project: Rig, mark: str) -> None:
    project.configure({"stop": ["evidence"]}, validation=RULES)
    edit = f"git update-index {mark} shop.py; echo 'price = 2' > shop.py"
    project.turns(f'{edit}; {OTHER}ghost"; {PROMISE}')
    assert project.run().code == 0
    journal = project.cli.json("flow", "journal", "R-1")
    values = [each["data"].get("value") or {} for each in journal]
    assert [v["filesModified"] for v in values if "filesModified" in v] == [["shop.py"]]


def test_what_a_sparse_checkout_leaves_out_is_no_change(project: Rig) -> None:
    project.git("sparse-checkout", "set", "--no-cone", "/*.*", "!/tests/")
    assert not (project.cli.root / "tests").exists()
    project.configure({"stop": ["evidence"]}, validation=RULES)
    project.turns(PROMISE, f"echo 'price = 2' > shop.py; {PROMISE}")
    assert project.run().said == (0, "completed", "Proven: t passed on a diff of 1 file")


@pytest.mark.parametrize("stop", STOPS)
def test_a_session_escalates_if_what_it_began_with_is_gone(project: Rig, stop: str) -> None:
    project.configure({"stop": [stop]}, validation=RULES)
    project.cli.put("draft", "not committed\n")
    project.turns("echo 'price = 2' > shop.py", rest=PROMISE)
    assert project.run(iterations=1).code == 5
    kept, gone = (project.cli.root / ".hookline/objects", project.cli.root.parent / "gone")
    kept.rename(gone)
    lost = project.resume("--iterations", "9")
    assert (lost.code, lost.data["iterations"]) == (4, 2)
    assert "put .hookline/objects back from your backup" in lost.data["reason"]
    shutil.rmtree(kept)
    gone.rename(kept)
    assert project.resume().code == 0


# Another content for a file of which git thinks that it has not changed since.
FORGE = """\
import hashlib, os, subprocess
def git(*args):
    return subprocess.run(("git", *args), input=b"x", capture_output=True, check=True).stdout
old = bytes.fromhex(git("rev-parse", "HEAD:shop.py").decode())
new = bytes.fromhex(git("hash-object", "-w", "--stdin").decode())
git("update-index", "--refresh")
path = ".git/index"
body = open(path, "rb").read()[:-20].partition(b"TREE")[0].replace(old, new)
open(path, "wb").write(body + hashlib.sha1(body).digest())
later = os.stat("shop.py").st_mtime + 3600
os.utime(path, (later, later))
"""


@pytest.mark.parametrize("stop", STOPS)
def test_a_forged_index_is_no_change(project: Rig, stop: str) -> None:
    project.configure({"stop": [stop]}, validation=RULES)
    (project.box / "forge.py").write_text(FORGE)
    forge = f"{sys.executable} {project.box}/forge.py"
    project.turns(f"{forge} && git diff --quiet && {PROMISE}", rest=PROMISE)
    done = project.run()
    assert (done.code, done.data["reason"]) == (5, "iterations")
    assert (project.cli.root / "shop.py").read_text() == "price = 1\n"
