"""Says where in a shell line a value would become code, a program's name or a file's.

A wrong refusal costs a help text and a wrong acceptance a machine, so doubt refuses.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from hookline.hooks.shellwords import DYNAMIC, Word

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from hookline.hooks.shellgrammar import Command, Script


class _Wrapper(NamedTuple):
    operands: int = 0
    flags: str = ""


class _Language(NamedTuple):
    code: str
    valued: str = ""


def _names(text: str) -> list[str]:
    return text.split()


# Programs that run their arguments as a command: how many operands come before it, and which
# short options are known to take no value.
_WRAPPERS = {
    **dict.fromkeys(
        _names(
            "builtin doas nohup setsid stdbuf unbuffer fakeroot setpriv strace ltrace ionice nice "
            "systemd-run npx bunx uvx pipx xvfb-run caffeinate busybox"
        ),
        _Wrapper(),
    ),
    **dict.fromkeys(
        _names("flock chroot chrt taskset unshare nsenter faketime"), _Wrapper(operands=1)
    ),
    "command": _Wrapper(flags="p"),
    "env": _Wrapper(flags="i0v"),
    "exec": _Wrapper(flags="cl"),
    "sudo": _Wrapper(flags="EnHkbP"),
    "time": _Wrapper(flags="pv"),
    "timeout": _Wrapper(operands=1, flags="v"),
}

# Programs that make code of some argument, and which one depends on the others. They count
# wherever a command names them, because another program may start them.
_NESTED = frozenset(
    _names(
        "eval ssh rsh mosh scp rsync xargs su runuser watch parallel script trap awk gawk mawk "
        "nawk sed gsed make gmake tmux gdb vi vim nvim emacs sqlite3 psql mysql mariadb osascript"
    )
)
# The same, but their names are too common as arguments.
_NESTED_COMMANDS = frozenset(
    _names(
        ". source local let declare typeset read unset getopts mapfile readarray alias hash "
        "enable bind complete compgen at batch crontab screen expect entr ed ex dc"
    )
)
_STDIN_IS_CODE = frozenset(
    _names(
        "xargs parallel ssh rsh su runuser at batch crontab dc ed ex gdb sqlite3 psql mysql "
        "mariadb . source eval"
    )
)

_LANGUAGES = {
    **dict.fromkeys(
        _names("sh bash dash ash zsh ksh mksh fish rbash csh tcsh"), _Language("cC", "oO")
    ),
    **dict.fromkeys(_names("python pypy ipython"), _Language("c", "WX")),
    **dict.fromkeys(_names("node nodejs bun deno"), _Language("ep", "r")),
    **dict.fromkeys(_names("lua luajit"), _Language("e", "l")),
    "elixir": _Language("e", "r"),
    "groovy": _Language("e"),
    "julia": _Language("eE", "JLp"),
    "perl": _Language("eE", "I"),
    "php": _Language("rBRE", "dfcz"),
    "pwsh": _Language("ceCE"),
    "rscript": _Language("e"),
    "ruby": _Language("e", "ICr"),
}
_VERSION = re.compile(r"[\d.]+$")
_LONG_CODE = re.compile(r"--(?:eval|exec|execute|command|print|run|init-command)")

# For every program: options whose value is code, and words after which a program is named.
_CODE_OPTION = re.compile(
    r"-c|--?(?:[\w-]*-)?(?:exec(?:ute|dir)?|eval|ok(?:dir)?|command|cmd|program|checkpoint-action)"
    r"|exec|eval"
)
_RUNNERS = frozenset(
    _names("npm pnpm yarn bun uv poetry pdm hatch pipenv conda docker podman nerdctl")
)
_FIND_ACTIONS = frozenset(("-exec", "-execdir", "-ok", "-okdir"))
_NAME_OPTIONS = frozenset(("-v", "-R"))

_CODE_VARIABLE = re.compile(
    r"(?:LD|DYLD|BASH|GIT|SSH|NODE|NPM|JAVA|CARGO)_.*|(?:PYTHON|PERL5|RUBY|LESS|MAKE).*"
    r"|(?:CD|CLASS|F|GO|INFO|MAN)?PATH|.*(?:COMMAND|OPTIONS|OPTS?|FLAGS|EDITOR|PAGER|BROWSER)"
    r"|.*(?:SHELL|WRAPPER|ASKPASS)|ENV|IFS|VISUAL|PS[0-4]|TERMINAL|HOME|ZDOTDIR|CC|CXX"
)
_HARMLESS_VARIABLE = re.compile(r"GIT_(?:AUTHOR|COMMITTER)_(?:NAME|EMAIL|DATE)")
_SETTERS = frozenset(("export", "readonly"))


def unfit_places(script: Script) -> dict[int, str]:
    """Each mark that stands where free text is unfit, by its offset, and what the place is."""
    found = {start: site.reason for start, site in script.sites.items() if site.reason}
    for command in script.commands:
        for word, reason in (*_code_words(command, script), *_name_words(command)):
            _add(script, found, word.start, word.end, reason)
    evaluates = _evaluates(script)
    if evaluates:
        for word in (word for command in script.commands for word in _kept_words(command)):
            _add(script, found, word.start, word.end, "text that the line evaluates later")
    for pipe in script.pipes:
        readers = (each for each in script.commands if pipe.middle <= each.start < pipe.end)
        if evaluates or any(_reads_code(each) for each in readers):
            reason = "text that the line pipes into a program that runs it"
            _add(script, found, pipe.start, pipe.middle, reason)
    return found


def _add(script: Script, found: dict[int, str], start: int, end: int, reason: str) -> None:
    for mark in script.sites:
        if start <= mark < end:
            found.setdefault(mark, reason)


def _evaluates(script: Script) -> bool:
    """Whether the line makes code of something that is known only when it runs."""
    return script.opaque or any(
        DYNAMIC in word.text and any(sign in word.raw for sign in "$`(")
        for command in script.commands
        for word, _ in _code_words(command, script)
    )


def _code_words(command: Command, script: Script) -> Iterator[tuple[Word, str]]:
    """The words of a command that are code or name a program, or may."""
    words = command.words
    if command.loop or not words:
        return
    programs = _programs(words)
    for index in programs:
        yield words[index], "the name of a program"
    for index, word in enumerate(words):
        name = _name(word)
        if name in _NESTED or (index in programs and name in _NESTED_COMMANDS):
            yield from _all(words, f"a command with '{name}'")
        if name in script.functions:
            yield from _all(words, f"a call of '{name}', which the line defines")
        language = _language(name)
        if language:
            yield from _all(_script_words(words[index + 1 :], language), f"code for '{name}'")
    yield from _all(_by_option(words), "the value of an option that takes code")


def _all(words: Sequence[Word], reason: str) -> Iterator[tuple[Word, str]]:
    return ((word, reason) for word in words)


def _name(word: Word) -> str:
    return word.text.rpartition("/")[2]


def _language(name: str) -> _Language | None:
    return _LANGUAGES.get(_VERSION.sub("", name).lower())


def _vanishes(word: Word) -> bool:
    """Whether it may expand to no word at all, or to options."""
    return (word.raw[0] in "$`" and not word.text.strip(DYNAMIC)) or "@" in word.raw[:4]


def _programs(words: Sequence[Word]) -> set[int]:
    """The words that name the program, or may: after a wrapper's options that is not certain."""
    found: set[int] = set()
    queue = [(0, _Wrapper(flags="pv"))]
    while queue:
        start, wrapper = queue.pop()
        spare = wrapper.operands
        for index, word in enumerate(words[start:], start):
            if word.assigns:
                continue
            if index not in found and _name(word) in _WRAPPERS:
                queue.append((index + 1, _WRAPPERS[_name(word)]))
            found.add(index)
            if _vanishes(word):
                spare += 1
            elif word.text.startswith("-"):
                spare += _may_take_value(word.text, wrapper.flags)
            elif spare == 0:
                break
            else:
                spare -= 1
    return found


def _may_take_value(option: str, flags: str) -> bool:
    if option.startswith("--"):
        return len(option) > 2 and "=" not in option
    return bool(option[1:].strip(flags)) and not option[2:].isdecimal()


def _script_words(words: Sequence[Word], language: _Language) -> Sequence[Word]:
    """Of the words after a language's name, those up to the script's name; all after code."""
    spare = 0
    for index, word in enumerate(words):
        head = word.text.partition("=")[0].partition(DYNAMIC)[0]
        if _vanishes(word):
            spare += 1
        elif word.text.startswith(("-", "+")):
            if _takes_code(head, language.code):
                return words[index:]
            spare += _takes_value(word.text, language.valued)
        elif spare == 0:
            return words[: index + 1]
        else:
            spare -= 1
    return words


def _takes_code(option: str, letters: str) -> bool:
    if option.startswith("--"):
        return bool(_LONG_CODE.match(option))
    return any(letter in option for letter in letters)


def _takes_value(option: str, letters: str) -> bool:
    if option.startswith("--"):
        return len(option) > 2 and "=" not in option
    return option[-1] in letters


def _by_option(words: Sequence[Word]) -> list[Word]:
    found = [after for before, after in pairwise(words) if _CODE_OPTION.fullmatch(before.text)]
    found += [word for word in words if _CODE_OPTION.fullmatch(word.text.partition("=")[0])]
    texts = [word.text for word in words]
    names = {_name(word) for word in words}
    if _RUNNERS.intersection(names):
        found += [after for before, after in pairwise(words) if before.text == "run"]
    if "find" in names and _FIND_ACTIONS.intersection(texts):
        return list(words)
    if "env" in names and any(re.match(r"-\w*S|--split", text) for text in texts):
        return list(words)
    return found


def _name_words(command: Command) -> Iterator[tuple[Word, str]]:
    """The words that name a variable, or set one that programs take for code."""
    words = command.words
    setter = bool(_SETTERS.intersection(map(_name, words)))
    for word in words:
        name, equals, _ = word.text.partition("=")
        name = name.removesuffix("+")
        if equals and _CODE_VARIABLE.fullmatch(name) and not _HARMLESS_VARIABLE.fullmatch(name):
            yield word, f"the value of {name}"
        elif setter and (not equals or DYNAMIC in name):
            yield word, "the name of a variable"
    if {"test", "[", "printf"}.intersection(map(_name, words)):
        for before, after in pairwise(words):
            if before.text in _NAME_OPTIONS:
                yield after, "the name of a variable"


def _kept_words(command: Command) -> Iterator[Word]:
    """The words whose values the shell keeps, so that the rest of the line can use them."""
    if command.loop or _SETTERS.union({"set"}).intersection(map(_name, command.words)):
        yield from command.words
        return
    yield from (word for word in command.words if word.assigns)


def _reads_code(command: Command) -> bool:
    """Whether the command runs what comes on its standard input."""
    for index, word in enumerate(command.words):
        rest = command.words[index + 1 :]
        language = _language(_name(word))
        if _name(word) in _STDIN_IS_CODE or (language and _without_script(rest, language)):
            return True
    return False


def _without_script(words: Sequence[Word], language: _Language) -> bool:
    operands = 0
    for word in words:
        if word.text in ("-", "/dev/stdin", "/dev/fd/0") or re.match(r"-\w*s", word.text):
            return True
        if not word.text.startswith(("-", "+")):
            operands += not _vanishes(word)
        else:
            operands -= _takes_value(word.text, language.valued)
    return operands <= 0
