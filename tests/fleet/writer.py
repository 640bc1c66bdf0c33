"""Someone who writes to the log all the time, and notes what the store answered."""

from __future__ import annotations

import os
import sys
import time

from hookline.errors import StoreLost
from tests.e2e.crash_rig import Writer

PAUSE = 0.1


class MarkWriter(Writer):
    """Notes of each mark whether it was acknowledged, or surely not stored."""

    def run(self, stop: str) -> None:
        """Write until a file appears."""
        while not os.path.exists(stop):
            try:
                self._emit()
            except StoreLost:
                self._note("refused", f"{self._name}.{os.getpid()}.{self._count}")
            time.sleep(PAUSE)
        self._app.close()

    def _acknowledge(self, mark: str) -> None:
        self._note("stored", mark)

    def _note(self, answer: str, mark: str) -> None:
        os.write(self._file, f"{answer} {mark}\n".encode())


if __name__ == "__main__":
    MarkWriter(sys.argv[1], sys.argv[2]).run(sys.argv[3])
