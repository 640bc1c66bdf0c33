"""Agents by their drivers: real programs that take a prompt, and scripts of turns."""

from __future__ import annotations

import asyncio
import json
import os
from typing import TYPE_CHECKING, Any

import pytest

from hookline.adapters.agents.local_agents import LocalAgents
from hookline.adapters.processes.process import LocalProcesses
from hookline.config.types import Agent
from hookline.domain.sessions.turns import Usage
from hookline.errors import BadInput
from hookline.ports.agents import TurnRequest

if TYPE_CHECKING:
    from pathlib import Path

    from hookline.domain.sessions.turns import AgentEvent, AgentTurn
    from hookline.ports.processes import ProcessGroup

PROMPT = 'fix it; it\'s $(touch pwned) `broken`\nand "quoted" ü'


class Team:
    """The agents of one project."""

    def __init__(self, root: Path, default: str | None = None, **profiles: Agent) -> None:
        self.root = root
        (root / ".hookline").mkdir(exist_ok=True)
        processes = LocalProcesses(str(root / "blobs"))
        self.agents = LocalAgents(profiles, default, str(root), processes)
        self.groups: list[ProcessGroup] = []
        self.conversations: list[str] = []
        self.events: list[AgentEvent] = []

    def turn(
        self,
        name: str | None = None,
        prompt: str = PROMPT,
        *,
        key: str = "s-R1-1-agent",
        run: str = "R-1",
        timeout: float = 30,
    ) -> AgentTurn:
        return asyncio.run(self.ask(name, prompt, key, run, timeout))

    async def ask(
        self, name: str | None, prompt: str, key: str, run: str = "R-1", timeout: float = 30
    ) -> AgentTurn:
        env = {
            "PATH": os.environ["PATH"],
            "HOOKLINE_DIR": str(self.root / ".hookline"),
            "HOOKLINE_RUN_ID": run,
            "HOOKLINE_IDEMPOTENCY_KEY": key,
        }
        request = TurnRequest(
            prompt=prompt,
            env=env,
            timeout=timeout,
            on_start=self.groups.append,
            on_conversation=self.conversations.append,
            on_event=self.events.append,
        )
        return await self.agents.turn(name, request)


def command(line: str, **more: Any) -> Agent:
    return Agent(driver="command", command=line, **more)


# Any program


@pytest.mark.parametrize(
    "profile",
    [
        command("cat"),
        command("cat", input="stdin"),
        command("cat", input="file"),
        command('cat "$HOOKLINE_PROMPT_FILE"', input="file"),
        command("printf %s", input="argument"),
        command('printf %s "$HOOKLINE_PROMPT"', input="argument"),
        command("printf", args=["%s"], input="argument"),
    ],
    ids=lambda profile: f"{profile.input} {profile.command}",
)
def test_the_prompt_reaches_the_program_whole(tmp_path: Path, profile: Agent) -> None:
    team = Team(tmp_path, ada=profile)
    turn = team.turn("ada")
    assert (turn.text, turn.error, turn.stop_reason) == (PROMPT, None, "end_turn")
    assert len(team.groups) == 1
    assert team.conversations == ["s-R1-1-agent"]
    assert set(os.listdir(tmp_path)) <= {".hookline", "blobs"}


def test_a_prompt_file_is_gone_after_the_turn(tmp_path: Path) -> None:
    profile = command('echo "$HOOKLINE_PROMPT_FILE"', input="file")
    path = Team(tmp_path, ada=profile).turn().text.strip()
    assert os.path.isabs(path)
    assert not os.path.exists(path)


def test_a_program_that_fails_is_an_error_that_keeps_what_was_said(tmp_path: Path) -> None:
    turn = Team(tmp_path, ada=command("echo half; echo why >&2; exit 3")).turn()
    assert (turn.text, turn.error) == ("half\n", "the agent exited 3: why")


def test_a_program_that_hangs_is_killed(tmp_path: Path) -> None:
    turn = Team(tmp_path, ada=command("echo half; sleep 300")).turn(timeout=2)
    assert turn.text == "half\n"
    assert turn.error == "the agent timed out after 2 s"


def test_a_prompt_too_long_for_an_argument_says_what_to_do(tmp_path: Path) -> None:
    turn = Team(tmp_path, ada=command("printf %s", input="argument")).turn(prompt="x" * 200_000)
    assert "`input: stdin`" in str(turn.error)
    long = Team(tmp_path, ada=command("wc -c")).turn(prompt="x" * 200_000)
    assert (long.text.strip(), long.error) == ("200000", None)


def test_a_profile_has_an_environment_of_its_own(tmp_path: Path) -> None:
    profile = command("echo $MODEL $HOOKLINE_RUN_ID", env={"MODEL": "small"})
    assert Team(tmp_path, ada=profile).turn().text == "small R-1\n"


def test_the_agent_is_the_named_one_or_the_default_or_the_first(tmp_path: Path) -> None:
    ada, bob = command("echo ada"), command("echo bob")
    assert Team(tmp_path, ada=ada, bob=bob).turn("bob").text == "bob\n"
    assert Team(tmp_path, "bob", ada=ada, bob=bob).turn().text == "bob\n"
    assert Team(tmp_path, ada=ada, bob=bob).turn().text == "ada\n"
    with pytest.raises(BadInput, match="there is no agent 'eve'"):
        Team(tmp_path, ada=ada).turn("eve")
    with pytest.raises(BadInput, match="no agent is configured"):
        Team(tmp_path).turn()


@pytest.mark.parametrize(
    ("left", "told"),
    [
        (1, "1 process that the agent left behind was killed"),
        (2, "2 processes that the agent left behind were killed"),
    ],
)
def test_what_an_agent_leaves_behind_is_told(tmp_path: Path, left: int, told: str) -> None:
    start = "(setsid sh -c 'echo >> here; exec sleep 100' > /dev/null 2>&1 &); "
    wait = f'until [ "$(grep -c "" here)" = {left} ]; do sleep 0.02; done 2> /dev/null'
    team = Team(tmp_path, ada=command(start * left + wait))
    assert team.turn().error is None
    assert [each.text for each in team.events if each.type == "notice"] == [told]


# Scripts of turns


def scripted(tmp_path: Path, *turns: dict[str, Any]) -> Team:
    (tmp_path / "turns.json").write_text(json.dumps(turns), encoding="utf-8")
    return Team(tmp_path, ada=Agent(driver="scripted", script="turns.json"))


def test_turns_are_taken_in_order_and_the_same_effect_has_the_same_turn(tmp_path: Path) -> None:
    team = scripted(tmp_path, {"text": "one"}, {"text": "two"})
    said = [team.turn(key=key).text for key in ("a", "b", "a", "b")]
    assert said == ["one", "two", "one", "two"]
    assert team.turn(key="c").error == "turns.json has no turn 3"
    assert team.turn(key="x", run="R-2").text == "one"


def test_turns_outlive_the_process(tmp_path: Path) -> None:
    assert scripted(tmp_path, {"text": "one"}, {"text": "two"}).turn(key="a").text == "one"
    assert scripted(tmp_path, {"text": "one"}, {"text": "two"}).turn(key="b").text == "two"


def test_turns_that_are_asked_for_at_once_are_shared_out(tmp_path: Path) -> None:
    team = scripted(tmp_path, *({"text": str(number)} for number in range(8)))

    async def all_at_once() -> list[AgentTurn]:
        return await asyncio.gather(*(team.ask("ada", PROMPT, f"k{n}") for n in range(8)))

    assert sorted(turn.text for turn in asyncio.run(all_at_once())) == list("01234567")


def test_a_turn_does_what_its_line_says(tmp_path: Path) -> None:
    team = scripted(
        tmp_path,
        {"text": "done", "run": "cat > prompt.txt", "usage": {"usd": 0.1}},
        {"run": "echo no >&2; exit 4"},
        {"run": "sleep 60"},
    )
    turn = team.turn(key="a")
    assert (turn.text, turn.error, turn.usage) == ("done", None, Usage(usd=0.1))
    assert turn.conversation == team.conversations[0] == "ada-R-1"
    assert (tmp_path / "prompt.txt").read_text(encoding="utf-8") == PROMPT
    assert team.turn(key="b").error == "`echo no >&2; exit 4` exited 4: no"
    assert "timed out after" in str(team.turn(key="c", timeout=0.3).error)


def test_the_last_turn_may_serve_for_ever(tmp_path: Path) -> None:
    team = scripted(tmp_path, {"text": "one"}, {"text": "again", "repeat": True})
    assert [team.turn(key=key).text for key in "abcd"] == ["one", "again", "again", "again"]


def test_a_turn_may_expect_something_of_its_prompt(tmp_path: Path) -> None:
    team = scripted(tmp_path, {"text": "x", "expect": "FAILED"}, {"text": "y", "expect": "fix it"})
    assert "turn 1 of turns.json expects 'FAILED'" in str(team.turn(key="a").error)
    assert (team.turn(key="b").text, team.turn(key="b").error) == ("y", None)


def test_a_turn_may_end_in_an_error(tmp_path: Path) -> None:
    team = scripted(tmp_path, {"text": "half", "error": "overloaded", "stopReason": "error"})
    turn = team.turn()
    assert (turn.text, turn.error, turn.stop_reason) == ("half", "overloaded", "error")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (b"", "is not JSON: "),
        (b"{", "is not JSON: "),
        (b'["\xff"]', "is not JSON: "),
        (b"[" * 100_000, "is not JSON: "),
        (b"{}", "is not a list of turns: "),
        (b"[]", "has no turns"),
        (b'[{"txt": "misspelt"}]', "is not a list of turns: "),
        (b'[{"text": 3}]', "is not a list of turns: "),
        (None, "cannot be read: No such file or directory"),
    ],
)
def test_a_file_that_is_no_script_fails_the_turn(
    tmp_path: Path, text: bytes | None, told: str
) -> None:
    team = scripted(tmp_path)
    (tmp_path / "turns.json").unlink()
    if text is not None:
        (tmp_path / "turns.json").write_bytes(text)
    assert (team.turn().error or "").startswith(f"the script turns.json {told}")
