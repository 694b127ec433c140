"""A real Prometheus with the samples of past jobs, which promtool writes."""
import os
import shutil
import subprocess

from prom_lib import Prometheus

STEP = 30


def escape(text):
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


class History(Prometheus):
    options = (*Prometheus.options, "--storage.tsdb.retention.time=100y")

    # samples: {name: [(labels, value of a time since the start)]} for each job; start, end: of
    # all of them, in seconds.  Names that end in _total are counters.

    def __init__(self, start, end, samples):
        self.start, self.end, self.samples = start, end, samples
        super().__init__()
        if not self.why and not shutil.which("promtool"):
            self.stop()
            self.why = "promtool is not installed"

    def prepare(self):
        path = self.folder + "/history"
        with open(path, "w") as f:
            for name, series in self.samples.items():
                counter = name.endswith("_total")
                f.write("# TYPE %s %s\n" % (name[:-6] if counter else name,
                                            "counter" if counter else "gauge"))
                for labels, value in series:
                    text = ",".join('%s="%s"' % (k, escape(v)) for k, v in sorted(labels.items()))
                    for t in range(self.start, self.end + 1, STEP):
                        f.write("%s{%s} %r %d\n" % (name, text, value(t - self.start), t))
            f.write("# EOF\n")
        if shutil.which("promtool"):
            os.makedirs(self.folder + "/data", exist_ok=True)
            p = subprocess.run(["promtool", "tsdb", "create-blocks-from", "openmetrics", path,
                                self.folder + "/data"], capture_output=True)
            if p.returncode:
                raise RuntimeError(p.stderr.decode())


def job(jobid, user, nodes, cpus, gpus=0, idle=(), **more):
    """Samples of a job that uses half of its CPUs, a quarter of its memory of 8 GiB a node, and
    80 % of its GPUs but the idle ones."""
    gib = 1 << 30
    all_of = {}
    for n in range(nodes):
        labels = dict(jobid=jobid, user=user, instance="n%d:9010" % (n + 1), **more)

        def add(name, value, labels=labels):
            all_of.setdefault("batchjob_job_" + name, []).append((labels, value))
        add("cpu_seconds_total", lambda t: 0.5 * cpus * t)
        add("cpus", lambda t: cpus)
        add("memory_used_bytes", lambda t: 3 * gib)
        add("memory_rss_bytes", lambda t: gib)
        add("memory_shmem_bytes", lambda t: gib)
        add("memory_limit_bytes", lambda t: 8 * gib)
        add("io_read_bytes_total", lambda t: 1048576 * t)
        add("io_write_bytes_total", lambda t: 2 * 1048576 * t)
        for g in range(gpus):
            of = dict(labels, gpu=str(g))
            add("gpu_busy_ratio", lambda t, g=g: 0 if g in idle else 0.8, of)
            add("gpu_memory_used_bytes", lambda t, g=g: 0 if g in idle else 10 * gib, of)
    return all_of


def together(*jobs):
    all_of = {}
    for one in jobs:
        for name, series in one.items():
            all_of.setdefault(name, []).extend(series)
    return all_of
