"""Makes samples of past jobs for a real Prometheus (gate_lib.FilledPrometheus)."""
STEP = 30
GIB = 1 << 30


def escape(text):
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def job(start, end, jobid, user, nodes, cpus, gpus=0, idle=(), **more):
    """Series of a job that uses half of its CPUs, 3 of its 8 GiB of memory on each node, and 80 %
    of its GPUs except the idle ones."""
    series = []

    def add(name, value, labels):
        labels = {k: escape(v) for k, v in labels.items()}
        series.append(("batchjob_job_" + name, labels,
                       [(t, value(t - start)) for t in range(start, end + 1, STEP)]))
    for n in range(nodes):
        job_labels = dict(jobid=jobid, user=user, instance="n%d:9010" % (n + 1), **more)
        add("cpu_seconds_total", lambda t: 0.5 * cpus * t, job_labels)
        add("cpus", lambda t: cpus, job_labels)
        add("memory_used_bytes", lambda t: 3 * GIB, job_labels)
        add("memory_rss_bytes", lambda t: GIB, job_labels)
        add("memory_shmem_bytes", lambda t: GIB, job_labels)
        add("memory_limit_bytes", lambda t: 8 * GIB, job_labels)
        add("io_read_bytes_total", lambda t: 1048576 * t, job_labels)
        add("io_write_bytes_total", lambda t: 2 * 1048576 * t, job_labels)
        for g in range(gpus):
            gpu_labels = dict(job_labels, gpu=str(g))
            add("gpu_busy_ratio", lambda t: 0 if g in idle else 0.8, gpu_labels)
            add("gpu_memory_used_bytes", lambda t: 0 if g in idle else 10 * GIB, gpu_labels)
    return series
