"""A question with an end is put to a person at once, with an answer that can be pasted as it is."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

from hookline.errors import NEEDS_PERSON

if TYPE_CHECKING:
    from tests.e2e.conftest import Cli

FLOWS = """
flows:
  asks: {steps: [{id: ok, breakpoint: "Ship it?", max_age: 1h}]}
  both:
    steps:
      - id: p
        parallel:
          - {id: ok, breakpoint: "Ship it?", max_age: 1h}
          - {id: nap, sleep: 0.2}
"""
ASKED = "  Ship it?\n  answer it: hookline answer {} yes (or: no)\n"


def test_a_question_that_has_an_end_is_shown_at_once(cli: Cli) -> None:
    cli.configure(FLOWS)
    for command in (("flow", "start", "asks"), ("orchestrate", "R-1")):
        asked = cli.process(*command)
        assert asked.code == NEEDS_PERSON
        assert asked.stdout.endswith(ASKED.format("R-1 ok"))
    cli("answer", "R-1", "ok", "yes")
    assert cli("orchestrate", "R-1").code == 0


def test_what_a_clock_brings_before_is_waited_for(cli: Cli) -> None:
    cli.configure(FLOWS)
    asked = cli.process("flow", "start", "both")
    assert (asked.code, "Ship it?" in asked.stdout) == (NEEDS_PERSON, True)
    pending = cli.json("effect", "list", "R-1", "--pending")
    assert [each["kind"] for each in pending] == ["breakpoint"]


def test_an_answer_that_is_pasted_with_all_around_it_says_nothing(cli: Cli) -> None:
    cli.configure(FLOWS)
    cli.json("flow", "start", "asks", "--detach")
    cli("work", "--flows", "--once")
    [item] = cli("attention", "--json").json
    cli.put("bin/hookline", "#!/bin/sh\ntouch ran\n", 0o755)
    env = {**cli.env, "PATH": f"{cli.root}/bin:{cli.env['PATH']}"}
    done = subprocess.run(("sh", "-c", item["command"]), cwd=cli.root, env=env, capture_output=True)
    assert (done.returncode != 0, (cli.root / "ran").exists()) == (True, False)
