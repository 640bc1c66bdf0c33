"""A check mark means that something was checked: what is unproven or failed has none anywhere."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.e2e.report_file import ReportFile
from tests.e2e.session_rig import PROMISE, Rig

if TYPE_CHECKING:
    from tests.e2e.conftest import Cli

SINCE = ("--since", "1h")
# The commands that say how a session ended, and what they show as done.
SHOWS = (("logs",), ("session", "show"), ("report", *SINCE), ("report", *SINCE, "--markdown"))
PAGES = (("session", "report", "s", "-o", "-"), ("report", *SINCE, "--html", "-"))
NEVER = {"name": "never", "type": "command", "command": "false"}
ALWAYS = {**NEVER, "name": "always", "command": "true"}
FAILED = "a check failed: only its agent says that it is done"
NOTHING = "nothing was checked: only its agent says that it is done"


def marked(text: str) -> list[str]:
    """The lines with a check mark, but for those of the agent's turns, which did end."""
    return [
        line for line in text.splitlines() if ("✓" in line or "✅" in line) and "turn" not in line
    ]


@pytest.mark.parametrize(("rules", "why"), [([], NOTHING), ([NEVER], FAILED)])
def test_what_only_the_agent_says_has_no_check_mark(
    cli: Cli, rules: list[dict[str, str]], why: str
) -> None:
    rig = Rig(cli)
    rig.turns(rest=PROMISE)
    rig.configure({"stop": ["promise"]}, validation=rules)
    assert cli("run", "write it", "--name", "s").code == 0
    assert [marked(cli(*words).stdout) for words in SHOWS] == [[]] * len(SHOWS)
    assert "(UNPROVEN: only its agent says so)" in cli("session", "list").stdout
    assert not cli.json("session", "show")["proven"]
    status = cli("status").stdout
    assert status.startswith("UNPROVEN  s  completed ")
    assert why in status
    assert why in cli("report", *SINCE).stdout
    session, project = (ReportFile(cli(*words).stdout) for words in PAGES)
    assert (session.session["page"]["proven"], session.session["page"]["unproven"]) == (False, why)
    assert project.only_task()["task"]["outcome"] == "completed unproven"


def test_what_is_proven_has_its_check_mark(cli: Cli) -> None:
    rig = Rig(cli)
    rig.turns(rest=PROMISE)
    rig.configure({}, validation=[ALWAYS])
    assert cli("run", "write it", "--name", "s").code == 0
    assert all(marked(cli(*words).stdout) for words in SHOWS)
    assert cli.json("session", "show")["proven"]
    assert "UNPROVEN" not in cli("session", "list").stdout
    assert cli("status").stdout.startswith("done      s  completed ")
    session, project = (ReportFile(cli(*words).stdout) for words in PAGES)
    assert session.session["page"]["proven"]
    assert project.only_task()["task"]["outcome"] == "completed"
