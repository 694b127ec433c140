#!/usr/bin/python3
"""Write a plan of Slurm jobs of many kinds with known loads (truth_jobs.sh runs it, truth.py
compares).

  truth_plan.py DIR SIZE SEED TRUTH PREFIX USER...

DIR: to write to; TRUTH: the directory in which the jobs will find their load; PREFIX: of
the names of nodes; SIZE: "host", or "guest", which has fewer jobs."""
import json
import os
import random
import sys

MIB = 1 << 20
COUNTS = {
    "host": dict(cpu=18, mem=14, io=8, steps=10, array=2, het=3, pending=4, cancel=5, timeout=2,
                 oom=6, requeue=2, short=14, signal=3, gpu=5, wide=4),
    "guest": dict(cpu=4, mem=4, io=3, steps=3, array=1, het=1, pending=1, cancel=2, timeout=1, oom=3,
                  requeue=1, short=3, signal=1, gpu=0, wide=2),
}
TASKS = {"host": 10, "guest": 4}


class Plan:
    def __init__(self, to, size, seed, truth, prefix, users):
        self.to, self.truth, self.prefix, self.users = to, truth, prefix, users
        self.n, self.size, self.jobs, self.lines = 0, size, [], []
        self.random = random.Random(seed)
        os.makedirs(to, exist_ok=True)

    def add(self, kind, options, body, action="none", **known):
        """A job of body, a list of lines; {work} is the load, $r the prefix of results."""
        head = ["#!/bin/bash", f"r={self.truth}/results/$SLURM_JOB_ID.${{SLURM_RESTART_COUNT:-0}}",
                "cd " + self.truth + "/scratch", ": >$r.started"]
        text = "\n".join(head + body) + "\n"
        name = os.path.join(self.to, f"{self.n}.sh")
        with open(name, "w", encoding="ascii") as f:
            f.write(text.replace("{work}", self.truth + "/work"))
        os.chmod(name, 0o755)
        user = self.random.choice(self.users)
        self.lines.append(f"{self.n}|{user}|{action}|{options}")
        self.jobs.append(dict(n=self.n, kind=kind, user=user, action=action, **known))
        self.n += 1

    def write(self):
        order = list(range(len(self.lines)))
        self.random.shuffle(order)
        # Those that take longest come first.
        order.sort(key=lambda i: self.jobs[i]["kind"] not in ("timeout", "requeue", "pending"))
        with open(os.path.join(self.to, "list"), "w", encoding="ascii") as f:
            f.write("".join(self.lines[i] + "\n" for i in order))
        with open(os.path.join(self.to, "jobs.json"), "w", encoding="ascii") as f:
            json.dump(self.jobs, f)


END = ["times >$r.times"]


def make_plan(to, size, seed, truth, prefix, *users):
    p = Plan(to, size, int(seed), truth, prefix, users)
    r, n = p.random, COUNTS[size]
    for _ in range(n["cpu"]):
        c, procs = round(r.uniform(0.1, 3), 1), r.randint(1, 3)
        p.add("cpu", f"-n1 -c{r.randint(1, 2)} --mem=100",
              [f"{{work}} -c {c} -p {procs} -t {r.choice([0, 0, 4, 8])}"] + END, cpu=c * procs)
    for _ in range(n["mem"]):
        m, procs = r.choice([1, 8, 33, 64, 150, 220]), r.randint(1, 2)
        limit = m * procs + 60
        p.add("mem", f"-n1 --mem={limit}",
              [f"{{work}} -c 0.1 -m {m} -p {procs} -t {r.choice([0, 1, 4, 9])}"] + END,
              cpu=0.1 * procs, held=m * procs * MIB, limit=limit * MIB)
    for i in range(n["io"]):
        b, stay = r.randint(1, 60), 9 if i % 2 else 0
        p.add("io", "-n1 --mem=100", [f"{{work}} -c 0.1 -b {b} -t {stay}"] + END, cpu=0.1,
              io=b * MIB, io_exact=stay > 0)
    for _ in range(n["steps"]):
        body, cpu, held = [], 0, 0
        for k in range(r.randint(2, 4)):
            c, m = round(r.uniform(0.1, 1.5), 1), r.choice([0, 10, 40, 90])
            body.append(f"srun -n1 {{work}} -c {c} -m {m} -t {r.choice([0, 0, 3])} -r $r.rusage")
            cpu, held = cpu + c, max(held, m * MIB)
        p.add("steps", "-n1 --mem=180", body + END, cpu=cpu, held=held, steps=len(body))
    for _ in range(n["array"]):
        p.add("array", f"-n1 --mem=50 -a 0-{TASKS[size] - 1}",
              ["{work} -c 0.$((SLURM_ARRAY_TASK_ID + 2))",
               "echo $SLURM_ARRAY_JOB_ID $SLURM_ARRAY_TASK_ID >$r.array"] + END, cpu=0.2)
    for _ in range(n["het"]):
        p.add("het", "-n1 --mem=60 : -n1 --mem=70",
              ["srun --het-group=0 {work} -c 0.4 -r $r.rusage",
               "srun --het-group=1 {work} -c 0.7 -m 20 -r $r.het1"] + END, cpu=0.4)
    for _ in range(n["pending"]):
        p.add("pending", "-n1 --mem=50 -p closed", [":"], "cancel-pending")
    for _ in range(n["cancel"]):
        c = round(r.uniform(0.1, 1), 1)
        p.add("cancel", "-n1 --mem=50", [f"{{work}} -c {c}", ": >$r.ready", "{work} -c 0 -t 600"], "cancel",
              cpu=c, killed=True)
    for _ in range(n["timeout"]):
        p.add("timeout", "-n1 --mem=50 -t 1", ["{work} -c 0.5", "{work} -c 0 -t 600"], cpu=0.5, killed=True)
    for i in range(n["oom"]):
        body = [["srun -n1 {work} -c 0 -m 150", "{work} -c 0.2", "exit 1"],
                ["srun -n1 {work} -c 0 -m 150", "sleep 1", "srun -n1 {work} -c 0 -m 160", "exit 0"],
                ["exec {work} -c 0 -m 150"]][i % 3]
        p.add("oom", "-n1 --mem=60", body, killed=True, oom=True)
    for _ in range(n["requeue"]):
        p.add("requeue", "-n1 --mem=50 --requeue",
              ["if [ ${SLURM_RESTART_COUNT:-0} = 0 ]; then {work} -c 0.3; : >$r.ready; {work} -c 0 -t 600; fi",
               "{work} -c 0.6"] + END, "requeue", cpu=0.3, killed=True)
    for _ in range(n["short"]):
        body = r.choice([["exit 0"], ["exit 3"], ["{work} -c 0.2"] + END, ["{work} -c 0 -m 30 -x 7"],
                         [":"] + END])
        p.add("short", "-n1 --mem=60", body)
    for _ in range(n["signal"]):
        p.add("signal", "-n1 --mem=50", ["{work} -c 0.2", f"kill -{r.choice(['9', 'SEGV', 'TERM'])} $$"], cpu=0.2,
              killed=True)
    for _ in range(n["gpu"]):
        g = r.randint(1, 2)
        p.add("gpu", f"-n1 --mem=50 -w {prefix}01 --gres=gpu:tesla:{g}",
              ["echo $SLURM_JOB_GPUS >$r.gpus", f"{{work}} -c 0.2 -t {r.randint(6, 12)}"] + END, cpu=0.2, gpus=g)
    for _ in range(n["wide"]):
        p.add("wide", "-N2 -n2 --ntasks-per-node=1 --mem=60",
              ["srun -N2 -n2 sh -c 'exec {work} -c 0.6 -m 10 -r '$r'.node.$SLURMD_NODENAME'"] + END, cpu=0.6,
              nodes=2)
    p.write()
    return 0


if __name__ == "__main__":
    sys.exit(make_plan(*sys.argv[1:]))
