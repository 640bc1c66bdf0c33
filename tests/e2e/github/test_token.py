"""Where the token of GitHub is to be seen, and where not."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.integration.github_stand_in import TOKEN

if TYPE_CHECKING:
    from tests.e2e.conftest import Cli
    from tests.e2e.hub_rig import Hub, HubPipeline

LIST = 'cat /proc/[0-9]*/cmdline >> "$(dirname "$0")/processes" 2> /dev/null\n'


def test_no_process_has_the_token_in_its_arguments_and_an_agent_can_go_without(
    line: HubPipeline, hub: Hub, cli: Cli
) -> None:
    profile = line.profile.replace("}", ", env: {GITHUB_TOKEN: '', GH_TOKEN: ''}}")
    line.begin_at(hub, agents=f"agents: {{bot: {profile}}}\n")
    ssh = cli.root.parent / "ssh.sh"
    ssh.write_text(LIST + ssh.read_text())
    line.turn(f'work; echo "<$GITHUB_TOKEN>" > "$here/token"\n{LIST}')
    task = cli.add("a part")
    assert cli.process("work", "--once").code == 0
    assert (cli.task(task)["state"], hub.merges) == ("completed", [1])
    assert (line.box / "token").read_text() == "<>\n"
    for folder in (ssh.parent, line.box):
        seen = (folder / "processes").read_bytes()
        assert b"hookline" in seen
        assert TOKEN.encode() not in seen
