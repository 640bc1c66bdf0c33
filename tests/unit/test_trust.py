"""What trust covers, how states are hashed, and when a verdict is given."""

from __future__ import annotations

import hashlib
import os
from typing import TYPE_CHECKING

import msgspec
import pytest

from hookline.config import Settings
from hookline.errors import PeopleOnly, Untrusted
from hookline.files import text_of
from hookline.hooks.registry import Hook
from hookline.project import Project
from hookline.trust.book import TrustBook
from hookline.trust.configured import configured_uses
from hookline.trust.cover import MAX_FILES, covered_uses, named_files
from hookline.trust.manifest import TrustChange, fingerprint
from hookline.trust.people import refuse_agents, under_agent
from hookline.trust.shell_paths import shell_words
from hookline.trust.stores import adopt_store, owns_store

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def project(tmp_path: Path) -> Project:
    root = tmp_path / "repo"
    (root / ".hookline").mkdir(parents=True)
    return Project(str(root), str(root / ".hookline"))


@pytest.fixture
def book(tmp_path: Path) -> TrustBook:
    return TrustBook(str(tmp_path / "home"))


def put(project: Project, name: str, text: str = "text\n") -> str:
    path = os.path.join(project.root, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path


def command(line: str, layer: str = "project") -> Hook:
    return Hook(name="h", points=("stop",), kind="command", target=line, layer=layer)


def names(project: Project, paths: list[str]) -> set[str]:
    return {os.path.relpath(path, project.root) for path in paths}


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("pytest -q", ["pytest", "-q"]),
        ("a'b c'\"d e\"f", ["ab cd ef"]),
        (r"my\ file.sh", ["my file.sh"]),
        (r'"say \"hi\" \n"', ['say "hi" \\n']),
        ("a;b&&c|d", ["a", "b", "c", "d"]),
        ("(a) `b` $(c)", ["a", "b", "$", "c"]),
        ("sh <in.sh >out.log 2>&1", ["sh", "in.sh", "2"]),
        ("a >> 'b c' d", ["a", "d"]),
        ("a > $(./b)", ["a", "$", "./b"]),
        ('a > "$(./b)"', ["a", "$(./b)"]),
        ("a <> b", ["a", "b"]),
        ("a \\\n b", ["a", "b"]),
        ("'open", ["open"]),
        ("", []),
        ("''", []),
    ],
)
def test_shell_words(line: str, words: list[str]) -> None:
    assert shell_words(line) == words


@pytest.mark.parametrize(
    "line",
    [
        "./tools/check.sh",
        "python tools/check.sh --fast",
        "bash -c ./tools/check.sh",
        "bash -c 'set -e; ./tools/check.sh x'",
        "bash -c \"sh -c 'tools/check.sh'\"",
        '"tools/check.sh"',
        "tools/'check'.sh",
        "run --with=tools/check.sh",
        "X=1 Y=tools/check.sh make",
        "true && tools/check.sh; false",
        'echo "$(tools/check.sh)"',
        "echo `tools/check.sh`",
        "sh < tools/check.sh",
        "sh <tools/check.sh",
        "tools/../tools/check.sh",
        "cd tools && ./check.sh",
        "make -C tools check.sh",
        '"$HOOKLINE_PROJECT"/tools/check.sh',
        "${PWD}/tools/check.sh",
        "{{ project }}/tools/check.sh",
    ],
)
def test_a_command_covers_the_files_it_names(project: Project, line: str) -> None:
    put(project, "tools/check.sh")
    assert names(project, list(covered_uses(project, [command(line)]))) == {"tools/check.sh"}


def test_names_with_spaces_are_covered(project: Project) -> None:
    put(project, "my tools/a b.sh")
    for line in ("sh 'my tools/a b.sh'", "my\\ tools/a\\ b.sh", "bash -c 'sh \"my tools/a b.sh\"'"):
        assert names(project, named_files(project, line)) == {"my tools/a b.sh"}


def test_an_absolute_path_into_the_project_is_covered(project: Project) -> None:
    path = put(project, "x.sh")
    assert list(covered_uses(project, [command(f"sh {path}")])) == [path]


@pytest.mark.parametrize(
    "line",
    ["../outside.sh", "tools/../../outside.sh", "/bin/sh", "tools", "absent.sh", "echo > log.txt",
     "a\0b", "x" * 5000],
)  # fmt: skip
def test_nothing_else_is_covered(project: Project, tmp_path: Path, line: str) -> None:
    (tmp_path / "outside.sh").write_text("x")
    put(project, "log.txt")
    os.mkdir(os.path.join(project.root, "tools"))
    assert list(covered_uses(project, [command(line)])) == []


def test_dots_behind_a_link_are_resolved_as_the_shell_does(
    project: Project, tmp_path: Path
) -> None:
    put(project, "x.sh")
    put(project, "deep/er/y.sh")
    put(project, "deep/x.sh")
    os.symlink("deep/er", os.path.join(project.root, "link"))
    assert names(project, named_files(project, "link/../x.sh")) == {"deep/x.sh"}


def test_only_the_projects_own_hooks_are_covered(project: Project) -> None:
    put(project, "x.sh")
    for layer in ("user", "plugin", "built-in"):
        assert list(covered_uses(project, [command("./x.sh", layer)])) == []


def test_configuration_and_folders_are_covered_with_hidden_files(project: Project) -> None:
    expected = {
        "hookline.yaml",
        "data/automation-hooks.json",
        ".hookline/hooks/stop/10-check",
        ".hookline/hooks/stop/.hidden",
        ".hookline/hooks/lib/deep/helper.py",
        ".hookline/flows/release.yaml",
    }
    for name in (*expected, ".hookline/hookline.db", ".hookline/logs/hooks.log", "other.py"):
        put(project, name)
    assert names(project, list(covered_uses(project, []))) == expected


def test_a_script_is_covered_whatever_its_name(project: Project) -> None:
    put(project, "my hooks/it's.sh")
    script = Hook(name="s", points=("stop",), kind="script", target="my hooks/it's.sh")
    assert names(project, list(covered_uses(project, [script]))) == {"my hooks/it's.sh"}


def test_a_python_hook_covers_all_that_its_import_could_load(project: Project) -> None:
    expected = {"pkg/__init__.py", "pkg/sub/__init__.py", "pkg/sub/mod.py", "pkg/sub/mod.abi3.so"}
    for name in (*expected, "pkg/other.py", "pkg/sub/model.py", "src/pkg/sub/mod.py"):
        put(project, name)
    hook = Hook(name="p", points=("stop",), kind="python", target="pkg.sub.mod:check")
    assert names(project, list(covered_uses(project, [hook]))) == expected


def test_a_package_that_shadows_a_module_is_covered(project: Project) -> None:
    hook = Hook(name="p", points=("stop",), kind="python", target="mine:check")
    put(project, "mine.py")
    assert names(project, list(covered_uses(project, [hook]))) == {"mine.py"}
    put(project, "mine/__init__.py")
    assert names(project, list(covered_uses(project, [hook]))) == {"mine.py", "mine/__init__.py"}


@pytest.mark.parametrize("target", ["../evil:f", "a/../../evil:f", ":f", "", ".evil:f", "a..b:f"])
def test_a_python_target_cannot_climb(project: Project, tmp_path: Path, target: str) -> None:
    (tmp_path / "evil.py").write_text("x")
    hook = Hook(name="p", points=("stop",), kind="python", target=target, handler=print)
    assert list(covered_uses(project, [hook])) == []


def test_the_environment_and_arguments_of_a_hook_are_covered(project: Project) -> None:
    put(project, "env.sh")
    put(project, "lint.sh")
    put(project, "README.md")
    hook = Hook(
        name="h",
        points=("stop",),
        kind="built-in",
        target="lint",
        env={"BASH_ENV": "./env.sh"},
        metadata={"command": "./lint.sh", "prompt": "Compare it with README.md"},
    )
    assert names(project, list(covered_uses(project, [hook]))) == {"env.sh", "lint.sh"}


@pytest.mark.parametrize(
    ("runs", "covered"),
    [
        ("file", {"policy.txt"}),
        ("line", {"policy.txt", "check.sh"}),
        ("function", {"policy.txt", "rules.py"}),
        (None, {"policy.txt", "check.sh", "rules.py"}),
        ("", set()),
    ],
)
def test_a_kind_of_a_plugin_says_what_its_value_names(
    project: Project, runs: str | None, covered: set[str]
) -> None:
    for name in ("policy.txt", "check.sh", "rules.py"):
        put(project, name)
    value = {"policy": ["policy.txt"], "before": {"first": "sh check.sh"}, "by": "rules:judge"}
    for made in ({"metadata": value}, {"metadata": {"arguments": value}}):
        hook = Hook(name="h", points=("stop",), kind="of-a-plugin", runs=runs, **made)
        assert names(project, list(covered_uses(project, [hook]))) == covered


def test_extra_files_and_first_uses(project: Project) -> None:
    put(project, "hookline.yaml")
    put(project, ".hookline/hooks/stop/check")
    put(project, "x.sh")
    put(project, "prompts/qa.md")
    hooks = [command("./x.sh"), command("sh x.sh")]
    hooks[1].name = "later"
    uses = covered_uses(project, hooks, ["prompts/qa.md", "prompts/absent.md", "../out"])
    assert {os.path.relpath(path, project.root): use for path, use in uses.items()} == {
        "hookline.yaml": "configuration",
        ".hookline/hooks/stop/check": "in the hooks folder",
        "x.sh": "hook h",
        "prompts/qa.md": "named in the configuration",
    }


def test_settings_cover_every_scope_and_section(project: Project) -> None:
    expected = {"a.sh", "b.sh", "c.sh", "d.sh", "e.sh", "f.md", "g.py", "h.sh"}
    for name in (*expected, "PLAN.md", "goal.md"):
        put(project, name)
    sections = {
        "session": {"plan": "PLAN.md"},
        "validation": [
            {"name": "t", "type": "command", "command": "./d.sh"},
            {"name": "u", "type": "custom", "python": "g:check"},
        ],
        "agents": {"x": {"driver": "command", "command": "sh e.sh", "prompt": "f.md"}},
        "flows": {
            "w": {"steps": [{"id": "p", "parallel": [{"id": "q", "run": "./h.sh"}]},
                            {"id": "t", "task": {"goal": "goal.md"}}]}
        },
    }  # fmt: skip
    settings = Settings(
        hooks=[command("./a.sh")],
        type_hooks={"product": {"before_merge": [command("./b.sh")]}},
        agent_hooks={"x": {"stop": [command("./c.sh")]}},
        raw_sections=msgspec.Raw(msgspec.json.encode(sections)),
    )
    assert names(project, list(configured_uses(project, settings))) == expected


def test_too_many_files_are_refused(project: Project) -> None:
    folder = os.path.join(project.folder, "hooks")
    os.mkdir(folder)
    for number in range(MAX_FILES + 1):
        os.symlink("x", os.path.join(folder, str(number)))
    with pytest.raises(Untrusted, match="too many to be verified"):
        covered_uses(project, [])


def test_a_manifest_holds_plain_sha256_sums(project: Project) -> None:
    put(project, "hookline.yaml", "version: 1\n")
    path = put(project, ".hookline/hooks/stop/check", "#!/bin/sh\n")
    os.chmod(path, 0o755)
    manifest = fingerprint(project, covered_uses(project, []))
    assert manifest.files == {
        "hookline.yaml": hashlib.sha256(b"version: 1\n").hexdigest(),
        ".hookline/hooks/stop/check": hashlib.sha256(b"#!/bin/sh\n").hexdigest() + ":x",
    }


def test_the_hash_is_the_same_on_every_machine(tmp_path: Path) -> None:
    hashes = set()
    for place in ("one", "another/place"):
        root = str(tmp_path / place)
        project = Project(root, os.path.join(root, ".hookline"))
        put(project, "hookline.yaml", "version: 1\n")
        put(project, "x.sh", "echo\n")
        files = covered_uses(project, [command("./x.sh")])
        hashes.add(fingerprint(project, reversed(files)).hash)
    # The form is a promise to automation that sets HOOKLINE_TRUST, so it is written out here.
    parts = []
    for name, text in (("hookline.yaml", b"version: 1\n"), ("x.sh", b"echo\n")):
        parts += [name.encode(), b"\0", hashlib.sha256(text).hexdigest().encode(), b"\0"]
    whole = hashlib.sha256(b"hookline trust 1\0" + b"".join(parts))
    assert hashes == {f"sha256:{whole.hexdigest()}"}


def test_no_two_paths_share_a_name() -> None:
    paths = ["a", "a\\xff", "a\udcff", "a\\\\xff", "ä", "a\\udcff", "a\n", "a\\n"]
    texts = [text_of(path) for path in paths]
    assert len(set(texts)) == len(paths)
    assert texts[0] == "a"
    assert texts[4] == "ä"
    assert msgspec.json.decode(msgspec.json.encode(texts)) == texts


def test_nothing_to_trust_is_trusted(project: Project, book: TrustBook) -> None:
    verdict = book.verdict(project, fingerprint(project, covered_uses(project, [])), {})
    assert verdict.trusted
    assert not verdict.changes


def test_granted_then_changed_then_revoked(project: Project, book: TrustBook) -> None:
    put(project, "hookline.yaml", "version: 1\n")
    first = fingerprint(project, covered_uses(project, []))
    never = book.verdict(project, first, {})
    assert not never.trusted
    assert never.changes == [TrustChange("hookline.yaml", "added")]
    book.grant(project, first)
    assert book.verdict(project, first, {}).trusted
    put(project, "hookline.yaml", "version: 1 # more\n")
    put(project, ".hookline/hooks/stop/new")
    second = fingerprint(project, covered_uses(project, []))
    changed = book.verdict(project, second, {})
    assert not changed.trusted
    assert "changed since" in changed.why
    assert changed.changes == [
        TrustChange(".hookline/hooks/stop/new", "added"),
        TrustChange("hookline.yaml", "changed"),
    ]
    assert book.revoke(project)
    assert not book.revoke(project)
    assert not book.verdict(project, first, {}).trusted


def test_a_removed_file_is_a_change(project: Project, book: TrustBook) -> None:
    put(project, "hookline.yaml")
    path = put(project, ".hookline/hooks/stop/guard")
    book.grant(project, fingerprint(project, covered_uses(project, [])))
    os.unlink(path)
    verdict = book.verdict(project, fingerprint(project, covered_uses(project, [])), {})
    assert not verdict.trusted
    assert verdict.changes == [TrustChange(".hookline/hooks/stop/guard", "removed")]


def test_always_trusts_what_comes(project: Project, book: TrustBook) -> None:
    put(project, "hookline.yaml")
    book.grant(project, fingerprint(project, covered_uses(project, [])), always=True)
    put(project, "hookline.yaml", "other\n")
    changed = fingerprint(project, covered_uses(project, []))
    verdict = book.verdict(project, changed, {})
    assert verdict.trusted
    assert verdict.always
    book.grant(project, changed)
    put(project, "hookline.yaml", "again\n")
    assert not book.verdict(project, fingerprint(project, [project.config]), {}).trusted


def test_the_environment_can_name_the_trusted_state(project: Project, book: TrustBook) -> None:
    put(project, "hookline.yaml")
    manifest = fingerprint(project, covered_uses(project, []))
    assert book.verdict(project, manifest, {"HOOKLINE_TRUST": manifest.hash}).trusted
    other = book.verdict(project, manifest, {"HOOKLINE_TRUST": "sha256:" + "0" * 64})
    assert not other.trusted
    assert "HOOKLINE_TRUST names another state" in other.why


@pytest.mark.parametrize("name", ["HOOKLINE_AGENT", "HOOKLINE_HOOK"])
def test_an_agent_cannot_trust(project: Project, book: TrustBook, name: str) -> None:
    put(project, "hookline.yaml")
    manifest = fingerprint(project, covered_uses(project, []))
    environ = {"HOOKLINE_TRUST": manifest.hash, name: "x"}
    verdict = book.verdict(project, manifest, environ)
    assert not verdict.trusted
    assert "is ignored under an agent" in verdict.why
    assert under_agent(environ)
    with pytest.raises(PeopleOnly, match="only a person can run `hookline trust`"):
        refuse_agents(environ, "trust")


def test_people_are_not_refused() -> None:
    refuse_agents({"HOOKLINE_TRUST": "x", "HOOKLINE_AGENT": ""}, "trust")


def test_a_store_is_owned_once_adopted(project: Project, tmp_path: Path) -> None:
    home = str(tmp_path / "home")
    assert not owns_store(home, project, "store-1")
    adopt_store(home, project, "store-1")
    assert owns_store(home, project, "store-1")
    assert not owns_store(home, project, "store-2")
    elsewhere = Project(str(tmp_path), str(tmp_path / ".hookline"))
    assert not owns_store(home, elsewhere, "store-1")
