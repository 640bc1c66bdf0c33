"""The process of a turn's keeper (`process.py`), started by the path of this file.

It loads next to nothing: it starts with every turn. It forks the program, waits for its end, kills
what the program left behind, and ends alike.
"""

from __future__ import annotations

import ctypes
import os
import sys

_SET_CHILD_SUBREAPER = 36
_DEFAULT, _IGNORE = 0, 1
# SIGHUP, SIGINT, SIGQUIT, SIGTERM: whoever ends the turn's group leaves the orphans to us.
_IGNORED = (1, 2, 3, 15)
# SIGPIPE and SIGXFSZ, which Python ignores from its start on.
_OF_PYTHON = (13, 25)
_SIGKILL = 9
_ROUNDS = 100
_NOT_FOUND, _NOT_EXECUTABLE = 127, 126


def main() -> None:
    """Run the program to its end."""
    path, mark, locale, *argv = sys.argv[1:]
    if not locale:  # Python may have set it for itself
        os.environ.pop("LC_CTYPE", None)
    libc = ctypes.CDLL(None)
    libc.signal.restype = ctypes.c_void_p
    libc.signal.argtypes = (ctypes.c_int, ctypes.c_void_p)
    before = {number: libc.signal(number, _IGNORE) for number in _IGNORED}
    libc.prctl(_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    program = os.fork()
    if not program:
        for number in (*_IGNORED, *_OF_PYTHON):
            libc.signal(number, _IGNORE if before.get(number) == _IGNORE else _DEFAULT)
        _become(argv)
    os.closerange(0, 3)
    code = os.waitstatus_to_exitcode(_end_of(program))
    _kill_orphans(path, f"{mark}=".encode())
    if code < 0:
        libc.signal(-code, _DEFAULT)
        os.kill(os.getpid(), -code)
    os._exit(code)


def _become(argv: list[str]) -> None:
    """Never returns."""
    try:
        os.execvp(argv[0], argv)  # noqa: S606 - the line that the keeper was given
    except OSError as error:
        os.write(2, f"cannot start {argv[0]}: {error.strerror}\n".encode(errors="replace"))
        os._exit(_NOT_FOUND if isinstance(error, FileNotFoundError) else _NOT_EXECUTABLE)


def _end_of(program: int) -> int:
    """How the program ended; orphans that end before are forgotten."""
    while True:
        pid, status = os.waitpid(-1, 0)
        if pid == program:
            return status


def _kill_orphans(path: str, mark: bytes) -> None:
    """Kill those without the mark, which others look for and report.

    Whoever has it and starts more must not hold us forever.
    """
    if not _has_children():
        return
    sys.path.extend(path.split(os.pathsep))
    from hookline.adapters.processes.identity import descendants  # only if something is left

    for _ in range(_ROUNDS):
        found = [pid for pid in descendants(os.getpid()) if not _has(pid, mark)]
        if not found:
            return
        for pid in found:
            _kill(pid)


def _has_children() -> bool:
    """Whether something is left; what has ended is forgotten."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        return False
    return True


def _kill(pid: int) -> None:
    try:
        os.kill(pid, _SIGKILL)
        os.waitpid(pid, 0)
    except OSError:  # it ended by itself, or is a child of one that has not ended yet
        pass


def _has(pid: int, mark: bytes) -> bool:
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            return any(each.startswith(mark) for each in file.read().split(b"\0"))
    except OSError:
        return True


if __name__ == "__main__":
    main()
