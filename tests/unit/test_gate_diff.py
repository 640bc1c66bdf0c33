"""Diffs as git prints them, and content that looks like their format."""

from __future__ import annotations

import pytest

from hookline.hooks.builtin.gates.diff import read_diff

PLAIN = """\
diff --git a/src/a.py b/src/a.py
index 1..2 100644
--- a/src/a.py
+++ b/src/a.py
@@ -1,3 +1,4 @@ def f():
 one
-two
+TWO
+2.5
 three
@@ -10 +11,2 @@
-ten
+TEN
+eleven
\\ No newline at end of file
diff --git a/b b/b
deleted file mode 100644
--- a/b
+++ /dev/null
@@ -1 +0,0 @@
-gone
"""


def test_added_lines_have_their_numbers_in_the_new_file() -> None:
    first, second = read_diff(PLAIN)
    assert first.path == "src/a.py"
    assert first.added == [(2, "TWO"), (3, "2.5"), (11, "TEN"), (12, "eleven")]
    assert (first.removed, first.lines) == (2, 6)
    assert (second.path, second.deleted, second.added, second.removed) == ("b", True, [], 1)


def test_content_is_never_taken_for_format() -> None:
    text = (
        "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,2 +1,3 @@\n"
        "--- a/old\n++++ b/pretended\n+@@ -1 +1 @@\n+diff --git a/y b/y\n \n"
    )
    (only,) = read_diff(text)
    assert only.path == "x"
    assert [line for _, line in only.added] == [
        "+++ b/pretended",
        "@@ -1 +1 @@",
        "diff --git a/y b/y",
    ]


@pytest.mark.parametrize(
    ("header", "path"),
    [
        ("diff --git a/a b b/a b\nBinary files a/a b and b/a b differ", "a b"),
        ('diff --git "a/\\303\\274.txt" "b/\\303\\274.txt"\n+++ "b/\\303\\274.txt"', "ü.txt"),
        ('diff --git "a/x\\"\\n" "b/x\\"\\n"\nnew file mode 100644', 'x"\n'),
        ("diff --git a/old b/new\nrename from old\nrename to new", "new"),
        ("diff --git a/with space b/with space\n+++ b/with space\t", "with space"),
    ],
)
def test_names_are_shown_as_they_are(header: str, path: str) -> None:
    assert [each.path for each in read_diff(f"{header}\n")] == [path]


def test_binary_files_are_known() -> None:
    (only,) = read_diff("diff --git a/i.png b/i.png\nBinary files /dev/null and b/i.png differ\n")
    assert (only.binary, only.added) == (True, [])


@pytest.mark.parametrize("text", ["", "\n", "@@ -1 +1 @@\n+x\n", "diff --git \n@@ -9999 +1,99 @@"])
def test_what_is_no_diff_is_read_without_trouble(text: str) -> None:
    assert sum(each.lines for each in read_diff(text)) == 0
