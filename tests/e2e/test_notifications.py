"""Notifications as they arrive: each channel, its text, its secrets, and what `check` says."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.e2e.conftest import Cli, eventually
from tests.e2e.notify_rig import NAMED, Rig, rig
from tests.e2e.terminal_rig import Terminal, prepare
from tests.inbox import certified

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["rig"]

HOSTILE = "--exec=sh\x1b[31m\x07 <b>&\r\n<!channel> @everyone `id` $(id) {{error}} \u202eback"


# Channels


def test_ntfy_gets_title_text_and_a_key(rig: Rig) -> None:
    rig.configure(
        {"notify": "ntfy", "topic": "agents", "server": rig.inbox.url, "token_env": "HOOK_TOKEN"}
    )
    task = rig.block("Ship it", "which one?")
    (got,) = rig.inbox.received
    assert got.said == {
        "topic": "agents",
        "title": f"project: task {task}",
        "message": f"{task} (Ship it) waits for you: it is blocked: which one?\n"
        f"  hookline task unblock {task}",
    }
    assert got.headers["authorization"] == "Bearer tk_staple_9931"
    assert got.key


def test_a_webhook_gets_everything_as_data(rig: Rig) -> None:
    rig.configure(rig.webhook())
    task = rig.block()
    (got,) = rig.inbox.received
    (event,) = rig.cli.events("attention_needed")
    assert got.said["key"] == got.key
    assert got.said["project"] == "project"
    assert got.said["messages"] == [
        {
            "seq": event["seq"],
            "at": event["timestamp"],
            "type": "attention_needed",
            "kind": "task",
            "id": task,
            "since": rig.cli.events("task_blocked")[0]["timestamp"],
            "message": f"{task} (Ship it) waits for you: it is blocked: which one?",
            "command": f"hookline task unblock {task}",
        }
    ]


def test_a_message_links_to_the_page(rig: Rig) -> None:
    page = "https://hookline.example"
    sections = {"digest": 0, "page": page}
    rig.configure(rig.webhook(), notifications=sections)
    task = rig.block()
    (message,) = rig.messages()
    assert message["link"] == f"{page}/#/tasks/{task}"
    (sent,) = [each.said for each in rig.inbox.received]
    assert sent["text"].splitlines()[-1] == f"  {page}/#/tasks/{task}"


def test_an_address_of_the_page_that_is_none_is_reported(cli: Cli) -> None:
    cli.configure("notifications: {page: 'javascript:alert(1)'}\n", trust=False)
    (problem,) = cli("check", "--json").json["problems"]
    assert (problem["code"], problem["line"]) == ("bad-url", 2)


def test_a_server_is_reached_by_tls_after_other_hooks_were_called(rig: Rig, tmp_path: Path) -> None:
    """What commands leave out while they load must not be missing when a notification is sent."""
    context, certificate = certified(tmp_path)
    rig.inbox.socket = context.wrap_socket(rig.inbox.socket, server_side=True)
    url = f"https://localhost:{rig.inbox.server_port}/in"
    rig.configure({"command": "true"}, {"name": "told", "notify": "webhook", "url": url})
    rig.env["SSL_CERT_FILE"] = str(certificate)
    rig.block()
    assert rig.cli.calls("told") == ["ok"]
    assert len(rig.inbox.received) == 1


def test_chats_read_no_mention_and_no_markup_in_what_an_agent_wrote(rig: Rig) -> None:
    rig.configure(
        {"notify": "slack", "url_env": "HOOK_URL"}, {"notify": "discord", "url_env": "HOOK_URL"}
    )
    rig.block("Ask <!channel> & @everyone")
    slack, discord = (each.said for each in rig.inbox.received)
    assert set(slack) == {"text"}
    assert "Ask &lt;!channel&gt; &amp; @everyone" in slack["text"]
    assert "<" not in slack["text"]
    assert "Ask <!channel> & @everyone" in discord["content"]
    assert discord["allowed_mentions"] == {"parse": []}
    assert {each.path for each in rig.inbox.received} == {"/services/T00/B00/secret-part-of-it"}


def test_mail_arrives_with_its_id_and_no_header_of_an_agent(rig: Rig) -> None:
    rig.configure(
        {
            "notify": "email",
            "to": "ada@example.org, eve@example.org",
            "from": "hookline@example.org",
            "smtp": rig.mailbox.url,
            "user": "ada",
            "password_env": "HOOK_PASSWORD",
        }
    )
    rig.block("One\nBcc: all@example.org\n\nbody", "ü")
    (letter,) = rig.mailbox.letters
    ((sender, recipients),) = rig.mailbox.envelopes
    assert "hookline@example.org" in sender
    assert [each.partition("<")[2].partition(">")[0] for each in recipients] == [
        "ada@example.org",
        "eve@example.org",
    ]
    assert letter["Bcc"] is None
    assert letter["To"] == "ada@example.org, eve@example.org"
    assert letter["Subject"] == "project: task T-1"
    assert letter["Message-ID"].endswith("@hookline>")
    told = "T-1 (One Bcc: all@example.org body) waits for you: it is blocked: ü."
    assert told in letter.get_content()
    assert len(rig.mailbox.logins) == 1


def test_mail_that_only_some_may_have_is_not_sent_to_the_others_again(rig: Rig) -> None:
    rig.mailbox.refused = {"eve@example.org"}
    name = {"name": "mail", "notify": "email", "smtp": rig.mailbox.url}
    rig.configure({**name, "to": "ada@example.org,eve@example.org"})
    rig.block()
    assert len(rig.mailbox.letters) == 1
    assert rig.cli.calls("mail") == ["ok"]
    assert "but not to eve@example.org" in rig.cli("why", "mail").stdout


def desktop(rig: Rig, name: str = "notify-send") -> Path:
    """A stand-in for the program that shows notifications; what it gets, an argument per line."""
    script = '#!/bin/sh\nfor word in "$@"; do printf "%s\\0" "$word"; done >> ../shown\n'
    rig.cli.put(f"bin/{name}", script, 0o755)
    rig.env["PATH"] = f"{rig.cli.root}/bin:{rig.cli.env['PATH']}"
    return rig.cli.root.parent / "shown"


def arguments(shown: Path) -> list[str]:
    return shown.read_text().split("\0")[:-1]


def test_a_desktop_is_shown_text_without_options_markup_or_control_characters(rig: Rig) -> None:
    shown = desktop(rig)
    rig.configure({"notify": "desktop"})
    rig.block(HOSTILE, "--help")
    option, dashes, title, body = arguments(shown)
    assert (option, dashes, title) == ("--app-name=hookline", "--", "project: task T-1")
    assert body.startswith("T-1 (--exec=sh &lt;b&gt;&amp; &lt;!channel&gt; @everyone")
    assert all(char.isprintable() for char in title + body)
    assert "it is blocked: --help" in body


def test_a_message_that_an_agent_makes_into_an_option_is_none(rig: Rig) -> None:
    """What is told may begin with anything: programs without `--` get no word that begins so."""
    for name in ("notify-send", "terminal-notifier", "osascript"):
        shown = desktop(rig, name)
        shown.unlink(missing_ok=True)
        told = {"kind": "k", "id": "-i", "message": f"-x{HOSTILE}", "command": "-c"}
        rig.configure({"name": "d", "notify": "desktop"})
        path = {"PATH": f"{rig.cli.root}/bin"}
        payload = json.dumps({"event": {"data": told}})
        done = rig.cli.process("hook", "test", "d", "--payload", payload, env=path)
        assert done.code == 0, done.stderr
        words = arguments(shown)
        given = words[1::2] if name == "terminal-notifier" else words[words.index("--") + 1 :]
        assert len(given) == 2
        assert "\\u202eback" in given[1]
        assert [word for word in given if word.startswith("-") or not word.isprintable()] == []
        (rig.cli.root / "bin" / name).unlink()


def test_a_desktop_without_such_a_program_is_told_as_a_failure(rig: Rig) -> None:
    rig.configure({"name": "d", "notify": "desktop"})
    done = rig.cli.process("hook", "test", "d", env={"PATH": f"bin:{rig.cli.root}/none"})
    assert done.code == 1
    assert "none of notify-send, terminal-notifier, osascript is on PATH" in done.stdout


def test_a_program_of_a_relative_folder_shows_nothing(rig: Rig) -> None:
    shown = desktop(rig)
    rig.configure({"name": "d", "notify": "desktop"})
    done = rig.cli.process("hook", "test", "d", env={"PATH": "bin:."})
    assert (done.code, shown.exists()) == (1, False)


def test_the_bell_rings_in_the_terminals_of_those_who_watch(cli: Cli) -> None:
    prepare(cli, "hooks:\n  attention_needed: [{notify: bell}]\n")
    run = Terminal(cli, "run", "Work", "--agent", "bot", "--name", "s", columns=80, rows=24)
    eventually((cli.root / "working.1").exists, "the agent's turn")
    watching = Terminal(cli, "session", "attach", "s", columns=80, rows=24)
    eventually(lambda: "reading the tests" in "\n".join(watching.screen.display), "the view")
    assert b"\x07" not in run.bytes + watching.bytes
    task = cli.add("another")
    assert cli.process("task", "block", task, "--reason", "x").code == 0
    eventually(lambda: b"\x07" in watching.bytes, "the bell of the one who watches")
    eventually(lambda: b"\x07" in run.bytes, "the bell of the one who works")
    cli.put("go", "")
    run.process.wait()
    watching.process.wait()


# Secrets


CHANNELS: list[dict[str, Any]] = [
    {"notify": "slack", "url_env": "HOOK_URL"},
    {"notify": "webhook", "url_env": "HOOK_URL", "token_env": "HOOK_TOKEN"},
    {"notify": "ntfy", "topic": "t", "token_env": "HOOK_TOKEN"},
    {"notify": "email", "to": "a@b.c", "user": "u", "password_env": "HOOK_PASSWORD"},
]


@pytest.mark.examples(1)
@pytest.mark.parametrize("channel", CHANNELS, ids=lambda each: str(each["notify"]))
@pytest.mark.parametrize("status", [200, 500])
def test_secrets_stand_in_no_record(rig: Rig, channel: dict[str, Any], status: int) -> None:
    rig.inbox.status = status
    places = {"ntfy": {"server": rig.inbox.url}, "email": {"smtp": rig.mailbox.url}}
    rig.configure({"name": "h", **channel, **places.get(channel["notify"], {})})
    rig.block()
    said = [rig.run(*words) for words in (("why", "h"), ("hook", "show", "h"), ("hook", "log"))]
    texts = [each.stdout + each.stderr for each in said]
    kept = [path for path in rig.cli.root.rglob("*") if path.is_file()]
    texts += [path.read_bytes().decode("utf-8", "replace") for path in kept]
    secrets = ("secret-part-of-it", NAMED["HOOK_PASSWORD"], NAMED["HOOK_TOKEN"])
    assert [secret for secret in secrets for text in texts if secret in text] == []
    assert rig.inbox.received or rig.mailbox.letters


def test_a_server_that_repeats_its_url_is_not_recorded_with_it(rig: Rig) -> None:
    rig.configure({"name": "h", "notify": "slack", "url_env": "HOOK_URL"})
    rig.inbox.status, rig.inbox.repeats = 500, True
    rig.env["HOOK_URL"] = f"{rig.inbox.url}/services/T00AAAA1/part%20of-it?key=another-part"
    told = rig.run("task", "add", "Ship it").stderr
    blocked = rig.run("task", "block", "T-1", "--reason=why?")
    told += blocked.stdout + blocked.stderr
    said = [rig.run(*words) for words in (("why", "h"), ("hook", "log"))]
    texts = [told, *(each.stdout + each.stderr for each in said)]
    assert "[redacted SECRET part of HOOK_URL]" in said[0].stdout
    kept = [path for path in rig.cli.root.rglob("*") if path.is_file()]
    texts += [path.read_bytes().decode("utf-8", "replace") for path in kept]
    secrets = ("T00AAAA1", "part%20of-it", "part of-it", "another-part")
    assert [secret for secret in secrets for text in texts if secret in text] == []


def test_words_of_a_secret_url_are_left_in_what_is_told(rig: Rig) -> None:
    rig.configure({"name": "h", "notify": "slack", "url_env": "HOOK_URL"})
    rig.run("task", "add", "Tidy src/services and secret-part-of-it")
    goal = rig.run("task", "show", "T-1", "--json").json["goal"]
    assert goal.startswith("Tidy src/services and [redacted ")


def test_a_server_that_repeats_a_secret_is_not_recorded_with_it(rig: Rig) -> None:
    rig.configure({"name": "h", "notify": "webhook", "url_env": "HOOK_URL"})
    rig.inbox.answers = [500]
    rig.env["HOOK_URL"] = f"{rig.inbox.url}/try later"  # no URL, and part of the answer
    done = rig.cli.process("hook", "test", "h", env=rig.env)
    assert "HOOK_URL is not an http or https URL" in done.stdout
    assert "try later" not in done.stdout


def test_a_variable_that_is_not_set_is_named_and_tried_again(rig: Rig) -> None:
    rig.configure({"name": "h", "notify": "slack", "url_env": "HOOK_URL"})
    del rig.env["HOOK_URL"]
    rig.block()
    assert rig.cli.calls("h") == ["queued"]
    assert "the environment variable HOOK_URL is not set" in rig.cli("why", "h").stdout
    doctor = rig.cli("doctor").stdout
    assert "HOOK_URL is not set" in doctor


# What `check` says


def problems(cli: Cli, *entries: dict[str, Any], point: str = "attention_needed") -> list[str]:
    """The codes of everything that is wrong."""
    cli.configure(f"hooks: {json.dumps({point: list(entries)})}\n", trust=False)
    return [each["code"] for each in cli("check", "--json").json["problems"]]


@pytest.mark.parametrize(
    ("entry", "codes"),
    [
        ({"notify": "desktop"}, []),
        ({"notify": "bell"}, []),
        ({"notify": "ntfy", "topic": "my-agents"}, []),
        ({"notify": "slack", "url_env": "SLACK_URL"}, ["missing"]),
        ({"notify": "email", "to": "me@example.org", "smtp": "smtp://localhost:25"}, []),
        ({"notify": "pigeon"}, ["unknown-value"]),
        ({"notify": None}, ["empty"]),
        ({"notify": ["desktop"]}, ["empty"]),
        ({"notify": "ntfy"}, ["missing-key"]),
        ({"notify": "ntfy", "topic": "a/b"}, ["bad-topic"]),
        ({"notify": "ntfy", "topic": "t", "server": "ntfy.sh"}, ["bad-url"]),
        ({"notify": "slack"}, ["missing-key"]),
        ({"notify": "email", "to": "me@example.org"}, ["missing-key"]),
        ({"notify": "email", "to": "me", "smtp": "smtp://h"}, ["bad-address"]),
        ({"notify": "email", "to": "a@b c@d", "smtp": "smtp://h"}, ["bad-address"]),
        ({"notify": "email", "to": "a@b.c", "smtp": "http://h"}, ["bad-url"]),
        ({"notify": "webhook", "url": "https://example.org/h"}, []),
        ({"notify": "webhook", "url": "https://example.org/h?token=1"}, ["inline-secret"]),
        ({"notify": "slack", "url": "https://hooks.slack.com/x"}, ["inline-secret"]),
        ({"notify": "discord", "url": "https://discord.com/x"}, ["inline-secret"]),
        ({"notify": "email", "to": "a@b.c", "smtp": "smtp://u:pw@h"}, ["inline-secret"]),
        ({"notify": "slack", "url_env": "https://hooks.slack.com/x"}, ["bad-variable"]),
        ({"notify": "desktop", "topic": "t"}, ["no-effect"]),
        ({"notify": "desktop", "topics": "t"}, ["unknown-key"]),
        ({"command": "true", "topic": "t"}, ["unknown-key"]),
        ({"notify": "desktop", "command": "true"}, ["one-act"]),
        ({"notify": "desktop", "when": "changed('src/**')"}, ["bad-condition"]),
        ({"notify": "desktop", "when": "event.data.outcome != 'completed'"}, []),
    ],
)
def test_a_configuration_that_cannot_work_or_tells_a_secret_is_reported(
    cli: Cli, entry: dict[str, Any], codes: list[str]
) -> None:
    assert problems(cli, entry) == codes


def test_what_is_reported_about_a_secret_does_not_show_it(cli: Cli) -> None:
    problems(cli, {"notify": "email", "to": "a@b.c", "smtp": "smtp://u:open-sesame@h:x"})
    found = cli("check", "--json").json["problems"]
    assert "open-sesame" not in json.dumps(found)


def test_notifications_belong_to_the_points_at_which_people_are_told(cli: Cli) -> None:
    assert problems(cli, {"notify": "desktop"}, point="task_completed") == ["misplaced-built-in"]


@pytest.mark.parametrize(
    ("section", "codes"),
    [
        ({"quiet": "22:00-07:00", "timezone": "Europe/Berlin", "digest": "5m"}, []),
        ({"quiet": "22 to 7"}, ["bad-hours"]),
        ({"quiet": "22:00-07:00", "timezone": "Mars/Olympus"}, ["bad-hours"]),
        ({"timezone": "Europe/Berlin"}, ["no-effect"]),
        ({"digest": "-5"}, ["out-of-range"]),
        ({"quite": "22:00-07:00"}, ["unknown-key"]),
    ],
)
def test_hours_that_cannot_be_are_reported(
    cli: Cli, section: dict[str, Any], codes: list[str]
) -> None:
    cli.configure(f"notifications: {json.dumps(section)}\n", trust=False)
    assert [each["code"] for each in cli("check", "--json").json["problems"]] == codes
