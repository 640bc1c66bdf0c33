"""`hookline report --markdown`: a renderer shows foreign text as it was written."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from markdown_it import MarkdownIt

from tests.e2e.session_rig import PROMISE, Rig
from tests.e2e.test_report import HOSTILE
from tests.e2e.test_session_commands import Page

if TYPE_CHECKING:
    from tests.e2e.conftest import Cli


def test_markdown_keeps_foreign_text_as_text(cli: Cli) -> None:
    rig = Rig(cli)
    rig.turns(rest=PROMISE)
    rig.configure({})
    rig.run(goal=HOSTILE)
    said = cli("report", "--markdown").stdout
    assert "<script>" not in said
    assert "\\<script\\>" in said
    assert "\\[link\\](http\\://evil)" in said
    assert "@ada" not in said
    assert "\\*\\*bold\\*\\*" in said


@pytest.mark.parametrize(
    ("goal", "shown"),
    [
        ("mail me@evil.com about #12", "mail me@\u200bevil.com about #\u200b12"),
        ("thank &commat;octocat and &#64;ada", "thank &commat;octocat and &#\u200b64;ada"),
        ("keep ~~all~~ of it", "keep ~~all~~ of it"),
    ],
)
def test_rendered_markdown_shows_the_words_and_mentions_nobody(
    cli: Cli, goal: str, shown: str
) -> None:
    rig = Rig(cli)
    rig.turns(rest=PROMISE)
    rig.configure({})
    rig.run(goal=goal)
    said = cli("report", "--markdown").stdout
    page = Page(MarkdownIt("commonmark").enable("strikethrough").render(said))
    assert f" {shown}: " in page.text
    assert not {"a", "s"} & set(page.tags)


def test_markdown_shows_no_formulas(cli: Cli) -> None:
    rig = Rig(cli)
    rig.turns(rest=PROMISE)
    rig.configure({})
    rig.run(goal="pay $5 or $6")
    assert "pay \\$5 or \\$6" in cli("report", "--markdown").stdout
