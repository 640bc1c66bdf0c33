"""Telemetry of work that changes hands: another clone, many kills, and a real Phoenix."""

from __future__ import annotations

import json
import os
import random
import socket
import subprocess
import urllib.request
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.e2e.clone_rig import CONTINUE, PROMISE, Clones
from tests.e2e.conftest import eventually
from tests.e2e.pipeline_rig import work_ended
from tests.e2e.session_crash_rig import SessionRig
from tests.e2e.telemetry_rig import TelemetryRig, check_all_sent, collector
from tests.postgres_server import PostgresServer, new_project

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.collector import CollectorStandIn
    from tests.e2e.conftest import Cli

__all__ = ["collector"]
PHOENIX = Path(__file__).parents[2] / ".phoenix" / "bin" / "phoenix"


def test_a_session_that_another_clone_takes_over(
    cli: Cli, tmp_path: Path, postgres: PostgresServer, collector: CollectorStandIn
) -> None:
    cli.env["HOOKLINE_STORE"] = new_project(postgres)
    clones = Clones(cli, tmp_path / "elsewhere")
    clones.rig.turns(f"echo one > one; {CONTINUE}", clones.hang(2), f"echo two > two; {PROMISE}")
    note, gate = ({"name": name, "command": "true"} for name in ("note", "gate"))
    clones.begin(
        hooks={"pre_iteration": [note], "before_submit": [gate], "stop": ["promise"]},
        telemetry={"endpoint": collector.url},
    )
    task = clones.first.add("count")
    ((before,),) = clones.first.rows("SELECT max(seq) FROM events")
    worker = clones.first.start("work", "--once", "--json")
    eventually(lambda: bool(collector.named("iteration 1")), "the first iteration at the collector")
    clones.kill(worker, 2)
    (store,) = {each.resource["hookline.store"] for each in collector.spans}
    assert work_ended(clones.second("work", "--once", "--json"))["merged"] == [task]
    check_all_sent(clones.first, collector, before)
    assert {each.resource["hookline.store"] for each in collector.spans} == {store}
    cut = [each for each in collector.named("invoke_agent") if each.is_error]
    assert [each.attributes["error.type"] for each in cut] == ["interrupted"]
    clones.close()


class _SendingRig(SessionRig):
    """Sessions that are killed, and whose record goes to a collector."""

    def __init__(self, cli: Cli, seed: int, url: str) -> None:
        self._url = url
        super().__init__(cli, seed)

    def _configuration(self) -> str:
        return f"{super()._configuration()}telemetry: {json.dumps({'endpoint': self._url})}\n"


@pytest.mark.torture
@pytest.mark.timeout(1800)
def test_sessions_that_are_killed_often(cli: Cli, collector: CollectorStandIn) -> None:
    seed = random.randrange(1 << 32)
    print(f"seed {seed}")
    rig = _SendingRig(cli, seed, collector.url)
    rig.kill_often(100)
    rig.close()
    cli.json("telemetry", "send")
    ((before,),) = cli.rows("SELECT min(seq) - 1 FROM events WHERE type = 'run_started'")
    check_all_sent(cli, collector, before)
    print(f"{len(collector.known)} spans, of which {len(collector.repeated)} came more than once")


@contextmanager
def phoenix(folder: Path) -> Iterator[str]:
    """A real Phoenix on this machine, which tells nobody of itself; its URL."""
    with socket.socket() as one, socket.socket() as two:
        one.bind(("127.0.0.1", 0))
        two.bind(("127.0.0.1", 0))
        port, grpc = one.getsockname()[1], two.getsockname()[1]
    env = {
        **os.environ,
        "PHOENIX_TELEMETRY_ENABLED": "false",
        "PHOENIX_ALLOW_EXTERNAL_RESOURCES": "false",
        "PHOENIX_HOST": "127.0.0.1",
        "PHOENIX_PORT": str(port),
        "PHOENIX_GRPC_PORT": str(grpc),
        "PHOENIX_WORKING_DIR": str(folder),
    }
    with (folder / "log").open("wb") as log:
        server = subprocess.Popen((PHOENIX, "serve"), env=env, stdout=log, stderr=log)
    url = f"http://127.0.0.1:{port}"
    try:
        eventually(lambda: answers(f"{url}/healthz"), "Phoenix")
        yield url
    finally:
        server.terminate()
        server.wait()


def answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=5) as reply:
            return bool(reply.status == 200)
    except OSError:
        return False


def shown(url: str, project: str) -> dict[str, dict[str, Any]]:
    """The spans that Phoenix shows of a project, by id; it shows none twice."""
    address = f"{url}/v1/projects/{project}/spans?limit=1000"
    with urllib.request.urlopen(address, timeout=30) as reply:
        found = json.load(reply)["data"]
    by_id = {each["context"]["span_id"]: each for each in found}
    assert len(by_id) == len(found)
    return by_id


@pytest.mark.torture
def test_a_real_phoenix_shows_all_of_a_session(
    cli: Cli, tmp_path: Path, collector: CollectorStandIn
) -> None:
    """Compared with what a stand-in is sent of the same record; killed, sent twice, shown once."""
    if not PHOENIX.exists():
        pytest.skip("Phoenix is not installed: `make phoenix` does that")
    rig = TelemetryRig(cli, collector)
    note, bye = ({"name": name, "command": "true"} for name in ("note", "bye"))
    hooks: dict[str, list[Any]]
    hooks = {"pre_iteration": [note], "stop": ["promise"], "session_end": [bye]}
    folder = tmp_path / "phoenix"
    folder.mkdir()
    with phoenix(folder) as url:
        rig.sends(hooks, agents={"claude": rig.claude}, telemetry={"endpoint": url})
        rig.file("hang").touch()
        process = rig.start("--agent", "claude", iterations=5)
        eventually(rig.file("hangs").exists, "the first turn")
        process.kill()
        process.communicate()
        assert rig.resume().code == 0
        first = cli.json("telemetry", "status")["sent"]
        rig.sends(hooks, agents={"claude": rig.claude})
        cli.json("telemetry", "send", "--all")
        rig.sends(hooks, agents={"claude": rig.claude}, telemetry={"endpoint": url})
        cli.json("telemetry", "send", "--all")
        eventually(lambda: len(shown(url, "project")) == len(collector.known), "all spans")
        found = shown(url, "project")
    print(f"Phoenix shows {len(found)} spans; {first} were sent while the session ran")
    assert first
    for span, sent in collector.known.items():
        each = found[span]
        assert each["context"]["trace_id"] == sent.trace
        assert each["parent_id"] == (sent.parent or None)
        assert each["name"] == sent.name
        assert each["span_kind"] == sent.attributes["openinference.span.kind"]
    turns = [each for each in found.values() if each["name"].startswith("invoke_agent")]
    turns.sort(key=lambda each: each["start_time"])
    assert [each["status_code"] for each in turns] == ["ERROR", "UNSET", "UNSET"]
    assert [each["attributes"]["llm.token_count.total"] for each in turns] == [0, 42, 42]
    check_all_sent(cli, collector)
