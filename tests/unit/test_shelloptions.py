"""Where in a shell line a value can be read as an option."""

from __future__ import annotations

import pytest

from hookline.hooks.language.templates import compile_line, option_warnings
from hookline.points import VARIABLES


def exposed(line: str) -> list[str]:
    assert compile_line(line, VARIABLES)[1] == []
    found = list(option_warnings(line))
    assert all(line[each.offset :].startswith("{{") for each in found)
    assert {each.code for each in found} <= {"option-place"}
    return [line[each.offset : each.offset + each.length] for each in found]


# Each line whose value can be an option, and a sibling whose value cannot.
EXPOSED = [
    ("grep {{error}} log", "grep -- {{error}} log"),
    ("grep -q {{error}} log", "grep -e {{error}} log"),
    ("grep log {{error}}", "grep -qe {{error}} log"),
    ('grep "{{error}}" log', 'grep "x{{error}}" log'),
    ("grep '{{error}}' log", "grep 'a {{error}}' log"),
    ('grep ""{{error}} log', "grep x{{error}} log"),
    ('grep "$X{{error}}" log', 'grep "$X/{{error}}" log'),
    ('grep "$X"{{error}} log', "grep ~/{{error}} log"),
    ("grep $(a {{task_id}} {{run_id}}){{error}}", "grep $(a {{task_id}})/{{error}}"),
    ("rm -f {{error}}", "rm -f -- {{error}}"),
    ("rm -f {{error}}", "rm -f ./{{error}}"),
    ("ls -- x; ls {{error}}", "ls x; ls -- {{error}}"),
    ("a | grep {{error}}", "a | grep -e {{error}}"),
    ("git commit {{error}}", "git commit -m {{error}}"),
    ("git commit -ma {{error}}", "git commit -am {{error}}"),
    ("git branch -m {{error}}", "git -C x commit -m {{error}}"),
    ("git log {{error}}", "git log --grep {{error}}"),
    ("git checkout {{error}}", "git checkout x -- {{error}}"),
    ("./notify --loud {{error}}", "./notify --title {{error}}"),
    ("./notify --title x {{error}}", "./notify --title={{error}}"),
    ("notify-send {{error}}", "notify-send -u low -- done {{error}}"),
    ("curl -s {{error}}", "curl -s -d {{error}} localhost"),
    ("jq {{error}} x", "jq -n --arg text {{error}} '{text: $text}'"),
    ("find {{error}}", "find . -name {{error}}"),
    ("[ {{error}} = x ]", "[ -n {{error}} ]"),
    ("echo {{error}}", "echo it is {{error}}"),
    ("echo -n {{error}}", "echo -n it is {{error}}"),
    ("printf {{error}}", "printf '%s\\n' {{error}}"),
    ("sh x.sh {{error}}", "sh x.sh -- {{error}}"),
    # A wrapper's or an interpreter's `--` is not that of the program behind it.
    ("sh -- x.sh {{error}}", "sh -- x.sh -- {{error}}"),
    ("sudo -- grep {{error}} log", "sudo -- grep -- {{error}} log"),
    ("env -- grep {{error}} log", "env A={{error}} grep -- x log"),
    ("npm run a -- {{error}}", "npm run a -- -- {{error}}"),
    ("git commit -m $X {{error}}", "git commit -m $X -- {{error}}"),
    ("for i in {{error}}; do a; done", "x={{error}}; a"),
    ("if a {{error}}; then b; fi", "case {{error}} in a) b;; esac"),
]


@pytest.mark.parametrize(("line", "sibling"), EXPOSED)
def test_a_value_at_the_start_of_an_argument_can_be_an_option(line: str, sibling: str) -> None:
    assert exposed(line) == ["{{error}}"]
    assert exposed(sibling) == []


@pytest.mark.parametrize(
    "line",
    [
        "ls {{task_id}} {{iteration}}",
        "ls {{worktree}} {{project}}/x {{task_path}} {{run_dir}}",
        "./store {{event_data}} {{tool_input}}",
        r"ls \{{error}}",
        "ls # {{error}}",
    ],
)
def test_what_never_begins_with_a_dash_is_not_warned_of(line: str) -> None:
    assert exposed(line) == []


def test_every_place_is_named() -> None:
    line = "./n {{error}} x{{error}} '{{agent}}' {{task_id}}{{branch}} -- {{agent}}"
    assert exposed(line) == ["{{error}}", "{{agent}}", "{{branch}}"]
