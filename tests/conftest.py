"""What all tests rely on."""

from __future__ import annotations

import gc
import os
import signal
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.postgres_server import PostgresServer
    from tests.temporal_server import TemporalServer

MEMORY = "/dev/shm"
# How long an example takes is up to the machine, and says nothing about it.
for _profile, _examples in (("hookline", 30), ("torture", 200)):
    settings.register_profile(
        _profile,
        max_examples=_examples,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow],
    )
settings.load_profile("hookline")
# Who runs the tests in the background may have these ignored, and every program would inherit it.
for _number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM, signal.SIGQUIT):
    if signal.getsignal(_number) is signal.SIG_IGN:
        signal.signal(
            _number, signal.default_int_handler if _number == signal.SIGINT else signal.SIG_DFL
        )
# A `make` that gates run would tell how deep it is below the `make test` that runs these tests.
for _name in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS", "MAKEOVERRIDES"):
    os.environ.pop(_name, None)
# A user's programs do not have it, and the order of what they print to a pipe is another with it.
os.environ.pop("PYTHONUNBUFFERED", None)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Say where the projects of end-to-end tests have their stores."""
    parser.addoption("--postgres", action="store_true", help="on a PostgreSQL server")


def pytest_configure(config: pytest.Config) -> None:
    """Keep the tests' folders in memory where that is possible; torture has the disk's own ways."""
    if config.option.markexpr not in ("torture", "fleet") and _has_room(MEMORY):
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", MEMORY)
    # Thousands of tests are collected in each of the processes, and none of them is garbage.
    gc.disable()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave to torture the parameters of a test beyond those that it has as `examples`.

    On a server, leave out what is about the store in a file.
    """
    if config.option.postgres:
        items[:] = [each for each in items if not each.get_closest_marker("embedded")]
    seen: Counter[tuple[Any, str]] = Counter()
    for item in items:
        marker = item.get_closest_marker("examples")
        if marker is None or not isinstance(item, pytest.Function):
            continue
        test = (item.parent, item.originalname)
        seen[test] += 1
        if seen[test] > marker.args[0]:
            item.add_marker("torture")


def pytest_collection_finish() -> None:
    """Spare every later collection of garbage the walk over the tests themselves."""
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)
    gc.enable()


@pytest.fixture(scope="session")
def postgres(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[PostgresServer]:
    """A PostgreSQL server of all processes: each test has its own project in it."""
    from tests.shared_postgres import shared_server  # few tests need it

    place = tmp_path_factory.getbasetemp()
    is_one_of_many = hasattr(request.config, "workerinput")
    with shared_server(place.parent if is_one_of_many else place) as server:
        yield server


@pytest.fixture(scope="session")
def temporal_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TemporalServer]:
    """A Temporal server: each project has its own task queue there."""
    from tests.temporal_server import temporal  # few tests need it

    with temporal(tmp_path_factory.mktemp("temporal")) as server:
        yield server


def _has_room(folder: str) -> bool:
    """Whether programs can be run there and all folders of a run find place."""
    try:
        found = os.statvfs(folder)
    except OSError:
        return False
    is_open = os.access(folder, os.W_OK) and not found.f_flag & os.ST_NOEXEC
    return is_open and found.f_bavail * found.f_frsize > 4 * 1024**3
