"""The picture in the README: the real Claude Code in a real terminal, as it looks today."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.agents.model import Reply
from tests.agents.picture import svg
from tests.agents.session_desk import PATIENCE, script
from tests.e2e.terminal_rig import Terminal

if TYPE_CHECKING:
    from pyte.screens import Char

    from tests.agents.conftest import Script, Seat

    Line = dict[int, Char]

PICTURE = Path(__file__).parents[2] / "docs" / "session.svg"
RENEW = "HOOKLINE_RENEW_PICTURE"
COLUMNS, ROWS = 94, 40
# Tokens that the model reads and writes in a turn of some length.
USED = (31_000, 1_800)
CHECK = """\
[ "$(sh login.sh old-token)" = expired ] && exit
echo "FAILED test_expired: an old token still logs in"
exit 1
"""
pytestmark = pytest.mark.timeout(3 * PATIENCE)


@pytest.mark.torture
def test_the_picture_shows_a_session_as_it_is(seat: Seat, scripted: Script) -> None:
    desk = seat("claude-code")
    worker = desk.worker
    login = desk.cli.root / "login.sh"
    first = (
        Reply(calls=(worker.write(login, "echo welcome\n"),)),
        Reply(text="Done: login.sh is there.\n<promise>COMPLETE</promise>", usage=USED),
    )
    second = (
        *(Reply(calls=(c,)) for c in worker.mend(login, "echo welcome\n", "echo expired\n")),
        Reply(text="Old tokens are refused now.\n<promise>COMPLETE</promise>", usage=USED),
    )
    model = scripted(*script("This is iteration 1 of", *first), *script("iteration 2 of", *second))
    desk.cli.env |= worker.environment(model, desk.file("agent-home"))
    desk.cli.put("test_login.sh", CHECK)
    desk.repository()
    desk.configure(
        {
            "post_iteration": [
                {"name": "tests", "command": "sh test_login.sh", "pipe_output": True}
            ],
            "stop": ["evidence"],
        },
        agents={"claude": worker.profile()},
        agent="claude",
        validation=[{"name": "tests", "type": "command", "command": "sh test_login.sh"}],
        session={"iterations": 20},
    )
    goal = ("run", "Make the login tests pass", "--name", "login-tests")
    terminal = Terminal(desk.cli, *goal, columns=COLUMNS, rows=ROWS)
    try:
        assert terminal.ends() == 0, terminal.shown
        drawn = _picture(terminal)
    finally:
        terminal.close()
    if os.environ.get(RENEW) == "1":
        PICTURE.write_text(drawn, encoding="utf-8")
    assert drawn == PICTURE.read_text(encoding="utf-8"), f"{RENEW}=1 draws it anew"


def _picture(terminal: Terminal) -> str:
    """The screen from the command on, without what differs from run to run."""
    screen = terminal.screen
    screen.cursor.hidden = True
    kept = [row for row in range(ROWS) if terminal.shown[row]]
    rows = [dict(screen.buffer[row].items()) for row in kept]
    blank = screen.default_char
    typed = _typed('$ hookline run "Make the login tests pass"', blank)
    lines = [typed, *({x: row.get(x, blank) for x in range(COLUMNS)} for row in rows)]
    told = [_same_times(line) for line in lines]
    return svg(told, COLUMNS, "A session: the first promise is not believed, the second is proven")


def _typed(text: str, blank: Char) -> Line:
    return dict(enumerate(blank._replace(data=letter, bold=True) for letter in text.ljust(COLUMNS)))


def _text(line: Line) -> str:
    return "".join(line[x].data for x in range(COLUMNS))


def _same_times(line: Line) -> Line:
    """The real turns of a scripted model take no time: each takes 74 s here, each hook 0.1 s."""
    text = _text(line)
    found = re.search(r" +(\d+\.\ds|\d+m\d\ds|\d+s)", text)
    if found is None:
        return line
    shown = "74s" if "agent  " in text else "0.1s"
    end = found.end()
    fresh = dict(line)
    for offset, letter in enumerate(shown.rjust(end - found.start())):
        fresh[found.start() + offset] = line[found.start() + offset]._replace(data=letter)
    return fresh
