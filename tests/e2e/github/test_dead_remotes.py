"""A remote or a forge that cannot be reached is found before an agent is paid."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING

import pytest

from hookline.adapters.forges import github
from hookline.adapters.github import rest as github_rest
from tests.e2e.pipeline_rig import Pipeline

if TYPE_CHECKING:
    from tests.e2e.conftest import Cli
    from tests.e2e.hub_rig import Hub, HubPipeline


def closed() -> str:
    """An address of this machine at which nobody listens."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{taken.getsockname()[1]}"


def is_refused_before_work(cli: Cli, line: Pipeline, message: str) -> None:
    """All three doors say so, and nobody has worked."""
    task = cli.add("a part", "--type", "part")
    checked = cli("check", "--forge", "--json")
    assert (checked.code, message in checked.stdout) == (2, True), checked
    found = [each for each in cli("doctor", "--json").json["checks"] if each["name"] == "forge"]
    assert [each["status"] for each in found] == ["failed"]
    assert message in found[0]["message"]
    assert found[0]["fix"]
    for words in (("work", "--once"), ("run", "--task", task)):
        code, error = cli.refused(*words)
        assert (code, message in error["message"], bool(error["help"])) == (1, True, True)
    assert cli.task(task)["state"] == "ready"
    assert not (line.box / task).exists(), "an agent was paid"


def test_a_dead_remote_without_a_forge(cli: Cli) -> None:
    line = Pipeline(cli)
    kinds = "task_types: {part: {hooks: {before_submit: []}}}\ngates: {test: 'true'}\n"
    line.begin(kinds)
    assert cli("check", "--forge").code == 0
    line.git("remote", "set-url", "origin", f"git://{closed()}/x.git")
    is_refused_before_work(cli, line, "origin does not answer, or denies access")

    # A remote that goes away later is told as such, and is nothing for an agent.
    line.by_hand("T-1", "main")
    assert cli("submit", "T-1", "--json").json["outcome"] == "sent_back"
    (item,) = cli("attention", "--json").json
    assert item["command"] == "hookline submit T-1"
    assert "check the remote: `git ls-remote` must work" in item["message"]
    cli.configure(f"{kinds[:-2]}, remote: ''}}\nagents: {{bot: {line.profile}}}\n")
    line.commit("no remote")
    assert cli("submit", "T-1", "--json").json["outcome"] == "merged"


@pytest.mark.torture
def test_a_dead_remote_of_a_forge_that_answers(line: HubPipeline, hub: Hub, cli: Cli) -> None:
    line.begin_at(hub, "task_types: {part: {hooks: {before_submit: [create_pr]}}}\n")
    line.remote.rename(line.remote.with_name("moved"))
    hub.line.remote = line.remote.with_name("moved")
    is_refused_before_work(cli, line, "origin does not answer, or denies access")
    line.by_hand("T-1", "main")
    assert cli("submit", "T-1", "--json").json["outcome"] == "sent_back"
    (item,) = cli("attention", "--json").json
    assert item["command"] == "hookline submit T-1"
    line.git("remote", "remove", "origin")
    assert "`git remote add origin URL`" in cli.refused("work", "--once")[1]["help"]


def test_a_forge_that_does_not_answer(
    line: HubPipeline, hub: Hub, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (github, github_rest):
        monkeypatch.setattr(module, "BACKOFF", (0.01,))
    kinds = "task_types: {part: {hooks: {before_submit: [create_pr]}}}\n"
    line.begin_at(hub, kinds)
    line.git("remote", "set-url", "origin", "git@github.com:acme/gone.git")
    assert "GitHub has no acme/gone, or hides it" in cli.refused("work", "--once")[1]["message"]
    hub.problems.clear()
    line.git("remote", "set-url", "origin", "git@github.com:acme/widgets.git")
    gates = f"gates: {{forge: github, api: 'http://{closed()}'}}\n"
    cli.configure(f"{gates}{kinds}agents: {{bot: {line.profile}}}\n")
    is_refused_before_work(cli, line, "GitHub")
