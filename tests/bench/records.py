#!/usr/bin/python3
"""The share of short jobs' CPU time that final records contain.

  tests/isolate tests/bench/records.py [JOBS [SECONDS [GAP]]]

Runs JOBS jobs (300) of 0.1 s to SECONDS (2), one per CPU at a time, in real control
groups of version 1 and of version 2, with and without an epilog that requests a sample.
A job's directory is removed GAP seconds (0.005) after its last process has ended, as a
batch system needs some time for it.  Its CPU time is read right before.  Needs root."""
import glob
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import threading
import time

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
EXPORTER = os.path.join(TOP, os.environ.get("O", "build"), "batchjob_exporter")
JOBS = int(sys.argv[1]) if len(sys.argv) > 1 else 300
LONGEST = float(sys.argv[2]) if len(sys.argv) > 2 else 2
GAP = float(sys.argv[3]) if len(sys.argv) > 3 else 0.005
CGROUP = "/sys/fs/cgroup"
V2 = next((d for d in (CGROUP, CGROUP + "/unified")
           if os.path.exists(d + "/cgroup.controllers")), None)
V1 = next((d for d in glob.glob(CGROUP + "/*cpuacct*")
           if os.path.exists(d + "/cpuacct.usage")), None)


def parent_of(version):
    return V1 + "/slurm/uid_1" if version == 1 else V2 + "/a.slice/slurmstepd.scope"


def cpu_usec(version, d):
    if version == 1:
        return int(open(d + "/cpuacct.usage").read()) // 1000
    return int(open(d + "/cpu.stat").read().split()[1])


def run_job(version, number, seconds, requests, used):
    d = f"{parent_of(version)}/job_{number}"
    os.mkdir(d)
    # The shell enters the group, then uses CPU time in a process below it.
    subprocess.run(["/bin/sh", "-c", f"echo $$ >{d}/cgroup.procs; "
                    f"timeout {seconds:.3f} sh -c 'while :; do :; done'; :"])
    if requests:
        request = f"{requests}/{number}"
        open(request, "w").close()
        end = time.monotonic() + 5
        while os.path.exists(request) and time.monotonic() < end:
            time.sleep(0.001)
    else:
        time.sleep(GAP)
    used[number] = cpu_usec(version, d)
    while True:
        try:
            os.rmdir(d)
            return
        except OSError:
            time.sleep(0.001)


def measure(version, with_epilog, watch):
    work = tempfile.mkdtemp(prefix="bj-records.")
    requests = work + "/sample"
    os.makedirs(parent_of(version), exist_ok=True)
    exporter = subprocess.Popen(
        [EXPORTER, "--web.listen-address=127.0.0.1:0", f"--record.dir={work}/spool",
         f"--sample.request-dir={requests}", f"--sample.watch={watch}"],
        stderr=open(work + "/log", "w"))
    time.sleep(2)
    used, random_ = {}, random.Random(4711)
    todo = [(n, random_.uniform(0.1, LONGEST)) for n in range(1, JOBS + 1)]
    lock = threading.Lock()

    def worker():
        while True:
            with lock:
                if not todo:
                    return
                number, seconds = todo.pop()
            run_job(version, number, seconds, requests if with_epilog else None, used)

    threads = [threading.Thread(target=worker) for _ in range(os.cpu_count())]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    time.sleep(12)
    exporter.terminate()
    exporter.wait()
    records = [json.load(open(f)) for f in glob.glob(work + "/spool/*.json")]
    held = sum(min(r.get("cpu_usec", 0), used[int(r["jobid"])]) for r in records)
    complete = sum(r.get("cpu_complete", False) for r in records)
    wrong = sum(r.get("cpu_complete", False) and
                r["cpu_usec"] < 0.99 * used[int(r["jobid"])] for r in records)
    print(f"v{version} epilog={with_epilog} watch={watch}: {len(records)} records of "
          f"{JOBS} jobs, {100 * held / sum(used.values()):.2f} % of "
          f"{sum(used.values()) / 1e6:.1f} s; {complete} complete, {wrong} wrongly so",
          flush=True)
    shutil.rmtree(work)
    # tests/isolate removes the root of the groups.


for v in (1, 2):
    if (V1, V2)[v - 1]:
        measure(v, False, "false")
        measure(v, False, "true")
        measure(v, True, "true")
