#!/usr/bin/env python3
"""A simulated sacct: prints the jobs of an invented cluster in a window of time.

Jobs have hostile names, are requeued, run over midnight, fail in every way.  The file
sacct.env next to the program is a JSON object:

  seed           the same seed gives the same cluster
  now            all times are before it
  count, days    number of jobs, and of the days before "now" on which they are submitted
  fail=N         every N-th call (on average) breaks off in the middle
  slow=S         a call takes S seconds
  wide           jobs also have several nodes, GPUs, memory, time limits, submit lines and exit codes, and a
                 fifth of them are tasks of arrays; none is requeued
"""
import calendar
import json
import os
import random
import sys
import time

COLUMNS = """JobIDRaw JobID Cluster User UID Group Account Partition QOS JobName
State ExitCode Submit Eligible Start End ElapsedRaw AllocCPUS NNodes NodeList
ReqTRES AllocTRES TotalCPU UserCPU SystemCPU MaxRSS WorkDir""".split()
STATES = ["COMPLETED", "FAILED", "TIMEOUT", "OUT_OF_MEMORY", "NODE_FAIL",
          "PREEMPTED", "CANCELLED by 1002", "DEADLINE", "BOOT_FAIL"]
NAMES = ["run.sh", "a|b|c", "new\nline", "tab\there", "-dash", "=cmd()", "", "x" * 300,
         "4711|4711|c|u", "\x1f\x1e", "quote\"'\\", "ä€𝄞"]
WIDE_COLUMNS = ["TimelimitRaw", "ReqMem", "SubmitLine", "FailedNode"]
TASKS = 20  # of an array


def clock(sec):
    return "%02d:%02d:%02d" % (sec // 3600, sec // 60 % 60, sec % 60)


def widen(row, n, rnd, array):
    """Make a row one of a job with more kinds of resources; array: the first of its array, by number."""
    ended, started = row["End"] != "Unknown", row["Start"] != "Unknown"
    nodes, per_node = rnd.choice([1, 1, 1, 2, 4]), rnd.choice([1, 2, 8, 64])
    gpus = rnd.choice([1, 2, 4]) if row["Partition"] == "gpu" else 0
    gib = rnd.choice([2, 8, 64, 256])
    minutes = max(1, int(row["ElapsedRaw"])) * rnd.choice([1.02, 2, 12]) // 60 + 1
    row["JobIDRaw"] = row["JobID"] = str(1000 + n)
    first = n - n % TASKS
    options = ""
    if first // TASKS % 5 == 0:
        of = array.setdefault(first, (row, nodes, per_node, gpus, gib, minutes))
        for name in "User", "UID", "Group", "Account", "Partition", "JobName":
            row[name] = of[0][name]
        nodes, per_node, gpus, gib = of[1:5]
        row["JobID"] = "%d_%d" % (1000 + first, n % TASKS)
        options = " --array=0-%d" % (TASKS - 1)
    gres = gpus and rnd.choice([" --gres=gpu:%d" % gpus, " --gpus-per-node=%d" % gpus])
    memory = rnd.choice([" --mem=%dG" % gib, " --mem-per-cpu=%dM" % (gib * 1024 // per_node)])
    ask = rnd.choice([" -N %d --ntasks-per-node=%d" % (nodes, per_node),
                      " -N %d -n %d -c %d" % (nodes, nodes, per_node)])
    tres = "cpu=%d,mem=%dM,node=%d" % (nodes * per_node, nodes * gib * 1024, nodes)
    tres += ",gres/gpu=%d" % (nodes * gpus) if gpus else ""
    at = rnd.randrange(26)
    hosts = "n[%02d-%02d]" % (at, at + nodes - 1) if nodes > 1 else "n%02d" % at
    row.update(AllocCPUS=str(nodes * per_node), NNodes=str(nodes), ReqTRES=tres,
               AllocTRES=tres if started else "", NodeList=hosts if started else "None assigned",
               ReqMem="%dM" % (nodes * gib * 1024), TimelimitRaw="%d" % minutes, FailedNode="",
               SubmitLine="sbatch" + options + ask + memory + (gres or "") + " -t %d job.sh" % minutes)
    if row["State"] == "FAILED":
        row["ExitCode"] = rnd.choice(["1:0", "137:0", "127:0", "126:0", "139:0", "0:11"])
    if row["State"] == "NODE_FAIL":
        row["FailedNode"] = "n%02d" % at
    used = int(row["ElapsedRaw"]) * nodes * per_node * rnd.choice([3, 40, 75, 97]) // 100 if ended else 0
    row.update(TotalCPU=clock(used), UserCPU=clock(used - used // 9), SystemCPU=clock(used // 9))


def jobs(seed, now, count, days, wide=False):
    """Yield for each job its submit time, its end time (or now), and its lines as dictionaries."""
    rnd = random.Random(seed)
    more, array = random.Random(seed + 1), {}
    # no two at the same time: runs of one job differ in it
    submits = sorted(rnd.sample(range(now - days * 86400, now - 60), count))
    for n, submit in enumerate(submits):
        job = 1000 + (n if rnd.random() > 0.05 or n == 0 else n - 1)
        start = submit + rnd.randrange(3600)
        took = rnd.randrange(1, 7200) if rnd.random() > 0.1 else rnd.randrange(1, 40 * 3600)
        end, state = start + took, rnd.choice(STATES)
        waits = start >= now or n >= count - 3
        if waits:
            start, end, state = None, None, "PENDING"
        elif end >= now:
            end, state = None, "RUNNING"
        cpus = rnd.choice([1, 2, 8, 64])
        user = rnd.randrange(20)
        used = took * cpus * 7 // 10 if end else 0  # as Slurm prints it until the job has ended
        row = {
            "JobIDRaw": str(job), "JobID": str(job), "Cluster": "fake",
            "User": "user%d" % user, "UID": str(1000 + user), "Group": "g%d" % (user % 3),
            "Account": "acct%d" % (user % 4), "Partition": rnd.choice(["cpu", "gpu"]),
            "QOS": "normal", "JobName": rnd.choice(NAMES), "State": state,
            "ExitCode": "1:0" if state == "FAILED" else "0:0",
            "Submit": str(submit), "Eligible": str(submit + 1),
            "Start": str(start) if start else "Unknown", "End": str(end) if end else "Unknown",
            "ElapsedRaw": str((end or now) - start if start else 0), "AllocCPUS": str(cpus),
            "NNodes": "1", "NodeList": "n%02d" % rnd.randrange(30) if start else "None assigned",
            "ReqTRES": "cpu=%d,mem=%dM,node=1" % (cpus, cpus * 100) + (
                ",gres/gpu:a100=%d,gres/gpu=%d" % (n % 4, n % 4 + 1) if waits else ""),
            "AllocTRES": "cpu=%d,mem=%dM,node=1" % (cpus, cpus * 100) if start else "",
            "TotalCPU": clock(used), "UserCPU": clock(used - used // 9),
            "SystemCPU": clock(used // 9), "MaxRSS": "", "WorkDir": "/home/u%d/w%d" % (user, n),
        }
        if wide:
            widen(row, n, more, array)
            job = 1000 + n
        lines = [row]
        # the steps add up to the time of the job, as in Slurm; the script used all of it
        none = {c: clock(0) for c in ("TotalCPU", "UserCPU", "SystemCPU")}
        for step in ["batch", "extern"][:rnd.randrange(3)] if end else []:
            lines.append(dict(row, JobIDRaw="%d.%s" % (job, step), JobID="%s.%s" % (row["JobID"], step),
                              JobName=step, MaxRSS="%dK" % rnd.randrange(1, 10**6), WorkDir="",
                              User="", UID="", Partition="", QOS="", ReqTRES="",
                              State=state.split()[0], **(none if step == "extern" else {})))
        yield submit, end or now, lines


def main():
    with open(os.path.join(os.path.dirname(sys.argv[0]), "sacct.env")) as f:
        env = json.load(f)
    if "--helpformat" in sys.argv:
        print(" ".join(COLUMNS + WIDE_COLUMNS * env.get("wide", False)))
        return 0
    opt = dict(a[2:].split("=", 1) for a in sys.argv[1:] if "=" in a)
    open(os.path.join(os.path.dirname(sys.argv[0]), "sacct.called"), "w").close()
    time.sleep(env.get("slow", 0))
    at = [time.strptime(opt[k], "%Y-%m-%dT%H:%M:%S") for k in ("starttime", "endtime")]
    since, until = (calendar.timegm(t) for t in at)
    columns = opt["format"].split(",")
    out = [opt["delimiter"].join(columns)]
    for first, last, lines in jobs(env["seed"], env["now"], env["count"], env["days"], env.get("wide", False)):
        if first <= until and last >= since:
            out += [opt["delimiter"].join(line[c] for c in columns) for line in lines]
    text = ("\n".join(out) + "\n").encode()
    if env.get("fail") and random.randrange(env["fail"]) == 0:
        sys.stdout.buffer.write(text[:random.randrange(len(text))])
        sys.stdout.flush()
        return 1
    sys.stdout.buffer.write(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
