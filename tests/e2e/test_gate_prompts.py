"""What an agent reads that has to fix its submitted work and remembers nothing of it."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.e2e.conftest import Cli

AGENT = """\
cat > "$HERE/prompt-$(ls "$HERE" | wc -l)"
echo part >> part.txt
echo "<promise>COMPLETE</promise>"
"""


def test_an_agent_without_a_memory_is_told_its_task_before_what_a_gate_found(cli: Cli) -> None:
    def git(*words: str) -> None:
        subprocess.run(("git", *words), cwd=cli.root, check=True, capture_output=True)

    seen = cli.root.parent / "seen"
    seen.mkdir()
    cli.put("agent.sh", AGENT)
    cli.configure(
        "agents: {ada: {driver: command, command: 'sh agent.sh'}}\n"
        "task_types:\n  page:\n    agents: {implementer: [ada]}\n"
        "    hooks: {before_submit: [{name: two, command: '[ $(wc -l < part.txt) = 2 ]'}]}\n"
    )
    git("init", "-q", "-b", "main")
    git("config", "user.name", "Ada")
    git("config", "user.email", "ada@example.org")
    git("add", ".")
    git("commit", "-q", "-m", "A start")
    cli.add("Write both parts of the page", "--type", "page")
    done = cli("work", "--once", env={"HERE": str(seen)})
    assert done.code == 0, done.stderr
    first, second = (path.read_text() for path in sorted(seen.iterdir()))
    assert "Write both parts of the page" in first
    assert "# T-1: Write both parts of the page" in second
    assert second.index("Write both parts") < second.index("[ $(wc -l < part.txt) = 2 ]")
    assert cli.task("T-1")["state"] == "completed"
