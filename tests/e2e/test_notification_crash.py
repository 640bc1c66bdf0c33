"""Sessions whose process is killed at random moments: nothing that people are told is lost."""

from __future__ import annotations

import json
import random
import signal
import subprocess
from collections import Counter

import pytest

from tests.e2e.conftest import PROGRAM
from tests.e2e.notify_rig import Rig, rig

__all__ = ["rig"]

# Every turn makes a task that waits for a person; the last one promises.
AGENT = """\
cat > /dev/null
id=$({hookline} task add "sub $HOOKLINE_ITERATION" --json | grep -o 'T-[0-9]*' | head -1)
{hookline} task block "$id" --reason "which one?" > /dev/null
if [ "$HOOKLINE_ITERATION" -ge 6 ]; then echo '<promise>COMPLETE</promise>'; fi
"""
WEB, PHONE = "/in", "/"
COMPLETED, LIMIT = "completed", 5


class Victims:
    """Runs sessions, and kills whatever advances them."""

    def __init__(self, rig: Rig, seed: int) -> None:
        self._rig, self._random = rig, random.Random(seed)
        self.kills = 0
        self._said = rig.cli.root.parent / "said"
        hookline = " ".join(PROGRAM)
        rig.cli.put("agent.sh", AGENT.format(hookline=hookline))
        failing = [{"name": "failing", "command": "exit 3"}]
        rig.configure(
            rig.webhook(WEB, name="web"),
            {"name": "phone", "notify": "ntfy", "topic": "night", "server": rig.inbox.url},
            {"name": "mail", "notify": "email", "to": "a@b.c", "smtp": rig.mailbox.url},
            agents={"bot": {"driver": "command", "command": "sh agent.sh"}},
            session={"iterations": 6, "guards": dict.fromkeys(("failures", "no_change"), 0)},
            hooks={"task_created": failing},
        )
        rig.inbox.delay = 0.3  # so that some are killed while they send
        rig.cli.add("the store is there from the first look on", quiet=False)

    def run(self, name: str, *, kill: bool) -> None:
        """Advance a session, to its end or until it is killed."""
        begun = self._rig.cli.rows(
            "SELECT 1 FROM runs WHERE json_extract(input, '$.name') = ?", name
        )
        # A session that was cut too often reaches its limit, which is raised then.
        how = ("--resume", "--iterations", "50") if begun else ("Work",)
        words = ("run", *how, "--name", name, "--json")
        with self._said.open("wb") as said:
            process = subprocess.Popen(
                (*PROGRAM, *words),
                cwd=self._rig.cli.root,
                env=self._rig.cli.env,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=said,
            )
        try:
            process.wait(self._random.uniform(0.05, 4) if kill else 100)
        except subprocess.TimeoutExpired:
            process.kill()
            self.kills += 1
        code = process.wait(100)
        assert code in (0, LIMIT, -signal.SIGKILL), self._said.read_text()

    def kill_often(self, kills: int) -> list[str]:
        """Session after session, until so many processes were killed."""
        names: list[str] = []
        while self.kills < kills:
            names.append(f"s{len(names) + 1}")
            while not self._is_over(names[-1]):
                self.run(names[-1], kill=self.kills < kills)
        return names

    def _is_over(self, name: str) -> bool:
        rows = self._rig.cli.rows(
            "SELECT status FROM runs WHERE json_extract(input, '$.name') = ?", name
        )
        return bool(rows) and rows[0][0] == COMPLETED


def check(rig: Rig, names: list[str]) -> None:
    """Every event that people are told of arrived, each under one key, however often."""
    rig.run("note", "add", "whoever comes next sends what is left")
    cli = rig.cli
    told = [(event["seq"], event["data"]) for event in cli.events("attention_needed")]
    ended = [event["data"]["session"] for event in cli.events("session_ended")]
    ends = [data["id"] for _, data in told if data["outcome"] in ("completed", "limit")]
    assert sorted(ends) == sorted(ended)
    assert set(ended) == set(names)
    assert Counter(data["key"] for _, data in told).most_common(1)[0][1] == 1
    by_web: dict[int, set[str]] = {}
    for got in rig.inbox.at(WEB):
        for message in got.said["messages"]:
            by_web.setdefault(message["seq"], set()).add(got.key)
    assert by_web.keys() == {seq for seq, _ in told}
    assert {len(keys) for keys in by_web.values()} == {1}
    bodies = {(each.key, json.dumps(each.said)) for each in rig.inbox.received}
    assert len(bodies) == len({each.key for each in rig.inbox.received})
    by_phone = " ".join(each.said["message"] for each in rig.inbox.at(PHONE))
    assert [data["message"] for _, data in told if data["message"] not in by_phone] == []
    by_mail = " ".join(letter.get_content() for letter in rig.mailbox.letters)
    assert [data["message"] for _, data in told if data["message"] not in by_mail] == []
    letters = {(each["Message-ID"], each.get_content()) for each in rig.mailbox.letters}
    assert len(letters) == len({each["Message-ID"] for each in rig.mailbox.letters})
    assert cli.rows("SELECT * FROM outbox") == []
    checks = cli("doctor", "--json").json["checks"]
    assert [each for each in checks if each["status"] == "failed"] == []
    repeats = len(rig.inbox.received) - len(bodies)
    print(f"{len(told)} told, {repeats} repeated over HTTP, {len(rig.mailbox.letters)} letters")


def kill_and_check(rig: Rig, kills: int) -> None:
    seed = random.randrange(1 << 32)
    print(f"seed {seed}")
    victims = Victims(rig, seed)
    check(rig, victims.kill_often(kills))


def test_a_few_kills_lose_nothing_that_people_are_told(rig: Rig) -> None:
    kill_and_check(rig, 2)


@pytest.mark.torture
@pytest.mark.timeout(1800)
def test_fifty_kills_lose_nothing_that_people_are_told(rig: Rig) -> None:
    kill_and_check(rig, 50)
