"""The server of a store goes away while agents work: they go on, and what was told is not lost."""

from __future__ import annotations

import json
import signal
import threading
from typing import TYPE_CHECKING, Any

import pytest

from tests.e2e.conftest import PATIENCE, Cli, eventually, is_running
from tests.e2e.pipeline_rig import Pipeline
from tests.e2e.session_rig import PROMISE, Rig
from tests.postgres_server import PostgresServer, running

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Iterator

GATES = "hooks: {before_submit: [rebase_on_main, create_pr]}\n"
# A turn that is over when the test says so.
HELD = "echo $$ > {box}/began; until [ -e {box}/go ]; do sleep 0.02; done; echo $n > work-$n"
WRITERS = 2


@pytest.fixture
def own() -> Iterator[PostgresServer]:
    """A server that a test may stop; what it acknowledged outlives its processes."""
    with running("synchronous_commit=on") as server:
        yield server


class Heard:
    """What a process says on stderr, as it says it."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        assert process.stderr is not None
        self._lines: list[str] = []
        self._source = process.stderr
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        for line in self._source:  # as they come
            self._lines.append(line)

    def all(self) -> list[str]:
        """Everything, once the process is over."""
        self._thread.join(PATIENCE)
        return self._lines

    def says(self, words: str) -> None:
        """Wait until it has said that."""
        eventually(
            lambda: any(words in line for line in list(self._lines)) or self._is_over(), words
        )
        assert any(words in line for line in self._lines), self._lines

    def _is_over(self) -> bool:
        """Whether the process says nothing more."""
        return not self._thread.is_alive()


class Held:
    """A session in whose turn the server goes away."""

    def __init__(self, cli: Cli, own: PostgresServer, wait: int) -> None:
        cli.env["HOOKLINE_STORE"] = f"{own.url('p')}&wait={wait}"
        self.rig = Rig(cli)
        self.box = self.rig.box.parent
        self.rig.turns(f"{HELD.format(box=self.box)}; {PROMISE}", rest=PROMISE)
        self.rig.configure()
        self.process = self.rig.start()
        self.heard = Heard(self.process)
        eventually((self.box / "began").exists, "the turn")

    def outcome(self) -> str:
        """How the session ended."""
        assert self.process.stdout is not None
        last: dict[str, Any] = json.loads(self.process.stdout.read().splitlines()[-1])
        return str(last["data"]["outcome"])


@pytest.mark.examples(1)
@pytest.mark.parametrize("way", [signal.SIGQUIT, signal.SIGINT])
def test_a_turn_goes_on_while_the_server_is_away(
    cli: Cli, own: PostgresServer, way: signal.Signals
) -> None:
    held = Held(cli, own, wait=PATIENCE)
    own.stop(way)
    held.heard.says(f"waiting up to {PATIENCE} s, and agents continue")
    (held.box / "go").touch()
    own.start()
    held.heard.says("the store answers again")
    assert held.outcome() == "completed"
    assert len(held.rig.prompts()) == 1
    found = cli.json("doctor", quiet=False)["checks"]
    of_store = [each for each in found if each["name"] in ("store", "log", "tables", "journal")]
    assert {each["status"] for each in of_store} == {"ok"}


@pytest.mark.torture
def test_a_longer_outage_ends_the_turn_and_says_so(cli: Cli, own: PostgresServer) -> None:
    held = Held(cli, own, wait=1)
    agent = int((held.box / "began").read_text())
    own.stop()
    assert held.process.wait(PATIENCE) == 1
    eventually(lambda: not is_running(agent), "the end of the agent")
    error = json.loads(held.heard.all()[-1])["error"]
    assert error["code"] == "store-unreachable"
    assert "waited 1 s for it" in error["message"]
    assert "continue with `hookline run --resume" in error["help"]
    own.start()
    assert held.rig.resume().data["outcome"] == "completed"


@pytest.mark.examples(1)
@pytest.mark.parametrize("way", [signal.SIGINT, signal.SIGTERM])
def test_a_person_ends_the_wait_at_once(cli: Cli, own: PostgresServer, way: signal.Signals) -> None:
    """The wait itself would last longer than the test."""
    held = Held(cli, own, wait=100 * PATIENCE)
    agent = int((held.box / "began").read_text())
    own.stop()
    held.heard.says("agents continue")
    held.process.send_signal(way)
    assert held.process.wait(PATIENCE) == 130
    eventually(lambda: not is_running(agent), "the end of the agent")
    lines = held.heard.all()
    error = json.loads(lines[-1])["error"]
    assert error["code"] == "interrupted"
    assert "told to end while postgresql://" in error["message"]
    assert "continue with `hookline run --resume" in error["help"]
    assert not any("Traceback" in line for line in lines), lines
    own.start()
    assert held.rig.resume().data["outcome"] == "completed"


@pytest.mark.torture
def test_a_person_ends_a_worker_that_waits(cli: Cli, own: PostgresServer) -> None:
    cli.env["HOOKLINE_STORE"] = f"{own.url('p')}&wait={100 * PATIENCE}"
    line = Pipeline(cli)
    line.begin(GATES)
    line.turn("touch $here/began; until [ -e $here/go ]; do sleep 0.02; done; work")
    task = cli.add("a part")
    worker = cli.start("work", "--once", "--json")
    heard = Heard(worker)
    eventually((line.box / "began").exists, "the turn")
    own.stop()
    heard.says("agents continue")
    worker.send_signal(signal.SIGINT)
    assert worker.wait(PATIENCE) == 130
    assert "continue with `hookline work" in heard.all()[-1]
    own.start()
    (line.box / "go").touch()
    assert line.worker("--agents", "1")["merged"] == [task]


@pytest.mark.torture
@pytest.mark.examples(1)
@pytest.mark.parametrize(("restarts", "parts"), [(3, 2), (10, 4)])
def test_restarts_during_work_lose_nothing_that_was_told(
    cli: Cli, own: PostgresServer, restarts: int, parts: int
) -> None:
    cli.env["HOOKLINE_STORE"] = f"{own.url('p')}&wait={PATIENCE}"
    line = Pipeline(cli)
    line.begin(f"events: [noted]\n{GATES}")
    # The turn of the first task lasts longer than all restarts.
    line.turn(
        'if grep -q "Leave no marker line" "$box/$n"; then resolve; return; fi;'
        ' until [ -e "$here/go" -o $HOOKLINE_TASK_ID != T-1 ]; do sleep 0.02; done; work'
    )
    tasks = [cli.add(f"part {number}") for number in range(parts)]
    worker = cli.start("work", "--agents", "2", "--once", "--json")
    heard, told = Heard(worker), list[str]()
    is_over = threading.Event()

    def write() -> None:
        while not is_over.is_set():
            done = cli.process("emit", "noted", "--json")
            told.extend([done.json["id"]] if done.code == 0 else [])

    writers = [threading.Thread(target=write) for _ in range(WRITERS)]
    for each in writers:
        each.start()
    eventually((line.box / "T-1.began").exists, "the first turn")
    for number in range(restarts):
        enough = len(told) + 1
        eventually(lambda enough=enough: len(told) >= enough, f"a change before restart {number}")  # type: ignore[misc]
        own.stop(signal.SIGINT if number % 2 else signal.SIGQUIT)
        if not number:
            error = cli.refused("status")[1]
            assert error["code"] == "store-unreachable"
            assert f"1 process here waits for it ({worker.pid})" in error["help"]
        own.start()
    is_over.set()
    (line.box / "go").touch()
    for each in writers:
        each.join()
    assert worker.stdout is not None
    ended = json.loads(worker.stdout.read().splitlines()[-1])["data"]
    assert worker.wait(PATIENCE) == 0, heard.all()
    assert sorted(ended["merged"]) == sorted(tasks), heard.all()
    stored = {event["id"] for event in cli.json("events", "--all")}
    assert set(told) <= stored
    whole = [each for each in line.prompts("T-1") if "Leave no marker line" not in each]
    assert len(whole) == 1
    assert not (line.box / "overlaps").exists()
    line.check_main()
