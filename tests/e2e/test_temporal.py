"""`hookline work --scheduler temporal` as users run it: what is refused, and what is not lost."""

from __future__ import annotations

import base64
import json
import os
import re
import signal
import subprocess
from typing import TYPE_CHECKING, Any

import pytest

from hookline.adapters.temporal.client import ATTRIBUTES
from tests.e2e.conftest import Cli, eventually
from tests.temporal_doors import Certificates, refusing_server, tls_door
from tests.temporal_server import temporal

if TYPE_CHECKING:
    from pathlib import Path

    from tests.temporal_server import TemporalServer

FLOW = """\
flows:
  ship:
    steps:
      - {id: test, run: "echo $TOKEN testing {{input.version}}"}
      - {id: ok, breakpoint: "Ship the secret {{input.version}}?"}
      - {id: out, run: "echo shipped"}
"""
SECRET = "hunter2-and-more"


def configure(cli: Cli, address: str, more: str = "") -> None:
    cli.configure(f"scheduler: {{kind: temporal, address: '{address}'{more}}}\n{FLOW}")


def start(cli: Cli) -> None:
    words = ("flow", "start", "ship", "--detach", "--input")
    assert cli(*words, json.dumps({"version": "prompt of a user"})).code == 0


def status(cli: Cli) -> str:
    found: str = cli.json("flow", "status", "R-1", quiet=False)["status"]
    return found


def is_parked(cli: Cli) -> None:
    eventually(lambda: status(cli) == "parked", "the question")


def is_completed(cli: Cli) -> None:
    eventually(lambda: status(cli) == "completed", "the end")


def stopped(worker: subprocess.Popen[str]) -> str:
    worker.send_signal(signal.SIGINT)
    return worker.communicate()[1]


@pytest.fixture
def queue(tmp_path: Path) -> str:
    """The task queue of this test alone: others use the same server."""
    return tmp_path.name


@pytest.fixture
def served(cli: Cli, temporal_server: TemporalServer, queue: str) -> Cli:
    configure(cli, temporal_server.address, f", task_queue: {queue}")
    return cli


def workflows(server: TemporalServer, queue: str, query: str) -> list[dict[str, Any]]:
    where = f"TaskQueue = '{queue}' AND {query}"
    done = server.run("workflow", "list", "--query", where, "--output", "json")
    found: list[dict[str, Any]] = json.loads(done.stdout or "[]")
    return found


# A run, from its start to its end


def test_a_run_is_advanced_answered_and_ended(
    served: Cli, temporal_server: TemporalServer, queue: str
) -> None:
    served.env["TOKEN"] = SECRET
    start(served)  # nobody works yet
    worker = served.start("work", "--flows", "--scheduler", "temporal")
    is_parked(served)
    ours = "HooklineProject = 'project' AND HooklineFlow = 'ship'"
    waits = f"{ours} AND HooklineStatus = 'waits for a person'"
    eventually(lambda: len(workflows(temporal_server, queue, waits)) == 1, "the status", pause=0.2)
    assert served("answer", "R-1", "ok", "yes").code == 0
    is_completed(served)
    over = f"{ours} AND ExecutionStatus = 'Completed'"
    eventually(lambda: len(workflows(temporal_server, queue, over)) == 1, "the end", pause=0.2)
    (found,) = workflows(temporal_server, queue, over)
    name = found["execution"]["workflowId"]
    history = temporal_server.run("workflow", "show", "-w", name, "--output", "json").stdout
    assert "completed" in decoded(history)
    for hidden in (SECRET, "prompt of a user", "Ship the secret", "testing", str(served.root)):
        assert hidden not in decoded(history)
    assert decoded(history).count("R-1") >= 3  # it is the run's own, and can be read
    described = temporal_server.run("workflow", "describe", "-w", name, "--output", "json").stdout
    size = int(json.loads(described)["workflowExecutionInfo"]["historySizeBytes"])
    # One kilobyte for each advance, and one for the beginning.
    advances = history.count('"EVENT_TYPE_ACTIVITY_TASK_SCHEDULED"')
    assert 0 < size <= 1024 * (advances + 1)
    assert "Traceback" not in stopped(worker)


def decoded(history: str) -> str:
    """A history with what is in it as base64."""
    texts = re.findall(r'"data": *"([A-Za-z0-9+/=]*)"', history)
    return history + "".join(base64.b64decode(each).decode() for each in texts)


@pytest.mark.torture
def test_a_run_that_is_cancelled_ends_its_workflow(
    served: Cli, temporal_server: TemporalServer, queue: str
) -> None:
    start(served)
    worker = served.start("work", "--flows")
    is_parked(served)
    assert served("flow", "cancel", "R-1").code == 0
    over = "HooklineFlow = 'ship' AND HooklineStatus = 'cancelled'"
    eventually(lambda: len(workflows(temporal_server, queue, over)) == 1, "the end", pause=0.2)
    stopped(worker)


@pytest.mark.torture
def test_a_workflow_that_is_cancelled_cancels_its_run(
    served: Cli, temporal_server: TemporalServer, queue: str
) -> None:
    start(served)
    worker = served.start("work", "--flows")
    is_parked(served)
    (found,) = workflows(temporal_server, queue, "ExecutionStatus = 'Running'")
    name = found["execution"]["workflowId"]
    assert temporal_server.run("workflow", "cancel", "-w", name).returncode == 0
    eventually(lambda: status(served) == "cancelled", "the end of the run")
    stopped(worker)


# What is refused


def test_a_server_that_is_down_is_named_and_nothing_is_lost(
    cli: Cli, temporal_server: TemporalServer
) -> None:
    configure(cli, "127.0.0.1:9")
    start(cli)
    code, error = cli.refused("work", "--flows", "--once")
    assert (code, error["code"]) == (1, "scheduler-unreachable")
    reason = "the Temporal server at 127.0.0.1:9 does not answer: tcp connect error"
    assert error["message"].startswith(reason)
    assert not set('(){}"') & set(error["message"])  # nothing as a program prints it
    assert "work --scheduler local" in error["help"]
    (check,) = scheduler_checks(cli)
    assert (check["status"], check["message"]) == ("failed", error["message"])
    assert cli("work", "--flows", "--once", "--scheduler", "local").code == 4
    assert status(cli) == "parked"
    configure(cli, temporal_server.address)
    assert cli("answer", "R-1", "ok", "yes").code == 0
    assert cli("work", "--flows", "--once").code == 0
    assert status(cli) == "completed"
    (check,) = scheduler_checks(cli)
    assert check["status"] == "ok"


def scheduler_checks(cli: Cli) -> list[dict[str, Any]]:
    checks = cli("doctor", "--json").json["checks"]
    return [each for each in checks if each["name"] == "scheduler"]


@pytest.mark.torture
def test_a_worker_ends_though_the_server_is_frozen(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "frozen").mkdir()
    with temporal(tmp_path / "frozen") as server:
        configure(cli, server.address)
        start(cli)
        worker = cli.start("work", "--flows")
        is_parked(cli)
        os.kill(server.pid, signal.SIGSTOP)
        said = stopped(worker)
        os.kill(server.pid, signal.SIGCONT)
    assert "left without waiting for it" in said
    assert worker.returncode == 130


def test_a_missing_namespace_is_named(cli: Cli, temporal_server: TemporalServer) -> None:
    configure(cli, temporal_server.address, ", namespace: elsewhere")
    start(cli)
    code, error = cli.refused("work", "--flows", "--once")
    assert (code, error["code"]) == (1, "scheduler")
    assert error["message"].endswith("has no namespace 'elsewhere'")
    place = f"--address {temporal_server.address} --namespace elsewhere"
    assert error["help"] == f"make it: `temporal operator namespace create {place}`"
    (check,) = scheduler_checks(cli)
    assert (check["status"], check["message"]) == ("failed", error["message"])
    assert status(cli) == "running"


@pytest.mark.torture
def test_missing_search_attributes_are_named(cli: Cli, tmp_path: Path) -> None:
    with temporal(tmp_path / "bare", bare=True) as server:
        configure(cli, server.address)
        start(cli)
        code, error = cli.refused("work", "--flows", "--once")
        assert (code, error["code"]) == (1, "scheduler")
        for name in ATTRIBUTES:
            assert name in error["message"]
        (check,) = scheduler_checks(cli)
        assert check["fix"] == error["help"]
        (typed,) = re.findall("`(.*)`", error["help"])
        assert server.typed(typed).returncode == 0
        assert cli("work", "--flows", "--once").code == 4
        assert status(cli) == "parked"


@pytest.mark.parametrize("words", [("work",), ("work", "--once"), ("work", "--flows", "--once")])
def test_a_worker_whose_scheduler_cannot_be_used_begins_nothing(
    cli: Cli, words: tuple[str, ...]
) -> None:
    cli.put("turns.json", '[{"text": "<promise>COMPLETE</promise>"}]')
    agents = "agents: {bot: {driver: scripted, script: turns.json}}"
    cli.configure(f"scheduler: {{kind: temporal, address: '127.0.0.1:9'}}\n{agents}\n")
    for git in ("init -q -b main", "add .", "-c user.name=A -c user.email=a@b.c commit -qm A"):
        subprocess.run(("git", *git.split()), cwd=cli.root, check=True)
    for added in (False, True):  # with nothing to do as well
        if added:
            cli.add("Wait")
        code, error = cli.refused(*words)
        assert (code, error["code"]) == (1, "scheduler-unreachable")
    assert cli.task("T-1")["state"] == "ready"


def test_whoever_may_not_use_the_server_is_told(cli: Cli) -> None:
    with refusing_server() as address:
        configure(cli, address)
        start(cli)
        code, error = cli.refused("work", "--flows", "--once")
        assert (code, error["code"]) == (1, "scheduler")
        assert error["message"].endswith("refuses this client in the namespace 'default'")
        (check,) = scheduler_checks(cli)
        assert (check["status"], check["message"]) == ("failed", error["message"])
    assert status(cli) == "running"


@pytest.mark.torture
def test_two_projects_do_not_share_a_task_queue(
    cli: Cli, tmp_path: Path, temporal_server: TemporalServer
) -> None:
    other = Cli(tmp_path / "other")
    for each in (cli, other):
        configure(each, temporal_server.address, ", task_queue: both")
        start(each)
    worker = cli.start("work", "--flows")
    is_parked(cli)
    code, error = other.refused("work", "--flows", "--once")
    assert (code, error["code"]) == (1, "scheduler")
    assert error["message"].startswith("the task queue 'both' has runs of another project")
    (check,) = scheduler_checks(other)
    assert (check["status"], check["message"]) == ("failed", error["message"])
    assert status(other) == "running"
    configure(other, temporal_server.address)
    assert other("work", "--flows", "--once").code == 4
    stopped(worker)
    other.close()


def test_a_scheduler_of_a_repository_that_is_not_trusted_is_not_asked(cli: Cli) -> None:
    cli.configure("scheduler: {kind: temporal, address: '127.0.0.1:9'}\n", trust=False)
    code, error = cli.refused("work", "--flows", "--once")
    assert (code, error["code"]) == (2, "untrusted")
    (check,) = scheduler_checks(cli)
    assert check["status"] == "skipped"


def test_an_unknown_scheduler_is_named(cli: Cli) -> None:
    _, error = cli.refused("work", "--flows", "--scheduler", "cron")
    assert error["message"] == "no scheduler is called 'cron'"
    assert "local, temporal" in error["help"]
    cli.configure("scheduler: {kind: cron}\n")
    assert cli("check").code == 0
    assert "no scheduler is called 'cron'" in cli("check").stdout


def test_a_key_that_is_not_set_is_named(cli: Cli) -> None:
    configure(cli, "127.0.0.1:9", ", api_key_env: TEMPORAL_KEY")
    start(cli)
    _, error = cli.refused("work", "--flows", "--once")
    assert error["message"] == "the variable TEMPORAL_KEY is not set"


def test_a_server_may_ask_for_a_certificate(
    cli: Cli, tmp_path: Path, temporal_server: TemporalServer
) -> None:
    known = Certificates(tmp_path / "certificates")
    cli.env |= {"CA": known.path("ca.pem"), "CERT": known.path("client.pem")}
    with tls_door(temporal_server.address, known) as address:
        configure(cli, address, ", ca_env: CA")
        start(cli)
        code, error = cli.refused("work", "--flows", "--once")
        assert (code, error["code"]) == (1, "scheduler-unreachable")
        cli.env["KEY"] = known.path("client.key")
        configure(cli, address, ", ca_env: CA, cert_env: CERT, key_env: KEY")
        assert cli("work", "--flows", "--once").code == 4
    assert status(cli) == "parked"
