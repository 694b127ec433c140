#!/usr/bin/env python3
"""What imports of PBS, LSF and other programs into PostgreSQL cost: requests that the
server logs, and user-space instructions of the importing program, counted by valgrind;
both for each job beyond the first thousand.

    statsdb_sources.py BUILD [JOBS]     JOBS: 4000"""
import os
import sqlite3
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../.."))
sys.path.insert(0, HERE)
from statsdb_postgres import Bench, log_all, postgres  # noqa: E402

EPOCH = 1795000000
SUMMARY = ("JS1:H4sIAAAAAAACA6tWystPSS1WsqpWSgQRJfkliTnxuam5+UWVSlaGBgYGOkqlxakpcCFTkAhEVUlmbipIjY"
           "5SckEp0AiTWh2lJJAhMG4tukqg0nSwnEEtABs8dfd5AAAA")


def stamp(sec):
    return time.strftime("%m/%d/%Y %H:%M:%S", time.gmtime(sec))


def pbs(folder, jobs):
    """Records Q, S and E of each job; about a hundred wait or run at a time."""
    lines = []
    for i in range(jobs):
        job, at = "%d.srv" % (1000 + i), EPOCH + 10 * i
        own = "user=u%d group=g account=a%d queue=q%d jobname=run%d ctime=%d" % (
            i % 50, i % 7, i % 3, i % 200, at)
        used = "resources_used.cput=00:01:%02d resources_used.mem=%dkb" % (i % 60, 1000 + i % 500)
        lines += [(at, "Q;%s;queue=q%d" % (job, i % 3)),
                  (at + 500, "S;%s;%s start=%d exec_host=n%d/0*4" % (job, own, at + 500, i % 90)),
                  (at + 1000, "E;%s;%s start=%d end=%d Exit_status=0 run_count=1 %s" % (
                      job, own, at + 500, at + 1000, used))]
    lines.sort(key=lambda line: line[0])
    with open(os.path.join(folder, "20261120"), "w") as f:
        f.writelines("%s;%s\n" % (stamp(at), text) for at, text in lines)
    return folder


def lsf(folder, jobs):
    name = os.path.join(folder, "lsb.acct")
    with open(name, "w") as f:
        for i in range(jobs):
            at = EPOCH + 10 * i
            f.write('"JOB_FINISH" "10.1" %d %d 1001 33816579 4 %d 0 0 %d "u%d" "normal" '
                    '"span[hosts=1]" "" "" "login1" "proj/w" "" "out" "" "1795170000.123" 0 1 '
                    '"host%d" 64 60.0 "run%d" "sleep 10" 143.25 0.75 0 0 -1 0 0 7 0 0 0 0 -1 0 0 0 '
                    '1 2 -1 "" "default" 0 4 "" "" 0 1048576 2097152\n' % (
                        at + 900, 1000 + i, at, at + 400, i % 50, i % 90, i % 200))
    return name


def original(folder, jobs):
    names = ("Jobid Partition Account Grp Gid Usr Uid Exitcode State Nnodes Nodelist Elapsed"
             " Submit Start End").split()
    name = os.path.join(folder, "jobstats.db")
    db = sqlite3.connect(name)
    db.execute("CREATE TABLE jobs(id INTEGER PRIMARY KEY, %s)" % ", ".join(
        '"%s" TEXT' % n for n in names))
    for i in range(jobs):
        times = [time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(EPOCH + 10 * i + t))
                 for t in (0, 500, 1000)]
        db.execute("INSERT INTO jobs VALUES(NULL, %s)" % ", ".join("?" * len(names)), (
            "%d" % (1000 + i), "q%d" % (i % 3), "a%d" % (i % 7), "g", "100", "u%d" % (i % 50),
            "%d" % (1000 + i % 50), "0:0", "COMPLETED", "1", "n%d" % (i % 90), "00:08:20", *times))
    db.commit()
    db.close()
    return name


class Sources:
    def __init__(self, build, bench, folder):
        self.build, self.bench, self.folder = build, bench, folder

    def command(self, kind, jobs):
        """The command that imports that many jobs into a new database."""
        place = os.path.join(self.folder, "%s%d" % (kind.__name__, jobs))
        os.makedirs(place, exist_ok=True)
        for name in os.listdir(place):
            os.unlink(os.path.join(place, name))
        store, what = self.bench.database(), kind(place, jobs)
        if kind is original:
            return [os.path.join(self.build, "batchjob_stats_db"), "import", "original", what,
                    "--import.cluster=c", "--store.path=" + store]
        return [os.path.join(self.build, "bench/statsdb_load"), store, what, kind.__name__]

    def jobstats(self, jobs):
        """The command that imports summaries of jobs that are in the store."""
        command = self.command(lsf, jobs)
        self.bench.requests(command)
        self.bench.server.sql(
            "INSERT INTO job_more(job, admin_comment) SELECT id, '%s' FROM job WHERE true"
            " ON CONFLICT(job) DO UPDATE SET admin_comment = excluded.admin_comment" % SUMMARY,
            "bench%d" % self.bench.n)
        return [os.path.join(self.build, "batchjob_stats_db"), "import", "jobstats",
                "--store.path=" + command[1]]


def main():
    jobs = int(sys.argv[2]) if len(sys.argv) > 2 else 4000
    with tempfile.TemporaryDirectory(prefix="bj-bench-") as folder, log_all() as server:
        bench = Bench(server, folder)
        sources = Sources(sys.argv[1], bench, folder)
        for name, make in (("PBS", lambda n: sources.command(pbs, n)),
                           ("LSF", lambda n: sources.command(lsf, n)),
                           ("import original", lambda n: sources.command(original, n)),
                           ("import jobstats", sources.jobstats)):
            sizes = (1000, jobs)
            few, many = (bench.requests(make(n))[0] for n in sizes)
            low, high = (bench.instructions(make(n)) for n in sizes)
            count = sizes[1] - sizes[0]
            print("%-16s %7.1f requests for 1,000 jobs, %7.0f instructions a job" % (
                name, (many - few) / count * 1000, (high - low) / count), flush=True)


if __name__ == "__main__":
    try:
        main()
    except postgres.Missing as e:
        print("# %s" % e)
