"""What people say about the hosts that share a store, and what each of them may take."""

from __future__ import annotations

import json
import signal
from typing import TYPE_CHECKING, Any

import pytest

from hookline.version import __version__
from tests.e2e.conftest import PATIENCE, eventually, kill
from tests.e2e.test_work import ADA, Workshop
from tests.postgres_server import new_project

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Iterator

    from tests.e2e.conftest import Cli
    from tests.postgres_server import PostgresServer

TYPES = "hosts: {lease: 1h}\ntask_types:\n  code: {}\n  model: {needs: [gpu, linux]}\n"
ONE, TWO = {"HOOKLINE_HOST": "one"}, {"HOOKLINE_HOST": "two"}


class Fleet(Workshop):
    """Hosts that share a store and, here, a folder."""

    def once(self, host: dict[str, str], *words: str) -> dict[str, Any]:
        """The result of a worker of a host."""
        done = self.cli("work", "--once", "--json", *words, env=host)
        found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])["data"]
        return found

    def host(self, name: str) -> dict[str, Any]:
        (found,) = (each for each in self.cli.json("hosts") if each["name"] == name)
        return dict(found)

    def warnings(self, code: str) -> list[dict[str, Any]]:
        return [each for each in self.cli.json("check")["problems"] if each["code"] == code]

    def has_begun(self, task: str) -> bool:
        return (self.outside / f"begun.{task}").exists()

    def state(self, task: str) -> str:
        return str(self.cli.task(task)["state"])


@pytest.fixture
def fleet(cli: Cli, postgres: PostgresServer) -> Iterator[Fleet]:
    cli.env["HOOKLINE_STORE"] = new_project(postgres)
    made = Fleet(cli)
    made.configure(TYPES)
    yield made
    (made.outside / "wait").unlink(missing_ok=True)


def ended(worker: subprocess.Popen[str]) -> str:
    """What a worker said, after it was told to stop."""
    worker.send_signal(signal.SIGINT)
    said = worker.communicate(timeout=PATIENCE)
    return "".join(said)


def test_who_lives_and_what_each_does(fleet: Fleet) -> None:
    (fleet.outside / "wait").touch()
    assert fleet.cli.json("hosts") == []
    task = fleet.cli.add("a part", "--type", "code")
    worker = fleet.cli.start("work", "--label", "gpu", env=ONE)
    eventually(lambda: fleet.has_begun(task), "work")
    found = fleet.host("one")
    assert (found["status"], found["why"], found["processes"]) == ("alive", None, 1)
    assert (found["version"], found["labels"], found["agents"]) == (__version__, ["gpu"], ["ada"])
    assert [(each["flow"], each["taskId"]) for each in found["runs"]] == [("session", task)]
    assert abs(found["clock"]) < PATIENCE
    assert len(found["digest"]) == 12
    checks = {each["name"]: each for each in fleet.cli.json("doctor", quiet=False)["checks"]}
    assert checks["hosts"]["message"] == "1 host at work, their clocks agree"
    shown = fleet.cli("hosts", env=TWO).stdout
    assert shown.startswith("alive   one [gpu]  ")
    assert f"  R-1   session {task}\n" in shown
    assert fleet.cli.refused("hosts", "remove", "one")[1]["message"] == "one is at work"
    (fleet.outside / "wait").unlink()
    eventually(lambda: fleet.state(task) == "completed", "the merge")
    ended(worker)
    assert fleet.host("one")["status"] == "idle"
    assert fleet.cli.json("hosts", "remove", "one")["givenBack"] == 0
    assert fleet.cli.json("hosts") == []


@pytest.mark.torture
def test_a_drained_host_finishes_and_takes_nothing_new(fleet: Fleet) -> None:
    (fleet.outside / "wait").touch()
    first = fleet.cli.add("first", "--type", "code")
    worker = fleet.cli.start("work", env=ONE)
    eventually(lambda: fleet.has_begun(first), "work")
    fleet.cli.json("hosts", "drain", "one")
    second = fleet.cli.add("second", "--type", "code")
    (fleet.outside / "wait").unlink()
    eventually(lambda: fleet.state(first) == "completed", "the merge")
    assert fleet.host("one")["status"] == "drained"
    assert fleet.once(ONE)["begun"] == 0
    assert fleet.state(second) == "ready"
    fleet.cli.json("hosts", "undrain", "one")
    eventually(lambda: fleet.state(second) == "completed", "the merge")
    said = ended(worker)
    assert "taking nothing new: it is drained" in said
    assert "taking tasks again" in said


@pytest.mark.torture
def test_a_drained_host_leaves_what_others_began(fleet: Fleet) -> None:
    fleet.once(TWO)
    fleet.cli.json("hosts", "drain", "two")
    (fleet.outside / "wait").touch()
    task = fleet.cli.add("first", "--type", "code")
    worker = fleet.cli.start("work", env=ONE)
    eventually(lambda: fleet.has_begun(task), "work")
    kill(worker)
    eventually(lambda: fleet.host("one")["processes"] == 0, "the end of what it held")
    (fleet.outside / "wait").unlink()
    assert fleet.once(TWO)["merged"] == []
    fleet.cli.json("hosts", "undrain", "two")
    assert fleet.once(TWO)["merged"] == [task]


@pytest.mark.torture
def test_a_task_goes_to_hosts_that_have_what_it_needs(fleet: Fleet) -> None:
    task = fleet.cli.add("train", "--type", "model")
    told = "no running host has what tasks of type model need: gpu, linux"
    for labels in ((), ("--label", "gpu")):
        found = fleet.once(ONE, *labels)
        assert (found["begun"], found["notTaken"]) == (0, [task])
        assert found["why"][task] == told
    (item,) = fleet.cli("attention", "--json").json
    assert (item["id"], item["command"]) == (task, "hookline hosts")
    assert item["message"] == f"{told[0].upper()}{told[1:]}."
    (warning,) = fleet.warnings("no-host")
    assert warning["message"] == "no running host that takes tasks has gpu and linux"
    (fleet.outside / "wait").touch()
    other = fleet.cli.start("work", "--label", "gpu", "--label", "linux", env=TWO)
    eventually(lambda: fleet.has_begun(task), "work")
    assert fleet.warnings("no-host") == []
    waiting = fleet.cli.add("train more", "--type", "model")
    assert fleet.cli.json("attention") == []
    (fleet.outside / "wait").unlink()
    assert fleet.once(ONE)["begun"] == 0
    eventually(lambda: fleet.state(waiting) == "completed", "the merge")
    assert fleet.state(task) == "completed"
    ended(other)


@pytest.mark.torture
def test_a_host_has_labels_of_its_own_file(fleet: Fleet) -> None:
    task = fleet.cli.add("train", "--type", "model")
    mine = fleet.outside / "mine"
    mine.mkdir()
    (mine / "hookline.yaml").write_text("version: 1\nhosts: {labels: [gpu, linux]}\n")
    env = {**ONE, "HOOKLINE_HOME": str(mine)}
    fleet.cli.json("trust", "--yes", env=env)
    assert fleet.once(env)["merged"] == [task]


@pytest.mark.torture
def test_a_host_that_differs_from_what_is_wanted_takes_nothing(fleet: Fleet) -> None:
    task = fleet.cli.add("first", "--type", "code")
    wanted = fleet.cli.json("hosts", "want")["digest"]
    fleet.cli.json("hosts", "want", "--digest", "0" * 12, "--min-version", "99.1")
    assert fleet.once(ONE)["begun"] == 0
    fleet.cli.json("hosts", "want", "--min-version", __version__)
    said = fleet.cli("work", "--once", env=ONE).stdout
    assert fleet.state(task) == "ready"
    found = fleet.host("one")
    assert found["why"] == f"its configuration is {wanted}, and 000000000000 is wanted"
    fleet.cli.json("hosts", "want", "--digest", wanted)
    assert fleet.once(ONE)["merged"] == [task]
    assert fleet.cli.json("hosts", "want", "--any") == {"digest": None, "minVersion": None}
    assert said


@pytest.mark.torture
def test_an_agent_is_offered_where_it_can_work(fleet: Fleet) -> None:
    old = fleet.cli.put("../claude", "#!/bin/sh\necho 1.0.0 '(Claude Code)'\n", mode=0o755)
    agents = f"{ADA}  eve: {{driver: claude-code, command: {old.resolve()}}}\n"
    fleet.configure(f"{TYPES}agent: eve\n", agents=agents)
    task = fleet.cli.add("first", "--type", "code")
    said = fleet.cli("work", "--once", "--agent", "eve", "--agent", "ada", env=ONE)
    assert "eve is not offered by this host" in said.stdout + said.stderr
    assert fleet.state(task) == "completed"
    error = fleet.cli.refused("work", "--once", "--agent", "eve", env=ONE)[1]
    assert error["message"].startswith("eve cannot work on this host: ")


@pytest.mark.torture
def test_an_agent_that_cannot_work_any_more_is_offered_no_longer(fleet: Fleet) -> None:
    """Its login is lost in a turn."""
    login = fleet.outside / "login"
    login.touch()
    script = (
        'case "$1" in\n--version) echo "2.1.60 (Claude Code)" ;;\n'
        f'auth) [ -e {login} ] && is=true; echo "{{\\"loggedIn\\": ${{is:-false}}}}" ;;\n'
        f"*) cat > /dev/null; rm {login}; exit 127 ;;\nesac\n"
    )
    eve = fleet.cli.put("../claude", f"#!/bin/sh\n{script}", mode=0o755)
    agents = f"{ADA}  eve: {{driver: claude-code, command: {eve.resolve()}}}\n"
    fleet.configure(f"{TYPES.replace('1h', '8s')}agent: eve\n", agents=agents)
    (fleet.outside / "wait").touch()
    worker = fleet.cli.start("work", "--agent", "eve", "--agent", "ada", env=ONE)
    eventually(lambda: fleet.cli.json("hosts") != [], "the host")
    assert fleet.host("one")["agents"] == ["ada", "eve"]
    fleet.cli.add("first", "--type", "code")
    eventually(lambda: fleet.host("one")["agents"] == ["ada"], "one agent less")
    (fleet.outside / "wait").unlink()
    assert "eve is not offered by this host: " in ended(worker)


def test_who_is_not_shared_with_is_told_so(cli: Cli) -> None:
    cli.env.pop("HOOKLINE_STORE", None)
    cli.add("first")
    assert cli.json("hosts") == []
    assert "no other host shares it" in cli("hosts").stdout
    for words in (("drain", "one"), ("remove", "one"), ("want", "--any")):
        code, error = cli.refused("hosts", *words)
        assert (code, "hookline store copy" in error["help"]) == (2, True)


@pytest.mark.parametrize(
    ("words", "message", "help"),
    [
        (("drain", "ony"), "no host is called 'ony'", "did you mean 'one'?"),
        (("undrain", "x"), "no host is called 'x'", "hookline hosts"),
        (("remove", "x"), "no host is called 'x'", "hookline hosts"),
        (("want", "--min-version", "new"), "new is not a version", "0.2.0"),
        (("want", "--digest", "new"), "new is not the digest of a configuration", "hosts"),
    ],
)
def test_what_means_nothing_is_refused(
    fleet: Fleet, words: tuple[str, ...], message: str, help: str
) -> None:
    fleet.once(ONE)
    error = fleet.cli.refused("hosts", *words)[1]
    assert (error["message"], help in error["help"]) == (message, True), error


def test_agents_say_nothing_about_hosts(fleet: Fleet) -> None:
    fleet.once(ONE)
    for words in (("drain", "one"), ("undrain", "one"), ("remove", "one"), ("want", "--any")):
        code, _ = fleet.cli.refused("hosts", *words, env={"HOOKLINE_AGENT": "ada"})
        assert code != 0
    assert fleet.host("one")["status"] == "idle"
