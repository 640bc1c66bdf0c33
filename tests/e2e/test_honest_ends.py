"""What a command says at its end is true: of its task, of what is stored, and of its hooks."""

from __future__ import annotations

import json
import signal
import subprocess
from typing import TYPE_CHECKING, Any

import pytest

from tests.e2e.conftest import PROGRAM, eventually, is_running
from tests.e2e.session_rig import HOOKLINE, PROMISE, Rig, finished, hook

if TYPE_CHECKING:
    from tests.e2e.conftest import Cli

BLOCK = f"{HOOKLINE} task block T-1 --reason 'no key'"


# A session's task


@pytest.mark.examples(2)
@pytest.mark.parametrize("script", [BLOCK, f"{BLOCK}; {PROMISE}", f"{PROMISE}; {BLOCK}"])
@pytest.mark.parametrize("iterations", [1, 3])
def test_who_blocks_its_own_task_has_not_completed_it(
    cli: Cli, script: str, iterations: int
) -> None:
    rig = Rig(cli)
    rig.configure({"session_end": [{"command": rig.note("{{status}}")}]})
    rig.turns(script)
    ended = rig.run(iterations=iterations)
    assert ended.said == (4, "escalated", "no key")
    assert rig.trace == ["escalated"]
    task = cli.task("T-1")
    assert (task["state"], task["blockReason"]) == ("blocked", "no key")
    shown = cli.json("session", "show", "s")
    assert (shown["status"], shown["reason"]) == ("escalated", "no key")
    rig.turns(script, PROMISE)
    assert rig.resume("--iterations", "5").said[:2] == (0, "completed")
    assert cli.task("T-1")["state"] == "completed"


def test_who_blocks_its_task_after_the_promise_takes_it_back(cli: Cli) -> None:
    rig = Rig(cli)
    rig.configure({"post_iteration": [hook("echo heard")]})
    rig.turns(PROMISE, BLOCK)
    assert rig.run(iterations=3).said == (4, "escalated", "no key")
    assert cli.task("T-1")["state"] == "blocked"


FAIL = (("task", "fail", "T-1", "--error", "it burns"),)
RELEASE = ("task", "release", "T-1")


@pytest.mark.examples(2)
@pytest.mark.parametrize("where", ["turn", "session_end"])
@pytest.mark.parametrize(
    ("deeds", "said", "state"),
    [
        (FAIL, (1, "failed", "T-1 failed: it burns"), "failed"),
        (
            (("task", "block", "T-1", "--reason", "no key"),),
            (4, "escalated", "no key"),
            "blocked",
        ),
        (
            (("task", "cancel", "T-1"),),
            (130, "stopped", "T-1 is cancelled"),
            "cancelled",
        ),
        ((RELEASE,), (130, "stopped", "T-1 is no longer claimed by bot"), "ready"),
        (
            (RELEASE, ("task", "claim", "T-1", "--agent", "eve")),
            (130, "stopped", "T-1 is no longer claimed by bot"),
            "ready",
        ),
        ((("task", "delete", "T-1"),), (130, "stopped", "T-1 was deleted"), None),
        ((("task", "complete", "T-1"),), (0, "completed", "all is well"), "completed"),
    ],
)
def test_what_a_person_does_to_the_task_before_a_promise_is_kept(
    cli: Cli,
    where: str,
    deeds: tuple[tuple[str, ...], ...],
    said: tuple[int, str, str],
    state: str | None,
) -> None:
    rig = Rig(cli)
    begun, go = rig.file("begun"), rig.file("go")
    wait = f"touch {begun}; while [ ! -e {go} ]; do sleep 0.02; done"
    done = {"command": """echo '{"action": "complete", "reason": "all is well"}'"""}
    ends: dict[str, list[Any]] = {"session_end": [{"command": wait}]}
    rig.configure({"stop": [done], **(ends if where == "session_end" else {})})
    rig.turns(wait if where == "turn" else "true")
    session = rig.start(iterations=3)
    eventually(begun.exists, where)
    for words in deeds:
        cli.json(*words)
    go.touch()
    assert finished(session).said == said
    if state is not None:
        assert cli.task("T-1")["state"] == state


def test_no_way_on_is_told_for_a_task_that_has_none(cli: Cli) -> None:
    rig = Rig(cli)
    begun, go = rig.file("begun"), rig.file("go")
    rig.configure({})
    rig.turns(f"touch {begun}; while [ ! -e {go} ]; do sleep 0.02; done; {PROMISE}")
    session = cli.start("run", "do it", "--agent", "bot", "--name", "s")
    eventually(begun.exists, "the turn")
    cli.json(*FAIL[0])
    go.touch()
    stdout, stderr = session.communicate(timeout=60)
    assert session.returncode == 1
    assert "T-1 failed: it burns" in stdout
    assert "can: hookline run --task" not in stderr


# No room


def on_a_small_disk(cli: Cli, line: str) -> subprocess.CompletedProcess[str] | None:
    """A shell line with `.hookline` on a small disk of its own; None where nobody may mount."""
    private = ("unshare", "--user", "--map-root-user", "--mount", "sh", "-c")
    if subprocess.run((*private, "mount -t tmpfs t /mnt"), capture_output=True).returncode:
        return None
    mount = "mkdir ../disk && mount -t tmpfs -o size=3m t ../disk && cp -a .hookline/. ../disk"
    whole = f"{mount} && mount --bind ../disk .hookline && cd . && {{ {line}; }}"
    return subprocess.run(
        (*private, whole), cwd=cli.root, env=cli.env, capture_output=True, text=True
    )


FILL = "cat /dev/zero > .hookline/fill 2> /dev/null; true"


def test_hooks_that_fill_the_disk_do_not_undo_the_change(cli: Cli) -> None:
    fill = f"[ -e .hookline/once ] || {{ touch .hookline/once; {FILL}; }}; head -c 9000 /dev/zero"
    cli.configure(
        f"events: [mine]\nhooks: {{mine: [{{name: greedy, command: {json.dumps(fill)}}}]}}\n"
    )
    cli.add("the store is there")
    later = f"rm .hookline/fill; {HOOKLINE} work --flows --once --json; {HOOKLINE} events"
    done = on_a_small_disk(
        cli, f"{HOOKLINE} emit mine; code=$?; {later} --json; {HOOKLINE} hook list; exit $code"
    )
    if done is None:
        return
    assert done.returncode == 0, done.stderr
    assert "the change is stored; its hooks wait" in done.stderr
    assert "`hookline work --flows --once` calls them" in done.stderr
    assert "othing was changed" not in done.stderr
    emitted = [line for line in done.stdout.splitlines() if '"type":"mine"' in line]
    assert len(emitted) == 1


def test_a_session_without_room_says_how_it_goes_on(cli: Cli) -> None:
    rig = Rig(cli)
    rig.configure({})
    rig.turns(f"{FILL}; {PROMISE}", rest=PROMISE)
    cli.add("the store is there")
    run = f"{HOOKLINE} run 'do it' --agent bot --name s"
    resumed = f"rm .hookline/fill; {HOOKLINE} run --resume --name s --json; exit $code"
    done = on_a_small_disk(cli, f"{run}; code=$?; {resumed}")
    if done is None:
        return
    assert done.returncode == 1, (done.stdout, done.stderr)
    assert "error[disk-full]" in done.stderr
    assert "othing was changed" not in done.stderr
    assert "continue with `hookline run --resume --name s`" in done.stderr
    assert json.loads(done.stdout.splitlines()[-1])["data"]["outcome"] == "completed"


# No store


def test_a_session_whose_store_is_deleted_is_not_completed(cli: Cli) -> None:
    rig = Rig(cli)
    rig.configure({})
    rig.turns(f"rm -rf {cli.root}/.hookline; {PROMISE}")
    done = cli("run", "do it", "--agent", "bot", "--json")
    assert (done.code, done.error["code"]) == (1, "store-gone")
    assert '"completed"' not in done.stdout


@pytest.mark.parametrize(
    "deed", ["rm -rf .hookline", "cp -a .hookline new; rm -r .hookline; mv new .hookline"]
)
def test_a_hook_that_takes_the_store_away_is_noticed(cli: Cli, deed: str) -> None:
    cli.configure(
        f"events: [mine]\nhooks: {{mine: [{{name: thief, command: {json.dumps(deed)}}}]}}\n"
    )
    cli.add("the store is there")
    done = cli("emit", "mine", "--json")
    assert (done.code, done.error["code"]) == (1, "store-gone")


# Told to end


def begun(cli: Cli, count: int) -> list[int]:
    """The processes of a hook that writes down its own, once there are so many."""
    path = cli.root / "pids"
    eventually(lambda: path.exists() and len(path.read_text().split()) == count, "the hook")
    return [int(word) for word in path.read_text().split()]


def test_a_command_that_is_told_to_end_takes_its_hook_along(cli: Cli) -> None:
    slow = "[ -e go ] || { echo $$ >> pids; exec sleep 100; }"
    cli.configure(
        f"events: [mine]\nhooks: {{mine: [{{name: slow, command: {json.dumps(slow)}}}]}}\n"
    )
    more_than_tries = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGTERM)
    for count, number in enumerate(more_than_tries, 1):
        words = ("emit", "mine") if count == 1 else ("work", "--flows", "--once")
        process = cli.start(*words)
        pid = begun(cli, count)[-1]
        process.send_signal(number)
        _, said = process.communicate(timeout=60)
        assert process.returncode == 130, said
        assert "interrupted" in said
        assert not is_running(pid)
    (cli.root / "go").touch()
    cli("work", "--flows", "--once")
    assert cli.calls("slow") == ["ok"]


def test_who_ignores_a_closed_terminal_goes_on_without_it(cli: Cli) -> None:
    slow = "echo $$ >> pids; while [ ! -e go ]; do sleep 0.02; done"
    cli.configure(
        f"events: [mine]\nhooks: {{mine: [{{name: slow, command: {json.dumps(slow)}}}]}}\n"
    )
    process = subprocess.Popen(
        (*("sh", "-c", 'trap "" HUP; exec "$@"', "sh"), *PROGRAM, "emit", "mine"),
        cwd=cli.root,
        env=cli.env,
        stdout=subprocess.DEVNULL,
    )
    begun(cli, 1)
    process.send_signal(signal.SIGHUP)
    (cli.root / "go").touch()
    assert process.wait(timeout=60) == 0
    assert cli.calls("slow") == ["ok"]
