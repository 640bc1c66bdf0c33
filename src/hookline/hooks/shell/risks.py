"""Which words of a shell line are code, which commands read code, and which files it runs.

A wrong refusal costs a help text and a wrong acceptance a machine, so doubt refuses.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from hookline.hooks.shell.grammar import Pipe, Redirection, Script, ShellCommand, read_script
from hookline.hooks.shell.words import DYNAMIC, ShellError, Word


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
# Settings of git that are commands, or name the folder of some.
_COMMAND_SETTING = re.compile(
    r"(?i)alias\..*|.*(?:command|cmd|pager|editor|askpass|program|helper|external|textconv|driver)"
    r"|.*\.(?:hookspath|fsmonitor|clean|smudge|process|proxy|uploadpack|receivepack|vcs|update)"
    r"|include(?:if)?\..*|.*\.(?:packobjectshook|gitproxy|path|trustexitcode|tool)"
)
RUNNERS = names("npm pnpm yarn bun uv poetry pdm hatch pipenv conda docker podman nerdctl")
_FIND_ACTIONS = names("-exec -execdir -ok -okdir")
SETTERS = names("export readonly")


def code_words(command: ShellCommand, script: Script) -> Iterator[tuple[Word, str]]:
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
    if "git" in called and (_GIT_COMMANDS.intersection(texts) or _sets_a_command(texts)):
        return list(words)
    if RUNNERS.intersection(called):
        found += [after for before, after in pairwise(words) if before.text == "run"]
    if "find" in called and _FIND_ACTIONS.intersection(texts):
        return list(words)
    if "env" in called and any(re.match(r"-\w*S|--split", text) for text in texts):
        return list(words)
    return found


def _sets_a_command(texts: Sequence[str]) -> bool:
    return "config" in texts and any(map(_COMMAND_SETTING.fullmatch, texts))


def reads_code(command: ShellCommand) -> bool:
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
        inner = read_script(word.text, {})
    except ShellError:
        return True
    from_pipe = inner._replace(pipes=(*inner.pipes, Pipe(0, 0, len(inner.line))))
    return any(map(reads_code, inner.commands)) or bool(written_and_run(from_pipe))


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


def written_and_run(script: Script, *, evaluates: bool = False) -> list[Redirection]:
    """What the line writes into a file that it also runs, or may; any that it names later, if it
    `evaluates` what it reads."""
    written = [*_written(script)] if script.writes or script.pipes else []
    if not written:
        return []
    code = [word for command in script.commands for word, _ in code_words(command, script)]
    code += _read_as_code(script)
    if evaluates:
        code += [word for command in script.commands for word in command.words]
        code += [each.target for each in script.reads]
    runs = {posixpath.normpath(word.text) for word in code if DYNAMIC not in word.text}
    runs_any = any(DYNAMIC in word.text and "$" in word.raw for word in code)

    def is_run(word: Word) -> bool:
        inside = script.within(word.start + 1, word.end)  # as in `> >(sh)`
        if any(map(reads_code, inside)) or (evaluates and "`" in script.line):
            return True
        name = word.text.rpartition("=")[2]
        return posixpath.normpath(name) in runs if DYNAMIC not in word.text else runs_any

    return [each for each in written if is_run(each.target)]


def _written(script: Script) -> Iterator[Redirection]:
    """What is written by redirections, and by programs that a pipe gives it to, such as `tee`."""
    for write in script.writes:
        yield write
    for pipe in script.pipes:
        for write in script.writes:
            if pipe.middle <= write.start < pipe.end:
                yield Redirection(pipe.start, pipe.middle, write.target)
        for command in script.readers(pipe):
            own = {word for word, _ in code_words(command, script)}
            for word in command.words[1:]:
                if word not in own:
                    yield Redirection(pipe.start, pipe.middle, word)


def _read_as_code(script: Script) -> Iterator[Word]:
    """The words that name a file which is given to a program that runs it, or may."""
    for pipe in script.pipes:
        if any(map(reads_code, script.readers(pipe))):
            for command in script.within(pipe.start, pipe.middle):
                yield from command.words
    for read in script.reads:
        if any(map(reads_code, script.within(read.start, read.end))):
            yield from (read.target, *_words_inside(script, read.target))
    for command in script.commands:
        for word, _ in code_words(command, script):
            yield from _words_inside(script, word)


def _words_inside(script: Script, word: Word) -> Iterator[Word]:
    """The words of commands whose output becomes a part of the word."""
    for command in script.within(word.start + 1, word.end):
        yield from command.words
