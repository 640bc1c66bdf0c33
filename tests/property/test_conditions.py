"""Conditions under random input: never a crash, and globs that agree with a plain definition."""

from __future__ import annotations

import re

from hypothesis import example, given
from hypothesis import strategies as st

from hookline.errors import HookFailure
from hookline.hooks.language.conditions import check, evaluate, glob_match, uses

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner),
    max_leaves=8,
)

atoms = st.sampled_from(
    ["a", "b", "a.b", "b['c']", "a[0]", "1", "2.5", "'x'", "None", "True", "[1, a]", "('x',)"]
)
operators = st.sampled_from(
    ["and", "or", "==", "!=", "<", ">=", "in", "not in", "+", "-", "*", "/", "//", "%", "**", "&"]
)
expressions = st.recursive(
    atoms,
    lambda inner: st.one_of(
        st.builds("({} {} {})".format, inner, operators, inner),
        st.builds("not {}".format, inner),
        st.builds("-{}".format, inner),
        st.builds("len({})".format, inner),
        st.builds("matches({}, {})".format, inner, inner),
        st.builds("({} if {} else {})".format, inner, inner, inner),
        st.builds("{}[{}]".format, inner, inner),
    ),
    max_leaves=8,
)

path_characters = st.sampled_from("ab/")
paths = st.text(path_characters, min_size=1, max_size=8).filter(
    lambda path: "//" not in path and path[0] != "/" and path[-1] != "/"
)
patterns = st.lists(
    st.sampled_from(["a", "b", "*", "?", "a*", "*b", "**"]), min_size=1, max_size=4
).map("/".join)


@given(st.text(st.characters(), max_size=60))
@example("\ud800")
@example("#\rA")
@example("a if")
def test_any_text_is_checked_and_evaluated_without_a_crash(text: str) -> None:
    problem = check(text, {"a": None})
    assert problem is None or problem
    assert isinstance(uses(text, "len"), bool)
    try:
        evaluate(text, {"a": 1}, {})
    except HookFailure:
        return
    assert problem is None


@given(expressions, json_values, json_values)
def test_an_expression_gives_a_verdict_or_a_failure(
    expression: str, first: object, second: object
) -> None:
    try:
        verdict = evaluate(expression, {"a": first, "b": second}, {})
    except HookFailure:
        return
    assert check(expression, {"a": None, "b": None}) is None
    assert all(part in expression for part in verdict.values)


@given(paths, patterns)
def test_globs_agree_with_regular_expressions(path: str, pattern: str) -> None:
    assert glob_match(path, pattern) == bool(re.fullmatch(_as_regex(pattern), path))


def _as_regex(pattern: str) -> str:
    if "/" not in pattern:
        pattern = f"**/{pattern}"
    if pattern.endswith("/**"):
        pattern = f"{pattern}/*"
    return "".join(
        {"**/": "(?:[^/]+/)*", "*": "[^/]*", "?": "[^/]"}.get(token, re.escape(token))
        for token in re.findall(r"\*\*/|\*|\?|[^*?]", pattern)
    )
