"""An answer that cannot be read is a failure of its hook: no gate passes, no session completes."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

import pytest

from tests.e2e.gate_rig import Repo
from tests.e2e.session_rig import PROMISE, Rig, hook

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.e2e.conftest import Cli

PAYLOADS: dict[str, dict[str, Any]] = {
    "before_submit": {"task_id": "T-1", "task_title": "Ship it", "commits_count": 1, "extra": {}},
    "stop": {"taskId": "T-1", "iteration": 1},
    "pre_tool_use": {"tool": "Bash", "input": {"command": "ls"}},
    "post_iteration": {"session": "s", "iteration": 1, "agent": "a"},
}
MORE = {"post_iteration": ", pipe_output: true"}
# What goes wrong in an object that says no; %s is the field that says it.
BROKEN = {
    "NaN": '{%s, "more": {"coverage": NaN}}',
    "Infinity": '{%s, "more": -Infinity}',
    "too large": '{%s, "more": 1e999}',
    "many digits": '{%s, "more": ' + "1" * 5000 + "}",
    "too deep": '{%s, "more": ' + "[" * 10_000 + "]" * 10_000 + "}",
    "deep": '{%s, "more": ' + "[" * 100 + "]" * 100 + "}",
    "lone surrogate": '{%s, "more": "\\ud800"}',
    "raw tab": '{%s, "more": "a\tb"}',
    "a key twice": '{%s, "more": 1, "more": 2}',
    "a key twice, deep": '{%s, "more": {"a": [{"b": 1, "b": 2}]}}',
    "cut": '{%s, "more": "',
    "too long": '{%s, "more": "' + "x" * 1024 * 1024 + '"}',
    "two objects": '{%s}\n{"more": 1}',
    "text after it": "{%s}\nnpm notice: a new version is there",
    "NUL after it": "{%s}\0",
    "NUL before it": "\0{%s}",
}
# Not JSON as a whole, but its end is meant as an answer.
BELOW_OTHER_OUTPUT = {
    "below a warning": "warning: slow\n{%s}",
    "in many lines": 'warning: slow\n{\n  "more": [\n    {"a": 1}\n  ],\n  %s\n}\n',
    "on the same line": "checking... {%s}",
    "between lines": "warning: slow\n{%s}\nnpm notice",
    "broken": 'warning: slow\n{%s, "more": NaN}',
}
AT_THE_END = {**BROKEN, **BELOW_OTHER_OUTPUT}
# Where a verdict may not hide either.
ALL = {
    **AT_THE_END,
    "within a line": "x {%s} was tested\n3 passed\n",
    "in a list": "[{%s}]",
    "before another": 'log\n{%s}\n{"more": 1}\n',
    "inside another": 'checking {"a": {%s}} done',
    "deep inside another": 'log\n{"a": [1, {"b": {%s}}]}\n3 passed\n',
    "inside a broken one": 'log\n{"a": {%s}, oops}\n3 passed\n',
    "after a broken one": 'log {"a": oops}\n{%s, oops}\n3 passed\n',
    "in long output": "." * 500_000 + "\n{%s}\n" + "." * 500_000,
}
each_kind = pytest.mark.parametrize("kind", ["command", "script"])


def fire(cli: Cli, point: str) -> Any:
    """The one answer of the hooks at a point."""
    return cli("hook", "dispatch", point, "--json", stdin=json.dumps(PAYLOADS[point])).json


def put_hook(cli: Cli, point: str, printed: str, kind: str = "command", code: int = 0) -> None:
    """A hook that prints this and exits with that code."""
    put_printed(cli, printed)
    cli.put("say.sh", f"#!/bin/sh\ncat > /dev/null\ncat printed\nexit {code}\n", 0o755)
    target = {"command": "./say.sh", "script": "say.sh"}[kind]
    cli.configure(f"hooks: {{{point}: [{{name: h, {kind}: {target}{MORE.get(point, '')}}}]}}\n")


def put_printed(cli: Cli, printed: str) -> None:
    """What the hook prints from now on."""
    (cli.root / "printed").write_bytes(printed.encode())


# Programs


@each_kind
def test_a_gate_stays_closed(cli: Cli, kind: str) -> None:
    put_hook(cli, "before_submit", "", kind)
    for name, printed in ALL.items():
        put_printed(cli, printed % '"status": "failure"')
        answer = fire(cli, "before_submit")
        assert answer["status"] == "failure", name
        assert answer["message"].startswith("h failed: its answer cannot be read: "), name


@pytest.mark.examples(6)
@each_kind
@pytest.mark.parametrize(
    "said",
    [
        '"status":"Failure"',
        '"status":"FAILURE "',
        '"Status":"failure"',
        '"status":"fail\\u0075re"',
        '"stat\\u0075s":"failure"',
        '"status":"failed"',
        '"status":"Error"',
    ],
)
def test_a_gate_stays_closed_however_the_verdict_is_spelled(cli: Cli, kind: str, said: str) -> None:
    put_hook(cli, "before_submit", "", kind)
    for name in (*BELOW_OTHER_OUTPUT, "inside another", "in a list", "inside a broken one"):
        put_printed(cli, ALL[name] % said)
        answer = fire(cli, "before_submit")
        assert answer["status"] == "failure", name
        assert "a JSON object with `status` among other output" in answer["message"], name


@each_kind
def test_a_second_verdict_does_not_hide_the_first(cli: Cli, kind: str) -> None:
    put_hook(cli, "before_submit", '{"status": "failure", "status": "success"}', kind)
    answer = fire(cli, "before_submit")
    assert answer["status"] == "failure"
    assert "the key 'status' is there more than once" in answer["message"]
    put_hook(cli, "stop", '{"action": "continue", "act\\u0069on": "complete"}', kind)
    answer = fire(cli, "stop")
    assert answer["action"] == "escalate"
    assert "the key 'action' is there more than once" in answer["reason"]


def test_a_stop_hook_escalates(cli: Cli) -> None:
    put_hook(cli, "stop", "")
    for name, printed in ALL.items():
        put_printed(cli, printed % '"action": "continue"')
        answer = fire(cli, "stop")
        assert answer["action"] == "escalate", name
        assert "its answer cannot be read: " in answer["reason"], name


@pytest.mark.parametrize("chain", ["all_of", "any_of", "not"])
def test_a_chain_escalates(cli: Cli, chain: str) -> None:
    cli.put("printed", BROKEN["NaN"] % '"action": "continue"')
    line = "{command: 'cat printed'}"
    inner = line if chain == "not" else f"[{line}, promise]"
    cli.configure(f"hooks: {{stop: [{{name: h, {chain}: {inner}}}]}}\n")
    answer = fire(cli, "stop")
    assert answer["action"] == "escalate"
    assert "its answer cannot be read: " in answer["reason"]


def test_a_reaction_is_told_as_a_failure(cli: Cli) -> None:
    put_hook(cli, "task_created", "")
    for number, (name, printed) in enumerate(AT_THE_END.items(), 1):
        put_printed(cli, printed % '"actions": [{"type": "log"}]')
        told = cli("task", "add", "Ship it")
        assert told.code == 0, name
        errors = cli.events("hook_error")
        assert len(errors) == number, name
        assert errors[-1]["data"]["error"].startswith("its answer cannot be read: "), name


@pytest.mark.parametrize(("kind", "exits"), [("command", 0), ("script", 0), ("command", 1)])
def test_at_feed_the_failure_and_the_output_are_text(cli: Cli, kind: str, exits: int) -> None:
    put_hook(cli, "post_iteration", '{"text": "a", "more": NaN}', kind, exits)
    said = fire(cli, "post_iteration")["text"]
    assert "its answer cannot be read" in said


@pytest.mark.parametrize(("on_failure", "verdict"), [("closed", "deny"), ("ask", "ask")])
def test_a_guard_does_as_its_on_failure_says(cli: Cli, on_failure: str, verdict: str) -> None:
    line = f"{{name: h, command: cat printed, on_failure: {on_failure}}}"
    cli.configure(f"hooks: {{pre_tool_use: [{line}]}}\n")
    for name, printed in ALL.items():
        put_printed(cli, printed % '"verdict": "deny"')
        answer = fire(cli, "pre_tool_use")
        assert answer["verdict"] == verdict, name
        assert "its answer cannot be read: " in answer["reason"], name


@pytest.mark.parametrize(
    "printed",
    ['{"status":"failure","context":{"coverage":NaN}}', 'checking\n{"status":"success"}\n'],
)
def test_a_gate_that_cannot_be_read_keeps_work_from_being_merged(cli: Cli, printed: str) -> None:
    repo = Repo(cli)
    cli.put("printed", printed)
    repo.begin("hooks: {before_submit: [{name: cover, command: cat printed}]}\n")
    task = cli.add("Add a thing")
    repo.work("thing")
    result = cli("submit", task)
    assert result.code != 0
    assert "its answer cannot be read" in result.stderr + result.stdout
    assert "thing" not in repo.merged()
    assert cli.task(task)["state"] != "completed"


def test_a_stop_hook_that_cannot_be_read_does_not_complete_a_session(cli: Cli) -> None:
    rig = Rig(cli)
    cli.put("printed", '{"action":"continue","metadata":{"coverage":NaN}}')
    rig.turns(rest="echo working")
    rig.configure({"stop": [{"name": "cover", "command": "cat printed"}]})
    ended = rig.run()
    assert ended.said[:2] == (4, "escalated")
    assert "its answer cannot be read" in ended.said[2]


# What stays a plain command


PLAIN = (
    "",
    "...\n3 passed in 0.12s\n",
    "[1, 2]",
    '"status": "failure"\n1 passed',
    'log\n{"status": 200, "level": "info"}\n3 passed\n',
    'log\n{"answer": {"status": "done"}, "state": "failure"}\n3 passed\n',
    "x {'status': 'failure'}\n3 passed\n",
)


@each_kind
@pytest.mark.parametrize(("code", "status"), [(0, "success"), (75, "pending"), (1, "failure")])
def test_other_output_leaves_the_exit_code_to_decide(
    cli: Cli, kind: str, code: int, status: str
) -> None:
    put_hook(cli, "before_submit", "", kind, code)
    for printed in PLAIN:
        put_printed(cli, printed)
        answer = fire(cli, "before_submit")
        assert answer["status"] == status, printed
        assert "cannot be read" not in str(answer), printed


@pytest.mark.parametrize("printed", ['\ufeff{"status": "skip"}', '\r\n {"status": "skip"}\r\n'])
def test_marks_and_blanks_around_an_object_do_not_matter(cli: Cli, printed: str) -> None:
    put_hook(cli, "before_submit", printed)
    assert fire(cli, "before_submit")["status"] == "skip"


def test_an_answer_may_have_a_hundred_levels(cli: Cli) -> None:
    rig = Rig(cli)
    cli.put("printed", '{"action": "complete", "metadata": {"a": %s}}' % ("[" * 98 + "]" * 98))
    rig.configure({"stop": [{"name": "deep", "command": "cat printed"}]})
    assert rig.run().said[:2] == (0, "completed")


def test_what_a_validation_rule_prints_is_never_an_answer(cli: Cli) -> None:
    cli.put("printed", '{"a": 1}\n{"a": 2}\n')
    cli.configure("validation: [{name: green, type: command, command: cat printed}]\n")
    assert [each["passed"] for each in cli.json("validate")] == [True]


# A gate that waits


@pytest.mark.parametrize("seconds", ["1e308", "1" + "0" * 30, "-1"])
def test_a_wait_beyond_all_measure_is_a_failure(cli: Cli, seconds: str) -> None:
    put_hook(cli, "before_submit", f'{{"status": "pending", "retryAfter": {seconds}}}')
    answer = fire(cli, "before_submit")
    assert answer["status"] == "failure"
    assert "`retryAfter`" in answer["message"]


# Servers

BODIES: dict[str, tuple[int, bytes]] = {
    "HTML": (200, b"<html>Sign in</html>"),
    "empty": (200, b""),
    "blank": (200, b" \n"),
    "no content": (204, b""),
    "list": (200, b'[{"status": "failure"}]'),
    "null": (200, b"null"),
    "NaN": (200, b'{"status": "failure", "action": "continue", "coverage": NaN}'),
    "cut": (200, b'{"status": "failure", "action": "con'),
    "twice": (200, b'{"status": "failure", "status": "success", "action": "complete"}'),
}
JSON_OBJECT = {"NaN", "cut", "twice"}


class Handler(BaseHTTPRequestHandler):
    """Sends what `sends` names at the moment."""

    sends = "empty"

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        status, body = BODIES[self.sends]
        self.send_response(status)
        if status != 204:
            self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def each_body(cli: Cli, point: str, url: str) -> Iterator[str]:
    """Have a server asked at a point that sends one after the other."""
    cli.configure(f"hooks: {{{point}: [{{name: h, http: '{url}'{MORE.get(point, '')}}}]}}\n")
    for Handler.sends in BODIES:
        yield Handler.sends


def test_a_server_passes_no_gate_without_an_answer(cli: Cli, url: str) -> None:
    for body in each_body(cli, "before_submit", url):
        answer = fire(cli, "before_submit")
        assert answer["status"] == "failure", body
        assert "its answer cannot be read: " in answer["message"], body


def test_a_server_guards_nothing_without_an_answer(cli: Cli, url: str) -> None:
    for body in each_body(cli, "pre_tool_use", url):
        assert fire(cli, "pre_tool_use")["verdict"] == "deny", body


def test_a_server_completes_nothing_without_an_answer(cli: Cli, url: str) -> None:
    for body in each_body(cli, "stop", url):
        answer = fire(cli, "stop")
        assert answer["action"] == "escalate", body
        assert "its answer cannot be read: " in answer["reason"], body


def test_a_server_that_reacts_may_send_what_asks_for_nothing(cli: Cli, url: str) -> None:
    failed = []
    for body in each_body(cli, "task_created", url):
        task = cli.add("Ship it", quiet=False)
        failed += [body for event in cli.events("hook_error") if event["nodeId"] == task]
    assert failed == ["NaN", "cut", "twice"]
    for event in cli.events("hook_error"):
        assert event["data"]["error"].startswith("its answer cannot be read: ")


def test_a_server_that_feeds_may_send_text(cli: Cli, url: str) -> None:
    for body in each_body(cli, "post_iteration", url):
        said = fire(cli, "post_iteration").get("text", "")
        assert ("its answer cannot be read" in said) == (body in JSON_OBJECT), body


# Both promises


@pytest.mark.parametrize("stop", ["default", "promise"])
@pytest.mark.parametrize("name", ["BLOCKED", "ESCALATE"])
def test_who_asks_for_help_is_not_done(cli: Cli, stop: str, name: str) -> None:
    rig = Rig(cli)
    rig.turns(f"{PROMISE}; echo 'no key. <promise>{name}</promise>'")
    rig.configure({"stop": [stop]})
    assert rig.run().said[:2] == (4, "escalated")


def test_who_asks_for_help_in_a_delivery_is_not_done(cli: Cli) -> None:
    rig = Rig(cli)
    rig.repository()
    rig.turns(PROMISE, f"echo 'no key. <promise>BLOCKED</promise>'; {PROMISE}")
    rig.configure({"post_iteration": [hook("echo HELD {{iteration}}")]})
    assert rig.run().said[:2] == (4, "escalated")
    assert cli.task("T-1")["state"] == "blocked"


# Steering

FLOW = "flows: {one: {steps: [{id: a, run: 'echo a >> trace'}]}}\n"


@pytest.mark.parametrize("seconds", ["1e308", "99999999999999999999999999", "9" * 400])
def test_a_tick_that_waits_for_ever_asks_the_next_hook(cli: Cli, seconds: str) -> None:
    say = (
        f'#!/bin/sh\ncat > /dev/null\necho \'{{"action": "waiting", "waitSeconds": {seconds}}}\'\n'
    )
    cli.put(".hookline/hooks/on-iteration-start/long", say, 0o755)
    cli.configure(FLOW)
    result = cli("flow", "start", "one", "--json")
    assert result.code == 0
    assert (cli.root / "trace").read_text() == "a\n"
    errors = [e["data"]["error"] for e in cli.events("hook_error")]
    assert errors
    assert all("`waitSeconds` must be" in each for each in errors)


# Ids


@pytest.mark.parametrize("task", ["T-²", "T-٣", "T-" + "9" * 30])
def test_what_only_looks_like_a_task_is_none(cli: Cli, task: str) -> None:
    payload = json.dumps({"taskId": task, "iteration": 1})
    cli.configure(
        "events: [disk_full]\n"
        "task_types: {chore: {hooks: {stop: [{command: 'true'}]}}}\n"
        "hooks: {stop: [{command: 'true'}], disk_full: [{command: 'true'}]}\n"
        "flows: {ask: {steps: [\n"
        f"  {{id: a, hook: {{point: disk_full, payload: {payload}}}}},\n"
        f"  {{id: b, hook: {{point: stop, payload: {payload}}}}}]}}}}\n"
    )
    result = cli("flow", "start", "ask", "--json")
    assert (result.code, result.json["status"]) == (0, "completed")


@pytest.mark.parametrize("name", ["²", "T-²", "R-²"])
def test_a_number_that_is_none_is_refused_in_plain_words(cli: Cli, name: str) -> None:
    cli.add("Ship it")
    for words in (("events", "--since", name), ("why", name), ("flow", "show", name)):
        code, error = cli.refused(*words)
        assert code in (1, 2)
        assert error["code"] != "internal"


# Answers that are short


@pytest.mark.parametrize(("action", "ends"), [("complete", "completed"), ("escalate", "escalated")])
def test_a_decision_needs_no_reason(cli: Cli, action: str, ends: str) -> None:
    rig = Rig(cli)
    rig.configure({"stop": [{"name": "short", "command": f'echo \'{{"action": "{action}"}}\''}]})
    assert rig.run().said[1:] == (ends, "")
