"""Problems at the forge are found before an agent is paid: by `check`, `doctor` and `work`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from hookline.adapters.forges import github
from hookline.adapters.github import rest as github_rest
from tests.integration.github_stand_in import Rules

if TYPE_CHECKING:
    from tests.e2e.conftest import Cli
    from tests.e2e.hub_rig import Hub, HubPipeline

# What is wrong there, and whether work is refused for it.
WRONG: dict[str, tuple[Rules, bool]] = {
    "not allowed to push to acme/widgets": (Rules(may_push=False), True),
    "is archived": (Rules(archived=True), True),
    "does not allow the merge method 'merge'": (Rules(forbidden=["merge"]), True),
    "main does not allow the merge method 'merge'": (Rules(linear=True), True),
    "GitHub has no branch main": (Rules(base="trunk"), True),
    "has a merge queue": (Rules(queue=True), False),
    "`skip_pr` merges without one": (Rules(approvals=1), False),
}


@pytest.fixture
def hub(line: HubPipeline, hub: Hub) -> Hub:
    line.begin_at(hub, "task_types: {chore: {skip_pr: true}}\n", gates="method: merge")
    return hub


def seen(cli: Cli) -> list[dict[str, Any]]:
    """What the doctor says of the forge."""
    found = cli("doctor", "--json").json["checks"]
    return [each for each in found if each["name"] == "forge"]


def test_what_the_forge_forbids_is_told_before_work(line: HubPipeline, hub: Hub, cli: Cli) -> None:
    task = cli.add("a part")
    for message, (rules, blocks) in WRONG.items():
        hub.rules = rules
        (found,) = (each for each in seen(cli) if message in each["message"])
        assert found["status"] == ("failed" if blocks else "warning"), found
        assert found["fix"]
        result = cli("check", "--forge", "--json")
        assert (result.code, message in result.stdout) == (2 if blocks else 0, True)
        if blocks:
            code, error = cli.refused("work", "--once")
            assert (code, message in error["message"], bool(error["help"])) == (1, True, True)
    assert cli.task(task)["state"] == "ready"
    assert not (line.box / task).exists(), "an agent was paid"
    hub.rules = Rules(queue=True)
    result = cli("work", "--once", "--tasks", "1")
    assert "has a merge queue" in result.stderr
    hub.rules = Rules()
    assert [each["status"] for each in seen(cli)] == ["ok"]


def test_a_token_or_remote_that_will_not_do_is_told_offline(
    line: HubPipeline, hub: Hub, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (github, github_rest):
        monkeypatch.setattr(module, "BACKOFF", (0.01, 0.01, 0.01))

    def problems(*options: str) -> tuple[int, str]:
        result = cli("check", "--json", *options)
        return result.code, " ".join(each["message"] for each in result.json["problems"])

    assert problems() == (0, "")
    asked = len(hub.asked)
    token = cli.env.pop("GITHUB_TOKEN")
    assert problems() == (0, "there is no token for GitHub")
    assert "there is no token" in cli.refused("work", "--once")[1]["message"]
    cli.env["GITHUB_TOKEN"] = token
    line.git("remote", "set-url", "origin", str(line.remote))
    assert "is not a GitHub repository" in problems()[1]
    assert len(hub.asked) == asked, "nobody was asked"
    line.git("remote", "set-url", "origin", "git@github.com:acme/widgets.git")

    cli.env["GITHUB_TOKEN"] = "ghp_anotherOne0123456789"
    assert problems() == (0, "")
    assert "does not accept the token" in problems("--forge")[1]
    assert "does not accept the token" in cli.refused("work", "--once")[1]["message"]
    (found,) = seen(cli)
    assert (found["status"], "token" in found["fix"].lower()) == ("failed", True)
