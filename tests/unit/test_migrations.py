"""What came since the version before does not stop its processes, which work with it meanwhile."""

from __future__ import annotations

import re

import pytest

from hookline.adapters.store.statements import COMPATIBLE_SCHEMA, SCHEMA_VERSION, migration

# A column more would be read by those who ask for all, and do not expect it.
_HARMLESS = (
    re.compile(r"CREATE TABLE \w+ \("),
    re.compile(r"CREATE (UNIQUE )?INDEX \w+ ON \w+"),
)


def statements(number: int) -> list[str]:
    """The statements of a migration, without its comments."""
    text = re.sub(r"^--.*$", "", migration(number), flags=re.MULTILINE)
    return [" ".join(each.split()) for each in text.split(";") if each.strip()]


@pytest.mark.parametrize("number", range(COMPATIBLE_SCHEMA, SCHEMA_VERSION + 1))
def test_a_migration_leaves_the_version_before_at_work(number: int) -> None:
    found = statements(number)
    if number > COMPATIBLE_SCHEMA:
        assert [each for each in found if not any(h.match(each) for h in _HARMLESS)] == []


def test_a_column_more_would_be_noticed() -> None:
    assert not any(each.match("ALTER TABLE tasks ADD COLUMN colour TEXT") for each in _HARMLESS)
