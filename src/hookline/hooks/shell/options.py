"""Says where in a shell line a value can be read as an option of the program that gets it.

Such a place is the start of an argument, bare or in quotes, before `--` and not after an option
that is known to take a value. Of an option that is not known, none is assumed to.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from hookline.hooks.shell.risks import (
    RUNNERS,
    SETTERS,
    language_of,
    name_of,
    names,
    programs_of,
    script_words,
)
from hookline.hooks.shell.words import DYNAMIC, Word

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from hookline.hooks.shell.grammar import Script, ShellCommand


# Options whose value is a text, whichever program has them.
_TEXT_OPTIONS = names(
    "--author --body --comment --data --data-binary --data-raw --data-urlencode --date "
    "--description --file --format --goal --grep --header --label --message --name --reason "
    "--regexp --result --subject --title --url"
)
_SUBJECTS = names("-m -F --trailer")
_VALUED = {
    **dict.fromkeys(names("grep egrep fgrep zgrep rg"), names("-e -f -m -A -B -C")),
    **dict.fromkeys(names("test ["), names("-n -z")),
    **dict.fromkeys(names("mail mailx mutt"), names("-s")),
    **dict.fromkeys((f"git {verb}" for verb in names("commit tag merge notes")), _SUBJECTS),
    "curl": names("-A -b -d -e -F -H -m -o -T -u -w -X --json --user"),
    "find": names("-name -iname -path -ipath -wholename -regex -iregex -newer"),
    "gh": names("-b -t"),
    "git grep": names("-e -f"),
    "git log": names("-G -S"),
    "logger": names("-p -t"),
    "notify-send": names("-a -c -h -i -t -u"),
}
# Options of jq with a name and a value.
_PAIRED = names("--arg --argjson")
# Programs that read no option once an argument is there that is none.
_OPTIONS_FIRST = names("echo printf")
_VALUED_BY_GIT = ("-C", "-c")
# What `set` gives values to.
_POSITIONAL = tuple("@*123456789")
_VARIABLE = re.compile(r"\$\{?(\w+|[@*])")
_FIRST_VARIABLE = re.compile(r"[\"']*\$\{?(\w+|[@*])")
_QUOTED = re.compile(r"'[^']*'|\"(?:\\.|[^\"\\])*\"|\\.", re.DOTALL)
# A value can be handed from one variable to the next so often.
_PASSES = 4


def option_places(script: Script) -> dict[int, bool]:
    """The marks that can be read as an option, by their offsets; True where each word of theirs is.

    A value can get there through a variable of the line, which the shell splits where no quotes
    are around it.
    """
    found: dict[int, bool] = {}
    kept = _kept(script)
    for command in script.commands:
        for word in _exposed(command):
            found |= dict.fromkeys(_leading(word, script), False)
        for word in command.words if kept else ():
            for name in _split_in(word, command):
                found |= dict.fromkeys(kept.get(name, ()), True)
        for word in _exposed(command) if kept else ():
            if (first := _FIRST_VARIABLE.match(word.raw)) is not None:
                found = dict.fromkeys(kept.get(first[1], ()), False) | found
    return found


def _kept(script: Script) -> dict[str, set[int]]:
    """The variables of the line, and the marks whose values each may hold."""
    found: dict[str, set[int]] = {}
    for _ in range(_PASSES):
        for command in script.commands:
            places = [command.variable] if command.loop else []
            if "set" in map(name_of, command.words):
                places += _POSITIONAL
            for word in command.words:
                names = places or ([word.assigns] if word.assigns else [])
                marks = {mark for mark in script.sites if word.start <= mark < word.end}
                marks |= {
                    mark for name in _VARIABLE.findall(word.raw) for mark in found.get(name, ())
                }
                for name in names if marks else ():
                    found.setdefault(name, set()).update(marks)
    return found


def _split_in(word: Word, command: ShellCommand) -> list[str]:
    """The variables of a word that the shell splits into several words."""
    if word.assigns and not SETTERS.intersection(map(name_of, command.words)):
        return []
    return _VARIABLE.findall(_QUOTED.sub("", word.raw))


def _leading(word: Word, script: Script) -> list[int]:
    """The marks that the word may begin with; those inside an expansion are not among them."""
    inside = (
        mark
        for mark, site in script.sites.items()
        if word.start <= mark < word.end and not site.reason
    )
    return sorted(inside)[: word.leading]


def _exposed(command: ShellCommand) -> Iterator[Word]:
    """The words that the program reads as options if they begin with '-'."""
    if command.loop:
        yield from command.words
        return
    program, arguments = _call(command.words)
    # These hand what comes after `--` to another program, which has its own options.
    ends = 2 if program in RUNNERS else 1
    taken = 0
    for word in arguments:
        if taken:
            taken -= 1
        elif word.text == "--":
            ends -= 1
            if not ends:
                return
        elif word.text.startswith("-"):
            taken = _values_after(word.text, program)
        elif word.text.startswith(DYNAMIC):
            yield word
        elif program in _OPTIONS_FIRST:
            return


def _call(words: Sequence[Word]) -> tuple[str, Sequence[Word]]:
    """The program that gets the arguments, and these; of an interpreter, those of its script."""
    places = programs_of(words)
    if not places:
        return "", ()
    name, rest = name_of(words[max(places)]), words[max(places) + 1 :]
    language = language_of(name)
    if language is not None:
        return "", rest[len(script_words(rest, language)) :]
    return (f"git {_verb(rest)}" if name == "git" else name), rest


def _verb(words: Sequence[Word]) -> str:
    """What git is to do: the first word that is neither an option of git itself nor its value."""
    before = ""
    for word in words:
        if not word.text.startswith("-") and before not in _VALUED_BY_GIT:
            return word.text
        before = word.text
    return ""


def _values_after(option: str, program: str) -> int:
    """How many of the words after an option are its values."""
    if program == "jq" and option in _PAIRED:
        return 2
    valued = _VALUED.get(program, frozenset())
    if option in valued or option in _TEXT_OPTIONS:
        return 1
    # Of several letters in one word only the last can have its value in the next word.
    is_cluster = not option.startswith("--") and len(option) > 2
    letters = [f"-{letter}" in valued for letter in option[1:]]
    return int(is_cluster and letters[-1] and not any(letters[:-1]))
