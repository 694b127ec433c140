#!/usr/bin/env python3
"""A simple loader to compare with: csv and sqlite3 load the same text into a table of
jobs and one of steps, without indexes or sums.

    statsdb_loader.py TEXT STORE
"""
import calendar
import csv
import resource
import sqlite3
import sys
import time
from datetime import datetime

UNIT = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


def stamp(text):
    return calendar.timegm(datetime.fromisoformat(text).timetuple()) if len(text) == 19 else None


def span(text):
    if not text:
        return None
    days, _, clock = text.rpartition("-")
    total = int(days or 0) * 24
    hours, minutes, seconds = clock.split(":")
    return ((total + int(hours)) * 60 + int(minutes)) * 60000 + int(float(seconds) * 1000)


def size(text):
    if not text:
        return None
    return int(text[:-1]) * UNIT[text[-1]] if text[-1] in UNIT else int(text)


def number(text):
    return int(text) if text else None


def main():
    begin = time.monotonic()
    db = sqlite3.connect(sys.argv[2])
    db.execute("PRAGMA journal_mode = WAL")
    db.execute("PRAGMA synchronous = NORMAL")
    job_columns, step_columns = 26, 16
    db.execute("CREATE TABLE job(id INTEGER PRIMARY KEY, %s)"
               % ", ".join("c%d" % i for i in range(1, job_columns)))
    db.execute("CREATE TABLE step(job INT, step TEXT, %s, PRIMARY KEY(job, step)) WITHOUT ROWID"
               % ", ".join("c%d" % i for i in range(2, step_columns)))
    jobs, steps, n = [], [], 0

    def flush():
        db.executemany("INSERT OR REPLACE INTO job VALUES(%s)" % ", ".join("?" * job_columns), jobs)
        db.executemany("INSERT OR REPLACE INTO step VALUES(%s)" % ", ".join("?" * step_columns),
                       steps)
        jobs.clear()
        steps.clear()

    with open(sys.argv[1], newline="") as f:
        rows = csv.reader(f, delimiter="|", quoting=csv.QUOTE_NONE)
        next(rows)
        for r in rows:
            n += 1
            times = [stamp(r[13]), stamp(r[14]), number(r[15])]
            cpu = [span(r[24]), span(r[25]), span(r[26])]
            if "." in r[1]:
                job, step = r[1].split(".", 1)
                steps.append([int(job), step, r[2], r[9], r[10]] + times
                             + [number(r[17]), number(r[18])] + cpu
                             + [size(r[27]), span(r[28]), r[29]])
            else:
                jobs.append([int(r[1]), r[0], r[2], r[3], number(r[4]), r[6], r[7], r[8], r[9],
                             r[10], stamp(r[11]), stamp(r[12])] + times
                            + [number(r[16]), number(r[17]), number(r[18]), size(r[19]), r[20],
                               r[21], r[22], r[23]] + cpu)
            if n % 10000 == 0:
                flush()
        flush()
    db.commit()
    db.close()
    u = resource.getrusage(resource.RUSAGE_SELF)
    wall = time.monotonic() - begin
    print("lines=%d wall_s=%.3f cpu_s=%.3f us_line=%.3f lines_s=%.0f rss_mib=%.1f"
          % (n, wall, u.ru_utime + u.ru_stime, (u.ru_utime + u.ru_stime) / n * 1e6, n / wall,
             u.ru_maxrss / 1024))


main()
