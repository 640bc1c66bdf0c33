"""`hookline report` whose stdout takes nothing: told plainly, and not remembered as a report."""

from __future__ import annotations

import subprocess
from shlex import join
from typing import TYPE_CHECKING

import pytest

from tests.e2e.conftest import PATIENCE, PROGRAM
from tests.e2e.session_rig import PROMISE, Rig

if TYPE_CHECKING:
    from tests.e2e.conftest import Cli


@pytest.fixture
def worked(cli: Cli) -> Cli:
    rig = Rig(cli)
    rig.turns(rest=PROMISE)
    rig.configure({})
    rig.run()
    return cli


def shell(cli: Cli, words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ("/bin/sh", "-c", f"{join(PROGRAM)} {words}"),
        cwd=cli.root,
        env=cli.env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )


@pytest.mark.examples(2)
@pytest.mark.parametrize("form", ["", "--markdown", "--json", "--html -", "T-1 --html -"])
def test_a_full_disk_is_told_and_the_report_is_not_remembered(worked: Cli, form: str) -> None:
    done = shell(worked, f"report {form} > /dev/full")
    assert done.returncode == 1
    assert "cannot write to stdout: No space left on device" in done.stderr
    assert len(worked.json("report")["sessions"]) == 1


@pytest.mark.parametrize("form", ["", "--markdown", "--json", "--html -"])
def test_a_report_to_a_closed_stdout_is_not_remembered(worked: Cli, form: str) -> None:
    done = shell(worked, f"report {form} >&-")
    assert (done.returncode, done.stderr) == (0, "")
    assert len(worked.json("report")["sessions"]) == 1


def test_a_page_in_a_file_is_remembered_without_a_stdout(worked: Cli) -> None:
    assert shell(worked, "report --html page.html >&-").returncode == 0
    assert (worked.root / "page.html").exists()
    assert worked.json("report", quiet=False)["sessions"] == []
