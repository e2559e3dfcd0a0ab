"""The SQLite file of a store that outlives its process.

The store works in memory and names each key that it touches.  `commit` writes those before a
connection sends anything, so no client knows of a change that a SIGKILL could undo, and all
requests that arrived together share one transaction.
"""
import os
import sqlite3
import sys
import time

TABLES = """
    create table if not exists pair(key blob primary key, value blob not null,
        version text not null, token text, expires real) without rowid;
    create table if not exists clock(key blob primary key, hlc text not null) without rowid;
"""
STORE = b""                         # whose clock: no key is empty


def text(hlc):
    """As text, since a counter may have 64 bits; no node id of a token has a colon."""
    return None if hlc is None else ":".join(map(str, hlc))


def parsed(hlc):
    if hlc is None:
        return None
    wall, counter, *node = hlc.split(":")
    return int(wall), int(counter), *node


class Database:
    def __init__(self, file, loop):
        self.loop = loop
        self.pairs = set()          # keys whose entry is not as in the file
        self.clocks = {}            # key or STORE -> clock that is not as in the file
        self.sql = sqlite3.connect(file, timeout=10, isolation_level=None)
        # Exclusive: while a killed process has not gone it may still end its transaction.
        for setting in ("locking_mode=exclusive", "journal_mode=wal", "synchronous=full"):
            self.sql.execute("pragma " + setting)
        self.sql.executescript("begin exclusive;" + TABLES + "commit;")

    def ahead(self):
        """From the time of the loop to the wall clock, by which keys expire in the file."""
        return time.time() - self.loop.time()

    def read_pairs(self):
        """Yields (key, value, version, token, loop time of the expiry or None)."""
        ahead = self.ahead()
        for key, value, version, token, expires in self.sql.execute("select * from pair"):
            yield (key, value, parsed(version), parsed(token),
                   None if expires is None else expires - ahead)

    def read_clocks(self):
        return {key: parsed(hlc) for key, hlc in self.sql.execute("select * from clock")}

    def commit(self, data):
        if not self.pairs and not self.clocks:
            return
        ahead = self.ahead()
        try:
            self.sql.execute("begin")
            for key in self.pairs:
                entry = data.get(key)
                if entry is None:
                    self.sql.execute("delete from pair where key = ?", (key,))
                else:
                    expires = None if entry.expires is None else entry.expires + ahead
                    self.sql.execute(
                        "replace into pair values (?, ?, ?, ?, ?)",
                        (key, entry.value, text(entry.version), text(entry.token), expires))
            self.sql.executemany("replace into clock values (?, ?)",
                                 [(key, text(hlc)) for key, hlc in self.clocks.items()])
            self.sql.execute("commit")
        except sqlite3.Error as error:
            print("the database:", error, file=sys.stderr, flush=True)
            os._exit(1)             # nothing that depends on the changes has been sent
        self.pairs.clear()
        self.clocks.clear()

    def close(self):
        self.sql.close()


class Nowhere:
    """For a store that keeps all in memory."""

    def __init__(self):
        self.pairs = set()
        self.clocks = {}

    def read_pairs(self):
        return ()

    def read_clocks(self):
        return {}

    def commit(self, _):
        self.pairs.clear()
        self.clocks.clear()

    def close(self):
        pass
