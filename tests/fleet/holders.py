"""Several connections of one machine that write at once: one has the turn, and the others wait.

`holders.py URL COUNT`: whoever gets the turn keeps it, and goes on to ask for something.
"""

from __future__ import annotations

import sys
import threading
import time
from itertools import count

from hookline.adapters.store.postgres.store import PostgresStore

PAUSE = 0.2


def hold(store: PostgresStore) -> None:
    """Wait for the turn, and never end it."""
    with store.write({}) as tx:
        for number in count():
            tx.hosts.is_drained(str(number))
            time.sleep(PAUSE)


if __name__ == "__main__":
    STORES = [PostgresStore(sys.argv[1]) for _ in range(int(sys.argv[2]))]
    for each in STORES:
        threading.Thread(target=hold, args=(each,)).start()
