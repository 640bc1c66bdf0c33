"""Values are read as types by many threads at once."""

from __future__ import annotations

import subprocess
import sys

# Each thread is the first to use a type of many parts; a switch can come at any instruction.
LEARN = """
import sys, threading
import msgspec
from hookline import typed

sys.setswitchinterval(1e-6)
for number in range(60):
    kind = msgspec.defstruct("Leaf", [("a", int)])
    for depth in range(20):
        kind = msgspec.defstruct(f"Part{depth}", [("a", kind | None), ("b", list[kind])])
    together = threading.Barrier(6)
    found = []

    def read(how):
        together.wait()
        found.append(how())

    ways = [lambda: typed.convert({"a": None, "b": []}, kind)] * 2
    ways += [lambda: typed.decode(b'{"a": null, "b": []}', kind)] * 2
    ways += [lambda: typed.decoder(list[kind])(b'[{"a": null, "b": []}]')[0]] * 2
    threads = [threading.Thread(target=read, args=(each,)) for each in ways]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert found == [kind(None, [])] * 6
"""


def test_threads_that_meet_a_type_for_the_first_time_all_read_it() -> None:
    done = subprocess.run((sys.executable, "-c", LEARN), capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
