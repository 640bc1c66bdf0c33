"""Three hosts with a clone each, one server, one remote, and what must hold whatever happens."""

from __future__ import annotations

import shlex
import sys
from collections import Counter
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import psycopg

from tests.e2e.conftest import PROGRAM, Cli, eventually
from tests.e2e.crash_rig import Aftermath
from tests.e2e.pipeline_rig import Pipeline
from tests.fleet import agent
from tests.fleet.clocks import skewed
from tests.fleet.machines import NETWORK, Network
from tests.fleet.trace import Trace, clock
from tests.postgres_server import running

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from tests.fleet.machines import Machine, Program
    from tests.postgres_server import PostgresServer

ROOT = Path(__file__).parents[2]
WRITER = (sys.executable, "-m", "tests.fleet.writer")
LEASE = 10
# Only what hangs takes so long, however busy the machine is.
LONGEST = 1000
# How exactly it is known when others have a lease.
LOOK = 0.05
# So long it is waited for work on one host, while another one has some.
PREFERRED = 10.0
HOSTS = ("alpha", "beta", "gamma")
TURNS = 2
CONFIGURATION = """\
hooks: {{before_submit: [rebase_on_main, {{run_tests: {gate}}}, create_pr]}}
gates: {{test: {gate}, tries: 20}}
events: [ping]
hosts: {{lease: {lease}}}
session: {{iterations: 100, guards: {{failures: 0, no_change: 0, identical_output: 0}}}}
"""
# Each task adds a line to it, and none of them is in the way of the others.
ATTRIBUTES = "log merge=union\n"
# A crash of the server loses nothing that was acknowledged.
SAFE = ("synchronous_commit=on", "fsync=off")


class Host:
    """A machine with a clone of the project, a user's folder, and a worker."""

    def __init__(
        self, machine: Machine, centre: Machine, store: str, remote: Path, shared: Mapping[str, str]
    ) -> None:
        self.machine, self._centre = machine, centre
        self.name = machine.name
        self.cli = Cli(machine.folder)
        self.cli.env |= {**shared, "HOOKLINE_STORE": store, "HOOKLINE_HOST": self.name}
        self.worker: Program | None = None
        self.log = machine.folder / "worker.log"
        for words in (
            "git init --quiet",
            f"git remote add origin {remote}",
            "git fetch --quiet",
            "git switch --quiet main",
        ):
            self.run(*words.split())
        self.run(*PROGRAM, "trust", "--yes")

    def run(self, *command: str) -> None:
        """Run a program on it; it must succeed."""
        assert self._beside(*command).wait() == 0, (command, self.log.read_text())

    def start(self) -> None:
        """Start its worker."""
        self.worker = self._beside(*PROGRAM, "work", "--agents", "10", "-v")

    def write(self, acknowledged: Path, stop: Path) -> Program:
        """Start a writer, who goes on until there is a file."""
        return self._beside(
            "env", f"PYTHONPATH={ROOT}", *WRITER, str(acknowledged), self.name, str(stop)
        )

    def skew(self, seconds: int) -> None:
        """Set the clock of all programs that it will start."""
        self.cli.env |= skewed(seconds, self.machine.folder)

    def kill(self) -> None:
        """SIGKILL its worker, and nothing else."""
        self.at_work.kill()

    def freeze(self) -> None:
        """SIGSTOP its worker, and nothing else."""
        self.at_work.freeze()

    def thaw(self) -> None:
        """Let its worker go on."""
        self.at_work.thaw()

    def cut(self) -> None:
        """Take it off the network."""
        self.machine.cut()

    def heal(self) -> None:
        """Put it back on the network."""
        self.machine.heal()

    def fall_silent(self) -> None:
        """Lose what it sends to the server, but not what it is told."""
        self.machine.lose(self._centre)

    def be_heard(self) -> None:
        """Let the server hear it again."""
        self.machine.find(self._centre)

    def go_deaf(self) -> None:
        """Lose what the server tells it, but not what it sends."""
        self._centre.lose(self.machine)

    def hear(self) -> None:
        """Let it hear the server again."""
        self._centre.find(self.machine)

    def lose_both(self) -> None:
        """Lose all that goes either way, though the cable is in."""
        self.fall_silent()
        self.go_deaf()

    def find_both(self) -> None:
        """Let everything arrive again."""
        self.be_heard()
        self.hear()

    def switch_off(self) -> None:
        """End everything on it at once, as when the power is gone."""
        self.machine.switch_off()

    def boot(self) -> None:
        """Switch it on, and start its worker."""
        self.machine.boot()
        self.start()

    @property
    def at_work(self) -> Program:
        """Its worker, which must be running."""
        assert self.worker is not None
        assert not self.worker.is_over, self.said
        return self.worker

    def _beside(self, *command: str) -> Program:
        with self.log.open("ab") as log:
            return self.machine.start(command, self.cli.root, self.cli.env, stdout=log, stderr=log)

    @property
    def said(self) -> str:
        """All that its programs have said."""
        return self.log.read_text()


class Marks(NamedTuple):
    """What writers were told: that it is stored, or that nothing was changed."""

    stored: set[str]
    refused: set[str]


class Fleet(Pipeline):
    """The project as a person sees it, from a machine of no part in the work, and the hosts."""

    def __init__(
        self, cli: Cli, network: Network, server: PostgresServer, looking: psycopg.Connection[Any]
    ) -> None:
        super().__init__(cli)
        self.server = server
        self._looking = looking
        self.network = network
        self.trace = Trace(self.box / "trace")
        self.seconds = 10.0
        self.tasks: list[str] = []
        self.hits = Counter[str]()
        self.hosts: list[Host] = []
        self.more = ""
        self._seen = ""
        self._struck: list[tuple[str, float, set[str]]] = []
        cli.env |= {"HOOKLINE_STORE": server.url("fleet")}

    @property
    def profile(self) -> str:
        words = ("turn", str(self.seconds), str(TURNS))
        return f"{{driver: command, command: {self._traced(*words)!r}}}"

    def _traced(self, *words: str) -> str:
        return shlex.join((sys.executable, agent.__file__, str(self.trace.path), *words))

    def settle(self) -> None:
        """The project, published, and a clone of it on each machine."""
        gate = repr(self._traced("gate", "make", "test"))
        self.cli.put(".gitattributes", ATTRIBUTES)
        self.begin(CONFIGURATION.format(gate=gate, lease=LEASE) + self.more)
        self._seen = self.git("rev-parse", "main", at=self.main)
        shared = {name: self.cli.env[name] for name in ("GIT_CONFIG_GLOBAL", "GIT_CONFIG_NOSYSTEM")}
        store = f"postgresql://hookline@{self.network.server.address}/postgres?project=fleet"
        for machine in self.network.machines:
            self.hosts.append(Host(machine, self.network.server, store, self.main, shared))

    def top_up(self, number: int) -> None:
        """Add tasks until so many are open."""
        for _ in range(number - len(self.open())):
            self.tasks.append(self.cli.add(f"part {len(self.tasks) + 1}"))

    def open(self) -> list[str]:
        """The tasks that are not completed."""
        return [each["id"] for each in self.cli.json("task", "list") if each["id"] in self.tasks]

    def await_work(self, number: int, tasks: int) -> Host:
        """Wait until an agent is at work on a host, while so many tasks are open.

        If it is the next one's turn and that has none for a while, it is any other one.
        """
        wanted, found = self.hosts[number % len(self.hosts)], list[Host]()
        since = clock()

        def at_work() -> bool:
            self.top_up(tasks)
            self.trace.read()
            allowed = [wanted] if clock() < since + PREFERRED else self.hosts
            found.extend(each for each in allowed if self._at_work_on(each))
            return bool(found)

        eventually(at_work, "work on a host", pause=0.2)
        return found[0]

    def strike(self, host: Host, fault: Callable[[Host], None]) -> tuple[set[str], float]:
        """Let something happen to a host; the tasks that others must take over, and when it was."""
        gone, since = set(self._held_elsewhere(host)), clock()
        fault(host)
        self.trace.read()
        return self.trace.under_way(host.name) - gone, since

    def _at_work_on(self, host: Host) -> set[str]:
        """The tasks of a host that are under way, and that nobody has taken over."""
        return self.trace.under_way(host.name) - {*self._held_elsewhere(host)}

    def await_takeover(self, host: Host, tasks: set[str], since: float) -> list[float]:
        """Wait until others have the leases of a host; how long each took."""
        held: dict[str, float] = {}

        def taken() -> bool:
            for task in self._held_elsewhere(host):
                held.setdefault(task, clock())
            self.trace.read()
            for task, moment in self.trace.begun_elsewhere(host.name, since).items():
                held[task] = min(held.get(task, moment), moment)
            return tasks <= held.keys()

        # What was just done there may not have been stored; what was just begun is heard of later.
        hit = self.trace.last_on(host.name)
        eventually(taken, f"the takeover of {sorted(tasks)}", pause=LOOK)
        self.hits.update(hit | self.trace.begun_on(host.name, since))
        self._struck.append((host.name, since, tasks))
        return [held[task] - since for task in sorted(tasks)]

    def until_at_work(self) -> list[float]:
        """How long it took after each strike until agents were at work elsewhere, at the end."""
        found = []
        for host, since, tasks in self._struck:
            begun = self.trace.begun_elsewhere(host, since)
            found += [begun[task] - since for task in tasks & begun.keys()]
        return found

    def _held_elsewhere(self, host: Host) -> list[str]:
        """The tasks whose sessions another host advances."""
        query = b"SELECT input::jsonb ->> 'taskId' FROM hookline.runs WHERE flow = 'session'"
        other = f"owner NOT LIKE '{host.machine.boot_id}/%'".encode()
        return [task for (task,) in self._looking.execute(b"%b AND %b" % (query, other))]

    def clocks(self) -> dict[str, int]:
        """How many seconds the clock of each host is ahead, as people are told, to the ten."""
        return {each["name"]: round(each["clock"], -1) for each in self.cli.json("hosts")}

    def await_end(self) -> None:
        """Wait until every task is merged."""
        eventually(lambda: not self.open(), "the end of all tasks", LONGEST, 0.2)

    def await_merges(self, number: int) -> None:
        """Wait until so many more tasks are merged."""
        enough = len(self.merges()) + number
        eventually(lambda: len(self.merges()) >= enough, f"{number} merges", LONGEST, 0.2)

    @contextmanager
    def writers(self) -> Iterator[Marks]:
        """Writers on all hosts; what they were told is known once they have ended."""
        stop, marks = self.box / "stop", Marks(set(), set())
        files = [self.box / f"{host.name}.marks" for host in self.hosts]
        programs = [host.write(file, stop) for host, file in zip(self.hosts, files, strict=True)]
        try:
            yield marks
        finally:
            stop.touch()
        for host, program, file in zip(self.hosts, programs, files, strict=True):
            assert program.wait() == 0, host.said
            for line in file.read_text().splitlines():
                kind, mark = line.split()
                getattr(marks, kind).add(mark)

    # What must hold

    def check_now(self) -> None:
        """What holds at any moment, while work goes on."""
        self.trace.read()
        assert self.trace.overlaps() == []
        assert all(number == 1 for number in Counter(self.merges()).values())
        repeats = self.trace.repeats()
        assert repeats <= self.hits, (repeats, self.hits)
        self._seen = self.check_main(since=self._seen)

    def check_end(self) -> None:
        """What holds once everything is done."""
        self.check_now()
        assert sorted(self.merges()) == sorted(self.tasks)
        assert self.parts() == set(self.tasks)
        made = "SELECT branch, is_open FROM hookline.pull_requests ORDER BY branch"
        assert self.server.run(made) == sorted((f"hookline/{task}", 0) for task in self.tasks)
        # On a host, from which all servers can be reached.
        self.hosts[0].run(*PROGRAM, "doctor")
        for host in self.hosts:
            assert "Traceback" not in host.said, host.said

    def check_unhurt(self) -> None:
        """Nobody was hit: nothing was cut short, and no agent went on where another had begun."""
        assert not self.hits
        assert self.trace.cut_short() == []
        assert all(len(hosts) == 1 for hosts in self.trace.turns_on().values())

    def check_marks(self, marks: Marks) -> None:
        """What was acknowledged is stored once, and what was refused is not."""
        aftermath = Aftermath(self.cli)
        aftermath.check_acknowledged(marks.stored)
        found = {data.get("mark") for _, kind, _, data, _ in aftermath.events if kind == "ping"}
        assert marks.refused & found == set()


def admit_machines(server: PostgresServer) -> None:
    """Let all machines use a server."""
    with (server.folder / "data" / "pg_hba.conf").open("a") as access:
        access.write(f"host all all {NETWORK}.0/24 trust\n")
    server.run("SELECT pg_reload_conf()")


@contextmanager
def fleet(folder: Path) -> Iterator[Fleet]:
    """Machines, a server and a project, all of them gone afterwards."""
    with ExitStack() as opened:
        network = opened.enter_context(Network(folder, HOSTS))
        listen = f"listen_addresses={network.server.address}"
        pid = network.server.pid
        server = opened.enter_context(running(*SAFE, listen, network_of=pid))
        admit_machines(server)
        cli = Cli(folder / "desk")
        opened.callback(cli.close)
        looking = opened.enter_context(closing(psycopg.connect(server.url(), autocommit=True)))
        yield Fleet(cli, network, server, looking)


def spread(seconds: list[float]) -> str:
    """Figures in a line."""
    ranked = sorted(seconds)
    return f"{ranked[0]:.1f} to {ranked[-1]:.1f} s, median {ranked[len(ranked) // 2]:.1f} s"
