"""`python -m benchmarks [NAME ...] [--quick] [--json]`: measure, and print a table."""

from __future__ import annotations

import argparse
import sys
import tempfile
from typing import TYPE_CHECKING

import msgspec

from benchmarks import (
    backlog,
    browser,
    changes,
    commands,
    dispatching,
    flows,
    graphs,
    history,
    insights,
    loop_runners,
    page,
    peers,
    programs,
    reading,
    schedulers,
    servers,
    session_loop,
    wakeups,
)
from benchmarks.measure import Plan, Result

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

GROUPS: dict[str, Callable[[Plan], Iterator[Result]]] = {
    "commands": commands.measure,
    "backlog": backlog.measure,
    "dispatch": dispatching.measure,
    "programs": programs.measure,
    "changes": changes.measure,
    "graphs": graphs.measure,
    "reading": reading.measure,
    "wakeups": wakeups.measure,
    "flows": flows.measure,
    "sessions": session_loop.measure,
    "runners": loop_runners.measure,
    "history": history.measure,
    "insights": insights.measure,
    "servers": servers.measure,
    "schedulers": schedulers.measure,
    "page": page.measure,
    "browser": browser.measure,
}
# Other programs, measured only where they are installed and only when they are named.
PEERS: dict[str, Callable[[Plan], Iterator[Result]]] = {"peers": peers.measure}
_LINE = "{:48} {:>10} {:>10} {:>8} {:>9}  {}"
_UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "us"))


def main(argv: Sequence[str]) -> int:
    """Measure the groups that were named, or all of them."""
    parser = _parser()
    args = parser.parse_args(argv)
    groups = {**GROUPS, **PEERS}
    if unknown := sorted(set(args.name) - set(groups)):
        parser.error(f"no benchmark is called {', '.join(unknown)}")
    found: list[Result] = []
    if not args.json:
        print(_LINE.format("name", "ours", "floor", "ratio", "aim", "floor is"), flush=True)
    for name in args.name or GROUPS:
        with tempfile.TemporaryDirectory(prefix="hookline-bench-") as folder:
            for result in groups[name](Plan(args.quick, folder)):
                found.append(result)
                if not args.json:
                    print(line(result), flush=True)
    if args.json:
        print(msgspec.json.encode([as_object(each) for each in found]).decode())
    return 0


def line(result: Result) -> str:
    """A result as a row of the table; a missed aim is marked."""
    missed = " !" if result.met is False else ""
    return _LINE.format(
        result.name,
        duration(result.ours),
        "-" if result.floor is None else duration(result.floor),
        "-" if result.ratio is None else f"{result.ratio:.2f}",
        _aim(result) + missed,
        "; ".join(part for part in (result.floor_name, result.note) if part),
    ).rstrip()


def as_object(result: Result) -> dict[str, object]:
    """A result as JSON; times are in seconds."""
    return {**result._asdict(), "ratio": result.ratio, "met": result.met}


def duration(seconds: float) -> str:
    """A time in the unit that suits it."""
    for size, unit in _UNITS:
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds * 1e9:.0f} ns"


def _aim(result: Result) -> str:
    if result.at_most is None:
        return "-"
    if result.ratio is None:
        return duration(result.at_most)
    return f"{result.at_most:g}"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument(
        "name", nargs="*", metavar="NAME", help=f"any of: {', '.join((*GROUPS, *PEERS))}"
    )
    parser.add_argument("--quick", action="store_true", help="smaller counts")
    parser.add_argument("--json", action="store_true", help="one JSON array on stdout")
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
