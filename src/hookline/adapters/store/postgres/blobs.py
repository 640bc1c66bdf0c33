"""Large values in the tables of a server, in parts, so that no statement becomes too long."""

from __future__ import annotations

from binascii import b2a_base64
from typing import TYPE_CHECKING, Any

from hookline.digest import sha256
from hookline.errors import StoreCorrupt
from hookline.files import Removed

if TYPE_CHECKING:
    from collections.abc import Collection

    import psycopg

    from hookline.adapters.store.postgres.server import ServerConnection

PART = 1 << 20
_TOUCH = b"UPDATE hookline.blobs SET stored_at = DEFAULT WHERE project_id = %d AND name = %b"
_PUT = b"""
INSERT INTO hookline.blobs (project_id, name, part, data)
VALUES (%d, %b, %d, decode('%b', 'base64'))
ON CONFLICT (project_id, name, part) DO UPDATE SET stored_at = DEFAULT
"""
_GET = b"SELECT data FROM hookline.blobs WHERE project_id = %d AND name = %b AND part = %d"
_NAMES = b"SELECT name FROM hookline.blobs WHERE project_id = %d AND part = 0 ORDER BY name"
_OLD = b"""
SELECT name, sum(octet_length(data))::bigint FROM hookline.blobs
WHERE project_id = %d GROUP BY name HAVING max(stored_at) < to_timestamp(%b)
"""
_DROP = b"""
DELETE FROM hookline.blobs WHERE project_id = %d AND name = %b AND stored_at < to_timestamp(%b)
"""
_FORGET = b"DELETE FROM hookline.blobs WHERE project_id = %d AND name = %b"


class ServerBlobs:
    """The blobs of one project on a server."""

    def __init__(self, server: ServerConnection, project: int) -> None:
        self._server = server
        self._project = project

    def put(self, data: bytes) -> str:
        """Keep bytes, all or none; the parts of one name are always the same."""
        name = str(sha256(data).hexdigest())
        with self._server.translated():
            if self._run(_TOUCH % self._key(name)).rowcount:
                return name
            self._run(b"BEGIN")
            try:
                for part in range(max(1, -(-len(data) // PART))):
                    self._put(name, part, data[part * PART : (part + 1) * PART])
                self._run(b"COMMIT")
            finally:
                self._server.roll_back()
        return name

    def get(self, name: str) -> bytes:
        """The bytes of that name, or StoreCorrupt if they are gone or changed."""
        found = bytearray()
        with self._server.translated():
            part = 0
            while row := self._run(_GET % (*self._key(name), part)).fetchone():
                found += row[0]
                part += 1
        if not part:
            message = f"the value {name[:16]} is missing; `hookline prune` may have removed it"
            raise StoreCorrupt(message)
        if sha256(found).hexdigest() != name:
            raise StoreCorrupt(f"the value {name[:16]} is damaged")
        return bytes(found)

    def drop(self, name: str) -> None:
        """Remove what nothing needs any more, at once."""
        with self._server.translated():
            self._run(_FORGET % self._key(name))

    def names(self) -> list[str]:
        """The names of all."""
        with self._server.translated():
            return [name for (name,) in self._run(_NAMES % self._project).fetchall()]

    def sweep(self, needed: Collection[str], before: float, *, dry: bool = False) -> Removed:
        """Remove what nothing needs and nobody has stored again since a moment."""
        moment = b"%r" % before
        with self._server.translated():
            rows = self._run(_OLD % (self._project, moment)).fetchall()
            found = [(name, size) for name, size in rows if name not in needed]
            for name, _ in found if not dry else ():
                self._run(_DROP % (*self._key(name), moment))
        return Removed(len(found), sum(size for _, size in found))

    def close(self) -> None:
        self._server.close()

    def _put(self, name: str, part: int, data: bytes) -> None:
        self._run(_PUT % (*self._key(name), part, b2a_base64(data, newline=False)))

    def _key(self, name: str) -> tuple[int, bytes]:
        return self._project, self._server.quote(name.encode())

    def _run(self, script: bytes) -> psycopg.Cursor[Any]:
        return self._server.run(script, first=self._server.is_idle())
