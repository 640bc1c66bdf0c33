"""`hookline session ...`: sessions seen and steered from another process, and their report."""

from __future__ import annotations

import json
import re
import subprocess
from html.parser import HTMLParser
from typing import TYPE_CHECKING, Any

import pytest

from tests.e2e.conftest import eventually, kill
from tests.e2e.report_file import ReportFile
from tests.e2e.session_rig import HOOKLINE, a_person
from tests.e2e.terminal_rig import PROMISE, prepare

if TYPE_CHECKING:
    from tests.e2e.conftest import Cli

# What an agent cannot do unless it hides who it is.
HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(2)>"


def in_background(cli: Cli, *args: str) -> subprocess.Popen[str]:
    """A session beside the test, its agent at work."""
    process = cli.start("run", "do it", "--name", "one", *args)
    eventually((cli.root / "working.1").exists, "the first turn")
    return process


def show(cli: Cli, name: str = "one") -> dict[str, Any]:
    """A session as it stands."""
    found: dict[str, Any] = cli.json("session", "show", name)
    return found


# Looking


def test_a_list_of_sessions(cli: Cli) -> None:
    assert cli("session", "list").stdout.startswith("no sessions; ")
    prepare(cli)
    process = in_background(cli)
    (found,) = cli.json("session", "list")
    assert found["createdAt"] is not None
    del found["createdAt"]
    assert found == {
        "runId": "R-1",
        "name": "one",
        "status": "running",
        "pid": process.pid,
        "goal": "do it",
        "taskId": "T-1",
        "agent": "bot",
        "iteration": 1,
    }
    cli.put("go", "")
    assert process.wait(timeout=60) == 0
    line = cli("session", "list").stdout
    assert line.startswith("one  completed  R-1  iteration 1  bot  ")
    assert line.endswith("  do it  (UNPROVEN: only its agent says so)\n")


def test_what_one_session_did(cli: Cli) -> None:
    more = """\
validation: [{name: there, type: file_existence, files: [gone]}]
hooks: {post_iteration: [{name: look, command: "printf 'a\\\\nb'", pipe_output: true}]}
"""
    prepare(cli, more, say="no\n")
    process = in_background(cli)
    cli.json("session", "stop", "one")
    cli.put("go", "")
    assert process.wait(timeout=60) == 130
    code, error = cli.refused("run", "--resume", "--iterations", "1")
    assert (code, error["message"]) == (2, "one has reached its limit: 1 of 1 iterations used")
    found = show(cli)
    assert (found["status"], found["reason"]) == ("stopped", "a person stopped it")
    assert [each["decision"] for each in found["history"]] == ["continue"]
    assert found["countdown"][0] == {"name": "iterations", "used": 1, "allowed": 20}
    (held,) = found["held"]
    assert (held["point"], held["hook"]) == ("post_iteration", "look")
    assert (held["text"], held["bytes"]) == ("a\nb", 3)
    told = cli("session", "show", "R-1").stdout.splitlines()
    assert "  · iteration 1  continue by checked: 1 of 1 validation rule fails:" in "\n".join(told)
    assert told[-3:] == [
        "  held      post_iteration look  3 B, for the next prompt",
        "    │ a",
        "    │ b",
    ]


def test_a_session_that_is_not_there(cli: Cli) -> None:
    prepare(cli, go=True)
    assert cli("run", "do it", "--name", "painting").code == 0
    code, error = cli.refused("session", "show", "paintng")
    assert (code, error["code"]) == (1, "unknown-session")
    assert error["message"] == "there is no session 'paintng'; did you mean 'painting'?"


# Steering


def test_stop_waits_for_the_turn_or_not(cli: Cli) -> None:
    prepare(cli, say="no\n")
    process = in_background(cli)
    told = cli("session", "stop", "one")
    assert told.stdout == "one stops after this turn\n"
    assert (show(cli)["status"], show(cli)["wants"]) == ("running", "stop")
    assert "  asked     to stop\n" in cli("session", "show", "one").stdout
    sent = cli.json("session", "stop", "one", "--now")
    assert sent == {"runId": "R-1", "name": "one", "verb": "stop", "status": "running"}
    assert process.wait(timeout=60) == 130
    assert (show(cli)["history"][0]["status"], show(cli)["wants"]) == ("failed", None)
    code, error = cli.refused("session", "stop", "one")
    assert (code, error["message"]) == (1, "one is stopped: there is nothing to stop")


def test_pause_and_go_on(cli: Cli) -> None:
    prepare(cli, 'hooks: {session_end: [{name: bye, command: "touch bye"}]}\n', say="no\n")
    process = in_background(cli)
    assert cli("session", "pause", "one").stdout == "one pauses after this iteration\n"
    cli.put("go", "")
    _, stderr = process.communicate(timeout=60)
    assert process.returncode == 0
    assert stderr.endswith("one is paused\nresume it with `hookline run --resume --name one`\n")
    assert not (cli.root / "bye").exists()
    assert show(cli)["status"] == "paused"
    assert cli.json("flow", "status", "R-1")["reason"] == "waits for you to resume it"
    assert cli("attention").code == 0
    cli.put("say", PROMISE)
    done = cli("session", "resume", "one", "--json")
    assert done.code == 0
    assert json.loads(done.stdout.splitlines()[-1])["data"]["iterations"] == 2
    code, error = cli.refused("session", "pause", "one")
    assert (code, error["message"]) == (1, "one (R-1) is completed")


def test_a_session_that_rests_on_its_last_iteration_does_not_go_past_its_limit(cli: Cli) -> None:
    prepare(cli, say="no\n")
    process = in_background(cli, "--iterations", "1")
    cli.json("session", "pause", "one")
    cli.put("go", "")
    assert process.wait(timeout=60) == 5
    code, error = cli.refused("session", "stop", "one")
    assert (code, error["message"]) == (1, "one has reached a limit: there is nothing to stop")
    assert "`hookline run --resume --name one --iterations 2`" in error["help"]
    told = cli("session", "message", "one", "mind the gap").stdout
    assert told == "one gets it at the start of the next iteration, once it is resumed\n"
    assert show(cli)["messages"] == ["mind the gap"]
    assert cli("session", "show", "one").stdout.splitlines()[-2:] == [
        "  message   a person  12 B, for the next prompt",
        "    │ mind the gap",
    ]


def test_messages_to_a_session_that_is_done_are_heard_before_its_end(cli: Cli) -> None:
    prepare(cli)
    with a_person(cli) as person:
        say = f'{person} {HOOKLINE} session message one "words $n"; cat say'
        cli.put("agent.sh", f"n=$(ls heard.* | wc -l); cat > heard.$n; {say}\n")
        cli.json("trust", "--yes")
        done = cli("run", "do it", "--name", "one")
    assert done.code == 0
    assert "# A person says\n\n- words 0\n" in (cli.root / "heard.1").read_text()
    assert "# A person says\n\n- words 1\n" in (cli.root / "heard.2").read_text()
    assert not (cli.root / "heard.3").exists()
    assert "\n1 message was not delivered\n" in done.stderr


@pytest.mark.parametrize(
    ("turn", "code", "advice"),
    [
        (
            "sh -c 'echo \"# edited\" >> hookline.yaml'",
            4,
            ["`hookline trust`", "`hookline run --resume "],
        ),
        (f"{HOOKLINE} task cancel T-1", 130, []),
    ],
)
def test_what_to_type_when_a_session_cannot_go_on(
    cli: Cli, turn: str, code: int, advice: list[str]
) -> None:
    prepare(cli)
    with a_person(cli) as person:
        cli.put("agent.sh", f"{person} {turn}\n")
        cli.json("trust", "--yes")
        done = cli("run", "do it", "--name", "one")
    assert done.code == code, done.stderr
    assert [words for words in advice if words in done.stderr.splitlines()[-1]] == advice
    assert ("--resume" in done.stderr) == bool(advice)


def test_a_message_reaches_the_next_prompt(cli: Cli) -> None:
    prepare(cli, say="no\n")
    process = in_background(cli, "--iterations", "2")
    cli.json("session", "message", "one", "mind the gap")
    cli("session", "message", "one", "-", "--json", stdin="and the <step>\n")
    cli.put("go", "")
    assert process.wait(timeout=60) == 5
    assert "mind the gap" not in (cli.root / "prompt.1").read_text()
    second = (cli.root / "prompt.2").read_text()
    assert "- mind the gap\n- and the <step>\n" in second
    for text in ("", "   ", "x" * 40_000):
        code, error = cli.refused("session", "message", "one", text)
        assert (code, error["code"]) == (2, "bad-input")


def test_agents_do_not_speak_for_people(cli: Cli) -> None:
    prepare(cli, go=True, say="no\n")
    assert cli("run", "do it", "--name", "one", "--iterations", "1").code == 5
    inside = {"HOOKLINE_AGENT": "bot", "HOOKLINE_SESSION": "one"}
    for line in (["stop", "one"], ["pause", "one"], ["resume", "one"], ["message", "one", "hi"]):
        code, error = cli.refused("session", *line, env=inside)
        assert (code, error["code"]) == (4, "people-only")


# What waits for a person


def test_an_escalated_session_is_one_thing_to_see_to(cli: Cli) -> None:
    prepare(cli, go=True, say="<promise>BLOCKED</promise>\n")
    done = cli("run", "do it", "--name", "one")
    assert done.code == 4
    assert "T-1 is blocked" in done.stderr
    (item,) = cli("attention", "--json").json
    assert (item["kind"], item["id"]) == ("session", "one")
    answer = 'hookline session message one "YOUR ANSWER"'
    assert item["command"] == f"{answer} && hookline run --resume --name one"
    assert item["since"] is not None
    cli.put("say", PROMISE)
    assert cli("run", "--resume").code == 0
    assert cli("attention", "--json").json == []


def test_a_limit_and_a_killed_process_wait_for_a_person(cli: Cli) -> None:
    prepare(cli, go=True, say="no\n")
    assert cli("run", "do it", "--name", "spent", "--iterations", "1").code == 5
    (cli.root / "go").unlink()
    (cli.root / "working.1").unlink()
    kill(in_background(cli))
    items = {item["id"]: item for item in cli("attention", "--json").json}
    assert items.keys() == {"spent", "one"}
    assert items["spent"]["command"] == "hookline run --resume --name spent --iterations 2"
    assert items["spent"]["message"] == "It reached a limit: 1 of 1 iterations used."
    assert items["one"]["message"] == "Its process is gone."
    newest, oldest = cli("session", "list").stdout.splitlines()
    age = r"bot  [0-9.]+s ago  do it"
    assert re.fullmatch(rf"one    killed  R-2  iteration 1  {age}", newest)
    assert re.fullmatch(
        rf"spent  limit   R-1  iteration 1  {age}  \(1 of 1 iterations used\)", oldest
    )


# The report


class Page(HTMLParser):
    """The tags and the text of a page; every tag must be closed."""

    VOID = frozenset({"meta", "br"})

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.open: list[str] = []
        self.text = ""
        self.pre: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert not any(name.startswith("on") or name == "src" for name, _ in attrs)
        # Links lead to other places of the page, and nowhere else.
        assert all((value or "").startswith("#") for name, value in attrs if name == "href")
        self.tags.append(tag)
        if tag not in self.VOID:
            self.open.append(tag)
        if tag == "pre":
            self.pre.append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data
        if self.open[-1:] == ["pre"]:
            self.pre[-1] += data


def test_the_report_tells_the_whole_story(cli: Cli) -> None:
    more = f"""\
validation: [{{name: there, type: command, command: "test -e gone"}}]
session: {{iterations: 2}}
hooks:
  session_start: [{{name: hello, command: "echo '{HOSTILE}'", pipe_output: true}}]
  post_iteration:
    - {{name: skipped, command: "true", when: "iteration > 5"}}
    - {{name: broken, command: "no-such-program"}}
"""
    prepare(cli, more, go=True, say=f"{HOSTILE}\n\x1b[31mred\x1b[0m\n")
    assert cli("run", HOSTILE, "--name", "one").code == 5
    cli("note", "add", HOSTILE, "--task", "T-1", "--kind", "tip", "--json")
    cli("task", "add", "a smaller step", "--parent", "T-1", "--json")
    told = cli("session", "report", "one")
    assert told.stdout == ".hookline/reports/R-1.html\n"
    text = (cli.root / ".hookline/reports/R-1.html").read_text("utf-8")
    page = ReportFile(text)
    assert "\x1b" not in text
    for prompt in ("prompt.1", "prompt.2"):
        assert (cli.root / prompt).read_text() in page.text
    session = page.session
    known = session["page"]["known"]
    assert (known["goal"], known["status"], known["limit"]) == (HOSTILE, "limit", "iterations")
    assert [each["page"]["iteration"] for each in session["story"]] == [1, 2]
    assert [row["decision"] for row in session["page"]["iterations"]] == ["continue", "continue"]
    assert page.calls("hello")[0]["point"] == "session_start"
    (skipped, *_) = page.calls("skipped")
    assert (skipped["status"], skipped["condition"]) == ("skipped", "iteration > 5")
    for expected in (
        "2 of 2 iterations used",
        "a program was not found",
        "red",
        "a smaller step",
        "tip",
        "test -e gone",
    ):
        assert expected in page.text, expected
    assert cli("session", "report", "one", "-o", "-").stdout.startswith("<!doctype html>")
    made = cli.json("session", "report", "R-1", "-o", "mine.html")
    assert made == {"runId": "R-1", "file": str(cli.root / "mine.html")}
    code, error = cli.refused("session", "report", "one", "-o", ".hookline")
    assert (code, error["code"]) == (2, "bad-input")
    assert error["message"] == "cannot write .hookline: it is a folder"
    assert error["help"] == "name a file in it, such as .hookline/R-1.html"
    code, error = cli.refused("session", "report", "one", "-o", "not there/x.html")
    assert error["message"] == "cannot write not there/x.html: there is no folder not there"
    assert error["help"] == "make it first: `mkdir -p 'not there'`"
    assert not (cli.root / "not there").exists()
    long = "x" * 300
    code, error = cli.refused("session", "report", "one", "-o", long)
    assert error["message"] == f"cannot write {long}: File name too long"


def test_the_report_keeps_the_proof(cli: Cli) -> None:
    more = """\
validation: [{name: there, type: command, command: "test -e made"}]
hooks: {stop: [evidence]}
"""
    prepare(cli, more, go=True)
    cli.put("agent.sh", "cat > /dev/null; echo x > made; cat say\n")
    cli.json("trust", "--yes")
    git = ("git", "-c", "user.name=ada", "-c", "user.email=ada@example.org")
    for line in (("init", "-q"), ("add", "-A"), ("commit", "-q", "-m", "begin")):
        subprocess.run((*git, *line), cwd=cli.root, check=True)
    assert cli("run", "do it", "--name", "one").code == 0
    page = ReportFile(cli("session", "report", "one", "-o", "-").stdout)
    checks = page.session["proof"]["checks"]
    assert [check["command"] for check in checks] == ["test -e made"]
