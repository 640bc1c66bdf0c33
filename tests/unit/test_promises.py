"""What counts as an agent's own promise, and what it only quotes."""

from __future__ import annotations

import pytest

from hookline.domain.sessions.promises import find_promises
from hookline.errors import BadInput

COMPLETE = "<promise>COMPLETE</promise>"


def types(text: str) -> list[str]:
    return [promise.type for promise in find_promises(text)]


@pytest.mark.parametrize(
    "text",
    [
        COMPLETE,
        f"Implementation complete. {COMPLETE}",
        f"**{COMPLETE}**",
        f"# {COMPLETE}",
        f"- all tests pass\n- {COMPLETE}",
        "<promise> COMPLETE </promise>",
        "<promise>\n\n  COMPLETE\n</promise>",
        "<promise >COMPLETE</promise >",
        f"All is done:\r\n{COMPLETE}\r\n",
        f"a paragraph that goes on\n      {COMPLETE}",
        f"- an item\n\n  {COMPLETE}",
        f"1. an item\n\n   ```sh\n   make\n   ```\n\n   {COMPLETE}",
        f"```sh\nmake\n```\n{COMPLETE}",
        f"~~~\n```\n~~~\n{COMPLETE}",
        f"```` `{COMPLETE}",
        f"I ran `make` and `make test`. {COMPLETE} See `log.txt`.",
        f"an odd ` backtick, {COMPLETE}",
        f"\\`{COMPLETE}\\`",
        f"<!-- a note --> {COMPLETE}",
        f"I never close <!-- this. {COMPLETE}",
        f"> You asked for it.\n\n{COMPLETE}",
        f"> ```\n> make\n> ```\n{COMPLETE}",
        f"Done.\n---\n{COMPLETE}",
    ],
)
def test_own_promise_counts(text: str) -> None:
    assert types(text) == ["COMPLETE"]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "COMPLETE",
        "<promise>DONE</promise>",
        "<promise>complete</promise>",
        "<Promise>COMPLETE</Promise>",
        "<promise>COMPLETE",
        "<promise>COM PLETE</promise>",
        "<promise>`x`COMPLETE</promise>",
        f"I will write `{COMPLETE}` when I am done.",
        f"I will write `` {COMPLETE} `` when I am done.",
        f"a `span that\n{COMPLETE}\nends` here",
        f"# an odd ` in a heading\n`{COMPLETE}`",
        f"| ` | x |\n|---|---|\n| `{COMPLETE}` | y |",
        f"```\n{COMPLETE}\n```",
        f"```\n{COMPLETE}",
        f"   ~~~ text\n{COMPLETE}\n~~~",
        f"````\n```\n{COMPLETE}\n````",
        f"```\n    ```\n{COMPLETE}\n```",
        f"```\n``` no end\n{COMPLETE}\n```",
        f"- ```\n  {COMPLETE}\n  ```",
        f"    {COMPLETE}",
        f"\t{COMPLETE}",
        f"-     {COMPLETE}",
        f"- an item\n\n      {COMPLETE}",
        f"<!-- {COMPLETE} -->",
        f"text <!-- {COMPLETE} --> text",
        f"<!--\n\n{COMPLETE}\n\n-->",
        f"> {COMPLETE}",
        f">{COMPLETE}",
        f"- > {COMPLETE}",
        f"> The task says: finish with\n{COMPLETE}",
    ],
)
def test_what_is_only_quoted_is_no_promise(text: str) -> None:
    assert types(text) == []


def test_a_promise_is_given_in_one_form_with_its_time() -> None:
    (found,) = find_promises("<promise>\tBLOCKED </promise>", detected_at="2025-01-01T00:00:00Z")
    assert found.type == "BLOCKED"
    assert found.detected is True
    assert found.content == "<promise>BLOCKED</promise>"
    assert found.detected_at == "2025-01-01T00:00:00Z"


def test_each_type_is_found_once_and_in_order() -> None:
    text = "<promise>BLOCKED</promise> <promise>COMPLETE</promise> <promise>BLOCKED</promise>"
    assert types(text) == ["BLOCKED", "COMPLETE"]


@pytest.mark.parametrize("wanted", ["BLOCKED", "<promise>BLOCKED</promise>", " BLOCKED "])
def test_only_what_is_wanted_is_found(wanted: str) -> None:
    text = f"{COMPLETE} <promise>BLOCKED</promise>"
    assert [promise.type for promise in find_promises(text, [wanted])] == ["BLOCKED"]


@pytest.mark.parametrize("wanted", ["DONE", "complete", "", "<promise>COMPLETE", "x" * 1000])
def test_unknown_promise_is_refused(wanted: str) -> None:
    with pytest.raises(BadInput) as problem:
        find_promises("", ["COMPLETE", wanted])
    assert problem.value.help == "the promises are COMPLETE, CONTINUE, BLOCKED, ESCALATE"
    assert len(problem.value.message) < 200
