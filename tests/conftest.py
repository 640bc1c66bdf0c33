"""What all tests rely on."""

from __future__ import annotations

import os
import signal

from hypothesis import HealthCheck, settings

# How long an example takes is up to the machine, and says nothing about it.
settings.register_profile("hookline", deadline=None, suppress_health_check=[HealthCheck.too_slow])
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
