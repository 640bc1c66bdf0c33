"""Projects whose store is on a PostgreSQL server: the same commands, other mishaps."""

from __future__ import annotations

import math
import os
import signal
from contextlib import ExitStack, closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psycopg
import pytest

from hookline.adapters.feeds.listening import Listener, ServerWaker
from hookline.adapters.store.blobs import FileBlobs
from hookline.adapters.store.postgres.blobs import ServerBlobs
from hookline.adapters.store.postgres.plans import functions
from hookline.adapters.store.postgres.store import PostgresStore
from hookline.errors import StoreLost
from hookline.tasks import verbs
from tests.e2e.conftest import PATIENCE, Cli, eventually, is_running, kill
from tests.e2e.pipeline_rig import Pipeline
from tests.e2e.session_rig import Rig
from tests.e2e.test_flow_crash import Relay
from tests.postgres_server import USER, PostgresServer, new_project, running

if TYPE_CHECKING:
    from collections.abc import Iterator
ROOT = Path(__file__).parents[2]
GATES = "hooks: {before_submit: [rebase_on_main, create_pr]}\n"
SECRET = "hunter2-and-more"


@pytest.fixture
def place(postgres: PostgresServer) -> str:
    """The URL of a project that nobody has used."""
    return new_project(postgres)


@pytest.fixture
def shared(cli: Cli, place: str) -> Cli:
    """A project on the server."""
    cli.env["HOOKLINE_STORE"] = place
    return cli


@pytest.fixture
def other(tmp_path: Path, shared: Cli) -> Iterator[Cli]:
    """The same project in another folder of another user."""
    made = Cli(tmp_path / "other")
    made.env["HOOKLINE_STORE"] = shared.env["HOOKLINE_STORE"]
    yield made
    made.close()


# The same commands


def test_tasks_are_shared_by_folders(shared: Cli, other: Cli) -> None:
    assert other.json("task", "list") == []
    first = shared.add("first")
    second = other.add("second", "--depends-on", first)
    other.json("task", "claim", first, "--agent", "me")
    shared.json("task", "complete", first)
    assert [each["state"] for each in other.json("task", "list", "--all")] == ["completed", "ready"]
    assert shared.task(second) == other.task(second)
    assert not shared.database.exists()
    assert shared.json("status")["store"]["events"] == other.json("status")["store"]["events"]


def test_a_session_can_be_watched_from_elsewhere(shared: Cli, other: Cli) -> None:
    rig = Rig(shared)
    rig.turns("echo one > a; echo said-in-turn-$n", rest="echo '<promise>COMPLETE</promise>'")
    rig.configure()
    rig.run()
    assert "said-in-turn-1" in other("logs", "s").stdout
    assert shared("logs", "s").stdout == other("logs", "s").stdout
    found = other.json("doctor", quiet=False)["checks"]
    of_store = [each for each in found if each["name"] in ("store", "log", "tables", "journal")]
    assert {each["status"] for each in of_store} == {"ok"}


def test_work_passes_its_gates_and_is_merged(shared: Cli) -> None:
    line = Pipeline(shared)
    line.begin(GATES)
    task = shared.add("a part")
    assert line.worker()["merged"] == [task]
    (pull,) = line.pulls()
    assert (pull["state"], pull["mergedSha"]) == ("merged", line.git("rev-parse", "main"))
    line.check_main()


def test_a_killed_process_is_followed_by_another(shared: Cli) -> None:
    relay = Relay(shared)
    first = relay.drive(pause=60)
    relay.wait_for_attempts(1)
    second = relay.drive(pause=0)
    child = relay.attempts()[0][1]
    kill(first)
    relay.wait_for_attempts(2)
    assert not is_running(child)
    assert second.wait(PATIENCE) == 0
    assert relay.results() == ["work", "after"]


@pytest.mark.embedded
def test_a_store_moves_to_a_server_and_back(cli: Cli, place: str) -> None:
    rig = Rig(cli)
    rig.turns("echo one > a", rest="echo '<promise>COMPLETE</promise>'")
    rig.configure()
    rig.run()
    cli.add("a task")
    files, large = FileBlobs(str(cli.root / ".hookline/blobs")), os.urandom(5 << 19)
    name = files.put(large)
    before = everything(cli)
    copied = cli.json("store", "copy", "embedded", place, quiet=False)
    assert (copied["events"], copied["runs"]) == (len(before[0]), 1)
    assert not copied["isUsed"]  # nothing names it yet
    assert cli.refused("task", "list")[1]["code"] == "store-elsewhere"
    there = {"HOOKLINE_STORE": place}
    assert everything(cli, there) == before
    assert large_value(place, name) == large
    cli.json("task", "add", "made there", env=there)
    cli.database.rename(cli.root / "old.db")
    assert files.sweep((), math.inf).count == 1
    # As long as the server is named, commands would go on there.
    told = cli("store", "copy", place, "embedded", env=there)
    assert "warning: commands do not use embedded yet: see HOOKLINE_STORE" in told.stderr
    cli.database.unlink()
    told = cli("store", "copy", place, "embedded")
    assert "the store of this project is embedded from now on" in told.stderr
    assert cli.json("events", "--all")[: len(before[0])] == before[0]
    assert [each["goal"] for each in cli.json("task", "list")][-1] == "made there"
    assert files.get(name) == large
    refused = cli.refused("store", "copy", "embedded", place)[1]
    assert refused["message"].endswith("nothing was changed")


def large_value(place: str, name: str) -> bytes:
    """A large value on the server."""
    with ExitStack() as opened:
        store = opened.enter_context(closing(PostgresStore(place)))
        blobs = opened.enter_context(closing(ServerBlobs(store.connect(), store.project)))
        return blobs.get(name)


def everything(cli: Cli, env: dict[str, str] | None = None) -> tuple[Any, Any]:
    """The log and the tasks."""
    return cli.json("events", "--all", env=env), cli.json("task", "list", "--all", env=env)


# Whose word counts


@pytest.mark.embedded
def test_a_repository_that_is_not_trusted_names_no_server(cli: Cli, place: str) -> None:
    cli.configure(f"store: {place}\n", trust=False)
    code, error = cli.refused("task", "list")
    assert (code, error["code"]) == (2, "untrusted")
    assert "hookline trust" in error["help"]
    assert cli("check").code == 0
    cli.json("trust", "--yes")
    cli.add("first")
    assert not cli.database.exists()
    # What else changes in the file holds hooks back, and leaves the store where it is.
    cli.configure(f"store: {place}\nevents: [noted]\n", trust=False)
    assert [each["goal"] for each in cli.json("task", "list")] == ["first"]
    cli.configure(f"store: {place}x\n", trust=False)
    assert cli.refused("task", "list")[1]["code"] == "untrusted"


@pytest.mark.embedded
def test_the_users_own_configuration_names_a_server(cli: Cli, place: str) -> None:
    cli.home.mkdir(exist_ok=True)
    (cli.home / "hookline.yaml").write_text(f"version: 1\nstore: {place}\n")
    cli.add("first")
    assert not cli.database.exists()
    with closing(PostgresStore(place)) as store:
        assert store.live().graph.task("T-1").goal == "first"


def test_a_folder_of_the_same_name_is_another_project(
    cli: Cli, tmp_path: Path, postgres: PostgresServer
) -> None:
    postgres.run("CREATE DATABASE names")
    url = {"HOOKLINE_STORE": postgres.url(database="names")}
    cli.json("task", "add", "first", env=url)
    with closing(Cli(tmp_path / "other")) as other:
        code, error = other.refused("task", "list", env=url)
        assert (code, error["code"]) == (1, "store")
        assert "add project=project to the URL" in error["help"]
        named = {"HOOKLINE_STORE": postgres.url("project", database="names")}
        assert [each["goal"] for each in other.json("task", "list", env=named)] == ["first"]


# Bad input


@pytest.mark.parametrize(
    ("url", "code", "help"),
    [
        (f"postgresql://u:{SECRET}@127.0.0.1:1/db?project=p", "store-unreachable", "start it"),
        (f"postgresql://u:{SECRET}@nowhere.invalid/db?project=p", "store-unreachable", "host"),
        (f"postgresql://u:{SECRET}@h:port/db", "bad-input", "postgresql://"),
        (f"postgresql://u:{SECRET}@h@x/db", "bad-input", "postgresql://"),
        (f"postgresql://u@h/db?nothing={SECRET}", "bad-input", "libpq"),
        (f"mysql://u:{SECRET}@h/db", "bad-input", "postgresql://"),
        (f"postgresql://h/db?project=../p&password={SECRET}", "bad-input", "postgresql://"),
    ],
)
def test_a_url_that_leads_nowhere(cli: Cli, url: str, code: str, help: str) -> None:
    for command in (("task", "add", "x"), ("task", "list")):
        result = cli(*command, "--json", env={"HOOKLINE_STORE": url})
        assert result.error["code"] == code
        assert help in result.error["help"]
        assert SECRET not in result.stdout + result.stderr


def test_a_project_is_not_half_made_while_its_server_is_away(cli: Cli, place: str) -> None:
    cli.root.joinpath("hookline.yaml").unlink(missing_ok=True)
    cli.env["HOOKLINE_STORE"] = "postgresql://ada@127.0.0.1:1/postgres?project=shop"
    assert "store-unreachable" in cli("init", "--yes").stderr
    assert not cli.root.joinpath("hookline.yaml").exists()
    cli.env["HOOKLINE_STORE"] = place
    made = cli("init", "--yes", "--json").json
    assert "hookline.yaml" in made["created"]
    assert made["trusted"]


def test_a_password_is_never_shown(cli: Cli, postgres: PostgresServer) -> None:
    url = postgres.url("shown").replace("hookline@", f"hookline:{SECRET}@")
    cli.configure(f"store: {url}\n")
    cli.add("first")
    for command in ("config show", "doctor", "status", "check", "trust --show", "why 1", "report"):
        result = cli(*command.split())
        assert SECRET not in result.stdout + result.stderr
    kept = [each.read_text(errors="replace") for each in (cli.home / "stores").iterdir()]
    assert kept
    assert SECRET not in "".join(kept)


def test_a_database_that_cannot_be_used(cli: Cli, postgres: PostgresServer) -> None:
    postgres.run("CREATE DATABASE other_encoding ENCODING 'LATIN1' TEMPLATE template0")
    postgres.run("CREATE ROLE guest LOGIN")
    postgres.run("CREATE DATABASE bare")
    postgres.run("CREATE DATABASE replica")
    postgres.run("ALTER DATABASE replica SET default_transaction_read_only = on")
    for url, code, words in (
        (postgres.url("p", database="missing"), "store-unreachable", "create it"),
        (postgres.url("p", user="stranger"), "store-unreachable", "create it"),
        (postgres.url("p", user="guest", database="bare"), "read-only", "rights"),
        (postgres.url("p", database="replica"), "read-only", "primary"),
        (postgres.url("p", database="other_encoding"), "store", "UTF8"),
    ):
        error = cli.refused("task", "add", "x", env={"HOOKLINE_STORE": url})[1]
        assert (error["code"], words in error["help"]) == (code, True), error
    for name in ("bare", "replica", "other_encoding"):
        schemas = "SELECT count(*) FROM pg_namespace WHERE nspname LIKE 'hookline%'"
        assert postgres.run(schemas, database=name) == [(0,)]


def test_a_member_needs_no_more_than_the_documented_rights(
    cli: Cli, postgres: PostgresServer
) -> None:
    postgres.run("CREATE DATABASE rights")
    postgres.run("CREATE ROLE workers")
    postgres.run("CREATE ROLE member LOGIN IN ROLE workers")
    cli.json("init", "--yes", env={"HOOKLINE_STORE": postgres.url("p", database="rights")})
    page = (ROOT / "docs/fleet.md").read_text()
    postgres.run(page.partition("```sql\n")[2].partition("```")[0], database="rights")
    as_member = {"HOOKLINE_STORE": postgres.url("p", user="member", database="rights")}
    cli.configure("hooks: {task_created: [{name: h, command: 'true'}]}\n")
    cli.json("task", "add", "first", env=as_member)
    cli.json("hook", "disable", "h", env=as_member)
    new = {"HOOKLINE_STORE": postgres.url("new", user="member", database="rights")}
    cli.json("task", "add", "another project", env=new, quiet=False)


def test_a_server_that_does_not_say_which_it_is(cli: Cli, postgres: PostgresServer) -> None:
    postgres.run("CREATE DATABASE nameless")
    postgres.run("CREATE ROLE stranger_to_wal LOGIN")
    postgres.run("GRANT CREATE ON DATABASE nameless TO stranger_to_wal")
    for name in ("pg_walfile_name(pg_lsn)", "pg_control_system()"):
        postgres.run(f"REVOKE EXECUTE ON FUNCTION {name} FROM PUBLIC", database="nameless")
    url = postgres.url("p", user="stranger_to_wal", database="nameless")
    for goal in ("first", "second"):
        cli.json("task", "add", goal, env={"HOOKLINE_STORE": url})
    assert len(cli.json("task", "list", env={"HOOKLINE_STORE": url})) == 2


def test_statements_have_functions_as_soon_as_someone_may_make_them(
    cli: Cli, postgres: PostgresServer
) -> None:
    postgres.run("CREATE DATABASE planned")
    postgres.run("CREATE ROLE passer_by LOGIN")

    def made() -> list[Any]:
        return postgres.run(
            "SELECT p.oid::regprocedure::text FROM pg_proc p JOIN pg_namespace n"
            " ON n.oid = p.pronamespace WHERE nspname = 'hookline' AND proname ~ '_[0-9a-f]{8}$'"
            " ORDER BY 1",
            database="planned",
        )

    def url(user: str, project: str = "p") -> dict[str, str]:
        return {"HOOKLINE_STORE": postgres.url(project, user=user, database="planned")}

    cli.json("task", "add", "first", env=url(USER))
    before = made()
    assert len(before) == len(functions())
    # A version whose statements differ has made the store: it knows nothing of these.
    for (each,) in before:
        postgres.run(f"DROP FUNCTION {each}", database="planned")
    page = (ROOT / "docs/fleet.md").read_text().partition("```sql\n")[2].partition("```")[0]
    postgres.run(page.replace("workers", "passer_by"), database="planned")
    cli.json("task", "add", "second", "--depends-on", "T-1", env=url("passer_by"))
    cli.json("task", "complete", "T-1", env=url("passer_by"))
    home = {"HOOKLINE_HOME": str(cli.root / "another")}
    cli.json("task", "add", "first", env=url("passer_by", "new") | home)
    cli.json("task", "list", env=url(USER))
    assert made() == []
    cli.json("task", "add", "third", env=url(USER))
    assert made() == before
    assert [each["state"] for each in cli.json("task", "list", env=url(USER))] == ["ready"] * 2


def test_a_schema_of_another_version(cli: Cli, postgres: PostgresServer) -> None:
    postgres.run("CREATE DATABASE versions")
    url = {"HOOKLINE_STORE": postgres.url("p", database="versions")}
    cli.json("task", "add", "first", env=url)
    postgres.run("UPDATE hookline.version SET number = 99", database="versions")
    # A newer version has made it, and says that this one can work with it.
    cli.json("task", "add", "second", env=url)
    postgres.run("UPDATE hookline.version SET oldest = 98", database="versions")
    for command in (("task", "list"), ("task", "add", "x")):
        error = cli.refused(*command, env=url)[1]
        assert (error["code"], "upgrade" in error["help"]) == ("newer-store", True)


@pytest.mark.parametrize("number", [-5, 0, 3])
def test_a_schema_number_that_is_not_true(cli: Cli, postgres: PostgresServer, number: int) -> None:
    name = f"forged{abs(number)}"
    postgres.run(f"CREATE DATABASE {name}")
    url = {"HOOKLINE_STORE": postgres.url("p", database=name)}
    cli.json("task", "add", "first", env=url)
    postgres.run(f"UPDATE hookline.version SET number = {number}", database=name)
    error = cli.refused("task", "add", "second", env=url)[1]
    assert (error["code"], "from a backup" in error["help"]) == ("store-corrupt", True)
    assert f"says that it has schema {number}, which its tables do not have" in error["message"]
    postgres.run("UPDATE hookline.version SET number = 99", database=name)
    postgres.run("ALTER TABLE hookline.tasks RENAME COLUMN goal TO aim", database=name)
    error = cli.refused("task", "add", "second", env=url)[1]
    assert (error["code"], "from a backup" in error["help"]) == ("store-corrupt", True)


def test_a_parameter_of_the_url_that_does_not_exist(cli: Cli, postgres: PostgresServer) -> None:
    url = f"{postgres.url('p')}&conect_timeout=3"
    code, error = cli.refused("task", "add", "x", env={"HOOKLINE_STORE": url})
    assert (code, error["help"]) == (
        2,
        "did you mean 'connect_timeout'? libpq's documentation lists them all",
    )
    assert "has an unknown parameter 'conect_timeout'" in error["message"]


# Outages


@pytest.fixture
def own() -> Iterator[PostgresServer]:
    """A server that a test may stop."""
    with running() as server:
        yield server


def test_a_restart_of_the_server_is_waited_for(own: PostgresServer) -> None:
    with closing(PostgresStore(own.url("p"))) as store:
        with store.write({}) as tx:
            verbs.add(tx, "before")
        for _ in range(3):
            own.stop()
            own.start()
            with store.read() as view:
                assert view.graph.task("T-1").goal == "before"
            own.stop()
            own.start()
            with store.write({}) as tx:
                verbs.add(tx, "after")
        assert [task.goal for task in store.live().graph.tasks()] == ["before", *["after"] * 3]


def test_a_change_that_is_cut_short_leaves_nothing(postgres: PostgresServer) -> None:
    postgres.run("CREATE DATABASE cut_short")
    ending = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = 'cut_short'"
    with closing(PostgresStore(postgres.url("p", database="cut_short"))) as store:

        def cut() -> None:
            with store.write({}) as tx:
                verbs.add(tx, "lost")
                postgres.run(ending)

        with pytest.raises(StoreLost):
            cut()
        with store.write({}) as tx:
            assert verbs.add(tx, "kept").id == "T-1"


def test_a_change_is_stored_though_nobody_can_be_told(own: PostgresServer) -> None:
    with closing(PostgresStore(own.url("p"))) as store:
        own.run("ALTER FUNCTION pg_catalog.pg_notify(text, text) RENAME TO pg_told")
        with store.write({}) as tx:
            verbs.add(tx, "stored, but not told")
        with store.read() as view:
            assert [each.goal for each in view.graph.tasks()] == ["stored, but not told"]


@pytest.fixture
def careful() -> Iterator[PostgresServer]:
    """A server that has on its disk what a client waits for, and else nothing yet."""
    with running("synchronous_commit=on", "wal_writer_delay=10s") as server:
        yield server


def crash(server: PostgresServer) -> None:
    """What is not on the disk is lost."""
    server.stop(signal.SIGQUIT)
    server.start()


def test_a_crash_loses_nothing_that_was_acknowledged(careful: PostgresServer) -> None:
    with closing(PostgresStore(careful.url("p"))) as store:
        for number in range(1, 6):
            with store.write({}) as tx:
                verbs.add(tx, f"task {number}")
            crash(careful)
            with store.read() as view:
                assert len(view.graph.tasks()) == number


def test_what_nobody_was_told_of_may_be_lost_in_a_crash(careful: PostgresServer) -> None:
    url = careful.url("p")
    with closing(PostgresStore(url)) as store, psycopg.connect(url.partition("&")[0]) as other:
        with store.write({}) as tx:
            verbs.add(tx, "kept")
        other.execute("SET synchronous_commit TO off")
        other.execute("UPDATE hookline.counters SET seq = seq + 1")
        other.commit()

        def follow() -> None:
            with store.write({}) as tx:
                verbs.add(tx, "follows what is lost")
                crash(careful)

        with pytest.raises(StoreLost):
            follow()
        with store.write({}) as tx:
            assert verbs.add(tx, "again").id == "T-2"


def test_who_is_silent_in_a_change_does_not_hold_up_the_others(place: str) -> None:
    with closing(PostgresStore(place)) as silent, closing(PostgresStore(place)) as busy:

        def stop() -> None:
            # The second one waits until the first one is cut off.
            with silent.write({}), busy.write({}) as tx:
                verbs.add(tx, "kept")

        with pytest.raises(StoreLost):
            stop()
        assert [task.goal for task in busy.live().graph.tasks()] == ["kept"]


def test_whoever_waits_is_woken_after_a_restart_too(own: PostgresServer) -> None:
    with closing(PostgresStore(own.url("p"))) as store:
        listener = Listener(store.address.server, store.project)
        with closing(listener), ServerWaker(listener) as waker:
            for _ in range(2):
                eventually(lambda: not waker.wait(0.3), "quiet")
                with store.write({}) as tx:
                    verbs.add(tx, "news")
                assert waker.wait(PATIENCE)
                own.stop()
                own.start()
