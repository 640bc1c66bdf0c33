"""Servers that cannot be used: each says what to do, and nothing is half done."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from hookline.adapters.store.postgres import store as postgres_store
from hookline.adapters.store.postgres.store import PostgresStore
from hookline.adapters.store.statements import SCHEMA_VERSION
from tests.postgres_server import USER, PostgresServer, running, standby

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.e2e.conftest import Cli

PASSWORD = "correct horse"
SECRET = "hunter2-and-more"
# On Linux every address of this network is the machine itself.
ADDRESS = f"127.{os.getpid() >> 8 & 255}.{os.getpid() & 255}.1"
SCHEMAS = "SELECT count(*) FROM pg_namespace WHERE nspname LIKE 'hookline%'"
RULES = """\
local all all trust
hostssl all ada 127.0.0.0/8 scram-sha-256
host all bob 127.0.0.0/8 scram-sha-256
"""


@pytest.fixture(scope="module")
def strict() -> Iterator[PostgresServer]:
    """A server that wants TLS from one, and a password from all who come by the network."""
    with running(f"listen_addresses={ADDRESS}") as server:
        (server.folder / "data" / "pg_hba.conf").write_text(RULES)
        server.run("SELECT pg_reload_conf()")
        for name in ("ada", "bob"):
            server.run(f"CREATE ROLE {name} LOGIN PASSWORD '{PASSWORD}'")
        yield server


@pytest.mark.parametrize(
    ("user", "given", "password", "help"),
    [
        ("ada", "sslmode=disable", PASSWORD, "add ?sslmode=require"),
        ("bob", "sslmode=require", PASSWORD, "the server has no TLS"),
        ("bob", "sslmode=disable", SECRET, "check user and password"),
        ("bob", "sslmode=disable", None, "check user and password"),
    ],
)
def test_a_server_that_wants_more(
    cli: Cli, strict: PostgresServer, user: str, given: str, password: str | None, help: str
) -> None:
    url = f"postgresql://{user}@{ADDRESS}/postgres?project=p&{given}"
    env = {"HOOKLINE_STORE": url, **({"PGPASSWORD": password} if password else {})}
    for command in (("task", "add", "x"), ("task", "list")):
        code, error = cli.refused(*command, env=env)
        assert (code, error["code"]) == (1, "store-unreachable")
        assert help in error["help"], error
        assert SECRET not in str(error)
    assert strict.run(SCHEMAS) == [(0,)]


def test_a_standby_can_be_read_and_not_written(cli: Cli, postgres: PostgresServer) -> None:
    primary = {"HOOKLINE_STORE": postgres.url("on-standby")}
    cli.json("task", "add", "kept", env=primary)
    with standby(postgres) as other:
        other.start()
        env = {"HOOKLINE_STORE": other.url("on-standby"), "HOOKLINE_HOME": str(cli.root / "h")}
        assert [each["goal"] for each in cli.json("task", "list", env=env)] == ["kept"]
        code, error = cli.refused("task", "add", "x", env=env)
        assert (code, error["code"]) == (1, "read-only")
        assert "target_session_attrs=read-write" in error["help"]


FULL = """\
CREATE FUNCTION hookline.is_full() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
RAISE disk_full USING MESSAGE = 'could not extend file: No space left on device'; END $$;
CREATE TRIGGER is_full BEFORE INSERT ON hookline.%s EXECUTE FUNCTION hookline.is_full();
"""


@pytest.mark.parametrize("table", ["events", "tasks", "payloads", "deliveries"])
def test_a_disk_that_is_full_stores_nothing(cli: Cli, postgres: PostgresServer, table: str) -> None:
    postgres.run(f"CREATE DATABASE full_{table}")
    cli.env["HOOKLINE_STORE"] = postgres.url("p", database=f"full_{table}")
    cli.add("before")
    before = everything(cli)
    postgres.run(FULL % table, database=f"full_{table}")
    code, error = cli.refused("task", "add", "x")
    assert (code, error["code"]) == (1, "disk-full")
    assert "nothing was changed; free some space" in error["help"]
    assert everything(cli) == before
    postgres.run("DROP FUNCTION hookline.is_full CASCADE", database=f"full_{table}")
    assert cli.add("after") == "T-2"


def everything(cli: Cli) -> tuple[Any, Any]:
    """The log and the tasks."""
    return cli.json("events", "--all"), cli.json("task", "list", "--all")


class Older(NamedTuple):
    """A database whose store the version before has made."""

    server: PostgresServer
    name: str

    def url(self, user: str = USER) -> dict[str, str]:
        return {"HOOKLINE_STORE": self.server.url("p", user=user, database=self.name)}

    def run(self, sql: str) -> list[Any]:
        return self.server.run(sql, database=self.name)

    def version(self) -> int:
        """The schema that the database has."""
        ((number,),) = self.run("SELECT number FROM hookline.version")
        return int(number)


@pytest.fixture
def older(cli: Cli, postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch) -> Older:
    made = Older(postgres, f"older_{os.urandom(4).hex()}")
    postgres.run(f"CREATE DATABASE {made.name}")
    cli.env |= made.url()
    with monkeypatch.context() as then:
        for name in ("SCHEMA_VERSION", "COMPATIBLE_SCHEMA"):
            then.setattr(postgres_store, name, SCHEMA_VERSION - 1)
        PostgresStore(cli.env["HOOKLINE_STORE"]).close()
    return made


@pytest.mark.parametrize("command", [("task", "list"), ("task", "add", "x")])
def test_an_older_schema_is_brought_up_to_date(
    cli: Cli, older: Older, command: tuple[str, ...]
) -> None:
    assert older.version() == SCHEMA_VERSION - 1
    cli.json(*command)
    assert older.version() == SCHEMA_VERSION


def test_who_may_not_change_the_schema_is_told_so(cli: Cli, older: Older) -> None:
    older.run("CREATE ROLE reader LOGIN")
    for schema in ("hookline", "hookline_rows"):
        older.run(f"GRANT USAGE ON SCHEMA {schema} TO reader")
        older.run(f"GRANT SELECT ON ALL TABLES IN SCHEMA {schema} TO reader")
    url = older.url("reader")
    for command in (("task", "add", "x"), ("task", "list")):
        code, error = cli.refused(*command, env=url)
        assert (code, error["code"]) == (1, "read-only")
        assert "rights" in error["help"]
    assert older.version() == SCHEMA_VERSION - 1
    cli.add("by the owner")
    assert [each["goal"] for each in cli.json("task", "list", env=url)] == ["by the owner"]
    assert cli.refused("task", "add", "x", env=url)[1]["code"] == "read-only"
