"""The log of hook calls that a person can tail."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hookline.domain.records import Delivery

MAX_LOG_BYTES = 8 * 1024 * 1024


def log_calls(path: str, rows: Sequence[Delivery]) -> None:
    """Write a line for each call to the log that a person can tail."""
    stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    lines = "".join(f"{stamp} {_line(row)}\n" for row in rows)
    with suppress(OSError):  # the record is in the store; no hook fails for want of a log
        if not os.path.isdir(os.path.dirname(path)):
            os.mkdir(os.path.dirname(path))
        if os.path.exists(path) and os.path.getsize(path) > MAX_LOG_BYTES:
            os.replace(path, f"{path}.1")
        with open(path, "a", encoding="utf-8", errors="replace") as file:
            file.write(lines)


def _line(row: Delivery) -> str:
    parts = [
        f"event={row.event_seq}",
        f"point={row.point}",
        f"hook={row.hook}",
        f"status={row.status}",
        f"ms={(row.duration_us or 0) / 1000:.1f}",
    ]
    if row.exit_code is not None:
        parts.append(f"exit={row.exit_code}")
    if row.error:
        parts.append(f"error={row.error.splitlines()[0][:300]!r}")
    return " ".join(parts)
