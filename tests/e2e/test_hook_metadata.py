"""The metadata of hooks, as the commands show it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.e2e.conftest import Cli


def test_metadata_is_shown_and_part_of_the_schema(cli: Cli) -> None:
    about = "{author: Ada, version: '2.1', tags: [ci, web]}"
    cli.configure(
        f"hooks: {{task_created: [{{name: tell, command: 'true', metadata: {about}}}]}}\n"
    )
    expected = {"author": "Ada", "version": "2.1", "tags": ["ci", "web"]}
    assert cli.json("hook", "show", "tell")["metadata"] == expected
    rows = {row["name"]: row["metadata"] for row in cli.json("hook", "list")}
    assert rows["tell"] == expected
    assert rows["track-agent-task-lifecycle"] == {}
    lines = cli("hook", "show", "tell").stdout.splitlines()
    shown = dict(line.split(maxsplit=1) for line in lines if " " in line)
    assert (shown["author"], shown["version"], shown["tags"]) == ("Ada", "2.1", "ci, web")
    schema = cli.json("schema")
    entry = schema["$defs"]["Entry"]["properties"]["metadata"]
    assert "HookMetadata" in str(entry)
    assert set(schema["$defs"]["HookMetadata"]["properties"]) == {"author", "version", "tags"}
