"""Work that breaks hookline.yaml goes back to its author: nobody is asked to trust it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.e2e.pipeline_rig import Pipeline

if TYPE_CHECKING:
    from tests.e2e.conftest import Cli


@pytest.mark.examples(1)
@pytest.mark.parametrize("trust", [(), ("--always",)])
@pytest.mark.parametrize("broken", ["x\n", "gatez: {}\n"])
def test_a_broken_configuration_is_told_and_not_merged(
    cli: Cli, trust: tuple[str, ...], broken: str
) -> None:
    line = Pipeline(cli)
    line.begin("hooks: {before_submit: []}\ngates: {test: 'true', tries: 1}\n", remote=False)
    if trust:
        cli.json("trust", *trust, "--yes")
    before = line.git("rev-parse", "main")
    line.turn("true\n")
    task = cli.add("a part")
    place = line.by_hand(task)
    with (place / "hookline.yaml").open("a") as file:
        file.write(broken)
    line.commit("break it", at=place)
    result = cli("submit", task, "--agent", "bot", "--json")
    assert result.json["outcome"] == "sent_back"
    assert "the work breaks the configuration: hookline.yaml:" in result.json["reason"]
    assert line.git("rev-parse", "main") == before
    (prompt,) = line.prompts(task)
    assert "With hookline.yaml as your work has it" in prompt
    assert "hookline.yaml:" in prompt
    assert cli.refused("trust", "--task", task)[1]["message"] == f"{task} is not waiting for trust"
    line.git("revert", "--no-edit", "HEAD", at=place)
    assert cli("submit", task, "--agent", "bot", "--json").json["outcome"] == "merged"
