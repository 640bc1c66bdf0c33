"""The command `hookline`."""

from __future__ import annotations

import gc
import sys

if sys.platform == "win32":
    sys.stderr.write("error: Hookline runs on Linux and macOS; on Windows, run it in WSL2\n")
    raise SystemExit(2)
# Most commands live for moments, in which the collector would look at every module again and again.
gc.set_threshold(50_000)
# msgspec takes typing_extensions if it finds it, which costs a third of our start and gains
# nothing on the Python versions that Hookline runs on.
sys.modules.setdefault("typing_extensions", None)  # type: ignore[arg-type]
import msgspec  # noqa: E402, F401

if sys.modules["typing_extensions"] is None:
    del sys.modules["typing_extensions"]

from hookline.surfaces.cli.main import main  # noqa: E402

if __name__ == "__main__":
    main()
