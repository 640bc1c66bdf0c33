"""The files in `deploy/`: each passes its own linter, and what is around a worker works."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.e2e.conftest import PROGRAM, Cli, eventually
from tests.postgres_server import new_project

if TYPE_CHECKING:
    from tests.postgres_server import PostgresServer

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
HOST = (sys.executable, str(DEPLOY / "hookline-host"))
BESIDE = Path(sys.executable).parent
GIVEN = ("HOOKLINE_REPOSITORY", "HOOKLINE_TRUST", "POSTGRES_PASSWORD", "HOOKLINE_URL")


def lint(*command: str | Path, **env: str) -> str:
    done = subprocess.run(
        command, capture_output=True, text=True, env={**os.environ, **env}, cwd=DEPLOY
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_dockerfile_passes_hadolint() -> None:
    lint(BESIDE / "hadolint", "Dockerfile")


def test_kubernetes_knows_every_key() -> None:
    files = sorted((DEPLOY / "kubernetes").glob("*.yaml"))
    assert len(files) == 3
    lint(BESIDE / "kubernetes-validate", "--strict", *files)


@pytest.mark.skipif(not shutil.which("docker-compose"), reason="needs docker-compose")
def test_compose_understands_its_file() -> None:
    env = dict.fromkeys(GIVEN, "x")
    shown = lint("docker-compose", "--profile", "temporal", "config", "--services", **env)
    workers = {"worker-1", "worker-2"}
    assert {*shown.split()} == {"db", "page", "temporal", "temporal-attributes", *workers}


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="needs systemd")
def test_systemd_understands_its_units(tmp_path: Path) -> None:
    # It looks for the programs, which are installed elsewhere here.
    for unit in (DEPLOY / "systemd").glob("*.service"):
        text = unit.read_text().replace("/opt/hookline/bin/", "/bin/true ")
        (tmp_path / unit.name).write_text(text)
    units = sorted(tmp_path.glob("*.service"))
    assert len(units) == 2
    lint("systemd-analyze", "verify", *units)


def test_the_lock_of_the_image_has_every_extra() -> None:
    text = (DEPLOY / "requirements.lock").read_text()
    for name in ("msgspec", "psycopg", "temporalio", "hatchling"):
        assert f"\n{name}==" in f"\n{text}"
    assert "\npytest==" not in text


# What is around a worker


@pytest.fixture
def host(cli: Cli, postgres: PostgresServer) -> Cli:
    """A project on a server, in which one run takes its time."""
    cli.env["HOOKLINE_STORE"] = new_project(postgres)
    cli.env |= {"HOOKLINE_HOST": "worker-1", "HOOKLINE_PROGRAM": " ".join(PROGRAM)}
    cli.configure(
        "flows: {slow: {steps: [{id: wait, run: 'while test ! -e over; do sleep 0.1; done'}]}}\n"
    )
    return cli


def ask(cli: Cli, word: str) -> int:
    done = subprocess.run((*HOST, word), cwd=cli.root, env=cli.env, capture_output=True)
    return done.returncode


def own_runs(cli: Cli) -> list[str]:
    return [run["runId"] for host in cli.json("hosts") for run in host["runs"]]


def test_a_host_is_drained_before_its_worker_ends(host: Cli) -> None:
    assert host("flow", "start", "slow", "--detach").code == 0
    host("hosts", "drain", "worker-1")
    worker = subprocess.Popen((*HOST, "work", "--flows"), cwd=host.root, env=host.env)
    try:
        eventually(lambda: own_runs(host) == ["R-1"], "the run")
        assert ask(host, "alive") == 0
        draining = subprocess.Popen((*HOST, "drain"), cwd=host.root, env=host.env)
        drained = lambda: [each["status"] for each in host.json("hosts")] == ["drained"]  # noqa: E731
        eventually(drained, "the order")
        assert draining.poll() is None
        assert ask(host, "alive") == 0
        (host.root / "over").touch()
        assert draining.wait() == 0
        assert host.json("flow", "status", "R-1")["status"] == "completed"
        worker.send_signal(signal.SIGTERM)
        assert worker.wait() == 130
        assert ask(host, "alive") == 1
    finally:
        worker.kill()
        worker.wait()


def test_a_store_that_is_away_is_no_reason_to_end_a_worker(host: Cli) -> None:
    host.env["HOOKLINE_STORE"] = "postgresql://hookline@127.0.0.1:9/x?project=x&wait=0"
    assert ask(host, "alive") == 0


def test_a_clone_that_was_killed_is_made_again(tmp_path: Path) -> None:
    source, place, box = (tmp_path / name for name in ("source", "place", "box"))
    for folder in (source, place, box):
        folder.mkdir()
    (source / "readme").write_text("hello\n")
    who = ("-c", "user.name=ada", "-c", "user.email=ada@example.org")
    for words in (("init", "-q"), ("add", "."), (*who, "commit", "-qm", "begin")):
        subprocess.run(("git", *words), cwd=source, check=True)
    # As far as git comes at first, and what it is in when all of it is killed.
    killed = box / "git"
    killed.write_text('#!/bin/sh\nfor place; do :; done\nmkdir -p "$place/.git"\nkill -9 $PPID\n')
    killed.chmod(0o755)
    env = {**os.environ, "HOOKLINE_HOST": "worker-1", "HOOKLINE_PROGRAM": "true"}
    env["HOOKLINE_REPOSITORY"] = str(source)
    path = f"{box}{os.pathsep}{env['PATH']}"
    first = subprocess.run((*HOST, "work"), cwd=place, env={**env, "PATH": path})
    assert first.returncode == -signal.SIGKILL
    subprocess.run((*HOST, "work"), cwd=place, env=env, check=True)
    (place / ".git" / "index").rename(place / ".git" / "index.lock")
    (place / "readme").unlink()
    subprocess.run((*HOST, "work"), cwd=place, env=env, check=True)
    assert (place / "readme").read_text() == "hello\n"
    assert not (place / ".git" / "index.lock").exists()


@pytest.mark.parametrize("name", ["HOOKLINE_HOST", "PATH"])
def test_what_is_missing_is_said_before_anything_is_cloned(tmp_path: Path, name: str) -> None:
    env = {"HOOKLINE_HOST": "worker-1", "PATH": str(BESIDE), "HOOKLINE_REPOSITORY": "/nowhere"}
    env[name] = ""
    done = subprocess.run((*HOST, "work"), cwd=tmp_path, env=env, capture_output=True, text=True)
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert line.startswith("hookline-host: ")
    assert name in line


def test_each_unit_finds_hookline_and_each_project_may_have_its_port() -> None:
    for unit in (DEPLOY / "systemd").glob("*.service"):
        text = unit.read_text()
        # systemd's own PATH has no virtual environment, and `hookline-host` calls `hookline`.
        assert "\nEnvironment=PATH=/opt/hookline/bin:" in text
        assert "--port 8787" not in text
