"""Whatever stands in hookline.yaml, reading it ends with settings and problems in the file."""

from __future__ import annotations

import json
import re
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from hookline.config.load import read_settings
from hookline.config.reading.convert import plain, seconds
from hookline.config.reading.nodes import Mapping, Scalar, mark_within, parse
from hookline.config.reading.problems import Problems
from hookline.config.reading.render import render
from hookline.config.settings import decode
from hookline.project import Project

if TYPE_CHECKING:
    from hookline.config import Settings

WORDS = st.sampled_from(
    [
        *("hooks", "version", "session", "agents", "task_types", "flows", "events", "validation"),
        *("task_completed", "stop", "before_merge", "steps", "id", "run", "name", "command"),
        *("timeout", "priority", "when", "gatekeeper", "python", "http", "script", "enabled"),
        *("auto-create-review-task", "default", "driver", "budget", "<<"),
    ]
)
LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20) | WORDS
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(WORDS | st.text(), inner),
    max_leaves=20,
)
LINES = st.lists(
    st.sampled_from(["  ", "- ", ": ", "\t", "&a ", "*a ", "[", "]", "{", "}", "'", '"', "|", "\n"])
    | WORDS
    | st.text(max_size=3),
    max_size=40,
).map("".join)


def load(content: bytes) -> Settings:
    with tempfile.TemporaryDirectory() as root:
        Path(root, "hookline.yaml").write_bytes(content)
        loaded = read_settings(Project(root, f"{root}/.hookline"), f"{root}/home").settings
        render(loaded.problems, root)
        return loaded


def well_placed(found: Settings, content: bytes) -> bool:
    # What YAML takes for the end of a line.
    lines = len(re.split("\r\n|[\r\n\x85\u2028\u2029]", content.decode(errors="replace")))
    return all(
        0 <= each.line <= lines + 1 and each.file == "hookline.yaml" for each in found.problems
    )


@given(LINES)
def test_any_text_is_read_to_its_end(text: str) -> None:
    content = text.encode(errors="replace")
    assert well_placed(load(content), content)


@given(st.binary(max_size=60))
def test_any_bytes_are_read_to_their_end(content: bytes) -> None:
    assert well_placed(load(content), content)


@given(st.dictionaries(WORDS, VALUES, max_size=5))
def test_any_structure_is_read_to_its_end(value: dict[str, Any]) -> None:
    content = json.dumps(value).encode()
    found = load(content)
    assert well_placed(found, content)
    assert found.has_errors or all(hook.points for hook in found.hooks)


@given(st.dictionaries(WORDS, VALUES, max_size=5))
def test_settings_survive_the_cache(value: dict[str, Any]) -> None:
    found = load(json.dumps(value).encode())
    assert decode(msgspec.json.encode(found)) == found


SAFE = st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Cs", "Zl", "Zp")))
DATA = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**14), 10**14) | SAFE,
    lambda inner: st.lists(inner) | st.dictionaries(SAFE.filter(lambda key: key != "<<"), inner),
    max_leaves=15,
)


@given(st.dictionaries(st.sampled_from(["a", "b", "c"]), DATA))
def test_json_is_read_as_the_same_data(value: dict[str, Any]) -> None:
    report = Problems()
    node = parse(json.dumps(value, ensure_ascii=False), "a.yaml", report)
    assert report.problems == []
    assert node is not None
    assert plain(node) == value


@given(before=SAFE, after=SAFE, quote=st.sampled_from(["'", '"']))
def test_a_part_of_a_quoted_text_is_found_in_the_line(before: str, after: str, quote: str) -> None:
    text = f"{before}{{{{nope}}}}{after}"
    quoted = (
        json.dumps(text, ensure_ascii=False)
        if quote == '"'
        else "'" + text.replace("'", "''") + "'"
    )
    line = f"key: {quoted}"
    node = parse(line, "a.yaml", Problems())
    assert isinstance(node, Mapping)
    scalar = node.get("key")
    assert isinstance(scalar, Scalar)
    mark = mark_within(scalar, len(before), len("{{nope}}"))
    assert line[mark.column - 1 : mark.column - 1 + mark.length] == "{{nope}}"


@given(st.integers(1, 10**6), st.sampled_from([("", 1), ("s", 1), ("m", 60), ("h", 3600)]))
def test_durations_are_seconds(amount: int, unit: tuple[str, int]) -> None:
    assert seconds(f"{amount}{unit[0]}") == amount * unit[1]
