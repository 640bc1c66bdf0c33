"""The program that looks for a pattern: `python -I -S matching.py`, JSON in and out.

A regular expression can take forever, and its thread cannot be stopped; so it
runs in a child. Only the standard library is imported, because each rule waits for it.
"""

from __future__ import annotations

import json
import re
import resource
import sys
import warnings
from contextlib import suppress

MAX_MEMORY = 2 * 1024**3


def main() -> None:
    """Read {"pattern", "flags", "texts"}; print whether one of the texts holds the pattern."""
    with suppress(ValueError, OSError):  # not every system can
        resource.setrlimit(resource.RLIMIT_AS, (MAX_MEMORY, MAX_MEMORY))
    warnings.simplefilter("ignore")
    given = json.load(sys.stdin)
    pattern = re.compile(given["pattern"], given["flags"])
    json.dump(any(pattern.search(text) for text in given["texts"]), sys.stdout)


if __name__ == "__main__":
    main()
