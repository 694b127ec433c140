"""Jobs of measured.py whose curves and nodes are evidence of findings: simulated series, their
accounting, and what the store should have found."""
from tap import check

STEP, BEGIN = 30, 1200  # seconds between samples; start of the jobs after base()
# Job 904: two hours on five nodes, of which m3 is slow; nothing happens in the first ten and
# the last forty minutes.  Job 905: its memory rises until it has 1 GiB.
COURSE, IDLE_START, IDLE_END = 7200, 600, 2400


def series(t0):
    for jobid, nodes in ("904", ("m1", "m2", "m3", "m4", "m5")), ("905", ("m1",)):
        for node in nodes:
            labels = {"cluster": "gamma", "instance": node + ":9010", "jobid": jobid, "user": "u",
                      "account": "phys"}
            for sec in range(0, COURSE + 121, STEP):
                at, ran = t0 + BEGIN + sec, min(sec, COURSE)
                worked = max(min(ran, COURSE - IDLE_END) - IDLE_START, 0) if jobid == "904" else ran
                cpus = 1.2 if node == "m3" else 3.9
                yield "batchjob_job_cpu_seconds", labels, at, cpus * worked, "counter"
                for way in "read", "write":
                    yield "batchjob_job_io_%s_bytes" % way, labels, at, 1e5 * worked, "counter"
                yield "batchjob_job_memory_held_peak_bytes", labels, at, 2**30 * ran / COURSE, "gauge"
                yield "batchjob_job_cpus", labels, at, 4.0, "gauge"
                if sec > COURSE:
                    yield "batchjob_job_end_time_seconds", labels, at, t0 + BEGIN + COURSE, "gauge"
                    continue
                yield "batchjob_job_memory_used_bytes", labels, at, 5e8, "gauge"
                yield "batchjob_job_memory_shmem_bytes", labels, at, 0.0, "gauge"
                yield ("batchjob_job_memory_rss_bytes", labels, at,
                       2**30 * ran / COURSE if jobid == "905" else 2**28, "gauge")


def jobs(t0):
    """Job id, start, end, CPUs, nodes and state."""
    yield "904", t0 + BEGIN, t0 + BEGIN + COURSE, 20, 5, "CANCELLED"
    yield "905", t0 + BEGIN, t0 + BEGIN + COURSE, 4, 1, "OUT_OF_MEMORY"


def check_found(store, rows, use_of):
    """What the curves and the nodes of jobs 904 and 905 show."""
    found = {(r["jobid"], r["name"]): r["text"] for r in
             rows(store, "SELECT j.jobid, f.name, f.text FROM job_finding_v AS f JOIN job AS j ON j.id ="
                         " f.job WHERE j.jobid IN (904, 905)")}
    use = {j: use_of(store, j, "gamma") for j in ("904", "905")}
    # Points are 60 s apart and cover 120 s.
    check(IDLE_START - 120 <= use["904"]["idle_start_sec"] <= IDLE_START, "the idle start is known", use["904"])
    check(IDLE_END - 180 <= use["904"]["idle_end_sec"] <= IDLE_END, "the idle end is known", use["904"])
    check("may have hung" in found.get((904, "hang"), ""), "a job that stopped to work may have hung", found)
    check(found.get((904, "nodes_uneven"), "").endswith(" by up to 69.2 % (m3)."), "a slow node is named", found)
    check(found.get((905, "oom_leak"), "").startswith("Memory rose steadily, by 0.5 GiB an hour"),
          "a job that ran out of memory may have a leak", found)
    check(abs(use["905"]["memory_rise_bytes"] - 2**29) < 2**20 and use["905"]["memory_steady_ppm"] > 999000,
          "the rise of memory is that of the samples", use["905"])
    check((905, "hang") not in found and (904, "leak") not in found, "jobs have no findings of others", found)
