"""Diffs of git as the page shows them."""

from __future__ import annotations

from hookline.domain.text.excerpts import left_out
from hookline.domain.work.repository import FileChange
from hookline.queries.page.changes import diff_page
from hookline.queries.reports.changes import Change

CHANGED = """\
diff --git a/shop.py b/shop.py
index 1111111..2222222 100644
--- a/shop.py
+++ b/shop.py
@@ -10,4 +10,5 @@ def buy():
 one
-two
+zwei
+drei
 four
@@ -40 +41 @@
-old
\\ No newline at end of file
+new
"""
RENAMED = """\
diff --git a/old name b/new name
similarity index 100%
rename from old name
rename to new name
"""
QUOTED = """\
diff --git "a/tab\\there \\303\\244" "b/tab\\there \\303\\244"
new file mode 100644
index 0000000..1111111
--- /dev/null
+++ "b/tab\\there \\303\\244"
@@ -0,0 +1 @@
+diff --git a/x b/x
"""
REMOVED = """\
diff --git a/gone b/gone
deleted file mode 100644
index 1111111..0000000
--- a/gone
+++ /dev/null
@@ -1 +0,0 @@
---- a dash
"""
BINARY = """\
diff --git a/logo.png b/logo.png
index 1111111..2222222 100644
Binary files a/logo.png and b/logo.png differ
"""


def change(diff: str, *paths: str) -> Change:
    files = [FileChange(path, 1, 1) for path in paths]
    return Change(older="a", newer="b", files=files, diff=diff)


def test_each_line_has_its_numbers() -> None:
    (file,) = diff_page(change(CHANGED, "shop.py")).files
    first, second = file.hunks
    assert first.header == "@@ -10,4 +10,5 @@ def buy():"
    assert [(each.kind, each.old, each.new, each.text) for each in first.lines] == [
        ("same", 10, 10, "one"),
        ("removed", 11, None, "two"),
        ("added", None, 11, "zwei"),
        ("added", None, 12, "drei"),
        ("same", 12, 13, "four"),
    ]
    assert [(each.kind, each.old, each.new) for each in second.lines] == [
        ("removed", 40, None),
        ("added", None, 41),
    ]


def test_files_have_their_names_whatever_those_are() -> None:
    whole = CHANGED + RENAMED + QUOTED + REMOVED + BINARY
    names = ("shop.py", "new name", "tab\there ä", "gone", "logo.png")
    found = diff_page(change(whole, *names)).files
    assert [(each.path, each.old_path, each.status) for each in found] == [
        ("shop.py", None, "changed"),
        ("new name", "old name", "renamed"),
        ("tab\there ä", None, "added"),
        ("gone", None, "removed"),
        ("logo.png", None, "changed"),
    ]
    assert [line.text for line in found[2].hunks[0].lines] == ["diff --git a/x b/x"]
    assert [line.text for line in found[3].hunks[0].lines] == ["--- a dash"]
    assert found[4].hunks == []


def test_what_was_left_out_is_told_and_nothing_is_numbered_wrong() -> None:
    cut = CHANGED.replace(" four\n", f"{left_out(1234)}\n+unknown\n")
    page = diff_page(change(cut, "shop.py", "later.py"))
    assert page.cut
    first, later = page.files
    assert [each.text for each in first.hunks[0].lines] == ["one", "two", "zwei", "drei"]
    assert later.hunks == []
    assert (later.path, later.added) == ("later.py", 1)


def test_what_nobody_knows_is_told() -> None:
    page = diff_page(Change(older="", newer="", unknown="git no longer has it"))
    assert (page.unknown, page.files, page.older) == ("git no longer has it", [], None)
    assert diff_page(None).unknown == "nobody has worked on it here"
