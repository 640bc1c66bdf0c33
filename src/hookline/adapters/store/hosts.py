"""The tables of hosts."""

from __future__ import annotations

import msgspec

from hookline import typed
from hookline.adapters.store.statements import Table, load
from hookline.domain.hosts import FORGOTTEN, HostFacts, HostProcess, HostWishes, KnownHost

SQL = load("hosts.sql")
_facts = typed.decoder(HostFacts)


class HostTables(Table):
    """Hosts and their processes in one connection."""

    def tell(self, owner: str, host: str, at: float, facts: HostFacts) -> None:
        told = msgspec.json.encode(facts).decode()
        self._run(SQL["tell_host"], (host, at, told))
        self._run(SQL["tell_process"], (owner, host, at, told))
        self._run(SQL["forget_processes_seen_before"], (host, at - FORGOTTEN * facts.lease))

    def leave(self, owner: str) -> None:
        self._run(SQL["forget_process"], (owner,))

    def give_back(self, owner: str) -> int:
        runs = self._run(SQL["give_back_runs"], (owner,)).rowcount
        self._run(SQL["give_back_dispatches"], (owner,))
        self._run(SQL["give_back_notifications"], (owner,))
        self._run(SQL["give_back_exporters"], (owner,))
        self.leave(owner)
        return runs

    def processes(self) -> list[HostProcess]:
        rows = self._run(SQL["host_processes"])
        return [HostProcess(owner, host, at, _facts(told)) for owner, host, at, told in rows]

    def all(self) -> list[KnownHost]:
        rows = self._run(SQL["hosts"])
        return [
            KnownHost(name, bool(drained), at, _facts(told)) for name, drained, at, told in rows
        ]

    def is_drained(self, name: str) -> bool:
        row = self._run(SQL["is_drained"], (name,)).fetchone()
        return row is not None and bool(row[0])

    def drain(self, name: str, *, is_drained: bool) -> bool:
        return self._run(SQL["drain_host"], (int(is_drained), name)).rowcount == 1

    def remove(self, name: str) -> bool:
        self._run(SQL["remove_host_processes"], (name,))
        return self._run(SQL["remove_host"], (name,)).rowcount == 1

    def wishes(self) -> HostWishes:
        row = self._run(SQL["host_wishes"]).fetchone()
        return typed.decode(row[0], HostWishes) if row else HostWishes()

    def wish(self, wishes: HostWishes) -> None:
        self._run(SQL["wish_of_hosts"], (msgspec.json.encode(wishes).decode(),))
