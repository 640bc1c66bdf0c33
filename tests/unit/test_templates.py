from __future__ import annotations

import pytest

from hookline.hooks.frames import LARGEST_VALUE, environment
from hookline.hooks.language.templates import TemplateProblem, compile_line
from hookline.points import VARIABLES

EVERYTHING = frozenset(VARIABLES)


def compiled(line: str) -> str:
    text, problems = compile_line(line, EVERYTHING)
    assert problems == []
    return text


def problems_of(line: str, allowed: frozenset[str] = EVERYTHING) -> list[TemplateProblem]:
    return compile_line(line, allowed)[1]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("./n {{error}}", './n "${HOOKLINE_ERROR}"'),
        ("./n {{ error }}", './n "${HOOKLINE_ERROR}"'),
        ('./n "a {{error}} b"', './n "a ${HOOKLINE_ERROR} b"'),
        ("./n 'a {{error}} b'", "./n 'a '\"${HOOKLINE_ERROR}\"' b'"),
        ("./n a{{error}}{{agent}}b", './n a"${HOOKLINE_ERROR}""${HOOKLINE_AGENT}"b'),
        (r"./n \\{{error}}", r'./n \\"${HOOKLINE_ERROR}"'),
        (r'./n "\"{{error}}"', r'./n "\"${HOOKLINE_ERROR}"'),
        ('./n "$X{{error}}"', './n "$X${HOOKLINE_ERROR}"'),
        ('./n "$${{error}}"', './n "$$${HOOKLINE_ERROR}"'),
        ("./n \\\n {{error}}", './n \\\n "${HOOKLINE_ERROR}"'),
        ("./n # it's {{error}}", "./n # it's {{error}}"),
        ("./n # {{no_such_thing}}", "./n # {{no_such_thing}}"),
        ("./n $(({{iteration}} + 1))", "./n $((${HOOKLINE_ITERATION} + 1))"),
        ("./n ${X:-{{iteration}}}", "./n ${X:-${HOOKLINE_ITERATION}}"),
        ("./n $'a{{iteration}}b'", "./n $'a'\"${HOOKLINE_ITERATION}\"$'b'"),
        ("./n `id {{iteration}}`", './n `id "${HOOKLINE_ITERATION}"`'),
        ('./n "`id {{iteration}}`"', './n "`id ${HOOKLINE_ITERATION}`"'),
        ("sh -c 'id {{iteration}}'", "sh -c 'id '\"${HOOKLINE_ITERATION}\"''"),
        ("cat <<E\n'{{iteration}}'\nE", "cat <<E\n'${HOOKLINE_ITERATION}'\nE"),
        (
            "cat <<E\n$(echo '{{iteration}}')\nE",
            "cat <<E\n$(echo ''\"${HOOKLINE_ITERATION}\"'')\nE",
        ),
    ],
)
def test_a_reference_becomes_an_expansion_that_fits_its_quoting(line: str, expected: str) -> None:
    assert compiled(line) == expected


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (
            """curl -X POST $SLACK_WEBHOOK -d '{"text": "Iteration {{iteration}} done"}'""",
            "curl -X POST $SLACK_WEBHOOK -d "
            """'{"text": "Iteration '"${HOOKLINE_ITERATION}"' done"}'""",
        ),
        (
            "./scripts/notify-complete.sh {{session}}",
            './scripts/notify-complete.sh "${HOOKLINE_SESSION}"',
        ),
        (
            "./scripts/validate-task.sh {{task_id}}",
            './scripts/validate-task.sh "${HOOKLINE_TASK_ID}"',
        ),
        ('git commit -m "{{task_content}}"', 'git commit -m "${HOOKLINE_TASK_CONTENT}"'),
        ("go test ./... -short", "go test ./... -short"),
    ],
)
def test_everyday_lines(line: str, expected: str) -> None:
    assert compiled(line) == expected


@pytest.mark.parametrize(
    "line",
    [
        "docker inspect --format '{{.Id}}' web",
        "docker ps --format '{{json .}}'",
        "echo {{}} {{ }} {{a b}} {{1}} {{a-b}} {{\na}} }} {{",
        'gh api -t "{{range .}}{{.name}}{{tablerow .x}}"',
        r"echo \{{error}} \{{anything}}",
        "echo 'é' \"\u2028\" $X ~ * {a,b} \\\n \ttabs",
        "",
        "  # only a comment",
        "if true; then echo a; elif false; then echo b; else echo c; fi > x 2>&1",
        "case $x in (a|b) echo 1;; *) echo 2;; esac; f() { echo; }; f",
        "for i; do echo; done; until false; do break; done; while :; do break; done",
        "{ a; } && ( b ) || ! c & d",
        "cat <<A <<-'B'\n$x\nA\n\t`x\n\tB\necho",
        'echo $(case a in a) echo \')\';; esac) "$(echo ")")" `echo a`',
        "time -p a; [[ a == (b|c) && d ]]; ((x = (1 + 2) * 3)); x=(1 2); diff <(a) <(b)",
        "function f { a; }; select x in a b; do c; done; a |& b; a &> c",
    ],
)
def test_text_that_is_no_reference_stays_as_it_is(line: str) -> None:
    assert compiled(line) == line


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (r"echo '\{{error}}'", "echo '{{error}}'"),
        (r'echo "\{{error}}"', 'echo "{{error}}"'),
        (r'echo "$\{{error}}"', r'echo "$\{{error}}"'),
        (r"echo '\{{end}}'", "echo '{{end}}'"),
    ],
)
def test_a_backslash_makes_a_reference_plain_text(line: str, expected: str) -> None:
    assert compiled(line) == expected


# Each refused line, and a sibling that is allowed.
REFUSED = [
    # a value would name the program
    ("{{error}}", "echo {{error}}"),
    ('"{{error}}" a', 'echo "{{error}}" a'),
    ("./{{error}}", "./x {{error}}"),
    ("a; {{error}}", "a; b {{error}}"),
    ("a & {{error}}", "a & b {{error}}"),
    ("a | {{error}}", "a | grep {{error}}"),
    ("a |& {{error}}", "a |& grep {{error}}"),
    ("a && {{error}}", "a && b {{error}}"),
    ("a || {{error}}", "a || b {{error}}"),
    ("a\n{{error}}", "a\nb {{error}}"),
    ("a\\\n; {{error}}", "a\\\n {{error}}"),
    ("({{error}})", "(a {{error}})"),
    ("{ {{error}}; }", "{ a {{error}}; }"),
    ("! {{error}}", "! a {{error}}"),
    ("if {{error}}; then a; fi", "if a {{error}}; then b; fi"),
    ("if a; then {{error}}; fi", "if a; then b {{error}}; fi"),
    ("if a; then b; else {{error}}; fi", "if a; then b; else c {{error}}; fi"),
    ("if a; then b; elif {{error}}; then c; fi", "if a; then b; elif c {{error}}; then d; fi"),
    ("while {{error}}; do a; done", "while a {{error}}; do b; done"),
    ("until {{error}}; do a; done", "until a {{error}}; do b; done"),
    ("for i in a; do {{error}}; done", "for i in {{error}}; do a; done"),
    ("for {{error}} in a; do b; done", "for i in a; do b {{error}}; done"),
    ("case a in a) {{error}};; esac", "case a in a) b {{error}};; esac"),
    ("exec {{error}}", "exec a {{error}}"),
    ("command {{error}}", "command a {{error}}"),
    ("env {{error}}", "env a {{error}}"),
    ("env A=b {{error}}", "env A=b a {{error}}"),
    ("env -i {{error}}", "env -i a {{error}}"),
    ("nohup {{error}}", "nohup a {{error}}"),
    ("time {{error}}", "time a {{error}}"),
    ("time -p {{error}}", "time -p a {{error}}"),
    ("sudo {{error}}", "sudo a {{error}}"),
    ("sudo -u bob {{error}}", "sudo -u bob a {{error}}"),
    ("sudo -nu bob {{error}}", "sudo -nu bob a {{error}}"),
    ("timeout 5 {{error}}", "timeout 5 a {{error}}"),
    ("timeout -s KILL 5 {{error}}", "timeout -s KILL 5 a {{error}}"),
    ("nice {{error}}", "nice a {{error}}"),
    ("nice -n 5 {{error}}", "nice -n 5 a {{error}}"),
    ("sudo timeout 5 nice {{error}}", "sudo timeout 5 nice a {{error}}"),
    ("flock lock {{error}}", "flock lock a {{error}}"),
    ("npx {{error}}", "npx a {{error}}"),
    ("npm run {{error}}", "npm run a {{error}}"),
    ("A=b {{error}}", "A=b a {{error}}"),
    ("$X {{error}}", '"$X" {{error}}'),
    ("$(a 'b') {{error}}", "a $(b 'c') {{error}}"),
    ('"$@" {{error}}', 'a "$@" {{error}}'),
    ("> x {{error}}", "> x a {{error}}"),
    ("{{error}}() { a; }", "a {{error}}"),
    # a value would be evaluated by the shell
    ("echo $(a {{error}})", "echo $(a) {{error}}"),
    ('echo "$(a "{{error}}")"', 'echo "$(a) {{error}}"'),
    ("echo `a {{error}}`", "echo `a` {{error}}"),
    ("echo <(a {{error}})", "echo <(a) {{error}}"),
    ("echo $(( {{error}} ))", "echo $((1 + 2)) {{error}}"),
    ("(( {{error}} ))", "( a {{error}} )"),
    ("[[ {{error}} -eq 1 ]]", "[ {{error}} -eq 1 ]"),
    ("echo ${X:-{{error}}}", "echo ${X:-a}{{error}}"),
    ('echo "${X#{{error}}}"', 'echo "${X#a}{{error}}"'),
    ("cat <<E\n{{error}}\nE", "cat <<E\na\nE\necho {{error}}"),
    ("cat <<-E\n\t{{error}}\n\tE", "cat <<-E\n\ta\n\tE\necho {{error}}"),
    ("cat <<{{error}}\na", "cat <<a\na\na\necho {{error}}"),
    ("cat <<< {{error}}", "cat <<< a; echo {{error}}"),
    ("echo $'{{error}}'", "echo $'a' {{error}}"),
    ("case a in {{error}}) b;; esac", "case {{error}} in a) b;; esac"),
    ("case a in (b|{{error}}) c;; esac", "case a in (b|c) d {{error}};; esac"),
    ("f() { echo {{error}}; }", "f() { echo; }; a {{error}}"),
    ("function f { echo {{error}}; }", "function f { echo; }; a {{error}}"),
    ('f() { eval "$1"; }; f {{error}}', 'f() { eval "$1"; }; a {{error}}'),
    ("a=({{error}})", "a={{error}}"),
    # a value would name a file to write or read
    ("a > {{error}}", "a {{error}} > b"),
    ("a 2>> x{{error}}", "a {{error}} 2>> x"),
    ("a < {{error}}", "a {{error}} < b"),
    ("a >& {{error}}", "a {{error}} >&2"),
    ("{ a; } > {{error}}", "{ a {{error}}; } > b"),
    # a value would be code for another program
    ("eval {{error}}", "echo {{error}}"),
    ("eval 'echo {{error}}'", "evaluate 'echo {{error}}'"),
    ("ssh host {{error}}", "ssh host a; echo {{error}}"),
    ("/usr/bin/ssh host 'a {{error}}'", "/usr/bin/ssh-add {{error}}"),
    ("scp a host:{{error}}", "cp a {{error}}"),
    ("xargs {{error}}", "a | xargs b; echo {{error}}"),
    ("su bob {{error}}", "sum {{error}}"),
    ("watch {{error}}", "npm run watcher {{error}}"),
    ("parallel a ::: {{error}}", "parallels {{error}}"),
    ("script -c {{error}}", "scripts/a {{error}}"),
    ("trap {{error}} EXIT", "trap 'rm x' EXIT; a {{error}}"),
    (". {{error}}", "cp {{error}} ."),
    (". ./env {{error}}", ". ./env; a {{error}}"),
    ("source ./env {{error}}", "a source {{error}}"),
    ("awk '/{{error}}/'", "echo {{error}} | awk '{print $1}'"),
    ("gawk -v x={{error}} a", "grep {{error}} a"),
    ("sed 's/a/{{error}}/'", "echo {{error}} | sed 's/a/b/'"),
    ("make X={{error}}", "./make-it X={{error}}"),
    ("find . -name {{error}} -exec a ;", 'find . -name "{{error}}"'),
    ("find . -execdir {{error}} +", "find . -newer {{error}} -print"),
    ("sh -c {{error}}", "sh x.sh {{error}}"),
    ('sh -c "a {{error}}"', 'bash scripts/x.sh "{{error}}"'),
    ("sh -c 'a {{error}}'", "sh -c 'a'; b {{error}}"),
    ('sh -c"a {{error}}"', 'sh x.sh -C"a {{error}}"'),
    ("bash -lc {{error}}", "bash -l x.sh {{error}}"),
    ("bash -o pipefail -c {{error}}", "bash -o pipefail x.sh {{error}}"),
    ("bash {{error}}", "bash -eux x.sh {{error}}"),
    ("bash $OPTIONS {{error}}", "bash $OPTIONS a x.sh {{error}}"),
    ("busybox sh -c {{error}}", "busybox sh x.sh {{error}}"),
    ("sudo -u bob bash -c {{error}}", "sudo -u bob bash x.sh {{error}}"),
    ("docker exec web sh -c 'a {{error}}'", "docker exec web a {{error}}"),
    ("fish --command {{error}}", "fish x.fish --message {{error}}"),
    ("python -c {{error}}", "python notify.py {{error}}"),
    ("python3.11 -Bc {{error}}", "python3.11 -B notify.py {{error}}"),
    ("/usr/bin/python3 -c'{{error}}'", "/usr/bin/python3 -W ignore notify.py {{error}}"),
    ("python {{error}}", "python -m notify {{error}}"),
    ("perl -e {{error}}", "perl x.pl -e {{error}}"),
    ("perl -pe 's/a/{{error}}/' x", "perl x.pl {{error}}"),
    ("perl -E {{error}}", "perl -w x.pl {{error}}"),
    ("ruby -e {{error}}", "ruby x.rb {{error}}"),
    ("node -e {{error}}", "node x.js {{error}}"),
    ("node --eval={{error}}", "node x.js --evaluate={{error}}"),
    ("node -p {{error}}", "node x.js -p {{error}}"),
    ("php -r {{error}}", "php x.php {{error}}"),
    ("lua -e {{error}}", "lua x.lua {{error}}"),
    ("psql db -c {{error}}", "psqlish {{error}}"),
    ("git -c {{error}} log", "git log --grep {{error}}"),
    ("git rebase --exec {{error}}", "git rebase --onto {{error}}"),
    ("tar --to-command={{error}} x", "tar --exclude={{error}} x"),
    ("env -S {{error}}", "env a {{error}}"),
    ("env -iS 'sh -c' a {{error}}", "env -i sh a {{error}}"),
    # a value would be taken for code later, or name a variable
    ("PATH={{error}} a", "MESSAGE={{error}} a"),
    ("LD_PRELOAD={{error}} a", "PRELOADED={{error}} a"),
    ("BASH_ENV={{error}} a", "BASHFUL={{error}} a"),
    ("PROMPT_COMMAND={{error}}", "PROMPT={{error}}"),
    ("ENV={{error}} a", "ENVY={{error}} a"),
    ("IFS={{error}}", "IF={{error}}"),
    ("GIT_SSH_COMMAND={{error}} git pull", "GIT_AUTHOR_NAME={{error}} git commit"),
    ("export PATH={{error}}", "export MESSAGE={{error}}"),
    ("export {{error}}", "export A; a {{error}}"),
    ("env PATH={{error}} a", "env MESSAGE={{error}} a"),
    ("unset {{error}}", "unset a; b {{error}}"),
    ("read {{error}}", "./x read {{error}}"),
    ("alias a={{error}}", "b a={{error}}"),
    ("printf -v {{error}} a", "printf %s {{error}}"),
    ("[ -v {{error}} ]", "[ -n {{error}} ]"),
    ('x={{error}}; eval "$x"', 'x={{error}}; echo "$x"'),
    ("x={{error}}; eval $(a {{iteration}} $x)", "x={{error}}; b $(a {{iteration}} $x)"),
    ("x={{error}}; $x", 'x={{error}}; a "$x"'),
    ("x={{error}}; echo $((x))", "x=1; echo $((x)) {{error}}"),
    ("x={{error}}; sh <<E\n$x\nE", "x={{error}}; sh x.sh"),
    ('set -- {{error}}; sh -c "$1"', 'set -- {{error}}; a "$1"'),
    ('for i in {{error}}; do sh -c "$i"; done', 'for i in {{error}}; do a "$i"; done'),
    ("echo {{error}} | sh", "echo {{error}} | sh x.sh"),
    ("echo {{error}} | sudo bash -s a", "echo {{error}} | sudo tee x"),
    ("echo {{error}} | bash -o pipefail", "echo {{error}} | bash -o pipefail x.sh"),
    ("{ echo {{error}}; } | cat | sh", "sh x.sh | cat; echo {{error}}"),
    ("echo {{error}} | xargs rm", "a | xargs rm; echo {{error}}"),
    ("echo {{error}} | python -", "echo {{error}} | python -m json.tool"),
    ("git rebase -x {{error}} HEAD~1", "git rebase HEAD~1; a {{error}}"),
    ("git grep -O{{error}} w", "git grep -e {{error}} w"),
    ("git difftool -y -x {{error}} r", "git diff -- {{error}}"),
    ("git ls-remote --upload-pack={{error}} .", "git ls-remote -- {{error}}"),
    ("git push --receive-pack {{error}} . r", "git push . -- {{error}}"),
    ("git submodule foreach {{error}}", "git submodule update -- {{error}}"),
    ("git bisect run {{error}}", "git tag -m {{error}} a"),
    ("git config alias.x {{error}}", "git config user.name {{error}}"),
    ("split --filter={{error}} f", "split -- {{error}}"),
    ("tar -I {{error}} -cf x f", "tar -cf x -- {{error}}"),
    ("tar -cf x --to-command={{error}} f", "tar --label={{error}} -cf x f"),
    ("man -P {{error}} ls", "man -- {{error}}"),
    ("hyperfine {{error}}", "echo {{error}}"),
    (
        'echo {{error}} | while read l; do eval "$l"; done',
        'echo {{error}} | while read l; do echo "$l"; done',
    ),
]


@pytest.mark.parametrize(("refused", "allowed"), REFUSED)
def test_free_text_is_refused_where_it_would_be_more_than_an_argument(
    refused: str, allowed: str
) -> None:
    problems = problems_of(refused)
    assert [problem.code for problem in problems] == ["unsafe-place"]
    assert problems[0].offset == refused.index("{{error}}")
    assert problems[0].length == len("{{error}}")
    assert "read $HOOKLINE_ERROR inside the script instead" in problems[0].help
    assert problems_of(allowed) == []


@pytest.mark.parametrize(
    "line",
    [
        "echo $(a {{task_id}})",
        "echo $(({{iteration}}))",
        "sh -c 'a {{task_id}}'",
        "ssh host a {{run_id}}",
        "cat <<E\n{{task_id}}\nE",
        "a > log-{{iteration}}.txt",
        "case a in {{status}}) b;; esac",
        "sed s/a/{{task_id}}/ x",
    ],
)
def test_values_that_are_ids_may_stand_in_those_places(line: str) -> None:
    assert problems_of(line) == []
    for name in ("task_id", "iteration", "run_id", "status"):
        line = line.replace(name, "task_content")
    assert [problem.code for problem in problems_of(line)] == ["unsafe-place"]


@pytest.mark.parametrize(
    "line",
    [
        "cat <<'E'\n{{iteration}}\nE",
        "cat <<\\E\n{{iteration}}\nE",
        "cat <<{{iteration}}\na",
        'echo "${{iteration}}"',
        "echo ${{iteration}}",
        "echo ${{{iteration}}}",
        "echo ${X:-'{{iteration}}'}",
        "echo $(( '{{iteration}}' ))",
        'echo "`a "{{iteration}}"`"',
        "echo `a \\`b {{iteration}}\\``",
        "echo $'\\'' {{iteration}}",
        'echo "$\\\n{{iteration}}"',
        "a &\\\n& echo {{iteration}}",
        "echo $[1] {{iteration}}",
    ],
)
def test_no_variable_may_stand_where_nothing_or_something_else_would_be_expanded(line: str) -> None:
    assert [problem.code for problem in problems_of(line)] == ["unsafe-place"]


@pytest.mark.parametrize(
    ("line", "offset"),
    [
        ("echo 'a", 5),
        ('echo "a', 5),
        ("echo `a", 5),
        ("echo ${a", 6),
        ("echo $((1)", 6),
        ("echo $(a", 7),
        ("a )", 2),
        ("a; fi", 3),
        ("if a; then b", 11),
        ("case a in", 8),
        ("a;; b", 1),
        ("| a", 0),
        ("a\0", 1),
        ("if a; the\\\nn b; fi", 6),
        ("$(" * 10_000, 0),
    ],
)
def test_a_line_that_is_no_shell_is_refused_where_it_breaks(line: str, offset: int) -> None:
    assert [(each.code, each.offset) for each in problems_of(line)] == [("bad-shell", offset)]


def test_an_unknown_variable_is_answered_with_the_nearest_and_all_of_the_point() -> None:
    (problem,) = problems_of("a {{task_contnet}}", frozenset({"task_content", "task_id"}))
    assert problem.code == "unknown-variable"
    assert (problem.offset, problem.length) == (2, 16)
    assert "did you mean 'task_content'?" in problem.help
    assert "this point has: task_content, task_id" in problem.help
    assert r"write \{{task_contnet}} for the text itself" in problem.help


def test_a_variable_of_another_point_has_no_value_here() -> None:
    (problem,) = problems_of("a {{error}}", frozenset({"session"}))
    assert problem.code == "unknown-variable"
    assert problem.message == "{{error}} has no value at this point"


@pytest.mark.parametrize("line", ["a {{task_id", "a {{task_id}", 'a "{{ task_id }"', "{{task_id a"])
def test_a_variable_that_is_not_closed(line: str) -> None:
    (problem,) = problems_of(line)
    assert problem.code == "unclosed-variable"
    assert problem.offset == line.index("{{")
    assert problem.help == "write {{task_id}}"


def test_all_problems_are_told_at_once_and_in_order() -> None:
    problems = problems_of("{{error}} {{nothing}} {{task_id; sh -c {{agent}} 'a")
    assert [problem.code for problem in problems] == [
        "unknown-variable",
        "unclosed-variable",
        "bad-shell",
    ]
    problems = problems_of("{{error}} {{nothing}}; sh -c {{agent}} > {{task_id")
    assert [problem.code for problem in problems] == [
        "unsafe-place",
        "unknown-variable",
        "unsafe-place",
        "unclosed-variable",
    ]


def no_file(name: str, data: bytes) -> str:
    raise AssertionError(f"{name} needs no file of {len(data)} bytes")


def test_values_are_carried_by_the_environment() -> None:
    values = {"task_content": "it's {{error}} $HOME", "iteration": "3", "error": ""}
    assert environment(values, no_file) == {
        "HOOKLINE_TASK_CONTENT": "it's {{error}} $HOME",
        "HOOKLINE_ITERATION": "3",
        "HOOKLINE_ERROR": "",
    }


def test_a_long_value_is_cut_between_characters_and_a_file_has_the_whole() -> None:
    files: dict[str, bytes] = {}

    def spill(name: str, data: bytes) -> str:
        files[name] = data
        return f"/blobs/{name}"

    value = "a" + "€" * 20_000
    carried = environment({"error": value, "agent": "x" * LARGEST_VALUE}, spill)
    assert carried["HOOKLINE_ERROR"] == "a" + "€" * 10_922  # 1 + 3 * 10,922 = 32,767 bytes
    assert carried["HOOKLINE_ERROR_FILE"] == "/blobs/HOOKLINE_ERROR"
    assert carried["HOOKLINE_AGENT"] == "x" * 32_768
    assert files == {"HOOKLINE_ERROR": value.encode()}


def test_a_nul_is_replaced_and_the_file_has_the_original() -> None:
    files: list[bytes] = []

    def spill(_: str, data: bytes) -> str:
        files.append(data)
        return "/blobs/1"

    carried = environment({"error": "a\0b"}, spill)
    assert carried == {"HOOKLINE_ERROR": "a\ufffdb", "HOOKLINE_ERROR_FILE": "/blobs/1"}
    assert files == [b"a\0b"]


def test_halves_of_surrogate_pairs_do_not_stop_a_hook() -> None:
    carried = environment({"error": "a\ud800b\udce9c\udfff"}, no_file)
    assert carried == {"HOOKLINE_ERROR": "a\ufffdb\udce9c\ufffd"}
