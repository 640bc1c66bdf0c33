"""Pictures of the task graph: readable, in a fixed order, and safe against hostile goals."""

from __future__ import annotations

import re

import pytest

from hookline.domain.pages.drawing import dot, mermaid, terminal
from hookline.domain.tasks import SPAWNED_BY, STATES, Claim, Edge, Task

HOSTILE = (
    'x"]; A --> B\n%%{init: {"theme": "x"}}%%\r\n<script>&quot;`#quot;` style a:#1; \\'
    "\x1b[2J\x00\u202e\u2028\t end }"
)


def task(number: int, goal: str = "", state: str = "ready", priority: int = 2) -> Task:
    return Task(id=f"T-{number}", goal=goal or f"goal {number}", state=state, priority=priority)


def needs(later: int, earlier: int) -> Edge:
    return Edge(f"T-{later}", f"T-{earlier}")


def spawned(child: int, parent: int) -> Edge:
    return Edge(f"T-{child}", f"T-{parent}", SPAWNED_BY)


def plain(text: str, style: str) -> str:
    return text


def tagged(text: str, style: str) -> str:
    return f"<{style}>{text}</>"


def lines(tasks: list[Task], edges: list[Edge], width: int = 80) -> list[str]:
    return terminal(tasks, edges, width=width, style=plain)


def test_mermaid() -> None:
    drawn = mermaid(
        [task(2, "Build", "active"), task(1, "Design", "completed"), task(3, "Ask (us), now!")],
        [needs(2, 1), spawned(3, 2), needs(2, 99), needs(2, 1)],
    )
    assert drawn == (
        "flowchart LR\n"
        '  T1["T-1 Design"]:::completed\n'
        '  T2["T-2 Build"]:::active\n'
        '  T3["T-3 Ask (us), now!"]:::ready\n'
        "  T1 --> T2\n"
        "  T2 -.-> T3\n"
        "  classDef ready fill:#e7f5ff,stroke:#1c7ed6,color:#212529\n"
        "  classDef active fill:#fff3bf,stroke:#f08c00,color:#212529\n"
        "  classDef completed fill:#d3f9d8,stroke:#2f9e44,color:#212529\n"
    )


def test_dot() -> None:
    drawn = dot([task(2, "Build", "active"), task(1, 'Say "hi" & \\N')], [needs(2, 1)])
    assert drawn == (
        "digraph tasks {\n"
        "  rankdir=LR;\n"
        '  node [shape=box, style="rounded,filled", fontname="sans-serif"];\n'
        '  T1 [label="T-1 Say \\"hi\\" &amp; \\\\N", fillcolor="#e7f5ff", color="#1c7ed6"];\n'
        '  T2 [label="T-2 Build", fillcolor="#fff3bf", color="#f08c00"];\n'
        "  T1 -> T2;\n"
        "}\n"
    )


def test_a_spawned_task_has_a_dotted_line_in_dot() -> None:
    assert "  T1 -> T2 [style=dotted];" in dot([task(1), task(2)], [spawned(2, 1)]).splitlines()


@pytest.mark.parametrize("goal", [HOSTILE, *HOSTILE, HOSTILE * 1000, "\\", '\\"', "end"])
def test_a_hostile_goal_stays_inside_its_label(goal: str) -> None:
    _, node, _ = mermaid([task(1, goal)], []).splitlines()
    assert re.fullmatch(r'  T1\["(?:[^\W_]|[ .,\-_/()!?]|#\d+;)*"\]:::ready', node)
    picture = dot([task(1, goal)], []).splitlines()
    assert re.fullmatch(r'  T1 \[label="(?:[^"\\]|\\\\|\\")*", fillcolor="[^"]*", .*', picture[3])
    assert len(picture) == 5
    (line,) = lines([task(1, goal)], [])
    assert line.isprintable()
    assert len(line) <= 80


def test_every_state_has_a_look_of_its_own() -> None:
    tasks = [task(number, state=state) for number, state in enumerate(STATES, 1)]
    assert [line.split()[0] for line in lines(tasks, [])] == [*"·○●▲⧖↻✓✗⊘"]
    assert mermaid(tasks, []).count("classDef") == len(STATES)
    assert dot(tasks, []).count("fillcolor") == len(STATES)


def test_an_empty_graph() -> None:
    assert mermaid([], []) == "flowchart LR\n"
    assert dot([], []).endswith('fontname="sans-serif"];\n}\n')
    assert lines([], []) == []


def test_terminal_draws_a_tree_and_names_a_task_twice_at_most_briefly() -> None:
    tasks = [task(number) for number in range(1, 8)]
    edges = [needs(2, 1), needs(3, 1), needs(4, 2), needs(4, 3), needs(5, 4), spawned(6, 3)]
    assert lines(tasks, edges) == [
        "○ T-1 goal 1",
        "├─ ○ T-2 goal 2",
        "│  └─ ○ T-4 goal 4",
        "│     └─ ○ T-5 goal 5",
        "└─ ○ T-3 goal 3",
        "   ├─ T-4 (above)",
        "   └┄ ○ T-6 goal 6",
        "○ T-7 goal 7",
    ]


def test_order_is_priority_then_number() -> None:
    tasks = [task(10), task(9), task(100, priority=0), task(1, priority=9)]
    expected = ["T-100", "T-9", "T-10", "T-1"]
    assert [line.split()[1] for line in lines(tasks, [])] == expected
    assert [line.split()[1] for line in lines(tasks[::-1], [])] == expected
    below = lines([task(2000), *tasks], [needs(n, 2000) for n in (10, 9, 100, 1)])
    assert [line.split()[2] for line in below[1:]] == expected


def test_a_parent_that_waits_for_its_children_is_drawn_once() -> None:
    tasks = [task(1), task(2)]
    assert lines(tasks, [spawned(2, 1), needs(1, 2)]) == ["○ T-2 goal 2", "└─ ○ T-1 goal 1"]


def test_a_circle_of_parents_and_dependencies_is_drawn_too() -> None:
    edges = [needs(2, 1), needs(3, 2), spawned(1, 3)]
    assert lines([task(1), task(2), task(3)], edges) == [
        "○ T-1 goal 1",
        "└─ ○ T-2 goal 2",
        "   └─ ○ T-3 goal 3",
        "      └┄ T-1 (above)",
    ]


def test_labels_and_claim_stay_while_the_goal_is_cut() -> None:
    claim = Claim("bob", 1, "2030-01-01T00:00:00Z")
    busy = Task(id="T-3", goal="word " * 50, state="active", labels=("web", "ui"), claim=claim)
    (line,) = lines([busy], [], width=50)
    assert line == "● T-3 word word word w… [web, ui] (claimed by bob)"
    (whole,) = lines([busy], [], width=0)
    assert whole == "● T-3 " + "word " * 50 + "[web, ui] (claimed by bob)"


@pytest.mark.parametrize(
    ("goal", "width", "expected"),
    [
        ("測試測試測試測試", 22, "○ T-1 測試測試測試測試"),
        ("測試測試測試測試", 18, "○ T-1 測試測試測…"),
        ("x測試測試測試測試", 18, "○ T-1 x測試測試測…"),
        ("e\u0301" * 12, 18, "○ T-1 " + "e\u0301" * 12),
        ("two\nlines\x1b[2J", 80, "○ T-1 two lines\\x1b[2J"),
        ("a\u202eb", 80, "○ T-1 a\\u202eb"),
        ("a goal", 5, "○ T-…"),
        ("a goal", 1, "…"),
    ],
)
def test_width_is_counted_in_columns(goal: str, width: int, expected: str) -> None:
    assert lines([task(1, goal)], [], width=width) == [expected]


def test_completed_branches_are_dim_as_a_whole() -> None:
    tasks = [
        task(1, "a", "completed"),
        task(2, "b", "completed"),
        task(3, "c", "completed"),
        task(4, "d", "failed"),
    ]
    edges = [needs(2, 1), needs(3, 2), needs(4, 1)]
    assert terminal(tasks, edges, width=80, style=tagged) == [
        "<green>✓</> T-1 a",
        "<dim>├─ ✓ T-2 b</>",
        "<dim>│  └─ ✓ T-3 c</>",
        "└─ <red>✗</> T-4 d",
    ]


def test_a_very_long_chain_is_drawn_within_the_width() -> None:
    count = 30_000
    tasks = [task(number, "g") for number in range(1, count + 1)]
    drawn = lines(tasks, [needs(n + 1, n) for n in range(1, count)], width=40)
    assert len(drawn) == count
    assert drawn[3] == "      └─ ○ T-4 g"
    assert drawn[-2:] == [
        "…" + " " * 17 + "└─ ○ T-29999 g",
        "…" + " " * 17 + "└─ ○ T-30000 g",
    ]
    assert max(map(len, drawn)) <= 40
