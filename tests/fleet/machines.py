"""Machines on one kernel: each with its own network, processes, name, boot id and folder.

Each hangs on one process, which the kernel kills with the tests, so that nothing is left behind.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import uuid
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.e2e.conftest import PATIENCE
from tests.fleet import first_process

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

# Who dies with these tests, and takes along whatever it has started.
MORTAL = ("setpriv", "--pdeathsig", "KILL")
NETWORK = "10.77.0"
# No machine has this address.
NOBODY = "02:00:00:00:00:99"
# Programs with a wrong clock leave files here, named by their numbers, which are a machine's own.
SHARED_MEMORY = Path("/dev/shm")
_NEEDED = ("ip", "nsenter", "setpriv", "unshare")


@cache
def missing() -> str:
    """What is missing for machines of one's own; empty if nothing is."""
    absent = [name for name in _NEEDED if shutil.which(name) is None]
    if absent:
        return f"needs {', '.join(absent)}"
    if os.geteuid():
        return "needs root, for namespaces"
    trial = ("unshare", "--net", "--uts", "--mount", "--pid", "--fork", "--mount-proc")
    tried = subprocess.run((*trial, "ip", "link", "add", "type", "veth"), capture_output=True)
    return f"namespaces: {tried.stderr.decode().strip()}" if tried.returncode else ""


class Switch:
    """What machines are connected to, in a network of its own."""

    def __init__(self) -> None:
        self._anchor = _anchor("unshare", "--net", "sh", "-c", "echo up; exec sleep infinity")
        self._ip("link", "add", "bridge", "type", "bridge")
        self._ip("link", "set", "bridge", "up")

    def connect(self, port: str, pid: int, address: str) -> None:
        """Give the network of a process an address here."""
        self._ip(*f"link add {port} type veth peer name eth0 netns {pid}".split())
        self._ip("link", "set", port, "master", "bridge", "up")
        for words in ("link set lo up", f"addr add {address}/24 dev eth0", "link set eth0 up"):
            _run(*_network_of(pid), "ip", *words.split())

    def cut(self, port: str) -> None:
        """From now on nothing comes through, and nobody is told."""
        self._ip("link", "set", port, "down")

    def heal(self, port: str) -> None:
        """Let everything through again."""
        self._ip("link", "set", port, "up")

    def close(self) -> None:
        _end(self._anchor)

    def _ip(self, *words: str) -> None:
        _run(*_network_of(self._anchor.pid), "ip", *words)


class Machine:
    """A machine that can be cut off, switched off, and booted again."""

    def __init__(self, switch: Switch, number: int, folder: Path, hidden: Iterable[Path]) -> None:
        self.name = folder.name
        self.folder = folder
        self.address = f"{NETWORK}.{number}"
        self._switch = switch
        self._number = number
        self._hidden = [str(each) for each in hidden]
        self._boots = 0
        self._programs: list[Program] = []
        self._anchor: subprocess.Popen[bytes] | None = None
        self.boot()

    @property
    def pid(self) -> int:
        """Its first process, as all other machines see it."""
        assert self._anchor is not None
        return only_child(self._anchor.pid)

    def boot(self) -> None:
        """Switch it on."""
        self._boots += 1
        self.boot_id = str(uuid.uuid4())
        boot_id = self.folder / "boot_id"
        boot_id.write_text(f"{self.boot_id}\n")
        apart = "--net --uts --mount --pid --fork --kill-child --mount-proc".split()
        first = (sys.executable, first_process.__file__, self.name, str(boot_id), *self._hidden)
        self._anchor = _anchor("unshare", *apart, *first)
        self._switch.connect(self._port, self.pid, self.address)

    def switch_off(self) -> None:
        """End everything on it at once, as when the power is gone."""
        if self._anchor is not None:
            anchor, self._anchor = self._anchor, None
            for pid in _children(anchor.pid):
                os.kill(pid, signal.SIGKILL)
            _end(anchor)
            while self._programs:
                self._programs.pop().close()

    def cut(self) -> None:
        """Take its cable out."""
        self._switch.cut(self._port)

    def heal(self) -> None:
        """Put its cable back."""
        self._switch.heal(self._port)

    def lose(self, other: Machine) -> None:
        """From now on nothing that it sends to another machine arrives there."""
        self._neighbour("replace", other.address, *f"lladdr {NOBODY} nud permanent".split())

    def find(self, other: Machine) -> None:
        """Let what it sends arrive again."""
        self._neighbour("del", other.address)

    def _neighbour(self, verb: str, address: str, *more: str) -> None:
        _run(*_network_of(self.pid), *f"ip neighbour {verb} {address} dev eth0".split(), *more)

    def start(
        self, command: Sequence[str], folder: Path, env: Mapping[str, str], **ways: Any
    ) -> Program:
        """A program on it."""
        inside = ("nsenter", "--target", str(self.pid), "--net", "--uts", "--mount", "--pid")
        # A library that is to be preloaded is for the program, not for who starts it.
        given = [f"{name}={value}" for name, value in env.items()]
        prepared = ("env", "-i", "-C", str(folder), *given)
        program = Program((*inside, *prepared, *command), **ways)
        self._programs.append(program)
        return program

    @property
    def _port(self) -> str:
        # That of the boot before goes away when the kernel comes to it.
        return f"p{self._number}-{self._boots}"


class Program:
    """A program on a machine, seen from outside: who has started it stands between."""

    def __init__(self, command: Sequence[str], **ways: Any) -> None:
        self._outer = subprocess.Popen(command, stdin=subprocess.DEVNULL, **ways)

    @property
    def is_over(self) -> bool:
        """Whether it has ended."""
        return self._outer.poll() is not None

    @property
    def pid(self) -> int:
        """Its number as other machines see it."""
        return only_child(self._outer.pid)

    def kill(self) -> None:
        """SIGKILL it alone, and wait for its end."""
        if not self.is_over:
            os.kill(self.pid, signal.SIGKILL)
        self._outer.wait(PATIENCE)

    def freeze(self) -> None:
        """SIGSTOP it alone."""
        os.kill(self.pid, signal.SIGSTOP)

    def thaw(self) -> None:
        """Let it go on; who has started it has stopped along with it."""
        for pid in (self.pid, self._outer.pid):
            os.kill(pid, signal.SIGCONT)

    def close(self) -> None:
        """Let go of a program whose machine is off: who has started it may have stopped with it."""
        self._outer.kill()
        self._outer.wait()

    def wait(self, seconds: float = PATIENCE) -> int:
        """Its exit code."""
        return self._outer.wait(seconds)


class Network(ExitStack):
    """So many machines beside each other, and one for the server."""

    def __init__(self, folder: Path, names: Sequence[str]) -> None:
        super().__init__()
        try:
            switch = Switch()
            self.callback(switch.close)
            self.server = self._machine(switch, 1, folder / "server", ())
            folders = [folder / name for name in names]
            for each in folders:
                each.mkdir()
            more = [] if folder.is_relative_to(SHARED_MEMORY) else [SHARED_MEMORY]
            self.machines = [
                self._machine(
                    switch, number, own, [*more, *(each for each in folders if each != own)]
                )
                for number, own in enumerate(folders, 2)
            ]
        except BaseException:
            self.close()
            raise

    def _machine(
        self, switch: Switch, number: int, folder: Path, hidden: Iterable[Path]
    ) -> Machine:
        folder.mkdir(exist_ok=True)
        machine = Machine(switch, number, folder, hidden)
        self.callback(machine.switch_off)
        return machine


def only_child(pid: int) -> int:
    """The one child of a process."""
    (child,) = _children(pid)
    return child


def _children(pid: int) -> list[int]:
    return [int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def _network_of(pid: int) -> tuple[str, ...]:
    return ("nsenter", "--target", str(pid), "--net")


def _run(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, (command, done.stderr)


def _anchor(*command: str) -> subprocess.Popen[bytes]:
    """A process that holds a machine, once it says that this is up."""
    pipe = subprocess.PIPE
    anchor = subprocess.Popen((*MORTAL, *command), stdout=pipe, stderr=pipe)
    assert anchor.stdout is not None
    assert anchor.stdout.readline() == b"up\n", anchor.communicate()
    return anchor


def _end(anchor: subprocess.Popen[bytes]) -> None:
    anchor.kill()
    anchor.communicate()
