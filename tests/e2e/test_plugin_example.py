"""The example package, installed as a stranger would: its own tests pass, and all of it works."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.e2e.gate_rig import Repo

if TYPE_CHECKING:
    from tests.e2e.conftest import Cli

EXAMPLE = Path(__file__).parents[2] / "examples" / "plugin"


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that the package is installed in, without a network."""
    folder = tmp_path_factory.mktemp("installed")
    shutil.copytree(EXAMPLE, folder / "source")
    offline = ("--no-build-isolation", "--no-deps", "--no-index", "--disable-pip-version-check")
    target = folder / "site-packages"
    argv = (sys.executable, "-m", "pip", "install", "-q", *offline, "--target", str(target))
    subprocess.run((*argv, str(folder / "source")), check=True)
    return target


@pytest.fixture
def project(cli: Cli, installed: Path) -> Repo:
    cli.env["PYTHONPATH"] = str(installed)
    for path in EXAMPLE.iterdir():
        if path.is_file():
            shutil.copy(path, cli.root)
    repo = Repo(cli)
    repo.git("init", "--quiet", "--initial-branch", "main")
    cli.put(".gitignore", ".hookline/\n")
    repo.commit("begin")
    return repo


def test_its_own_tests_pass(installed: Path, tmp_path: Path) -> None:
    shutil.copytree(EXAMPLE / "tests", tmp_path / "tests")
    done = subprocess.run(
        (sys.executable, "-m", "pytest", "-q", "--rootdir", str(tmp_path), "tests"),
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(installed)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout
    assert " passed" in done.stdout


def test_a_task_goes_through_all_three(cli: Cli, project: Repo) -> None:
    assert cli.json("check")["problems"] == []
    assert cli.json("trust", "--yes")["trusted"]
    task = cli.add("Say hello")
    cli("work", "--once")
    assert cli.json("task", "show", task)["state"] == "completed"
    assert project.git("show", "main:hello.txt") == "Hello, Ada"
    page = (cli.root.parent / "pulls" / "1.md").read_text()
    assert page.startswith("# Say hello (pull request 1)\n\n- state: merged\n")


def test_trust_covers_the_file_that_the_kind_names(cli: Cli, project: Repo) -> None:
    cli.json("trust", "--yes")
    (cli.root / "freeze.json").write_text('{"status": "skip"}')
    shown = cli.json("trust", "--show")
    assert not shown["trusted"]
    assert [each["path"] for each in shown["changes"]] == ["freeze.json"]
