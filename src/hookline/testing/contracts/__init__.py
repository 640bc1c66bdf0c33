"""Test suites that every kind of hook, driver, forge, scheduler and store passes: run your own.

Each is a class without a `Test` in its name, so that pytest collects only what inherits from it:
`class TestMine(KindContract)`. It says which methods and fixtures to override.
"""

import pytest

_MODULES = ("drivers", "forges", "kinds", "schedulers", "stores")
pytest.register_assert_rewrite(*(f"{__name__}.{each}" for each in _MODULES))

from hookline.config.types import Agent  # noqa: E402
from hookline.testing.contracts.drivers import Behaviour, DriverContract  # noqa: E402
from hookline.testing.contracts.forges import ForgeContract, Site  # noqa: E402
from hookline.testing.contracts.kinds import KindContract  # noqa: E402
from hookline.testing.contracts.schedulers import SchedulerContract  # noqa: E402
from hookline.testing.contracts.stores import StoreContract  # noqa: E402

__all__ = [
    "Agent",
    "Behaviour",
    "DriverContract",
    "ForgeContract",
    "KindContract",
    "SchedulerContract",
    "Site",
    "StoreContract",
]
