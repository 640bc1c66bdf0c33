"""The `when` language: what it can say, what it refuses, and what a skip is explained with."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from hookline.errors import HookFailure
from hookline.hooks.language.conditions import (
    Evaluated,
    changed_in,
    check,
    evaluate,
    glob_match,
    uses,
)

FILES = ["docs/a.md", "README.md"]
SCOPE: dict[str, Any] = {
    "task": {
        "id": "T-1",
        "goal": "Fix the Login page",
        "labels": ["agent", "area/web"],
        "priority": 0,
        "type": None,
        "desiredDeliverables": ["a patch"],
    },
    "event": {"type": "task_blocked", "data": {"reason": "no key", "a-b": [1, 2, 3]}},
    "iteration": 3,
    "changed": FILES,
}


def ask(expression: str) -> Evaluated:
    return evaluate(expression, SCOPE, {"changed": changed_in(FILES)})


@pytest.mark.parametrize(
    "expression",
    [
        "'agent' in task.labels",
        "'urgent' not in task.labels",
        "event.data.reason == 'no key'",
        "task.desiredDeliverables[0] == 'a patch'",
        "event.data['a-b'][-1] == 3",
        "event.data['a-b'][0:2] == [1, 2]",
        "task.type is None",
        "task.priority is not None and task.priority == 0",
        "not task.type",
        "iteration % 3 == 0",
        "1 < iteration <= 3",
        "(iteration + 1) * 2 - 8 == 0",
        "7 // 2 == 3 and 1 / 2 == 0.5",
        "-iteration == -3",
        "'ab' + 'c' == 'abc' and [1] + [2] == [1, 2]",
        "event.type in ('task_blocked', 'task_failed')",
        "{'a': 1}['a'] == 1",
        "True if iteration > 2 else False",
        "len(task.labels) == 2",
        "lower(task.goal) == 'fix the login page'",
        "upper('a') == 'A'",
        "startswith(task.goal, 'Fix') and endswith(task.goal, 'page')",
        "matches(task.goal, '*Login*')",
        "matches(task.labels, 'area/*')",
        "not matches(task.goal, 'Login')",
        "changed('*.md')",
        "changed('src/**', 'docs/**')",
        "changed()",
        "  iteration == 3  ",
        "(iteration == 3\n  and task.priority == 0)",
        "'grün' == 'grün'",
        "task",
        "3",
    ],
)
def test_met(expression: str) -> None:
    assert check(expression, dict.fromkeys(SCOPE)) is None
    assert ask(expression).met is True


@pytest.mark.parametrize("expression", ["task.type", "changed('src/**')", "0", "''", "[]"])
def test_falsy_values_are_not_met(expression: str) -> None:
    assert ask(expression).met is False


def test_values_explain_a_skip() -> None:
    verdict = ask("'agent' in task.labels and changed('src/**') and iteration > 1")
    assert verdict.met is False
    assert verdict.values == {
        "task.labels": ["agent", "area/web"],
        "changed('src/**')": False,
        "changed": ["docs/a.md", "README.md"],
    }


def test_values_hold_whole_chains_and_what_is_inside_subscripts_and_calls() -> None:
    verdict = ask("event.data['a-b'][iteration - 1] == 3 and len(task.labels) > 5")
    assert verdict.values == {
        "event.data['a-b'][iteration - 1]": 3,
        "iteration": 3,
        "task.labels": ["agent", "area/web"],
        "len(task.labels)": 2,
    }


def test_long_values_are_cut_and_stay_json() -> None:
    scope: dict[str, Any] = {
        "text": "x" * 1000,
        "items": list(range(1000)),
        "table": {str(n): {"a": {"b": 1}} for n in range(1000)},
        "big": 2**70,
    }
    verdict = evaluate("text and items and table and big", scope, {})
    assert verdict.met is True
    assert verdict.values["text"] == "x" * 199 + "…"
    assert verdict.values["items"] == [*range(20), "… and 980 more"]
    assert verdict.values["table"]["0"] == {"a": "…"}
    assert verdict.values["table"]["…"] == "… and 980 more"
    assert verdict.values["big"] == "a very large number"
    assert msgspec.json.decode(msgspec.json.encode(verdict), type=Evaluated) == verdict


@pytest.mark.parametrize(
    ("expression", "problem"),
    [
        ("", "the condition is empty"),
        ("   ", "the condition is empty"),
        ("# nothing", "the condition is empty"),
        ("task.labels[", "syntax error at column 12: '[' was never closed"),
        ("(iteration\n ==)", "syntax error at line 2, column 4"),
        (r"matches(task.goal, '\d')", r"invalid escape sequence '\d'"),
        ("iteration = 3", "cannot assign; compare with =="),
        ("iteration += 3", "cannot assign"),
        ("(x := 3)", "an assignment is not available"),
        ("iteration; task", "not several statements"),
        ("iteration\ntask", "not several statements"),
        ("import os", "not a statement"),
        ("del task", "not a statement"),
        ("tsk.labels", "there is no name 'tsk' (did you mean 'task'?) at column 1"),
        ("'ü' == zzz", "there is no name 'zzz' at column 8; available names: changed, event"),
        ("False and tsk", "there is no name 'tsk'"),
        ("lenn(task)", "there is no function 'lenn' (did you mean 'len'?)"),
        ("len(task, 1)", "len() takes 1 argument, not 2 at column 1"),
        ("matches('a')", "matches() takes 2 arguments, not 1"),
        ("lower == 1", "'lower' is a function: write lower(...)"),
        ("task.goal.lower()", "use lower(text) instead of .lower()"),
        ("'{0.__class__}'.format(task)", "methods are not available"),
        ("changed(pattern='a')", "positional arguments only"),
        ("changed(*task.labels)", "unpacking with *"),
        ("{**task}", "unpacking with **"),
        ("[x for x in task.labels]", "a comprehension is not available"),
        ("lambda: 1", "a lambda is not available"),
        ("f'{task}'", "a format string is not available"),
        ("2 ** 2", "the operator ** is not available at column 1"),
        ("1 << 2", "the operator << is not available"),
        ("~1", "the operator ~ is not available"),
        ("{1, 2}", "a set is not available"),
        ("b'x'", "a value of type bytes"),
        ("1j", "a value of type complex"),
        ("...", "a value of type ellipsis"),
        ("task.goal is 'x'", "compare with =="),
        ("task.__class__", "'__class__' is not available"),
        ("9" * 30, "the number is too large"),
        ("1e999", "the number is too large"),
        ("iteration and " * 150 + "iteration", "longer than 2000 characters"),
        ("1" + " + 1" * 100, "nested too deeply"),
        ("\0", "null bytes"),
        ("'\ud800'", "syntax error"),
    ],
)
def test_check_says_what_is_wrong_and_evaluate_refuses_it(expression: str, problem: str) -> None:
    said = check(expression, dict.fromkeys(SCOPE))
    assert said is not None
    assert problem in said
    with pytest.raises(HookFailure) as caught:
        ask(expression)
    assert problem in caught.value.message
    caught.value.message.encode()


@pytest.mark.parametrize(
    ("expression", "part", "problem"),
    [
        ("task.lables", "task.lables", "there is no 'lables' in task (did you mean 'labels'?)"),
        ("event.data['x']", "event.data['x']", "available names in event.data: a-b, reason"),
        ("task.type.name", "task.type.name", "task.type is null and has no 'name'"),
        ("task.labels.first", "task.labels.first", "task.labels is a list and has no 'first'"),
        ("task.labels[9]", "task.labels[9]", "list index out of range"),
        ("task.labels[task]", "task.labels[task]", "list indices must be integers"),
        ("task.priority[0]", "task.priority[0]", "task.priority is a number"),
        ("True and 'x' in task.type", "'x' in task.type", "a list or an object, not null"),
        ("iteration > 'x'", "iteration > 'x'", "not supported between"),
        ("1 / (iteration - 3)", "1 / (iteration - 3)", "division by zero"),
        ("'a' * 1000000000", "'a' * 1000000000", "cannot calculate with text and a number"),
        ("[0] * 1000000000", "[0] * 1000000000", "cannot calculate with a list and a number"),
        ("'%0999999999d' % 1", "'%0999999999d' % 1", "cannot calculate with text"),
        ("4611686018427387904 * 4", "4611686018427387904 * 4", "the number is too large"),
        ("len(iteration)", "len(iteration)", "a number has no length"),
        ("lower(task.type)", "lower(task.type)", "expected text, not null"),
        ("{task: 1}", "{task: 1}", "unhashable"),
        ("-task.goal", "-task.goal", "bad operand type"),
        ("changed(1)", "changed(1)", "expected text, not a number"),
    ],
)
def test_a_failing_part_is_named(expression: str, part: str, problem: str) -> None:
    assert check(expression, dict.fromkeys(SCOPE)) is None
    with pytest.raises(HookFailure) as caught:
        ask(expression)
    assert f"failed at `{part}`" in caught.value.message
    assert problem in caught.value.message
    assert "available names: changed, event, iteration, task" in caught.value.message


def test_a_failing_function_of_the_caller_fails_the_condition() -> None:
    def changed(*patterns: str) -> bool:
        raise OSError("git is gone")

    with pytest.raises(HookFailure, match=r"failed at `changed\('a'\)`: git is gone"):
        evaluate("changed('a')", {}, {"changed": changed})


def test_a_function_that_nobody_gave_fails_the_condition() -> None:
    with pytest.raises(HookFailure, match="there is no function 'changed'"):
        evaluate("changed('a')", {}, {})


@pytest.mark.parametrize(
    "expression",
    [
        "10**10**10",
        "9**9**9**9",
        "(" * 900 + ")" * 900,
        "[" * 150 + "]" * 150,
        "-" * 1999 + "1",
        "not " * 499 + "1",
        "1" * 1999,
        "task" + "[0]" * 600,
        "().__class__.__bases__[0].__subclasses__()",
        "[].__len__",
        "__import__('os').system('true')",
        "open('/etc/passwd')",
        "text" + " + text" * 40,
        "(text + text) + (text + text)",
    ],
)
def test_hostile_expressions_end_in_an_error(expression: str) -> None:
    with pytest.raises(HookFailure):
        evaluate(expression, {**SCOPE, "text": "x" * 40_000}, {})


def test_deeply_nested_data_is_an_error_not_a_crash() -> None:
    deep: Any = []
    same: Any = []
    for _ in range(100_000):
        deep, same = [deep], [same]
    scope = {"deep": deep, "same": same}
    assert evaluate("deep", scope, {}).met
    with pytest.raises(HookFailure, match="nested too deeply"):
        evaluate("deep == same", scope, {})


def test_a_typo_in_an_object_with_many_names_is_answered_briefly() -> None:
    data = {f"{n:06d}" * 50: n for n in range(20_000)}
    with pytest.raises(HookFailure) as caught:
        evaluate("data.reason", {"data": data}, {})
    assert len(caught.value.message) < 3_000


def test_uses() -> None:
    assert uses("not (task and changed('a'))", "changed")
    assert not uses("changed", "changed")
    assert not uses("'changed()' == task", "changed")
    assert not uses("changed(", "changed")


@pytest.mark.parametrize(
    ("path", "pattern"),
    [
        ("src/a.py", "src/**"),
        ("src/deep/er/a.py", "src/**"),
        ("a.py", "*.py"),
        ("src/deep/a.py", "*.py"),
        ("docs/a.md", "docs/*.md"),
        ("docs/a.md", "./docs/*.md"),
        ("docs/b/a.md", "docs/"),
        ("src/a/test_x.py", "src/**/test_*.py"),
        ("src/test_x.py", "src/**/test_*.py"),
        ("a/b/c", "**/c"),
        ("c", "**/c"),
        ("a/b/c", "a/**/**/c"),
        ("a/b/c", "**"),
        ("a", "**"),
        ("setup.py", "/setup.py"),
        ("app/[id]/page.tsx", "app/[id]/*.tsx"),
        ("a b/ü.txt", "a ?/ü.*"),
        ("x.tar.gz", "*.*.gz"),
        ("a/b", "a/b"),
        ("a/xyz", "a/x**z"),
    ],
)
def test_glob_match(path: str, pattern: str) -> None:
    assert glob_match(path, pattern)


@pytest.mark.parametrize(
    ("path", "pattern"),
    [
        ("src", "src/**"),
        ("src", "src/"),
        ("other/src/a.py", "src/**"),
        ("srcs/a.py", "src/**"),
        ("docs/b/a.md", "docs/*.md"),
        ("a.pyc", "*.py"),
        ("sub/setup.py", "/setup.py"),
        ("src/a.py", "src/*/a.py"),
        ("a/b", "a?b"),
        ("a/b", "*"[1:]),
        ("A.py", "a.py"),
        ("ab", "?"),
        ("", "?"),
        ("a/b/c", "a/c"),
        ("a/b", "a"),
    ],
)
def test_glob_does_not_match(path: str, pattern: str) -> None:
    assert not glob_match(path, pattern)


def test_globs_do_not_go_back_and_try_again() -> None:
    assert not glob_match("a" * 5_000, "*a" * 500 + "b")
    assert not glob_match("a/" * 500 + "a", "**/a/" * 50 + "b")
    assert glob_match("a" * 5_000, "*a" * 500 + "*")
