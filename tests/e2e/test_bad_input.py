"""Whatever goes wrong: a clear error, the right exit code, nothing lost, no traceback."""

from __future__ import annotations

import json
import os
import resource
import signal
import sqlite3
import subprocess
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from tests.e2e.conftest import PROGRAM, Result, eventually
from tests.e2e.crash_rig import orphans

if TYPE_CHECKING:
    from tests.e2e.conftest import Cli

TEN_MEGABYTES = 10_000_000
A_LOT = 80_000_000  # more than is kept of it anywhere


def refusal(cli: Cli, *words: str | bytes, stdin: str = "") -> tuple[int, str]:
    """Exit code and error code of a command that must be refused."""
    code, error = cli.refused(*words, stdin=stdin)
    assert error["message"]
    return code, error["code"]


# What people type


@pytest.mark.parametrize(
    "words",
    [
        ("task", "show", "T-99"),
        ("task", "start", "T-99"),
        ("task", "complete", "no-such-thing"),
        ("task", "claim", "T-0"),
        ("task", "delete", "T-99999999999999999999999"),
        ("task", "add", "x", "--depends-on", "T-99"),
        ("task", "add", "x", "--parent", "T-99"),
        ("dep", "add", "T-1", "T-99"),
        ("dep", "list", "T-99"),
        ("events", "--task", "T-99"),
        ("emit", "mine", "--task", "T-99"),
    ],
)
def test_unknown_ids(cli: Cli, words: tuple[str, ...]) -> None:
    cli.add("one")
    before = cli.events()
    assert refusal(cli, *words) == (1, "unknown-task")
    assert cli.events() == before


@pytest.mark.parametrize(
    "words",
    [
        ("emit", "mine", "--data", "{not json"),
        ("emit", "mine", "--data", "[1, 2]"),
        ("emit", "mine", "--data", "{}{}"),
        ("emit", "mine", "--data", '{"a": 1e999999}'),
        ("emit", "mine", "--data", "[" * 100_000),
        ("emit", "bad type!"),
        ("emit", ""),
        ("task", "start", "T-1", "--context", "{not json"),
        ("task", "start", "T-1", "--at", "yesterday"),
        ("task", "claim", "T-1", "--lease", "soon"),
        ("task", "claim", "T-1", "--lease", "nan"),
        ("task", "claim", "T-1", "--lease", "0"),
        ("task", "add", "   "),
        ("task", "add", "x", "--priority", "-1"),
        ("task", "add", "x", "--priority", "9" * 30),
        ("task", "add", "--from", "no-such-file"),
        ("task", "update", "T-1"),
        ("events", "--since", "whenever"),
    ],
)
def test_values_that_make_no_sense(cli: Cli, words: tuple[str, ...]) -> None:
    cli.add("one")
    before = cli.events()
    assert refusal(cli, *words) == (2, "bad-input")
    assert cli.events() == before


def test_errors_for_people(cli: Cli) -> None:
    result = cli("task", "show", "T-99")
    assert (result.code, result.stdout) == (1, "")
    assert result.stderr.startswith("error[unknown-task]: ")
    assert "= help: " in result.stderr


def test_a_folder_that_is_no_project(cli: Cli) -> None:
    (cli.root / ".hookline").rmdir()
    assert refusal(cli, "task", "list") == (2, "no-project")
    assert refusal(cli, "task", "add", "x") == (2, "no-project")


def test_a_payload_of_10_megabytes(cli: Cli) -> None:
    cli.add("one")
    before = cli.events()
    large = json.dumps({"text": "x" * TEN_MEGABYTES})
    assert refusal(cli, "emit", "mine", "--data", "-", stdin=large) == (2, "bad-input")
    assert refusal(cli, "task", "add", "-", stdin="x" * TEN_MEGABYTES)[0] == 2
    assert refusal(cli, "task", "add", "x" * 100_000) == (2, "bad-input")
    assert cli.events() == before


def test_arguments_that_are_no_text(cli: Cli) -> None:
    cli.add("one")
    before = cli.events()
    assert refusal(cli, "task", "add", b"\xff\xfe goal") == (2, "bad-input")
    assert refusal(cli, "task", "add", "x", "--label", b"\x80") == (2, "bad-input")
    assert refusal(cli, "task", "complete", "T-1", "--result", b"\xc3\x28") == (2, "bad-input")
    assert refusal(cli, "emit", "mine", "--data", b'{"a": "\xff"}') == (2, "bad-input")
    assert refusal(cli, "emit", b"\xff") == (2, "bad-input")
    assert refusal(cli, "task", "show", b"\xff") == (1, "unknown-task")
    assert refusal(cli, "task", "claim", "T-1", "--agent", b"\xff") == (2, "bad-input")
    assert refusal(cli, "task", "block", "T-1", "--reason", b"\xff") == (2, "bad-input")
    for words in (("task", "release", "T-1"), ("task", "cancel", "T-1")):
        assert cli(*words, "--reason", b"\xff", "--json").code in (1, 2)
    for odd in (("task", "fail", "T-1", "--error", b"\xff"), (b"\xff",), ("task", b"\xff")):
        assert cli(*odd, "--json").code == 2
    assert cli.events() == before


def test_input_that_is_no_text(cli: Cli) -> None:
    cli.add("one")
    for words in (("emit", "mine", "--data", "-"), ("task", "add", "-")):
        done = subprocess.run(
            (*PROGRAM, *words, "--json"),
            cwd=cli.root,
            env=cli.env,
            input=b'{"goal": "\xff\xfe"}',
            capture_output=True,
        )
        assert (done.returncode, done.stdout) == (2, b"")
        assert json.loads(done.stderr)["error"]["code"] == "bad-input"


def test_control_characters_cannot_forge_a_line(cli: Cli) -> None:
    cli.add("harmless\x1b[2K\rT-9 completed\nerror: forged")
    for words in (("task", "list"), ("task", "show", "T-1"), ("task", "graph"), ("events",)):
        result = cli(*words)
        assert result.code == 0
        assert "\x1b" not in result.stdout
        assert "\r" not in result.stdout
        assert not any(line.startswith("error") for line in result.stdout.splitlines())


def test_surroundings_that_make_no_sense(cli: Cli) -> None:
    cli.add("one")
    odd = {
        "HOOKLINE_HOOK": "h",
        "HOOKLINE_DIR": str(cli.root / ".hookline"),
        "HOOKLINE_DEPTH": "many",
    }
    result = cli("task", "add", "x", "--json", env=odd)
    assert (result.code, result.error["code"]) == (2, "bad-input")
    assert len(cli.json("task", "list")) == 1


# What the machine does


def test_a_file_that_cannot_grow(cli: Cli) -> None:
    cli.add("one")
    before = cli.events()
    room = sum(path.stat().st_size for path in (cli.root / ".hookline").iterdir())
    done = subprocess.run(
        (*PROGRAM, "emit", "mine", "--data", "-", "--json"),
        cwd=cli.root,
        env=cli.env,
        input=json.dumps({"text": "x" * 900_000}).encode(),
        capture_output=True,
        # Writing past the limit fails as it does on a disk without room.
        preexec_fn=lambda: limit_files(room),
    )
    assert (done.returncode, done.stdout) == (1, b"")
    assert json.loads(done.stderr)["error"]["code"] in ("disk-full", "store")
    assert cli.events() == before
    cli.add("two")
    assert len(cli.json("task", "list")) == 2


def limit_files(size: int) -> None:
    """In the child: no file may grow beyond this."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


def with_mount(cli: Cli, options: str, *words: str, stdin: str = "") -> Result | None:
    """A command that sees `.hookline` under another mount; None where nobody may mount."""
    private = ("unshare", "--user", "--map-root-user", "--mount", "sh", "-c")
    if subprocess.run((*private, "mount -t tmpfs t /mnt"), capture_output=True).returncode:
        return None
    line = f'mkdir -p ../disk && {options} && cd . && "$@"'
    done = subprocess.run(
        (*private, line, "sh", *PROGRAM, *words, "--json"),
        cwd=cli.root,
        env=cli.env,
        input=stdin.encode(),
        capture_output=True,
    )
    return Result(done.returncode, done.stdout.decode(), done.stderr.decode())


def test_a_disk_without_room(cli: Cli) -> None:
    cli.add("one")
    before = cli.events()
    small = "mount -t tmpfs -o size=400k t ../disk && cp -a .hookline/. ../disk"
    result = with_mount(
        cli,
        f"{small} && mount --bind ../disk .hookline",
        *("emit", "mine", "--data", "-"),
        stdin=json.dumps({"text": "x" * 900_000}),
    )
    if result is not None:
        assert (result.code, result.stdout, result.error["code"]) == (1, "", "disk-full")
        assert "space" in result.error["help"]
    assert cli.events() == before


def test_a_disk_that_is_read_only(cli: Cli) -> None:
    cli.add("one")
    before = cli.events()
    frozen = "mount --bind .hookline .hookline && mount -o remount,bind,ro .hookline"
    result = with_mount(cli, frozen, "task", "add", "two")
    if result is not None:
        assert (result.code, result.stdout, result.error["code"]) == (1, "", "read-only")
        listed = with_mount(cli, frozen, "task", "list")
        assert listed is not None
        assert [task["goal"] for task in listed.json] == ["one"]
    assert cli.events() == before


def test_a_store_that_is_a_folder(cli: Cli) -> None:
    cli.add("one")
    cli.database.unlink()
    cli.database.mkdir()
    for words in (("task", "add", "two"), ("task", "list")):
        code, error = cli.refused(*words)
        assert code == 1
        assert error["code"] in ("read-only", "store")


def test_a_project_folder_that_is_a_file(cli: Cli) -> None:
    (cli.root / ".hookline").rmdir()
    cli.put("hookline.yaml", "version: 1\n")
    cli.put(".hookline", "a file")
    assert refusal(cli, "task", "add", "one")[0] == 1


def test_a_file_that_is_no_database(cli: Cli) -> None:
    content = b"not a database, only text " * 100
    cli.add("one")
    cli.database.write_bytes(content)
    for words in (("task", "add", "one"), ("task", "list"), ("events",)):
        code, error = cli.refused(*words)
        assert (code, error["code"]) == (1, "store-corrupt")
    assert cli.database.read_bytes() == content


def test_an_empty_file_is_no_store(cli: Cli) -> None:
    cli.add("one")
    cli.database.write_bytes(b"")
    for words in (("task", "add", "two"), ("task", "list")):
        code, error = cli.refused(*words)
        assert (code, error["code"]) == (1, "store-corrupt")
        assert "is empty" in error["message"]
    assert cli.database.read_bytes() == b""


def test_a_store_of_somebody_else_is_not_written_to(cli: Cli) -> None:
    cli.add("one")
    with closing(sqlite3.connect(cli.database)) as connection:
        connection.execute("PRAGMA journal_mode = DELETE")
    content = cli.database.read_bytes()
    cli.env["HOOKLINE_HOME"] = str(cli.home.parent / "home of another")
    assert refusal(cli, "task", "add", "two") == (2, "untrusted")
    assert cli.database.read_bytes() == content


def test_a_damaged_database(cli: Cli) -> None:
    for number in range(40):
        cli.json("emit", "filler", "--data", json.dumps({"n": number, "text": "x" * 2000}))
    size = cli.database.stat().st_size
    damaged = bytearray(cli.database.read_bytes())
    for offset in range(4096, size, 4096):
        damaged[offset : offset + 200] = os.urandom(200)
    cli.database.write_bytes(damaged)
    for words in (("task", "add", "one"), ("events", "--all")):
        code, error = cli.refused(*words)
        assert (code, error["code"]) == (1, "store-corrupt")
        assert "doctor" in error["help"]
    result = cli("doctor", "--json")
    assert result.code == 1
    assert not result.json["ok"]


def test_a_store_of_a_newer_version(cli: Cli) -> None:
    cli.add("one")
    ((current,),) = cli.rows("PRAGMA user_version")
    set_version(cli, 99)
    for words in (("task", "add", "two"), ("task", "list"), ("events",)):
        code, error = cli.refused(*words)
        assert (code, error["code"]) == (1, "newer-store")
        assert "upgrade" in error["help"]
    set_version(cli, current)
    assert [task["goal"] for task in cli.json("task", "list")] == ["one"]


def set_version(cli: Cli, version: int) -> None:
    with closing(sqlite3.connect(cli.database)) as connection:
        connection.execute(f"PRAGMA user_version = {version}")


def test_a_database_without_a_schema_is_no_store(cli: Cli) -> None:
    with closing(sqlite3.connect(cli.database)) as connection:
        connection.execute("VACUUM")
    for words in (("task", "add", "one"), ("task", "list")):
        assert cli.refused(*words)[1]["code"] == "store-corrupt"


# Signals and pipes


def test_an_interrupt_ends_with_130(cli: Cli) -> None:
    cli.add("one")
    follower = cli.start("events", "--follow", "--since", "0", "--json")
    assert follower.stdout is not None
    follower.stdout.readline()
    follower.send_signal(signal.SIGINT)
    _, stderr = follower.communicate()
    assert follower.returncode == 130
    assert "Traceback" not in stderr


def test_an_interrupt_during_a_hook_ends_with_130_and_keeps_the_change(cli: Cli) -> None:
    cli.configure(
        "hooks:\n  task_created:\n"
        "    - {name: slow, command: 'touch begun; test -e go || exec sleep 300'}\n"
    )
    writer = cli.start("task", "add", "one", "--json")
    eventually((cli.root / "begun").exists, "the start of the hook")
    writer.send_signal(signal.SIGINT)
    stdout, stderr = writer.communicate()
    assert writer.returncode == 130
    assert json.loads(stdout)["id"] == "T-1"
    assert "Traceback" not in stderr
    assert orphans(cli.root) == []
    (cli.root / "go").touch()
    cli.json("emit", "anything", quiet=False)
    assert cli.rows("SELECT * FROM dispatches") == []


@pytest.mark.parametrize("words", ["events --all", "events --all --json", "task list", "points"])
def test_a_reader_that_goes_away(cli: Cli, words: str) -> None:
    tasks = "".join(f"- [ ] task {number} {'x' * 200}\n" for number in range(500))
    cli.json("task", "add", "-", stdin=tasks)
    line = f"{' '.join(PROGRAM)} {words} | head -c 10"
    done = subprocess.run(
        ("sh", "-c", line), cwd=cli.root, env=cli.env, capture_output=True, timeout=60
    )
    assert len(done.stdout) == 10
    assert done.stderr == b""


def test_a_closed_stdout(cli: Cli) -> None:
    line = f"{' '.join(PROGRAM)} task add one >&-"
    done = subprocess.run(
        ("sh", "-c", line), cwd=cli.root, env=cli.env, capture_output=True, timeout=60
    )
    assert b"Traceback" not in done.stderr
    assert [task["goal"] for task in cli.json("task", "list")] == ["one"]


# What hooks do


def test_a_hook_that_prints_without_end(cli: Cli) -> None:
    cli.configure(
        "hooks:\n  task_created:\n"
        f"    - {{name: loud, command: 'head -c {A_LOT} /dev/zero | tr \"\\\\0\" y'}}\n"
    )
    cli.add("one")
    ((status, kept),) = cli.calls("loud", "status, length(stdout)")
    assert status == "ok"
    assert kept < 100_000


def test_a_hook_that_prints_bytes(cli: Cli) -> None:
    # The first byte is not one that JSON could begin with.
    line = "printf x; head -c 5000 /dev/urandom"
    cli.configure(f"hooks:\n  task_created:\n    - {{name: raw, command: '{line}'}}\n")
    cli.add("one")
    assert cli.calls("raw") == ["ok"]
    assert cli("why", "1").code == 0
