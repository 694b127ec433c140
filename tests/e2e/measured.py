#!/usr/bin/python3
"""Helper of measured.sh: makes samples for Prometheus and VictoriaMetrics, a simulated
sacct and the configuration, and checks the store.

  measured.py openmetrics                     print simulated series of some hours ago
  measured.py configure FOLDER URL BEGIN END B1 E1 B2 E2    write configuration and sacct
  measured.py check FOLDER URL CPU CPU1 CPU2  compare the store with expected values
  measured.py change-end FOLDER JOB SECONDS   make sacct report another end of a job
  measured.py check-changed-end FOLDER JOB CPU    check that the job was queried again
  measured.py compare-stores A B              check that two stores are equal
  measured.py delete-measured STORE           delete what was imported from Prometheus
  measured.py check-waiting STORE             check that all jobs wait for a query
  measured.py import-with-large-queries FOLDER PROGRAM
                                              import with max-samples above the server's limit
  measured.py factors FOLDER G ESTIMATED      write the site's file of emission factors
  measured.py check-marginal FOLDER G ESTIMATED   check the emissions by that file"""
import json
import os
import re
import sqlite3
import subprocess
import sys
import time
import urllib.parse
import urllib.request

import measured_course
import tap
from tap import check

HOUR, STEP = 3600, 30


def base():
    """A full hour, six to seven hours ago.  The shell script sets NOW, so that all calls
    return the same."""
    return (int(os.environ.get("NOW") or time.time()) // HOUR - 6) * HOUR


# --- simulated series -----------------------------------------------------------

# Job 900: starts at 20 minutes past an hour and runs for two and a half hours on n1 and
# n2.  n1 draws 100 W in its first hour, then 200 W; n2 always 50 W, and was not
# scraped for half an hour.  The job's account was unknown for ten minutes.
START, LENGTH = 1200, 9000
# Job 901: an hour on g1, with four GPUs, one of them unused.
GPU_START, GPU_LENGTH = 600, 3600
FACTORS = [20, 30, 40, 50]  # in the quarters of each hour


def energy(node, sec):
    if node == "n2":
        return 50.0 * sec
    return 100.0 * min(sec, HOUR) + 200.0 * max(sec - HOUR, 0)


def job_series(t0):
    """(name, labels, time, value, kind) of job 900."""
    for node in ("n1", "n2"):
        for sec in range(0, LENGTH + 121, STEP):
            at, ran = t0 + START + sec, min(sec, LENGTH)
            if node == "n2" and 5400 < sec <= 7200:
                continue
            labels = {"cluster": "gamma", "instance": node + ":9010", "jobid": "900",
                      "user": "u", "account": "" if sec < 600 else "phys"}
            yield "batchjob_job_cpu_seconds", labels, at, 3.0 * ran, "counter"
            yield "batchjob_job_memory_held_peak_bytes", labels, at, 1e9 + 1e5 * ran, "gauge"
            if node == "n1" and sec < 900:
                yield "batchjob_job_memory_held_peak_charged", labels, at, 1.0, "gauge"
            part = energy(node, ran)
            yield ("batchjob_job_energy_joules", dict(labels, component="cpu"), at,
                   0.75 * part, "counter")
            yield ("batchjob_job_energy_joules", dict(labels, component="dram"), at,
                   0.25 * part, "counter")
            if sec <= LENGTH:
                yield "batchjob_job_memory_used_bytes", labels, at, 5e8, "gauge"
            else:
                yield ("batchjob_job_end_time_seconds", labels, at, t0 + START + LENGTH,
                       "gauge")


def gpu_series(t0):
    for sec in range(0, GPU_LENGTH + 121, STEP):
        at, ran = t0 + GPU_START + sec, min(sec, GPU_LENGTH)
        labels = {"cluster": "gamma", "instance": "g1:9010", "jobid": "901", "user": "u",
                  "account": "phys"}
        yield "batchjob_job_cpu_seconds", labels, at, 4.0 * ran, "counter"
        for gpu in range(4):
            l = dict(labels, gpu="GPU-%d" % gpu, index=str(gpu))
            busy = gpu > 0
            yield "batchjob_job_gpu_held_seconds", l, at, float(ran), "counter"
            yield ("batchjob_job_gpu_idle_seconds", l, at, ran * (0.5 if busy else 1.0),
                   "counter")
            if sec > GPU_LENGTH:
                continue
            yield "batchjob_job_gpu_info", dict(l, source="devices"), at, 1.0, "gauge"
            yield ("batchjob_job_gpu_busy_ratio", l, at,
                   0.2 * (2 if sec % 60 else 1) * busy if sec < GPU_LENGTH else 0.0, "gauge")
            yield "batchjob_job_gpu_memory_used_bytes", l, at, 1e9 * gpu, "gauge"
        if sec <= GPU_LENGTH:
            yield "batchjob_job_memory_used_bytes", labels, at, 5e8, "gauge"
        else:
            yield "batchjob_job_end_time_seconds", labels, at, at, "gauge"


# Job 902: half an hour on n1 and n3; requeued half a minute later on n1 and n2, while n3
# still shows the first run.  Job 903: resized after ten minutes, so that it is one run on
# the nodes and two in the scheduler.
AGAIN, FIRST, SECOND = START + 1830, 1800, 5400
RESIZED = 600


def requeued_series(t0):
    runs = [(START, FIRST, ("n1", "n3"), 50.0, 100.0), (AGAIN, SECOND, ("n1", "n2"), 3.0, 40.0)]
    for begin, length, nodes, cpus, watts in runs:
        for node in nodes:
            labels = {"cluster": "gamma", "instance": node + ":9010", "jobid": "902",
                      "user": "u", "account": "phys"}
            for sec in range(0, length + 121, STEP):
                at, ran = t0 + begin + sec, min(sec, length)
                if node == "n1" and begin < AGAIN <= begin + sec:
                    break
                yield "batchjob_job_start_time_seconds", labels, at, t0 + begin + 1.5, "gauge"
                yield "batchjob_job_cpu_seconds", labels, at, cpus * ran, "counter"
                yield "batchjob_job_memory_held_peak_bytes", labels, at, 1e9 * cpus, "gauge"
                if node == "n3":
                    yield "batchjob_job_memory_held_peak_charged", labels, at, 1.0, "gauge"
                yield ("batchjob_job_energy_joules", dict(labels, component="cpu"), at,
                       watts * ran, "counter")
                if sec <= length:
                    yield "batchjob_job_memory_used_bytes", labels, at, 1e8 * cpus, "gauge"
                else:
                    yield ("batchjob_job_end_time_seconds", labels, at, t0 + begin + length,
                           "gauge")


def resized_series(t0):
    labels = {"cluster": "gamma", "instance": "n1:9010", "jobid": "903", "user": "u",
              "account": "phys"}
    for sec in range(0, 2 * RESIZED + 121, STEP):
        at, ran = t0 + START + sec, min(sec, 2 * RESIZED)
        yield "batchjob_job_start_time_seconds", labels, at, float(t0 + START), "gauge"
        yield "batchjob_job_cpu_seconds", labels, at, 1.0 * ran, "counter"


def factor_series(t0):
    for sec in range(0, 5 * HOUR, 60):
        l = {"instance": "site:9010", "provider": "rte", "kind": "average_direct",
             "country": "FR"}
        value = FACTORS[sec // 900 % 4]
        yield "batchjob_emission_factor_grams_per_kwh", l, t0 + sec, float(value), "gauge"
        yield ("batchjob_emission_factor_estimated", l, t0 + sec,
               float(sec // HOUR == 3), "gauge")


def openmetrics():
    families = {}
    t0 = base()
    for make in (job_series, gpu_series, requeued_series, resized_series, measured_course.series, factor_series):
        for name, labels, at, value, kind in make(t0):
            families.setdefault((name, kind), []).append((sorted(labels.items()), at, value))
    for (name, kind), samples in families.items():
        print("# TYPE %s %s" % (name, kind))
        for labels, at, value in sorted(samples, key=lambda s: (s[0], s[1])):
            print("%s%s{%s} %r %d" % (name, "_total" if kind == "counter" else "",
                                      ",".join('%s="%s"' % l for l in labels), value, at))
    print("# EOF")


# --- configuration --------------------------------------------------------------

SACCT = """#!/usr/bin/python3
import sys
if "--helpformat" in sys.argv:
    print("JobIDRaw JobID Cluster User Account Partition State Submit Start End ElapsedRaw"
          " AllocCPUS NNodes AllocTRES ReqTRES TotalCPU")
    sys.exit(0)
opt = dict(a[2:].split("=", 1) for a in sys.argv[1:] if "=" in a)
columns, d = opt["format"].split(","), opt["delimiter"]
print(d.join(columns))
for job in %r:
    print(d.join(job.get(c, "") for c in columns))
"""


def job(cluster, jobid, start, end, cpus, nodes, **more):
    row = {"JobIDRaw": jobid, "JobID": jobid, "Cluster": cluster, "User": "u",
           "Account": "phys", "Partition": "long", "State": "COMPLETED",
           "Submit": str(start - 1), "Start": str(start), "End": str(end),
           "ElapsedRaw": str(end - start), "AllocCPUS": str(cpus), "NNodes": str(nodes),
           "AllocTRES": "cpu=%d,mem=1G,node=%d" % (cpus, nodes)}
    row.update(more)
    return row


def configure(folder, url, begin, end, *again):
    """Write the configuration and the sacct; again: begin and end of both runs of job 4714."""
    t0 = base()
    b1, e1, b2, e2 = (int(a) for a in again)
    alpha = [job("alpha", "4711", begin, end, 2, 1), job("alpha", "4712", begin, end, 2, 1),
             # no exporter saw this job
             job("alpha", "4800", begin, end, 1, 1),
             # two runs with the same id, one right after the other
             job("alpha", "4713", begin - 600, begin - 300, 1, 1),
             job("alpha", "4713", begin - 290, begin - 100, 1, 1),
             job("alpha", "4714", b1, e1, 1, 1), job("alpha", "4714", b2, e2, 1, 1)]
    gamma = [job("gamma", "900", t0 + START, t0 + START + LENGTH, 8, 2),
             job("gamma", "902", t0 + START, t0 + START + FIRST, 128, 2),
             job("gamma", "902", t0 + AGAIN, t0 + AGAIN + SECOND, 8, 2),
             job("gamma", "903", t0 + START, t0 + START + RESIZED, 1, 1),
             job("gamma", "903", t0 + START + RESIZED, t0 + START + 2 * RESIZED, 1, 1),
             *(job("gamma", *args, State=state) for *args, state in measured_course.jobs(t0)),
             job("gamma", "901", t0 + GPU_START, t0 + GPU_START + GPU_LENGTH, 8, 1,
                 AllocTRES="cpu=8,mem=1G,node=1,gres/gpu=4")]
    # Slow meters report a job's last seconds some seconds later.
    for name, jobs, scrape, settle in (("alpha", alpha, 1, 6), ("gamma", gamma, STEP, 2 * STEP)):
        with open("%s/sacct-%s" % (folder, name), "w") as f:
            f.write(SACCT % (jobs,))
        os.chmod("%s/sacct-%s" % (folder, name), 0o755)
        with open("%s/%s.yml" % (folder, name), "w") as f:
            f.write("name: %s\nsacct:\n  command: %s/sacct-%s\n  pause: 0s\n  history: 1d\n"
                    "prometheus:\n  url: %s\n  scrape-interval: %ds\n  settle: %ds\n"
                    "  max-samples: 100000\n  grace: 60s\n"
                    % (name, folder, name, url, scrape, settle))
            if name == "gamma":
                f.write("  factors: true\npue: [1.5]\n")
    factors(folder, 300, "true")
    with open(folder + "/site.yml", "w") as f:
        f.write("store:\n  path: %s/stats.db\nemissions:\n  provider: [file, constant]\n"
                "  factor: 100\n  country: FR\n  file: %s/factors.csv\n"
                "metrics:\n  file: %s/page.prom\ncluster:\n  file:\n"
                "  - %s/alpha.yml\n  - %s/gamma.yml\n" % ((folder,) * 5))


def factors(folder, grams_per_kwh, estimated):
    """Write marginal factors for two and a half hours from base()."""
    def stamp(t):
        return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(t))
    with open(folder + "/new.csv", "w") as f:
        f.write("zone,kind,start,end,g_per_kwh,estimated\n")
        for half in range(5):
            start = base() + half * HOUR // 2
            f.write("FR,marginal,%s,%s,%s,%s\n" % (stamp(start), stamp(start + HOUR // 2),
                                                   grams_per_kwh, estimated))
    os.rename(folder + "/new.csv", folder + "/factors.csv")


def check_marginal(folder, grams_per_kwh, estimated):
    """The last factor starts after two hours and, without a later one, is valid for two hours:
    until after the end of job 900."""
    got = {r["provider"]: r for r in
           rows(folder + "/stats.db", "SELECT g.* FROM job_grams_v AS g JOIN job AS j ON j.id ="
                                      " g.job WHERE j.jobid = 900 AND g.kind = 'marginal'")}
    joules = 3600 * 100 + 5400 * 200 + 9000 * 50
    want = joules / 3.6e6 * float(grams_per_kwh) * 1.5
    check(set(got) == {"file", "best"}, "the site's file gives marginal emissions, separate from other factors", got)
    for name, r in got.items():
        check(abs(r["grams"] - want) < 1e-5 and r["estimated"] == (estimated == "true")
              and r["covered_uj"] == joules * 10**6, "emissions by marginal factors (%s)" % name, r, want)


# --- checks -----------------------------------------------------------------------

def rows(store, sql):
    db = sqlite3.connect("file:%s?mode=ro" % store, uri=True)
    db.row_factory = sqlite3.Row
    try:
        return [dict(r) for r in db.execute(sql)]
    finally:
        db.close()


def page(path, name, **labels):
    """Samples of the exporter's page, as (set of label pairs, value)."""
    want = {'%s="%s"' % l for l in labels.items()}
    for line in open(path, encoding="utf-8"):
        if line.startswith(name + "{"):
            inside, value = line[len(name) + 1:].rsplit("} ", 1)
            have = set(inside.split(","))
            if want <= have:
                yield have, value.split()[0]


def use_of(store, jobid, cluster="alpha", run=0):
    found = rows(store, "SELECT u.*, p.nodes_seen, p.nodes_final, p.coverage_ppm AS cover,"
                        " p.outcome FROM job_v AS j LEFT JOIN job_use_v AS u ON j.id = u.job"
                        " LEFT JOIN job_prom AS p ON p.job = j.id WHERE j.jobid = %s AND"
                        " j.cluster = '%s' ORDER BY j.start_sec" % (jobid, cluster))
    return found[run] if len(found) > run else None


def range_values(url, query, start, end, step):
    form = urllib.parse.urlencode({"query": query, "start": start, "end": end, "step": step})
    with urllib.request.urlopen(url + "/api/v1/query_range?" + form, timeout=300) as f:
        return [s["values"] for s in json.load(f)["data"]["result"]]


def check_cover(store, url, jobid, cover):
    """The coverage is the share of the job's seconds that Prometheus, which scrapes each second, has a sample of."""
    job = rows(store, "SELECT start_sec, end_sec FROM job_v WHERE jobid = %s AND cluster = 'alpha'" % jobid)[0]
    begin, end = job["start_sec"], job["end_sec"]
    form = urllib.parse.urlencode({"query": 'count_over_time(batchjob_job_memory_used_bytes{cluster="alpha",'
                                            'jobid="%s"}[%ds])' % (jobid, end - begin), "time": end})
    with urllib.request.urlopen(url + "/api/v1/query?" + form, timeout=300) as f:
        samples = sum(int(s["value"][1]) for s in json.load(f)["data"]["result"])
    want = min(10**6, samples * 10**6 // (end - begin))
    check(samples and abs(cover - want) <= 2 * 10**6 // (end - begin) + 1, "the coverage is the share of the samples",
          cover, want, samples, end - begin)


def check_real(folder, url, cpu):
    store, now = folder + "/stats.db", folder + "/page"
    for jobid in ("4711", "4712"):
        u = use_of(store, jobid)
        check(u is not None, "job %s was measured" % jobid)
        if u is None or u["job"] is None:
            continue
        check((u["nodes_seen"], u["nodes_final"]) == (1, 1), "a job is measured on its node until its end", u)
        shown = [v for _, v in page(now, "batchjob_job_cpu_seconds_total", jobid=jobid)]
        check(u["cpu_usec"] == round(float(shown[0]) * 1e6), "CPU time is that of the exporter's page",
              u["cpu_usec"], shown)
        shown = [v for _, v in page(now, "batchjob_job_memory_held_peak_bytes", jobid=jobid)]
        check(not shown or u["memory_held_peak_bytes"] == int(float(shown[0])),
              "the peak of memory is that of the page", u["memory_held_peak_bytes"], shown)
        shown = {l: v for l, v in ((c, v) for labels, v in
                                  page(now, "batchjob_job_energy_joules_total", jobid=jobid)
                                  for c in labels if c.startswith("component="))}
        want = {c: round(float(v) * 1e6) for c, v in shown.items()}
        got = {'component="%s"' % c: u["energy_%s_uj" % c] for c in ("cpu", "dram", "gpu", "other")
               if u["energy_%s_uj" % c] is not None}
        check(want == got and want, "energy by component is that of the page, to the microjoule", want, got)
        check(u["energy_uj"] == sum(want.values()) and u["energy_source"] == "prometheus",
              "the sum of energy is right", u["energy_uj"], u["energy_source"])
        check(u["energy_policy"] == "hybrid", "energy follows the node's policy", u["energy_policy"])
        check_cover(store, url, jobid, u["cover"])
        values = range_values(url, 'batchjob_job_memory_used_bytes{cluster="alpha",jobid="%s"}'
                              % jobid, int(time.time()) - 120, int(time.time()), 1)
        mean = sum(float(v) for _, v in values[0]) / len(values[0])
        check(abs(u["memory_mean_bytes"] - mean) <= mean * 0.3 + 1e6, "the mean of memory is that of the samples",
              u["memory_mean_bytes"], mean)
        # What sleeps is no thread that needs a CPU.
        values = range_values(url, 'batchjob_job_state_threads{cluster="alpha",jobid="%s",state="running"}'
                              % jobid, int(time.time()) - 600, int(time.time()), 1)
        most = max([float(v) for s in values for _, v in s], default=None)
        check(u["threads_peak"] == most, "the threads are those that ran or could run", u["threads_peak"], most)
    u = use_of(store, "4711")
    check(abs(u["cpu_usec"] / 1e6 - cpu) < 2, "CPU time is that of the kernel", u["cpu_usec"], cpu)
    check(u["io_read_bytes"] is not None and u["threads_peak"] > 0, "I/O and threads are measured")
    found = {r["jobid"]: r["outcome"] for r in
             rows(store, "SELECT j.jobid, p.outcome, j.start FROM job_prom AS p JOIN job AS j ON"
                         " j.id = p.job WHERE j.cluster = (SELECT id FROM cluster WHERE name ="
                         " 'alpha') ORDER BY j.start")}
    check(found == {4711: 0, 4712: 0, 4800: 1, 4713: 2, 4714: 0}, "each job has the right outcome", found)


def check_again(folder, first, second):
    """Job 4714 ran twice on one node: each run has the CPU seconds of the kernel."""
    store, now = folder + "/stats.db", folder + "/page"
    shown = [float(v) for _, v in page(now, "batchjob_job_cpu_seconds_total", jobid="4714")]
    a, b = use_of(store, "4714"), use_of(store, "4714", run=1)
    check(first > 10 * second and abs(shown[0] - second) < 1, "a requeued run used less than the "
          "first", first, second, shown)
    check(b["cpu_usec"] == round(shown[0] * 1e6), "the second run has only its own CPU time",
          b["cpu_usec"], shown)
    check(first / 2 < a["cpu_usec"] / 1e6 < first + 1, "the first run has its own values", a["cpu_usec"], first)
    for u in (a, b):
        # The coverage is unknown where series of close runs are separated.
        check((u["nodes_seen"], u["nodes_final"]) == (1, 1) and (u["cover"] or 10**6) > 500000,
              "series reach the end of the job", u["nodes_seen"], u["nodes_final"], u["cover"])
        check(u["energy_uj"] is not None, "a measured job has its energy", u)


def check_requeued(store):
    u = use_of(store, "902", "gamma", 1)
    check((u["outcome"], u["nodes_seen"], u["nodes_final"]) == (0, 2, 2),
          "the second run of a requeued job has its own nodes", u)
    check(u["cpu_usec"] == 2 * 3 * SECOND * 10**6, "the second run has its CPU time", u["cpu_usec"])
    check(u["cpu_peak_milli"] == 6000, "the second run has its peak of CPU use", u["cpu_peak_milli"])
    check(u["memory_held_peak_bytes"] == 6 * 10**9, "the second run has its memory", u["memory_held_peak_bytes"])
    check(u["memory_mean_bytes"] == 6 * 10**8, "the second run has its mean of memory", u["memory_mean_bytes"])
    joules = 2 * 40 * SECOND
    check(u["energy_uj"] == joules * 10**6, "the second run has its energy", u["energy_uj"])
    bins = rows(store, "SELECT b.start, b.microjoules FROM job_bin AS b JOIN job AS j ON j.id ="
                       " b.job WHERE j.jobid = 902 ORDER BY 1")
    t0 = base()
    ends = [t0 + HOUR, t0 + 2 * HOUR, t0 + AGAIN + SECOND]
    want, since = [], t0 + AGAIN
    for end in ends:
        # n1 and n2 are scraped each 30 s from the start, also at each full hour
        want.append((since, 2 * 40 * (end - since)))
        since = end
    got = [(b["start"], b["microjoules"] / 1e6) for b in bins]
    check(got == want, "the second run has its energy by hour", got, want)
    check(u["memory_held_peak_charged"] == 0, "no peak of the second run is a charged one", u["memory_held_peak_charged"])
    u = use_of(store, "902", "gamma")
    check((u["outcome"], u["nodes_seen"]) == (0, 2), "the first run has values of both nodes", u)
    check((u["memory_held_peak_charged"], u["memory_held_peak_charged_source"]) == (1, "prometheus"),
          "the peak of the first run is a charged one on a node", u["memory_held_peak_charged"])
    check((u["nodes_final"], u["cpu_usec"]) == (1, 2 * 50 * FIRST * 10**6), "the first run has its"
          " CPU time, and its end on the node that the second run did not use", u)
    u = use_of(store, "903", "gamma", 1)
    check((u["outcome"], u["job"]) == (2, None),
          "runs that cannot be distinguished have no values, but a reason", u)


def check_long(store):
    """Job 900: n1 3600 s * 100 W + 5400 s * 200 W, n2 9000 s * 50 W."""
    u = use_of(store, "900", "gamma")
    check(u["cpu_usec"] == 2 * 3 * LENGTH * 1000000, "a job on two nodes has its CPU time",
          u["cpu_usec"])
    check(u["memory_held_peak_bytes"] == int(2 * (1e9 + 1e5 * LENGTH)),
          "a job on two nodes has its peak of memory", u["memory_held_peak_bytes"])
    check(u["memory_held_peak_charged"] is None,
          "a peak that was charged only in the first samples may be held or charged", u["memory_held_peak_charged"])
    check(u["memory_mean_bytes"] == 10**9, "a job on two nodes has its mean of memory", u["memory_mean_bytes"])
    joules = 3600 * 100 + 5400 * 200 + 9000 * 50
    check(u["energy_uj"] == joules * 10**6 and u["energy_cpu_uj"] == joules * 750000,
          "a job on two nodes has its energy", u["energy_uj"])
    # 301 samples on n1 and 301 - 60 on n2; without a gap, 300 on each
    check(u["cover"] == 542 * 10**6 // 600, "the coverage shows a gap", u["cover"])
    bins = rows(store, "SELECT b.start, b.microjoules FROM job_bin AS b JOIN job AS j ON j.id ="
                       " b.job WHERE j.jobid = 900 ORDER BY 1")
    t0 = bins[0]["start"] - START
    # full hours are at 2400 s and 6000 s after the start; at 6000 s, n2 has a gap
    total = [energy("n1", 2400) + energy("n2", 2400), None, joules]
    at6000 = energy("n1", 6000) + energy("n2", 5400)
    want = [(t0 + START, total[0]), (t0 + HOUR, at6000 - total[0]),
            (t0 + 2 * HOUR, joules - at6000)]
    got = [(b["start"], b["microjoules"] / 1e6) for b in bins]
    check(got == want, "a job on two nodes has its energy by hour", got, want)
    grams(store, t0, want, joules)


def grams(store, t0, bins, joules):
    """The emissions are the sum over seconds of energy * factor * PUE 1.5."""
    ends = [b[0] for b in bins[1:]] + [t0 + START + LENGTH]
    total = 0.0
    for (start, j), end in zip(bins, ends):
        for sec in range(start, end):
            total += j / (end - start) / 3.6e6 * FACTORS[(sec - t0) // 900 % 4] * 1.5
    got = {(r["provider"], r["kind"]): r for r in
           rows(store, "SELECT g.* FROM job_grams_v AS g JOIN job AS j ON j.id = g.job WHERE"
                       " j.jobid = 900")}
    rte = got[("rte", "average_direct")]
    check(abs(rte["grams"] - total) < 1e-4, "emissions use the factors of their time",
          rte["grams"], total)
    check(rte["covered_uj"] == joules * 10**6 and rte["estimated"] == 0, "factors cover all energy", rte)
    check(abs(got[("best", "average")]["grams"] - rte["grams"]) < 1e-9,
          "the best emissions are those by the provider's factors")
    constant = got[("constant", "average_lifecycle")]["grams"]
    check(abs(constant - joules / 3.6e6 * 100 * 1.5) < 1e-5, "emissions by a constant factor are stored too", constant)


def check_gpu(store):
    u = use_of(store, "901", "gamma")
    check((u["gpus_seen"], u["gpus_unused"]) == (4, 1), "a job has its number of GPUs, and of unused ones", u)
    # Three of four GPUs alternate between 0.2 and 0.4; the last of 121 samples is 0.
    # Prometheus 3 and VictoriaMetrics leave out the first, at the start of the range.
    want = [3 / 4 * (60 * 0.2 + 60 * 0.4) / 121, 3 / 4 * (59 * 0.2 + 60 * 0.4) / 120]
    check(any(abs(u["gpu_busy_ppm"] / 1e6 - w) < 1e-5 for w in want), "GPUs have their mean use",
          u["gpu_busy_ppm"], want)
    check(u["gpu_idle_usec"] == int((3600 + 3 * 1800) * 1e6), "GPUs have their idle time",
          u["gpu_idle_usec"])
    check(u["gpu_held_usec"] == 4 * 3600 * 10**6, "GPUs have the time for which they were held", u["gpu_held_usec"])
    check(u["gpu_memory_peak_bytes"] == 6 * 10**9, "GPUs have their memory", u["gpu_memory_peak_bytes"])
    check(u["energy_uj"] is None, "energy without a meter is unknown")
    names = {r["name"]: r["text"] for r in
             rows(store, "SELECT f.name, f.text FROM job_finding_v AS f JOIN job AS j ON j.id ="
                         " f.job WHERE j.jobid = 901")}
    check(names.get("gpus_unused") == "The job never used 1 of its GPUs (g1: GPU 0).", "an unused GPU is a finding", names)


def check_rules(folder):
    """batchjob_stats_db rules shows, for each job, the rules that gave its findings."""
    program = os.path.join(os.environ.get("O", "build"), "batchjob_stats_db")
    wrong, applied = [], 0
    for job in rows(folder + "/stats.db", "SELECT id, cluster, jobid, submit_sec FROM job_v WHERE end_sec > 0"):
        p = subprocess.run([program, "rules", "%(cluster)s:%(jobid)s:%(submit_sec)d" % job,
                            "--config.file=%s/site.yml" % folder], capture_output=True, timeout=300, check=False)
        got = re.findall(r"^(\w+) \(\w+\) applies$", p.stdout.decode(), re.M)
        want = [r["name"] for r in rows(folder + "/stats.db", "SELECT name FROM job_finding_v WHERE job = %(id)d" % job)]
        applied += len(want)
        if p.returncode or sorted(got) != sorted(want):
            wrong.append((job, got, want, p.stderr.decode()))
    check(applied > 5 and not wrong, "rules that apply are the findings", applied, *wrong[:3])


def check_sums(store):
    jobs = rows(store, "SELECT sum(energy_uj / 1000) AS e, count(energy_uj) AS n FROM job_use")[0]
    days = rows(store, "SELECT sum(energy_mj) AS e, sum(jobs) AS n FROM rollup_energy_day")[0]
    check(jobs == days and jobs["n"] == 6, "daily sums of energy are those of the jobs", jobs, days)
    for source in rows(store, "SELECT id, provider FROM factor_source"):
        a = rows(store, "SELECT sum(micrograms) AS g FROM job_grams WHERE source = %(id)d" % source)
        b = rows(store, "SELECT sum(micrograms) AS g FROM rollup_grams_day WHERE source = %(id)d"
                 % source)
        check(a == b, "daily sums of emissions are those of the jobs (%(provider)s)" % source, a, b)


def check_page(folder):
    own = dict(line.rsplit(" ", 1) for line in open(folder + "/page.prom")
               if not line.startswith("#"))
    name = 'batchjob_stats_prometheus_%s_total{cluster="alpha"}'
    got = [int(own[name % k]) for k in ("jobs", "unknown_jobs", "doubtful_jobs", "errors")]
    check(got == [4, 2, 1, 0], "metrics of the importer count the jobs", got)
    # five batches: one for most jobs, and four for runs whose id another run has
    queries = int(own[name % "queries"])
    check(queries <= 150, "not more than 150 queries are needed: %d" % queries)


def compare_stores(a, b):
    tables = ("job_use", "job_grams", "job_finding", "job_bin", "job_prom_energy",
              "rollup_energy", "rollup_grams")
    for t in tables:
        x, y = (rows(s, "SELECT * FROM %s ORDER BY 1, 2" % t) for s in (a, b))
        check(x == y, "%s is the same" % t, *[p for p in zip(x, y) if p[0] != p[1]][:2])


def delete_measured(store):
    db = sqlite3.connect(store)
    db.executescript("DELETE FROM job_prom_energy; DELETE FROM job_bin; DELETE FROM job_prom;"
                     "DELETE FROM covered WHERE source = 'prometheus';"
                     "INSERT OR IGNORE INTO derive_todo SELECT id FROM job")
    db.close()


def check_waiting(store):
    n = rows(store, "SELECT (SELECT count(*) FROM prom_todo) AS w, (SELECT count(*) FROM job_prom)"
                    " AS done")[0]
    check(n == {"w": 15, "done": 0}, "all jobs wait for Prometheus", n)


def change_end(folder, jobid, by):
    """Make sacct report another end of a job."""
    path = folder + "/sacct-alpha"
    text, old = open(path).read(), rows(folder + "/stats.db", "SELECT \"end\" FROM job WHERE"
                                        " jobid = %s" % jobid)[0]["end"]
    at = text.index("'JobIDRaw': '%s'" % jobid)
    end = text.index("'End': ", at)
    with open(path, "w") as f:
        f.write(text[:end] + text[end:].replace(str(old), str(old + int(by)), 1))


def check_changed_end(folder, jobid, values):
    """The stored values are for the new time of the job, and no job waits for a query."""
    r = rows(folder + "/stats.db", "SELECT p.outcome, p.start = j.start AS a, p.\"end\" ="
             " j.\"end\" AS b, p.cpu_usec, (SELECT count(*) FROM prom_todo) AS left FROM"
             " job_prom AS p JOIN job AS j ON j.id = p.job WHERE j.jobid = %s" % jobid)[0]
    check((r["outcome"], r["a"], r["b"], r["left"]) == (0, 1, 1, 0), "job %s was queried for"
          " its new time" % jobid, r)
    check(r["cpu_usec"] == int(values), "measured values are kept", r, values)


def import_with_large_queries(folder, program):
    """Import with max-samples above the limit of the server, which refuses the first queries."""
    for name in ("alpha", "gamma"):
        path = "%s/%s.yml" % (folder, name)
        text = open(path).read()
        with open(path, "w") as f:
            f.write(text.replace("max-samples: 100000", "max-samples: 1000000"))
    for _ in range(12):
        r = subprocess.run([program, "--once", "--config.file=%s/site.yml" % folder],
                           capture_output=True, timeout=300)
        if r.returncode == 0:
            return 0
    print(r.stderr.decode()[-2000:])
    return 1


def main():
    command, args = sys.argv[1], sys.argv[2:]
    if command == "openmetrics":
        openmetrics()
    elif command == "configure":
        configure(args[0], args[1], int(args[2]), int(args[3]), *args[4:])
    elif command == "check":
        check_real(args[0], args[1], float(args[2]))
        check_again(args[0], float(args[3]), float(args[4]))
        store = args[0] + "/stats.db"
        check_long(store)
        check_requeued(store)
        check_gpu(store)
        measured_course.check_found(store, rows, use_of)
        check_rules(args[0])
        check_sums(store)
        check_page(args[0])
    elif command == "compare-stores":
        compare_stores(*args)
    elif command == "change-end":
        change_end(*args)
    elif command == "check-changed-end":
        check_changed_end(*args)
    elif command == "delete-measured":
        delete_measured(*args)
    elif command == "check-waiting":
        check_waiting(*args)
    elif command == "factors":
        factors(*args)
    elif command == "check-marginal":
        check_marginal(*args)
    elif command == "import-with-large-queries":
        return import_with_large_queries(*args)
    return int(tap.failed > 0)


if __name__ == "__main__":
    sys.exit(main())
