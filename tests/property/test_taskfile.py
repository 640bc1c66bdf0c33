"""Task files under random input: BadInput or tasks, and what was written is what is read."""

from __future__ import annotations

import json

from hypothesis import example, given
from hypothesis import strategies as st

from hookline.domain.pages.taskfile import TaskSpec, parse
from hookline.errors import BadInput

pieces = st.sampled_from(
    [
        *("- [ ] ", "- [x] ", "* [ ] ", "1. [ ] ", "- []", "  ", "\t", "\n", "\r\n", "# h\n"),
        *("```", "~~~~", "#label", "!1", "^key", "(after: key)", "(after: T-1, x)", "goal", " "),
        *("{", "}", '{"goal": "a"}', '"goal"', ":", ",", "[", "]", '"\\ud800"', "null", "\0"),
        *("\\", "(", ")", "İ", "\u2028", "\ud800", "\ufeff"),
    ]
)
texts = st.lists(pieces, max_size=25).map("".join) | st.text(st.characters(), max_size=80)

words = st.text("abcxyz", min_size=1, max_size=6)
goals = st.lists(words, min_size=1, max_size=4).map(" ".join)
labels = st.lists(words, max_size=3, unique=True).map(tuple)


@given(texts)
@example('{"goal": "\\ud800"}')
@example("- [ ] a ^a (after: a)")
def test_parse_gives_tasks_or_bad_input(text: str) -> None:
    try:
        specs = parse(text, name="x")
    except BadInput as problem:
        assert problem.message.startswith("x:")  # noqa: PT017  both ends are fine, only others not
        return
    keys = [spec.key for spec in specs if spec.key]
    assert len(keys) == len(set(keys))
    assert all(spec.goal.strip() == spec.goal != "" for spec in specs)


@given(st.lists(st.tuples(goals, labels, st.integers(0, 9), st.booleans()), min_size=1))
def test_check_lists_are_read_as_written(
    items: list[tuple[str, tuple[str, ...], int, bool]],
) -> None:
    text = "".join(
        f"- [{'x' if done else ' '}] {goal} {' '.join(f'#{each}' for each in tags)} !{priority}\n"
        for goal, tags, priority, done in items
    )
    assert parse(text, name="x") == [
        TaskSpec(goal=goal, labels=tags, priority=priority, done=done)
        for goal, tags, priority, done in items
    ]


@given(st.lists(st.tuples(goals, labels, st.booleans(), st.integers(0, 20)), min_size=1))
def test_json_lines_are_read_as_written(
    items: list[tuple[str, tuple[str, ...], bool, int]],
) -> None:
    def reference(index: int, wanted: int) -> list[str]:
        return [f"k{wanted}"] if wanted < index else []

    text = "\n".join(
        json.dumps(
            {
                "key": f"k{index}",
                "goal": goal,
                "labels": tags,
                "done": done,
                "dependsOn": reference(index, wanted),
            }
        )
        for index, (goal, tags, done, wanted) in enumerate(items)
    )
    assert parse(text, name="x") == [
        TaskSpec(
            key=f"k{index}",
            goal=goal,
            labels=tags,
            done=done,
            depends_on=tuple(reference(index, wanted)),
        )
        for index, (goal, tags, done, wanted) in enumerate(items)
    ]
