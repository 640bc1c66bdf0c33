"""No control character of somebody else's text reaches a terminal, and no colour code a record."""

from __future__ import annotations

import io
import json
import re
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import TYPE_CHECKING

import pytest

from hookline.domain.text.display import visible
from hookline.surfaces.cli.output import note, paint, say
from tests.e2e.mcp_rig import Agent
from tests.e2e.session_rig import Rig

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.e2e.conftest import Cli

# Clears the screen, sets the title, goes back over a line, turns the text around.
HOSTILE = "a\x1b[2Jb\x1b]0;title\x07c\rd\x08e\u202ef\x9b31mg\x00h"
CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
PAINTED = "printf '\\033[1;31mFAILED\\033[0m test_x\\n'"


class Screen(io.StringIO):
    """A stream that shows colour."""

    def isatty(self) -> bool:
        return True


class Hostile(BaseHTTPRequestHandler):
    """Answers with an error that tries to speak to the terminal."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        self.send_response(500)
        self.end_headers()
        self.wfile.write(HOSTILE.encode())

    def log_message(self, *details: object) -> None:
        """Nothing."""


@pytest.fixture
def address() -> Iterator[str]:
    with HTTPServer(("127.0.0.1", 0), Hostile) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()
        thread.join()


def test_hooks_servers_names_and_arguments_say_nothing_to_a_terminal(
    cli: Cli, address: str
) -> None:
    cli.put("hostile.txt", HOSTILE)
    word = HOSTILE.replace("\x00", "")
    cli.put("goals.jsonl", json.dumps({"goal": word}) + "\n")
    cli.configure(
        f"""
hooks:
  task_created:
    - {{name: loud, command: "cat hostile.txt; cat hostile.txt >&2; exit 3"}}
    - {{name: server, http: "{address}"}}
    - {{name: absent, command: "./no\\u001b]0;x\\u0007where"}}
"""
    )
    shown = [
        cli("task", "add", "--from", "goals.jsonl"),
        cli("task", "add", word),
        cli("task", "list"),
        cli("task", "show", "T-1"),
        cli("task", "show", word),
        cli(word),
        cli("task", word),
        cli("events", "--all"),
        cli("why", "T-1"),
        cli("hook", "log"),
        cli("doctor"),
        cli("attention"),
    ]
    for done in shown:
        assert CONTROLS.findall(done.stdout + done.stderr) == []
    assert "hook server" in shown[0].stderr


def test_colour_codes_stay_out_of_records_prompts_and_answers(cli: Cli) -> None:
    rig = Rig(cli)
    rig.turns(PAINTED)
    answer = json.dumps({"text": "\x1b[32mgreen\x1b[0m text"})
    cli.put("answer.json", answer)
    rig.configure(
        {
            "pre_iteration": [
                {"name": "shell", "command": PAINTED, "pipe_output": True},
                {"name": "json", "command": "cat answer.json", "pipe_output": True},
            ]
        },
        validation=[{"name": "tests", "type": "command", "command": f"{PAINTED}; exit 1"}],
    )
    rig.run(iterations=2)
    told = [prompt.text for prompt in rig.prompts()]
    assert not [text for text in told if "\x1b" in text]
    assert "FAILED test_x" in told[0]
    assert "green text" in told[0]
    assert "FAILED test_x" in told[1]
    kept = [path for path in (cli.root / ".hookline").rglob("*") if path.is_file()]
    assert not [path for path in kept if b"\x1b[" in path.read_bytes()]
    (answer,) = set(cli.calls("json", "answer"))
    assert json.loads(answer) == {"text": "green text"}


def test_what_is_typed_is_kept_and_told_without_colour_codes_and_control_characters(
    cli: Cli,
) -> None:
    rig = Rig(cli)
    rig.configure({})
    odd = "\x1b[31mred\x1b[0m\tb\x08\nc\rd\x9b1me"
    plain = "red\tb\ncde"
    cli.put("goals.jsonl", json.dumps({"goal": odd}) + "\n")
    value = json.dumps({"\x1bkey": odd})
    for words in (
        ("task", "add", odd),
        ("task", "add", "--from", "goals.jsonl"),
        ("task", "add", "\x1b[1mhi"),
        ("note", "add", odd, "--task", "T-1"),
        ("note", "add", "--task", "T-1", "-"),
        ("emit", "deploy_done", "--data", value),
    ):
        stdin = odd if words[-1] == "-" else ""
        assert cli(*words, stdin=stdin).code == 0, words
    assert [cli.task(f"T-{n}")["goal"] for n in (1, 2, 3)] == [plain, plain, "hi"]
    assert [note["text"] for note in cli.json("note", "list")] == [plain] * 2
    (event,) = cli.events("deploy_done")
    assert event["data"] == {"\x1bkey": plain}
    assert cli("run", odd, "--name", "s", "--iterations", "1", "--agent", "bot").code == 5
    assert cli("session", "message", "s", odd).code == 0
    assert cli("run", "--resume", "--name", "s", "--iterations", "2").code == 5
    told = rig.prompts()
    assert [each.text.count("red\tb\n  cde") for each in told] == [1, 2]  # a goal, a message
    assert not [each for each in told if CONTROLS.search(each.text)]
    kept = [path for path in (cli.root / ".hookline").rglob("*") if path.is_file()]
    raw = (b"\x1b[31m", b"u001b[31m", "\x9b".encode())
    assert not [path for path in kept for code in raw if code in path.read_bytes()]


def test_what_an_agent_passes_to_a_tool_is_kept_without_control_characters(cli: Cli) -> None:
    cli.configure("")
    with Agent.in_process(cli) as agent:
        agent("task_create", goal="\x1b[31mred\x1b[0m\tb\x08\nc\rd")
    assert cli.task("T-1")["goal"] == "red\tb\ncd"


def test_what_is_printed_is_spelled_out_but_for_our_own_colours(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    say(HOSTILE)
    note(f"{paint('red', 'red', Screen())} \x1b[31m{HOSTILE}\n\ttab")
    out, err = capsys.readouterr()
    spelled = r"a\x1b[2Jb\x1b]0;title\x07c\x0dd\x08e\u202ef\x9b31mg\x00h"
    assert out == f"{spelled}\n"
    assert err == f"\x1b[31mred\x1b[0m \\x1b[31m{spelled}\n\ttab\n"
    assert visible("\x1b[31m") == r"\x1b[31m"
