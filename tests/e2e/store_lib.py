"""A store that tests of batchjob_stats_db can query: a file of SQLite, or with
STORE_ENGINE=postgresql a database of a private server."""
import json
import os
import sqlite3
import subprocess
import sys

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
import postgres  # noqa: E402

TOP = os.path.dirname(os.path.dirname(HERE))
O = os.path.join(TOP, os.environ.get("O", "build"))


class File:
    def __init__(self, path):
        self.url = self.file = path

    def file_changed(self):
        """Call this after another program has filled the file."""

    def rows(self, sql, *values):
        """Run one statement, as the programs write it (docs/contributing.md)."""
        db = sqlite3.connect(self.file, timeout=300)
        try:
            return db.execute(sql, values).fetchall()
        finally:
            db.commit()
            db.close()

    def close(self):
        pass


class Postgres:
    """A database.  Another program can fill the file; file_changed() copies it to the database."""

    def __init__(self, path):
        self.server = postgres.Server()
        self.file, self.url = path, self.server.url()

    def file_changed(self):
        subprocess.run([O + "/batchjob_stats_db", "copy", "--from=" + self.file, "--to=" + self.url], check=True,
                       stdout=subprocess.DEVNULL)

    def rows(self, sql, *values):
        text = subprocess.run([O + "/e2e/sql_rewrite"], input=sql.encode() + b"\0", capture_output=True,
                              check=True).stdout.rstrip(b"\0").decode()
        for n, v in sorted(enumerate(values, 1), reverse=True):
            text = text.replace("$%d" % n, "'%s'" % v.replace("'", "''") if isinstance(v, str) else str(int(v)))
        if not text.startswith("SELECT"):
            # Not done by the writer, which would update the times of the months.
            self.server.sql(text + "; UPDATE job_month SET at_from = 0, at_upto = %d, end_upto = %d" %
                            (1 << 62, 1 << 62))
            return []
        out = self.server.sql("SELECT row_to_json(r) FROM (%s) AS r" % text)
        return [tuple(json.loads(line).values()) for line in out.splitlines()]

    def close(self):
        self.server.close()


def store(path):
    return Postgres(path) if os.environ.get("STORE_ENGINE") == "postgresql" else File(path)
