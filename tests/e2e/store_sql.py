#!/usr/bin/env python3
"""Every SQL text that the programs prepare for SQLite in other tests is accepted by
PostgreSQL.  TAP."""
import os
import re
import subprocess
import sys

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
sys.path.insert(0, os.path.dirname(HERE))
import postgres  # noqa: E402
from api_lib import IMPORTER, TOP, O, Site  # noqa: E402
from tap import check, plan, same  # noqa: E402

TOOLS = os.path.abspath(os.path.join(TOP, O, "e2e"))
RUNS = ["api_%s.py" % p for p in ("jobs", "usage", "acct", "access", "original", "series", "parts", "pages", "staff",
                                  "report", "plots", "simpod")] + [
    "statsdb.py", "mail.py", "running.py", "statsdb_import.py", "records.py"]
# Statements for SQLite only: bj_db_dialect() chooses them, they are in store/sqlite*.c,
# or they read a file of another program.
SQLITE = re.compile(r"sqlite_|pragma|\btemp\b|EXPLAIN|FROM jobs AS", re.I)
# A step of the schema that reads columns which it then drops.
UPGRADE = re.compile(r"^UPDATE job SET display_id = ")
STATEMENT = re.compile(r"\s*(SELECT|INSERT|UPDATE|DELETE|WITH|VALUES)\b", re.I)
NO_TYPE = "42P18"  # undetermined type of a parameter: the engine takes it from the value


def recorded(site):
    path = site.file("sql", "", 0o666)
    env = dict(os.environ, SQL_RECORD=path, LD_PRELOAD=os.path.join(TOOLS, "sql_record.so"))
    env.pop("STORE_ENGINE", None)
    log = os.path.join(site.folder, "out")
    for name in RUNS:
        with open(log, "w+", encoding="utf-8", errors="replace") as out:
            p = subprocess.run([os.path.join(HERE, name)], env=env, stdin=subprocess.DEVNULL, stdout=out, stderr=out,
                               timeout=300, check=False)
            out.seek(0)
            check(p.returncode == 0, name + " runs", out.read()[-300:])
    with open(path, "rb") as f:
        return list(dict.fromkeys(f.read().split(b"\0")[:-1]))


def rewritten(texts):
    p = subprocess.run([os.path.join(TOOLS, "sql_rewrite")], input=b"".join(t + b"\0" for t in texts),
                       capture_output=True, check=True)
    return [t.decode() for t in p.stdout.split(b"\0")[:-1]]


def refused(pg, texts):
    """Return the statements that PostgreSQL refuses, with the error.  Each is one line, which its number identifies."""
    script = "\\set VERBOSITY verbose\n" + "".join(
        "PREPARE s%d AS %s;\n" % (i, t.replace("\n", " ").rstrip("; ")) for i, t in enumerate(texts))
    p = subprocess.run(["psql", "-X", "-q", "-f", "-", pg.url()], input=script, capture_output=True, text=True,
                       env={"LC_ALL": "C", "PATH": pg.bin + ":/usr/bin:/bin", "HOME": "/nonexistent"}, check=False)
    return [(m[2], texts[int(m[1]) - 2][:300]) for m in re.finditer(r"^psql:<stdin>:(\d+): ERROR:  (.*)", p.stderr, re.M)
            if not m[2].startswith(NO_TYPE)]


def main():
    pg = postgres.server()
    site = Site(count=20, days=2)
    site.postgres = None
    try:
        site.fill()
        p = subprocess.run([IMPORTER, "copy", "--from=" + site.store, "--to=" + pg.url()], capture_output=True,
                           check=False)
        same(p.returncode, 0, "a store is copied to PostgreSQL")
        texts = [t for t in recorded(site) if STATEMENT.match(t.decode()) and not SQLITE.search(t.decode())
                 and not UPGRADE.match(t.decode())]
        check(len(texts) > 300, "there are many statements", len(texts))
        print("# %d statements" % len(texts))
        bad = refused(pg, rewritten(texts))
        check(not bad, "PostgreSQL accepts all of them", len(bad), *bad[:20])
    finally:
        site.clean_up()
        pg.close()
    return plan()


if __name__ == "__main__":
    sys.exit(main())
