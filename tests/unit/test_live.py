"""The live view without a terminal: records in, lines out, within its columns and rows."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hookline.adapters.feeds.feed import FeedReader, FileFeed, feed_path
from hookline.domain.text.terminal import clean, cut, one_line, size, thousands, took, width
from hookline.surfaces.cli.live.lines import below, fitted, plain
from hookline.surfaces.cli.live.view import Activity, Live

if TYPE_CHECKING:
    from pathlib import Path

AT = "2026-01-17T10:00:00.000Z"
LATER = "2026-01-17T10:01:14.000Z"
TYPES = (
    "session_started session_iteration session_iteration_ended hook_started hook_ended"
    " turn_started turn_ended agent validation_started validation_ended session_waits"
    " session_paused session_resumed session_ended"
).split()


def record(what: str, at: str = AT, **data: Any) -> dict[str, Any]:
    """A line of a feed."""
    return {"timestamp": at, "type": what, "data": data}


def told(live: Live, what: str, at: str = AT, **data: Any) -> list[str]:
    """The lines that a record finishes."""
    return [line.text.rstrip() for line in live.take(record(what, at, **data))]


# Text


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (-1, "0.0s"),
        (0.24, "0.2s"),
        (9.94, "9.9s"),
        (9.96, "10s"),
        (99.4, "99s"),
        (99.6, "1m40s"),
        (3599.6, "60m00s"),
        (12_000, "3h20m"),
        (float("inf"), "277777h46m"),
        (float("nan"), "0.0s"),
    ],
)
def test_lengths_of_time(seconds: float, shown: str) -> None:
    assert took(seconds) == shown


def test_sizes() -> None:
    assert [size(n) for n in (0, 999, 1127, 5_000_000)] == ["0 B", "999 B", "1.1 KB", "4.8 MB"]
    assert [thousands(n) for n in (999, 12_340, 1_200_000)] == ["999", "12.3k", "1.2M"]


def test_widths() -> None:
    assert width("abc") == 3
    assert width("日本") == 4
    assert width("e\u0301") == 1
    assert width("🎉") == 2
    assert cut("日本語", 5) == "日本…"
    assert cut("日本語", 4) == "日…"
    assert cut("日本語", 6) == "日本語"
    assert cut("abc", 0) == ""


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b]0;title\x07x", "x"),
        ("\x1b]8;;http://evil\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x1b]0;never ended", ""),
        ("\x9b2Jx", "x"),
        ("\x1b(0x\x1bc", "x"),
        ("a\x00b\x08c", "a\\x00b\\x08c"),
        ("\u202egnp.exe", "gnp.exe"),
        ("👨\u200d👩", "👨👩"),
        ("a\tb", "a   b"),
    ],
)
def test_foreign_text_commands_no_terminal(text: str, shown: str) -> None:
    assert clean(text) == shown


@given(st.text())
def test_no_text_gets_through_unseen(text: str) -> None:
    assert clean(text).isprintable()
    assert one_line(text).isprintable()


@given(st.text(alphabet="ab 日🎉e\u0301", max_size=80), st.integers(1, 90), st.booleans())
@example("aaaa日 aaaaa日日日\u0301", 18, True)
def test_every_line_fits(text: str, columns: int, is_below: bool) -> None:
    line = below(text) if is_below else plain(text, wraps=True)
    parts = fitted(line, columns)
    assert all(width(part.text) <= columns for part in parts)
    if columns > 16 and not is_below:
        kept = "".join(part.text for part in parts)
        assert kept.replace(" ", "") == text.replace(" ", "")


# What an agent says


@given(st.lists(st.text(alphabet="ab\n", max_size=6)))
def test_text_in_pieces_is_the_text(pieces: list[str]) -> None:
    activity = Activity()
    ended = [line for piece in pieces for line in activity.say(piece)]
    ended += activity.say("\n")
    assert ended == [line for line in "".join(pieces).split("\n") if line.strip()]


def test_progress_bars_show_their_last_state() -> None:
    activity = Activity()
    activity.say("10%\r50%\r90%")
    assert activity.last(3) == ["90%"]
    activity.say("\r\ndone\n")
    assert activity.last(3) == ["90%", "done"]
    activity.say("> Bash make\n")
    assert activity.last(2) == ["done", "> Bash make"]
    assert activity.last(0) == []


# Records


def test_a_turn() -> None:
    live = Live()
    used = [
        {"name": "iterations", "used": 2, "allowed": 20},
        {"name": "usd", "used": 0.36, "allowed": 5},
    ]
    tasks = {"done": 4, "all": 14, "ready": 2}
    live.spent_before = (0.36, 100)
    assert told(live, "session_iteration", iteration=3, countdown=used, tasks=tasks) == [
        "iteration 3/20"
    ]
    assert told(live, "turn_started", step="turn", iteration=3) == []
    assert told(live, "agent", type="tool", name="Bash", detail="make\ntest") == []
    assert [line.text for line in live.region(1768644010.04, 7)] == [
        "  ● agent          turn             10s",
        "      │ > Bash make test",
        "⠋ tasks 4/14 · ready 2 · $0.36/$5.00 · 100 tokens",
    ]
    usage = {"inputTokens": 900, "outputTokens": 10, "usd": 0.12}
    ended = told(live, "turn_ended", LATER, step="turn", tools=18, usage=usage, files=["a"])
    assert ended == ["  ✓ agent          turn             74s  18 tools · 1 file · $0.12"]
    assert live.region(0, 7)[-1].text.endswith("$0.48/$5.00 · 1.0k tokens")


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        ("usage_limit", "usage limit"),
        ("overloaded", "model overloaded"),
        ("unreachable", "model unreachable"),
    ],
)
def test_a_turn_whose_model_is_not_available_says_why(kind: str, reason: str) -> None:
    live = Live()
    told(live, "turn_started", step="turn")
    ended = told(live, "turn_ended", LATER, step="turn", error="no answer", wait={"kind": kind})
    assert ended == [f"  ! agent          turn             74s  {reason}", "      │ no answer"]


def test_limits_that_are_near_are_counted_down() -> None:
    live = Live()
    used = [
        {"name": "minutes", "used": 200.4, "allowed": 240},
        {"name": "no_change", "used": 14, "allowed": 15},
        {"name": "failures", "used": 0, "allowed": 5},
        {"name": "thrashing", "used": 2, "allowed": 4},
    ]
    told(live, "session_iteration", iteration=3, countdown=used)
    assert live.region(0, 1)[0].text == "⠋ minutes 200/240 · no change 14/15"


def test_what_hooks_say() -> None:
    live = Live()

    def ended(**data: Any) -> list[str]:
        return told(live, "hook_ended", point="post_iteration", hook="pytest", **data)

    text = {"text": "x" * 1127}
    assert ended(durationMs=200, answer=text, piped=True) == [
        "  ✓ post_iteration pytest          0.2s  → agent 1.1 KB"
    ]
    assert ended(durationMs=200, answer=text, piped=True, exitCode=1) == [
        "  ! post_iteration pytest          0.2s  exit 1 → agent 1.1 KB"
    ]
    assert ended(status="timeout", error="ran out of 1 s\npartial") == [
        "  ✗ post_iteration pytest          0.0s  timeout",
        "      │ ran out of 1 s",
        "      │ partial",
    ]
    assert ended(status="skipped", condition="changed('src/**')") == []
    assert told(live, "session_iteration_ended", iteration=1) == [
        "  – 1 hook skipped; -v says why"  # noqa: RUF001
    ]
    live = Live(verbose=1)
    assert ended(status="skipped", condition="changed('src/**')") == [
        "  – post_iteration pytest                when changed('src/**') is false"  # noqa: RUF001
    ]


@pytest.mark.parametrize(
    ("point", "hook", "shown"),
    [
        ("stop", "stop[1]:max-iterations", "stop           max-iterations 2m05s"),
        ("stop", "stop[0]:evidence", "stop           evidence       2m05s"),
        ("agent", "final-delivery", "agent          final-delivery 2m05s"),
        ("on_task_complete", "tests", "on_task_complete tests        2m05s"),
    ],
)
def test_long_words_leave_the_rest_in_its_columns(point: str, hook: str, shown: str) -> None:
    (line,) = told(Live(), "hook_ended", point=point, hook=hook, durationMs=125_000, exitCode=1)
    assert line == f"  ! {shown}  exit 1"


@pytest.mark.parametrize(
    ("verbose", "for_good", "open_now"),
    [
        (0, [], ["one", "> Bash make", "two", "thr"]),
        (1, ["> Bash make"], ["one", "two", "thr"]),
        (2, ["one", "> Bash make", "two"], ["thr"]),
    ],
)
def test_what_an_agent_says_stands_in_one_place(
    verbose: int, for_good: list[str], open_now: list[str]
) -> None:
    live = Live(verbose=verbose)
    told(live, "turn_started", step="turn")
    said = told(live, "agent", type="text", text="one")
    said += told(live, "agent", type="tool", name="Bash", detail="make")
    said += told(live, "agent", type="text", text="two\nthr")
    assert said == [f"      │ {line}" for line in for_good]
    _, *drawn, _ = [line.text for line in live.region(0, 7)]
    assert drawn == [f"      │ {line}" for line in open_now]


def test_a_pause_is_told_once_it_is_over() -> None:
    live = Live()
    assert told(live, "session_paused") == []
    assert live.region(0, 7) == []
    assert told(live, "session_resumed") == ["paused, then resumed"]
    assert told(live, "session_resumed") == []


def test_a_wait_counts_down_and_is_over() -> None:
    live = Live()
    until = time.strftime("%H:%M:%S", time.localtime(1768644090))
    assert told(live, "session_waits", reason="usage limit", seconds=90) == [
        f"  … waits 90s, until {until}: usage limit"
    ]
    assert live.region(1768644060.0, 3)[0].text == "⠋ usage limit: again in 30s"
    told(live, "turn_started", step="turn")
    assert "usage limit" not in live.region(1768644060.0, 3)[-1].text


def test_an_ended_session_has_nothing_open() -> None:
    live = Live()
    told(live, "turn_started", step="turn")
    told(live, "session_ended", outcome="limit", reason="usd")
    assert live.region(0, 7) == []
    told(live, "session_resumed")
    assert len(live.region(0, 7)) == 1


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=10),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=10), inner),
    max_leaves=8,
)
FIELDS = (
    "name point hook status error answer step usage countdown tasks results iteration text type"
    " durationMs exitCode files values condition piped seconds reason outcome detail ok"
).split()


@given(
    st.lists(
        st.fixed_dictionaries(
            {
                "timestamp": st.sampled_from([AT, LATER, "", "soon", "9999-12-31T23:59:59Z"]),
                "type": st.sampled_from([*TYPES, "other"]),
                "data": st.dictionaries(st.sampled_from(FIELDS), JSON, max_size=6),
            }
        )
    ),
    st.integers(0, 8),
    st.integers(0, 2),
)
def test_no_feed_breaks_the_view(lines: list[dict[str, Any]], rows: int, verbose: int) -> None:
    live = Live(verbose=verbose)
    for line in lines:
        assert all(each.text.isprintable() for each in live.take(line))
        region = live.region(1768644000.0, rows)
        assert len(region) <= rows
        assert all(each.text.isprintable() for each in region)


# The feed


def test_half_a_line_waits_for_its_end(tmp_path: Path) -> None:
    reader = FeedReader(str(tmp_path), "R-1")
    assert list(reader.new()) == []
    path = tmp_path / "sessions" / "R-1.jsonl"
    path.parent.mkdir()
    line = json.dumps(record("agent", type="text"))
    path.write_text(f"{line}\n{line[:20]}")
    assert [each["type"] for each in reader.new()] == ["agent"]
    assert list(reader.new()) == []
    with path.open("a") as file:
        file.write(f"{line[20:]}\nnot json\n[]\n{{}}\n{line}\n")
    assert [each["type"] for each in reader.new()] == ["agent", "agent"]


def test_a_line_without_end_is_not_kept(tmp_path: Path) -> None:
    path = tmp_path / "sessions" / "R-1.jsonl"
    path.parent.mkdir()
    line = json.dumps(record("agent", type="text"))
    path.write_text("{" + "x" * (9 << 20) + f"\n{line}\n")
    assert [each["type"] for each in FeedReader(str(tmp_path), "R-1").new()] == ["agent"]


def test_a_reader_from_now_on(tmp_path: Path) -> None:
    tell = FileFeed(str(tmp_path)).of("R-1")
    tell("session_started", {"name": "one"})
    tell("hook_started", {"point": "a", "hook": "b"})
    reader = FeedReader(str(tmp_path), "R-1", tail=0)
    nearly = FeedReader(str(tmp_path), "R-1", tail=110)
    tell("session_paused", {})
    assert [each["type"] for each in reader.new()] == ["session_paused"]
    assert [each["type"] for each in nearly.new()] == ["hook_started", "session_paused"]


def test_a_new_session_begins_its_feed_anew(tmp_path: Path) -> None:
    FileFeed(str(tmp_path)).of("R-1")("agent", {"type": "text"})
    reader = FeedReader(str(tmp_path), "R-1")
    assert len(list(reader.new())) == 1
    FileFeed(str(tmp_path)).of("R-1")("session_started", {})
    assert [each["type"] for each in reader.new()] == ["session_started"]


def test_links_of_a_repository_are_not_followed(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.write_text("precious")
    folder = tmp_path / "folder"
    (folder / "sessions").mkdir(parents=True)
    (folder / "sessions" / "R-1.jsonl").symlink_to(outside)
    FileFeed(str(folder)).of("R-1")("session_started", {})
    assert outside.read_text() == "precious"
    other = tmp_path / "other"
    other.mkdir()
    (other / "sessions").symlink_to(tmp_path)
    FileFeed(str(other)).of("R-2")("session_started", {})
    assert not (tmp_path / "R-2.jsonl").exists()
    assert feed_path("x", "R-2") == "x/sessions/R-2.jsonl"
