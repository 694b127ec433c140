"""What GPUs add to a scrape: five jobs, without and with eight GPUs of a simulated
driver (tests/gpu/fake_nvml.c), two of which have two instances each.

The driver is read only once, so the scrape is measured."""
import os
import tempfile

import gpu as node
import machine

# The prolog's files: name of the GPU and index of its job.
GPU_JOBS = {"0": 0, "1": 0, "2": 1, "3": 2, "4": 3, "6.1": 3, "7.11": 4}
OPTIONS = ["--sample.slow=1h", "--gpu.interval=60", "--energy.interval=30",
           "--energy.state-file="]


def lay_out(top, jobs):
    """Write the script of the driver and the prolog's files."""
    pids = [next(iter(j.steps.values()))[0][0] for j in jobs]
    node.init(top, pids[0], pids[2], pids[3], pids[4])
    os.mkdir(top + "/gpustat")
    for name, job in GPU_JOBS.items():
        path = f"{top}/gpustat/{name}"
        with open(path, "w", encoding="ascii") as f:
            f.write(f"{jobs[job].id}\n")
        os.chmod(path, 0o644)
    os.environ["FAKE_NVML"] = top + "/script"


def command(o, tree, top, with_gpus):
    return [o.build + "/batchjob_exporter",
            "--web.listen-address=127.0.0.1:@PORT@",
            "--path.cgroupfs=" + tree.root, "--path.sysfs=" + top,
            "--gpu.nvml=" + o.build + "/gpu/libnvidia-ml.so.1",
            "--gpu.map-dir=" + top + "/gpustat",
            "--collector.gpu=" + ("true" if with_gpus else "false")] + OPTIONS


def settled(server, o):
    """Wait until the number of series on the page is constant; returns it."""
    seen = [0]

    def same():
        machine.time.sleep(0.5)
        seen.append(server.scrape(o.build, 3)["series"])
        return len(seen) > 6 and len(set(seen[-4:])) == 1

    machine.wait_for("the GPUs", 60, same)
    return seen[-1]


def figures(o, argv):
    server = machine.Server(argv)
    try:
        series = settled(server, o)
        cpu = min(server.scrape(o.build, 5, 700)["cpu_ms"] for _ in range(3))
        calls = sum(machine.system_calls(server, o.build).values())
        started = machine.forks(server, o.build)
    finally:
        server.end()
    total, parts = machine.instructions(o.build, argv)
    # The total includes other threads; count only the pass.
    return {"series": series, "cpu_ms": cpu, "syscalls": calls,
            "instructions": parts.get("bj_core_pass") if total else None,
            "forks": started}


def run(o, results, make_stage, shape):
    print("\n## GPUs: a scrape of five jobs without, and with eight GPUs of a "
          "made driver")
    if not os.path.exists(o.build + "/gpu/libnvidia-ml.so.1"):
        raise machine.CannotRun("no made driver: make gpu-fake")
    stage = make_stage(o, o.trees[0], shape(5, 1, 5, 4, 0))
    try:
        with tempfile.TemporaryDirectory(dir=o.top) as top:
            lay_out(top, stage.jobs)
            for name in "without", "with":
                f = figures(o, command(o, stage.tree, top, name == "with"))
                results.extra["gpu_" + name] = f
                print("%-8s %7.3f ms CPU, %.1f system calls, %s instructions "
                      "of the pass, %d series, %s processes started" %
                      (name, f["cpu_ms"], f["syscalls"],
                       "%.0f" % f["instructions"] if f["instructions"]
                       else "unknown", f["series"], f["forks"]), flush=True)
    finally:
        stage.end()
