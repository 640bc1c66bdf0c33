"""Says where in a shell line a value would become code, a program's name or a file's.

A wrong refusal costs a help text and a wrong acceptance a machine, so doubt refuses.
"""

from __future__ import annotations

import posixpath
import re
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from hookline.hooks.shell.grammar import Script, ShellCommand, read_script
from hookline.hooks.shell.words import DYNAMIC, ShellError, Word

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


class _Wrapper(NamedTuple):
    operands: int = 0
    flags: str = ""


class Language(NamedTuple):
    """An interpreter: the letters of its options that take code, and of those that take a value."""

    code: str
    valued: str = ""


def names(text: str) -> frozenset[str]:
    """The names of programs, or of their options, in a text."""
    return frozenset(text.split())


# Programs that run their arguments as a command: how many operands come before it, and which
# short options are known to take no value.
_WRAPPERS = {
    **dict.fromkeys(
        names(
            "builtin doas nohup setsid stdbuf unbuffer fakeroot setpriv strace ltrace ionice nice "
            "systemd-run npx bunx uvx pipx xvfb-run caffeinate busybox"
        ),
        _Wrapper(),
    ),
    **dict.fromkeys(
        names("flock chroot chrt taskset unshare nsenter faketime"), _Wrapper(operands=1)
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
_NESTED = names(
    "eval ssh rsh mosh scp rsync xargs su runuser watch parallel script trap awk gawk mawk "
    "nawk sed gsed make gmake tmux gdb vi vim nvim emacs sqlite3 psql mysql mariadb osascript "
    "hyperfine concurrently"
)
# The same, but their names are too common as arguments.
_NESTED_COMMANDS = names(
    ". source local let declare typeset read unset getopts mapfile readarray alias hash "
    "enable bind complete compgen at batch crontab screen expect entr ed ex dc sg adb"
)
_STDIN_IS_CODE = names(
    "xargs parallel ssh rsh su runuser at batch crontab dc ed ex gdb sqlite3 psql mysql "
    "mariadb . source eval"
)

_SHELL = Language("cC", "oO")
_LANGUAGES = {
    **dict.fromkeys(names("sh bash dash ash zsh ksh mksh fish rbash csh tcsh"), _SHELL),
    **dict.fromkeys(names("python pypy ipython"), Language("c", "WX")),
    **dict.fromkeys(names("node nodejs bun deno"), Language("ep", "r")),
    **dict.fromkeys(names("lua luajit"), Language("e", "l")),
    "elixir": Language("e", "r"),
    "groovy": Language("e"),
    "julia": Language("eE", "JLp"),
    "perl": Language("eE", "I"),
    "php": Language("rBRE", "dfcz"),
    "pwsh": Language("ceCE"),
    "rscript": Language("e"),
    "ruby": Language("e", "ICr"),
}
_VERSION = re.compile(r"[\d.]+$")
_LONG_CODE = re.compile(r"--(?:eval|exec|execute|command|print|run|init-command)")

# For every program: options whose value is code, and words after which a program is named.
_CODE_OPTION = re.compile(
    r"-c|--?(?:[\w-]*-)?(?:exec(?:ute|dir)?|eval|ok(?:dir)?|command|cmd|program|checkpoint-action)"
    r"|exec|eval"
)
# Of some programs: options of their own whose value is a command, joined to it or not.
_OWN_OPTIONS = {
    name: re.compile(pattern)
    for programs, pattern in {
        "git": r"-[xO].*|--(?:upload-pack|upload-archive|receive-pack|open-files-in-pager|extcmd)",
        "tar gtar bsdtar": r"-\w*[IF].*|--(?:use-compress-program|to-command|rsh-command"
        r"|info-script|new-volume-script)",
        "split": r"--filter",
        "man": r"-\w*[PH].*|--(?:pager|html)",
        "zip": r"-TT|--unzip-command",
        "gcc cc g++ clang": r"-wrapper",
        "nix-shell nix": r"--run",
    }.items()
    for name in names(programs)
}
# Words of git after which all others make a command.
_GIT_COMMANDS = names("foreach filter-branch bisect")
RUNNERS = names("npm pnpm yarn bun uv poetry pdm hatch pipenv conda docker podman nerdctl")
_FIND_ACTIONS = names("-exec -execdir -ok -okdir")
_NAME_OPTIONS = names("-v -R")

_CODE_VARIABLE = re.compile(
    r"(?:LD|DYLD|BASH|GIT|SSH|NODE|NPM|JAVA|CARGO)_.*|(?:PYTHON|PERL5|RUBY|LESS|MAKE).*"
    r"|(?:CD|CLASS|F|GO|INFO|MAN)?PATH|.*(?:COMMAND|OPTIONS|OPTS?|FLAGS|EDITOR|PAGER|BROWSER)"
    r"|.*(?:SHELL|WRAPPER|ASKPASS)|ENV|IFS|VISUAL|PS[0-4]|TERMINAL|HOME|ZDOTDIR|CC|CXX"
)
_HARMLESS_VARIABLE = re.compile(r"GIT_(?:AUTHOR|COMMITTER)_(?:NAME|EMAIL|DATE)")
SETTERS = names("export readonly")

# Text without any of these signs makes no code of what it does not hold itself.
_MAY_EVALUATE = re.compile(r"[$`(]")
# How other languages run text that they were given.
_CALLS_CODE = re.compile(r"\b(?:eval|exec\w*|system|popen|spawn\w*|subprocess|Function)\s*[(.$`{]")


def unfit_places(script: Script) -> dict[int, str]:
    """Each mark that is where free text is not allowed, by its offset, and what the place is."""
    found = {start: site.reason for start, site in script.sites.items() if site.reason}
    for command in script.commands:
        for word, reason in (*_code_words(command, script), *_name_words(command)):
            _add(script, found, word.start, word.end, reason)
    evaluates = _evaluates(script)
    if evaluates:
        for word in (word for command in script.commands for word in _kept_words(command)):
            _add(script, found, word.start, word.end, "text that the line evaluates later")
    for pipe in script.pipes:
        if evaluates or any(_reads_code(each) for each in script.readers(pipe)):
            reason = "text that the line pipes into a program that runs it"
            _add(script, found, pipe.start, pipe.middle, reason)
    _add_written(script, found)
    return found


def _add_written(script: Script, found: dict[int, str]) -> None:
    """Add what the line writes into a file that it also runs, or may."""
    if not script.writes and not script.pipes:
        return
    code = [word for command in script.commands for word, _ in _code_words(command, script)]
    runs = {posixpath.normpath(word.text) for word in code if DYNAMIC not in word.text}
    runs_any = any(DYNAMIC in word.text and "$" in word.raw for word in code)
    written = [(each.start, each.end, each.target) for each in script.writes]
    for pipe in script.pipes:
        for each in script.readers(pipe):
            called = [name_of(word) for word in each.words]
            copies = each.words[called.index("tee") + 1 :] if "tee" in called else ()
            written += [(pipe.start, pipe.middle, word) for word in copies]
    for start, end, target in written:
        is_known = DYNAMIC not in target.text
        if posixpath.normpath(target.text) in runs if is_known else runs_any:
            _add(script, found, start, end, "text that the line writes into a file and runs")


def _add(script: Script, found: dict[int, str], start: int, end: int, reason: str) -> None:
    for mark in script.sites:
        if start <= mark < end:
            found.setdefault(mark, reason)


def _evaluates(script: Script) -> bool:
    """Whether the line makes code of something that is known only when it runs."""
    return script.opaque or any(
        (DYNAMIC in word.text and any(sign in word.raw for sign in "$`("))
        or _code_evaluates(word.text)
        for command in script.commands
        for word, _ in _code_words(command, script)
    )


def _code_evaluates(code: str) -> bool:
    """The same of code inside the line, such as `eval $A`; most of it is for a shell."""
    if not _MAY_EVALUATE.search(code):
        return False
    try:
        return bool(_CALLS_CODE.search(code)) or _evaluates(read_script(code, {}))
    except ShellError:  # code for another language, in which '$' begins a variable as well
        return "$" in code or "`" in code


def _code_words(command: ShellCommand, script: Script) -> Iterator[tuple[Word, str]]:
    """The words of a command that are code or name a program, or may."""
    words = command.words
    if command.loop or not words:
        return
    programs = programs_of(words)
    for index in programs:
        yield words[index], "the name of a program"
    for index, word in enumerate(words):
        name = name_of(word)
        if name in _NESTED or (index in programs and name in _NESTED_COMMANDS):
            yield from _all(words, f"a command with '{name}'")
        if name in script.functions:
            yield from _all(words, f"a call of '{name}', which the line defines")
        language = language_of(name)
        if language:
            yield from _all(script_words(words[index + 1 :], language), f"code for '{name}'")
    yield from _all(_by_option(words), "the value of an option that takes code")


def _all(words: Sequence[Word], reason: str) -> Iterator[tuple[Word, str]]:
    return ((word, reason) for word in words)


def name_of(word: Word) -> str:
    """The word without the folders before it, as a program is known."""
    return word.text.rpartition("/")[2]


def language_of(name: str) -> Language | None:
    """The language that a program of this name runs, if it is an interpreter."""
    return _LANGUAGES.get(_VERSION.sub("", name).lower())


def _vanishes(word: Word) -> bool:
    """Whether it may expand to no word at all, or to options."""
    return (word.raw[0] in "$`" and not word.text.strip(DYNAMIC)) or "@" in word.raw[:4]


def programs_of(words: Sequence[Word]) -> set[int]:
    """The words that name the program, or may: after a wrapper's options that is not certain."""
    found: set[int] = set()
    queue = [(0, _Wrapper(flags="pv"))]
    while queue:
        start, wrapper = queue.pop()
        spare = wrapper.operands
        for index, word in enumerate(words[start:], start):
            if word.assigns:
                continue
            if index not in found and name_of(word) in _WRAPPERS:
                queue.append((index + 1, _WRAPPERS[name_of(word)]))
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
        return _takes_value(option, "")
    return bool(option[1:].strip(flags)) and not option[2:].isdecimal()


def script_words(words: Sequence[Word], language: Language) -> Sequence[Word]:
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
    called = {name_of(word) for word in words}
    heads = [text.partition("=")[0].partition(DYNAMIC)[0] for text in texts]
    for own in (_OWN_OPTIONS[name] for name in called if name in _OWN_OPTIONS):
        takes = [bool(own.fullmatch(head)) for head in heads]
        found += [word for word, does in zip(words, takes, strict=True) if does]
        found += [after for after, does in zip(words[1:], takes, strict=False) if does]
    if "git" in called and (_GIT_COMMANDS.intersection(texts) or _sets_an_alias(texts)):
        return list(words)
    if RUNNERS.intersection(called):
        found += [after for before, after in pairwise(words) if before.text == "run"]
    if "find" in called and _FIND_ACTIONS.intersection(texts):
        return list(words)
    if "env" in called and any(re.match(r"-\w*S|--split", text) for text in texts):
        return list(words)
    return found


def _sets_an_alias(texts: Sequence[str]) -> bool:
    return "config" in texts and any(text.startswith("alias.") for text in texts)


def _name_words(command: ShellCommand) -> Iterator[tuple[Word, str]]:
    """The words that name a variable, or set one that programs take for code."""
    words = command.words
    setter = bool(SETTERS.intersection(map(name_of, words)))
    for word in words:
        name, equals, _ = word.text.partition("=")
        name = name.removesuffix("+")
        if equals and _CODE_VARIABLE.fullmatch(name) and not _HARMLESS_VARIABLE.fullmatch(name):
            yield word, f"the value of {name}"
        elif setter and (not equals or DYNAMIC in name):
            yield word, "the name of a variable"
    if {"test", "[", "printf"}.intersection(map(name_of, words)):
        for before, after in pairwise(words):
            if before.text in _NAME_OPTIONS:
                yield after, "the name of a variable"


def _kept_words(command: ShellCommand) -> Iterator[Word]:
    """The words whose values the shell keeps, so that the rest of the line can use them."""
    if command.loop or SETTERS.union({"set"}).intersection(map(name_of, command.words)):
        yield from command.words
        return
    yield from (word for word in command.words if word.assigns)


def _reads_code(command: ShellCommand) -> bool:
    """Whether the command runs what comes on its standard input."""
    for index, word in enumerate(command.words):
        rest = command.words[index + 1 :]
        language = language_of(name_of(word))
        if name_of(word) in _STDIN_IS_CODE or (language and _without_script(rest, language)):
            return True
        if language is _SHELL and any(map(_passes_on, script_words(rest, language))):
            return True
    return False


def _passes_on(word: Word) -> bool:
    """Whether the word is code that hands its own standard input to a program that runs it."""
    if not word.quoted:
        return False
    try:
        return any(map(_reads_code, read_script(word.text, {}).commands))
    except ShellError:
        return True


def _without_script(words: Sequence[Word], language: Language) -> bool:
    operands = 0
    for word in words:
        if word.text in ("-", "/dev/stdin", "/dev/fd/0") or re.match(r"-\w*s", word.text):
            return True
        if not word.text.startswith(("-", "+")):
            operands += not _vanishes(word)
        else:
            operands -= _takes_value(word.text, language.valued)
    return operands <= 0
