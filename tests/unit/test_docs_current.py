"""The generated parts of the documentation are what the code says, and its links lead somewhere."""

from __future__ import annotations

import json
import re
from pathlib import Path

import msgspec
import pytest
from docs import generate, reference

from hookline import __version__
from hookline.config.detection import AGENTS
from hookline.domain import payloads
from hookline.domain.events import REPORTS, STATE_BEARING
from hookline.points import POINTS

ROOT = Path(__file__).parents[2]
_LINK = re.compile(r"\]\((?!https?:)([^)#\s]*)(?:#([^)\s]+))?\)")


@pytest.mark.parametrize("page", generate.PAGES)
def test_page_is_current(page: str) -> None:
    now = (ROOT / "docs" / page).read_text(encoding="utf-8")
    assert now == generate.render(page), "run `make docs`"


@pytest.mark.parametrize("name", generate.FILES)
def test_file_is_current(name: str) -> None:
    now = (ROOT / "docs" / name).read_text(encoding="utf-8")
    assert now == generate.FILES[name](), "run `make docs`"


def test_every_generated_part_stands_on_a_page() -> None:
    text = "".join((ROOT / "docs" / page).read_text(encoding="utf-8") for page in generate.PAGES)
    assert sorted(re.findall(r"<!-- generated: ([\w-]+) -->", text)) == sorted(generate.PARTS)


def test_options_that_exclude_each_other_are_documented() -> None:
    page = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
    section = page.split("\n### hookline trust\n")[1].split("\n###")[0]
    assert re.findall(r"^\| `(--\w+)", section, re.MULTILINE) == [
        *("--always", "--revoke", "--show", "--task"),
        "--yes",
    ]


def test_readme_names_this_version() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert f"In this version ({'.'.join(__version__.split('.')[:2])}):" in readme


def test_readme_has_every_agent_that_init_finds() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    for name, profile in AGENTS.items():
        assert f"| `{name}: {profile}` |" in readme


def test_every_point_is_documented() -> None:
    page = (ROOT / "docs" / "points.md").read_text(encoding="utf-8")
    for point in POINTS.values():
        assert point.doc.endswith("."), point.name
        assert f"\n### {point.name}\n\n{point.doc}\n" in page


@pytest.mark.parametrize("name", sorted(STATE_BEARING | REPORTS))
def test_event_has_an_example_of_its_payload(name: str) -> None:
    example = json.loads(reference.EVENT_EXAMPLES[name])
    kind = getattr(payloads, POINTS[name].payload)
    msgspec.convert(example, kind)
    assert {field.encode_name for field in msgspec.structs.fields(kind)} <= example.keys()


def test_every_event_of_hookline_is_a_point_that_fires() -> None:
    assert all(POINTS[name].fires for name in STATE_BEARING | REPORTS)


def _pages() -> list[str]:
    found = [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"), *(ROOT / "examples").rglob("*.md")]
    return sorted(str(path.relative_to(ROOT)) for path in found)


@pytest.mark.parametrize("page", _pages())
def test_links_lead_somewhere(page: str) -> None:
    path = ROOT / page
    for target, anchor in _LINK.findall(path.read_text(encoding="utf-8")):
        file = (path.parent / target).resolve() if target else path
        assert file.is_file(), f"{page} links to {target}"
        if anchor:
            assert anchor in _anchors(file), f"{page} links to {target}#{anchor}"


def _anchors(page: Path) -> set[str]:
    titles = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}


def test_readme_leads_to_every_page() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    linked = {target for target, _ in _LINK.findall(readme)}
    assert {f"docs/{page.name}" for page in (ROOT / "docs").glob("*.md")} <= linked
