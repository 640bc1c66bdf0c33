"""Secrets in what goes wrong outside: a server that speaks no HTTP, git, an agent's program."""

from __future__ import annotations

import socketserver
import subprocess
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

from tests.e2e.gate_rig import Repo

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.e2e.conftest import Cli

SECRET = "hunter2-plain-secret"
GONE = "[redacted MY_TOKEN]"


@contextmanager
def saying(line: bytes) -> Iterator[str]:
    """A server that reads a request and answers with that, whatever it is."""

    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            while self.rfile.readline().strip():
                pass
            self.wfile.write(line)

    with socketserver.TCPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}/"
        server.shutdown()
        thread.join()


def test_an_answer_that_is_no_http(cli: Cli) -> None:
    cli.env["MY_TOKEN"] = SECRET
    with saying(f"HTTQ/1.1 {SECRET} garbage\r\n\r\n".encode()) as address:
        cli.configure(f"hooks: {{task_created: [{{name: a, http: '{address}'}}]}}\n")
        done = cli("task", "add", "one")
    assert f"HTTQ/1.1 {GONE} garbage" in done.stderr
    for said in (done.stderr, cli("hook", "log").stdout, cli("attention").stdout):
        assert SECRET not in said


def test_what_git_says_to_the_doctor(cli: Cli) -> None:
    cli.env["MY_TOKEN"] = SECRET
    subprocess.run(("git", "init", "--quiet"), cwd=cli.root, env=cli.env, check=True)
    with open(cli.root / ".git" / "config", "a", encoding="utf-8") as config:
        config.write(f"[core]\nfilemode = {SECRET}\n")
    told = cli("doctor").stdout
    assert f"bad boolean config value '{GONE}'" in " ".join(told.split())
    assert SECRET not in told


def test_what_git_says_about_a_remote(cli: Cli) -> None:
    cli.env["MY_TOKEN"] = SECRET
    repo = Repo(cli)
    repo.begin("gates: {forge: local, remote: far}\n")
    repo.git("remote", "add", "far", f"{cli.root}/{SECRET}")
    told = cli("check", "--forge").stdout + cli("doctor").stdout
    assert GONE in told
    assert SECRET not in told
