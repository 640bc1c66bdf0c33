"""Systems that Hookline does not run on."""

from __future__ import annotations

import subprocess
import sys

WINDOWS = (
    "import runpy, sys; sys.platform = 'win32'; runpy.run_module('hookline', run_name='__main__')"
)


def test_windows_is_told_where_it_runs() -> None:
    done = subprocess.run((sys.executable, "-c", WINDOWS), capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "error: Hookline runs on Linux and macOS; on Windows, run it in WSL2\n"
