"""When a session has to end although its work is not done: budgets and guards.

All of it counts what happened. How fast an iteration was is never a reason.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import msgspec

from hookline.digest import sha256

KEPT_TREES = 20
# How many iterations in a row may be interrupted by the end of a process or a machine before they
# count as failures: an agent may be what ends them.
MOST_CUT = 10
# What a session may use, as opposed to what shows that it is stuck: to continue, it must be raised.
BUDGETS = ("iterations", "minutes", "usd", "tokens")


class SessionLimits(msgspec.Struct, frozen=True, kw_only=True):
    """What a session may use, and when it counts as stuck; None or 0 switches a limit off."""

    iterations: int | None = None
    minutes: float | None = None
    usd: float | None = None
    tokens: int | None = None
    identical_output: int | None = None
    no_change: int | None = None
    failures: int | None = None
    thrashing: int | None = None
    quality_regression: int | None = None


class Progress(msgspec.Struct, rename="camel", frozen=True, kw_only=True):
    """What a session has used so far.

    `failures`, `cut`, `same_output`, `no_change` and `worse` count iterations in a row up to now,
    `returns` how often the files went back to an earlier state since they last reached a new
    one. `last_output` is a hash. `trees` are the last states of the files, the newest last; a
    session that begins with the state it found there notices a return to it.
    """

    iterations: int = 0
    minutes: float = 0.0
    usd: float = 0.0
    tokens: int = 0
    failures: int = 0
    cut: int = 0
    same_output: int = 0
    no_change: int = 0
    returns: int = 0
    best_passed: int | None = None
    worse: int = 0
    last_output: str = ""
    trees: list[str] = []


class Reached(NamedTuple):
    """The limit that ends a session: its name, and a sentence for people."""

    reason: str
    message: str


class Countdown(NamedTuple):
    """How much of a limit is used."""

    name: str
    used: float
    allowed: float


class _Measure(NamedTuple):
    """A limit: its name, the part of the progress that it bounds, and what to say; of 1, `one`."""

    name: str
    field: str
    message: str
    one: str | None = None
    digits: int = 0


# The first that is reached gives the reason.
_MEASURES = (
    _Measure("iterations", "iterations", "{used} of {allowed} iterations used"),
    _Measure("minutes", "minutes", "{used} of {limit:g} minutes used", digits=1),
    _Measure("usd", "usd", "${used} of ${allowed} spent", digits=2),
    _Measure("tokens", "tokens", "{used} of {allowed} tokens used"),
    _Measure(
        "identical_output",
        "same_output",
        "the agent gave the same answer {used} times in a row and changed no file",
    ),
    _Measure(
        "no_change",
        "no_change",
        "no file changed in {used} iterations in a row",
        "no file changed in an iteration",
    ),
    _Measure(
        "failures", "failures", "{used} iterations in a row failed", "the last iteration failed"
    ),
    _Measure(
        "thrashing",
        "returns",
        "the files went back to an earlier state {used} times in a row",
        "the files went back to an earlier state",
    ),
    _Measure(
        "quality_regression",
        "worse",
        "for {used} iterations in a row fewer rules passed than before",
        "fewer rules passed than before",
    ),
)
# One iteration alone is identical to nothing.
_LEAST = {"identical_output": 2}


def after_iteration(
    progress: Progress,
    *,
    failed: bool,
    output: str,
    fingerprint: str | None,
    changed: bool,
    passed: int | None,
    total: int | None,
    minutes: float,
    usd: float,
    tokens: int,
    cut: bool = False,
) -> Progress:
    """The progress with one more iteration, failed or not.

    A `cut` one failed because its process or machine was gone, which says nothing about the agent.
    `minutes`, `usd` and `tokens` are what this iteration used. `fingerprint` stands for the
    state of all files, None where nobody knows it. `passed` of `total` rules hold now; None
    where none was run.
    """
    said = str(sha256(output.encode("utf-8", "surrogatepass")).hexdigest())
    best, worse = _quality(progress, passed, total)
    trees, returns = _movement(progress, fingerprint)
    cuts = progress.cut + 1 if cut else 0
    is_excused = 0 < cuts <= MOST_CUT
    return Progress(
        iterations=progress.iterations + 1,
        minutes=progress.minutes + _amount(minutes),
        usd=progress.usd + _amount(usd),
        tokens=progress.tokens + max(tokens, 0),
        failures=progress.failures + (not is_excused) if failed else 0,
        cut=cuts,
        same_output=_repetitions(progress, said, failed=failed, changed=changed),
        no_change=0 if changed else progress.no_change + (not is_excused),
        returns=returns,
        best_passed=best,
        worse=worse,
        last_output=progress.last_output if failed else said,
        trees=trees,
    )


def reached(limits: SessionLimits, progress: Progress) -> Reached | None:
    """The limit that ends the session now, if there is one."""
    for measure in _MEASURES:
        used, allowed = getattr(progress, measure.field), getattr(limits, measure.name)
        if allowed and used >= max(allowed, _LEAST.get(measure.name, 0)):
            return Reached(measure.name, _sentence(measure, used, allowed))
    return None


def used_up(limits: Mapping[str, Any], used: Mapping[str, Any]) -> Reached | None:
    """The budget of which nothing is left, if there is one: a session cannot continue with it."""
    budgets = {name: limits.get(name) for name in BUDGETS}
    progress = Progress(**{name: used.get(name, 0) for name in BUDGETS})
    return reached(SessionLimits(**budgets), progress)


def raised(name: str | None, used: float | None) -> str:
    """The option that lets a session continue whose budget is used up: twice what it has used.

    Empty for other limits, which need not be raised.
    """
    if name not in BUDGETS:
        return ""
    if not used:  # an older version did not write it down
        return f" --{name} N"
    more = f"{max(2 * used, 0.01):.2f}" if name == "usd" else str(math.ceil(2 * used))
    return f" --{name} {more}"


def countdown(limits: SessionLimits, progress: Progress) -> list[Countdown]:
    """How much of each limit is used, for those that there are."""
    return [
        Countdown(measure.name, getattr(progress, measure.field), allowed)
        for measure in _MEASURES
        if (allowed := getattr(limits, measure.name))
    ]


def _sentence(measure: _Measure, used: float, allowed: float) -> str:
    message = measure.one if used == 1 and measure.one else measure.message
    most = _figure(allowed, measure.digits)
    return message.format(used=_figure(used, measure.digits), allowed=most, limit=allowed)


def _figure(number: float, digits: int) -> str:
    """A number with so many digits, or with those that it takes not to look like nothing."""
    if not digits:
        return str(number)
    text = f"{number:.{digits}f}"
    return text if float(text) else f"{number:.2g}"


def _amount(used: float) -> float:
    """What an agent reports is not always a number that can be added; a clock can go back."""
    return used if math.isfinite(used) and used > 0 else 0.0


def _repetitions(progress: Progress, said: str, *, failed: bool, changed: bool) -> int:
    if changed:
        return 0
    if failed:  # what a failed turn said, or did not say, tells nothing about the agent
        return progress.same_output
    return progress.same_output + 1 if said == progress.last_output else 1


def _movement(progress: Progress, fingerprint: str | None) -> tuple[list[str], int]:
    trees = progress.trees
    if fingerprint is None or trees[-1:] == [fingerprint]:
        return trees, progress.returns
    known = fingerprint in trees
    kept = [tree for tree in trees if tree != fingerprint]
    return [*kept, fingerprint][-KEPT_TREES:], progress.returns + 1 if known else 0


def _quality(progress: Progress, passed: int | None, total: int | None) -> tuple[int | None, int]:
    best = progress.best_passed
    if passed is None or not total:
        return best, progress.worse
    # Rules that are no longer there cannot be what got worse.
    best = passed if best is None else max(passed, min(best, total))
    return best, progress.worse + 1 if passed < best else 0


# How much a session may be allowed.
MOST = {"iterations": 1_000_000, "tokens": 10**15}
WHOLE = frozenset(MOST)


def limit_problem(name: str, value: float) -> str | None:
    """What is wrong with a limit, after its name; each must leave room for something."""
    if not math.isfinite(value):
        return "must be a number"
    if name in MOST and value > MOST[name]:
        return f"must be at most {MOST[name]:,}"
    if name in WHOLE and (value < 1 or value != int(value)):
        return "must be at least 1"
    return "must be more than 0" if value <= 0 else None
