"""Many tasks from one text: what is read, and how everything wrong is told at once."""

from __future__ import annotations

import msgspec
import pytest

from hookline.domain.pages.taskfile import MAX_GOAL, MAX_TASKS, MAX_TEXT, TaskSpec, parse
from hookline.domain.tasks import Task
from hookline.errors import BadInput


def problems(text: str) -> list[str]:
    with pytest.raises(BadInput) as caught:
        parse(text, name="plan.md")
    assert caught.value.help
    return caught.value.message.split("\n")


def one(item: str) -> TaskSpec:
    (spec,) = parse(f"- [ ] {item}", name="plan.md")
    return spec


def test_a_check_list() -> None:
    text = """# Plan

Some words about the plan.

- [ ] Build the login page #web #ui !0 ^login (after: T-3, draw)
* [x] Draw it ^draw
+ [X] Frame it
1. [ ] Ship it
2) [ ] Tell everyone
- a plain item
- [a link](https://example.org)
"""
    assert parse(text, name="plan.md") == [
        TaskSpec(
            goal="Build the login page",
            labels=("web", "ui"),
            priority=0,
            key="login",
            depends_on=("T-3", "draw"),
        ),
        TaskSpec(goal="Draw it", key="draw", done=True),
        TaskSpec(goal="Frame it", done=True),
        TaskSpec(goal="Ship it"),
        TaskSpec(goal="Tell everyone"),
    ]


def test_indentation_makes_sub_items() -> None:
    text = """\
- [ ] a
  - [ ] b ^bee
      - [ ] c
    - [ ] d
 - [ ] e
\t- [ ] f

  some text
  - [ ] g

# Next
  - [ ] h
"""
    specs = parse(text, name="plan.md")
    assert [(spec.goal, spec.key, spec.parent) for spec in specs] == [
        ("a", "#1", None),
        ("b", "bee", "#1"),
        ("c", None, "bee"),
        ("d", None, "bee"),
        ("e", "#5", None),
        ("f", None, "#5"),
        ("g", None, None),
        ("h", None, None),
    ]


def test_code_blocks_are_skipped() -> None:
    text = """\
- [ ] a
```md
- [ ] not this
~~~
````
- [ ] b
  ~~~~
  - [ ] nor this
  ~~~
  ~~~~ still code
  ~~~~
``` inline ``` text
- [ ] c
"""
    assert [spec.goal for spec in parse(text, name="plan.md")] == ["a", "b", "c"]


def test_windows_line_ends_and_a_byte_order_mark() -> None:
    assert parse("\ufeff- [ ] a #x\r\n- [x] b\r\n", name="plan.md") == [
        TaskSpec(goal="a", labels=("x",)),
        TaskSpec(goal="b", done=True),
    ]
    assert parse('\ufeff{"goal": "a"}\r\n', name="plan.jsonl") == [TaskSpec(goal="a")]


@pytest.mark.parametrize(
    ("item", "expected"),
    [
        ("Fix issue #12", TaskSpec(goal="Fix issue #12")),
        ("Learn C#", TaskSpec(goal="Learn C#")),
        ("Use #hash maps", TaskSpec(goal="Use #hash maps")),
        ("Calculate x ^2", TaskSpec(goal="Calculate x ^2")),
        ("Say hi!", TaskSpec(goal="Say hi!")),
        ("Wait (after lunch)", TaskSpec(goal="Wait (after lunch)")),
        ("Wait (really)", TaskSpec(goal="Wait (really)")),
        ("Wait (After: T-1) #x", TaskSpec(goal="Wait", depends_on=("T-1",), labels=("x",))),
        ("a (after: T-1) (after: T-2)", TaskSpec(goal="a", depends_on=("T-1", "T-2"))),
        ("a #x #y #x", TaskSpec(goal="a", labels=("x", "y"))),
        ("a #area/web", TaskSpec(goal="a", labels=("area/web",))),
        ("a #größe", TaskSpec(goal="a", labels=("größe",))),
        (r"Write about \#labels", TaskSpec(goal="Write about #labels")),
        (r"Shout \!1 #x", TaskSpec(goal="Shout !1", labels=("x",))),
        ("a\t#x", TaskSpec(goal="a", labels=("x",))),
        ("a !9", TaskSpec(goal="a", priority=9)),
        ("a !10", TaskSpec(goal="a !10")),
    ],
)
def test_marks_at_the_end_of_an_item(item: str, expected: TaskSpec) -> None:
    assert one(item) == expected


def test_json_lines() -> None:
    text = """
{"id": "a", "goal": " one ", "labels": ["x", "x"], "priority": 0, "type": "bug", "done": false}

{"key": "b", "goal": "two\\nlines", "deliverables": ["d"], "parent": "a", "dependsOn": ["a", "T-9"]}
{"goal": "three", "desiredDeliverables": ["d"], "parentTaskId": "T-1", "notes": ["n"], "done": true}
{"goal": "four \u2028 x", "type": null, "labels": null, "dependsOn": ["b"]}
"""
    assert parse(text, name="plan.jsonl") == [
        TaskSpec(key="a", goal="one", labels=("x",), priority=0, type="bug"),
        TaskSpec(
            key="b",
            goal="two\nlines",
            deliverables=("d",),
            parent="a",
            depends_on=("a", "T-9"),
        ),
        TaskSpec(goal="three", deliverables=("d",), parent="T-1", notes=("n",), done=True),
        TaskSpec(goal="four \u2028 x", depends_on=("b",)),
    ]


def test_exported_tasks_can_be_read_again() -> None:
    tasks = [
        Task(id="T-1", goal="a", state="completed", labels=("x",), result="fine"),
        Task(id="T-2", goal="b", state="active", depends_on=("T-1",), parent_task_id="T-1"),
    ]
    text = "\n".join(msgspec.json.encode(task).decode() for task in tasks)
    assert parse(text, name="plan.jsonl") == [
        TaskSpec(key="T-1", goal="a", labels=("x",), done=True),
        TaskSpec(key="T-2", goal="b", depends_on=("T-1",), parent="T-1"),
    ]


def test_forward_references_are_allowed() -> None:
    first, second = parse("- [ ] a (after: later)\n- [ ] b ^later", name="plan.md")
    assert first.depends_on == ("later",)
    assert second.key == "later"


def test_nothing_is_no_task() -> None:
    assert parse("", name="plan.md") == []
    assert parse(" \n\n", name="plan.md") == []


def test_all_problems_are_told_at_once() -> None:
    text = """\
- [ ] a ^one !1 !2
- [] b
- [ ]
-[ ] c
- [-] d
- [ ]e
- [ ] f ^one
- [ ] g ^one
- [ ] h ^T-4
- [ ] i (after: )
- [ ] #label
```
- [ ] j
"""
    form = "write `- [ ] goal` for a task, `- [x] goal` for a done one"
    assert problems(text) == [
        "plan.md:12: the code block that begins here is not closed with ```",
        "plan.md:1: there are two marks for the priority",
        f"plan.md:2: {form}",
        "plan.md:3: a task needs a goal",
        f"plan.md:4: {form}",
        f"plan.md:5: {form}",
        f"plan.md:6: {form}",
        "plan.md:9: '^T-4' looks like the id of a task; choose another key",
        "plan.md:10: a dependency must be 1 to 200 printable characters",
        "plan.md:11: a task needs a goal",
        "plan.md:8: the key 'one' is used in line 7 already",
    ]


def test_references_to_nothing_and_circles() -> None:
    text = """\
- [ ] a ^alpha (after: beta)
- [ ] b ^beta (after: gama)
- [ ] c ^gamma (after: alpha)
- [ ] d ^delta (after: delta)
"""
    assert problems(text) == [
        "plan.md:2: there is no task with the key 'gama' (did you mean 'gamma'?)",
        "plan.md:4: this is a cycle: delta depends on delta",
    ]
    (circle,) = problems(text.replace("gama", "gamma").replace(" (after: delta)", ""))
    assert "this is a cycle: " in circle
    assert circle.count("depends on") == 3


def test_a_circle_of_parents() -> None:
    text = '{"goal": "a", "key": "a", "parent": "b"}\n{"goal": "b", "key": "b", "parent": "a"}'
    (circle,) = problems(text)
    assert circle.count("is part of") == 2


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ('{"gaol": "a"}', "unknown field 'gaol' (did you mean 'goal'?)"),
        ('{"goal": "a", "depends_on": []}', "unknown field 'depends_on' (did you mean 'dependsOn'"),
        ("{}", "Object missing required field `goal`"),
        ('{"goal": 1}', "Expected `str`, got `int` - at `goal`"),
        ('{"goal": " "}', "a task needs a goal"),
        ('{"goal": "a\\u0000"}', "NUL"),
        ('{"goal": "a", "labels": "x"}', "Expected `array`, got `str` - at `labels`"),
        ('{"goal": "a", "labels": [""]}', "a label must be"),
        ('{"goal": "a", "labels": ["x\\ny"]}', "a label must be"),
        ('{"goal": "a", "priority": true}', "Expected `int`, got `bool` - at `priority`"),
        ('{"goal": "a", "priority": -1}', "the priority must be 0"),
        ('{"goal": "a", "done": "yes"}', "Expected `bool`, got `str` - at `done`"),
        ('{"goal": "a", "id": "x", "key": "y"}', "give either 'key' or 'id', not both"),
        ('{"goal": "a"', "not a JSON object on one line"),
        ('{"goal": "a"} {"goal": "b"}', "not a JSON object on one line"),
        ('{"goal": "a"}\n[]', "not a JSON object"),
        ('{"goal": ' + "[" * 100_000, "not a JSON object on one line"),
        ('{"goal": "a", "parent": "x"}', "there is no task with the key 'x'"),
    ],
)
def test_json_problems(line: str, problem: str) -> None:
    (said,) = problems(line)
    assert said.startswith(f"plan.md:{line.count(chr(10)) + 1}: ")
    assert problem in said


@pytest.mark.parametrize("text", ["just words", "[1, 2]", '[{"goal": "a"}]', "# Plan\n- item"])
def test_text_without_any_task_is_an_error(text: str) -> None:
    assert problems(text) == ["plan.md: no task found"]


def test_many_problems_are_cut() -> None:
    said = problems("- []\n" * 10_000)
    assert len(said) == 51
    assert said[-1] == "... and perhaps more"
    assert len(problems("- [ ] a (after: nothing)\n" * 5_000)) == 51


def test_limits() -> None:
    goal = "x" * MAX_GOAL
    assert one(goal).goal == goal
    assert problems(f"- [ ] {goal}x") == ["plan.md:1: the goal is longer than 64 KiB"]
    assert problems("ü" * (MAX_TEXT // 2) + "x") == ["plan.md: larger than 10 MiB"]
    assert problems("x" * (MAX_TEXT + 1)) == ["plan.md: larger than 10 MiB"]
    assert problems("- [ ] a" + " #x" * 101) == ["plan.md:1: more than 100 marks"]
    assert problems("a\nb\ud800") == ["plan.md:2: this is not valid Unicode text"]
    assert len(parse("- [ ] a\n" * MAX_TASKS, name="plan.md")) == MAX_TASKS
    assert problems("- [ ] a\n" * (MAX_TASKS + 1)) == [
        f"plan.md:{MAX_TASKS + 1}: more than {MAX_TASKS} tasks; split the file"
    ]


def test_a_long_chain_of_dependencies_and_deep_indentation() -> None:
    count = 20_000
    chain = "\n".join(f"- [ ] g ^k{n} (after: k{n + 1})" for n in range(count))
    assert len(parse(f"{chain}\n- [ ] g ^k{count}", name="plan.md")) == count + 1
    deep = "\n".join(" " * 2 * n + "- [ ] g" for n in range(1_000))
    specs = parse(deep, name="plan.md")
    assert [spec.parent for spec in specs[:3]] == [None, "#1", "#2"]
    assert specs[-1].parent == "#999"
