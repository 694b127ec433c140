"""The samples that pages in the formats of other exporters must contain for a job, computed
from the kernel's files."""
import glob
import math
import os

MEMORY = (0.01, 65536)
TICK = 1 / os.sysconf("SC_CLK_TCK")
PAGE = os.sysconf("SC_PAGESIZE")
MIB = 1 << 20
NONE = []  # the family has no sample of the job
# Name of the zone in the pages, its counter during the test in J, its power limit in W.
ZONES = [("package", 5, 250), ("core", 3, 120), ("uncore", 1, 60), ("dram", 2, 30), ("psys", 9, 400)]


def text(path):
    with open(path, errors="replace") as f:
        return f.read()


# --- values from the kernel ----------------------------------------------------

class Raw:
    def __init__(self, options, dirs):
        self.__dict__.update(options)
        self.dirs = dirs
        self.v1 = self.version == "v1"
        self.slack = float(self.slack)
        self.strict = self.strict == "1"
        self.strict_v2 = self.strict and not self.v1

    def dir(self, controller):
        if not self.v1:
            return self.dirs[0]
        return next((d for d in self.dirs if "/%s/" % controller in d), None)

    def file(self, controller, name):
        try:
            return text("%s/%s" % (self.dir(controller), name)).strip()
        except OSError:
            return None

    def key(self, controller, name, key):
        for line in (self.file(controller, name) or "").splitlines():
            if line.split()[0] == key:
                return int(line.split()[1])
        return None

    def stat(self, v1, v2):
        return self.key("memory", "memory.stat", "total_" + v1 if self.v1 else v2)

    def pick(self, controller, v1, v2):
        return self.file(controller, v1 if self.v1 else v2)

    def limit(self, controller, v1, v2):
        """The limit; None when there is none, or no file for it."""
        got = self.pick(controller, v1, v2)
        return None if got in (None, "max") or int(got) > 1 << 62 else int(got)

    def cpu_usec(self):
        return (int(self.file("cpuacct", "cpuacct.usage")) / 1000 if self.v1
                else self.key("", "cpu.stat", "usage_usec"))

    def mode(self, mode):
        """CPU seconds in user or system mode; v1 counts in ticks."""
        return (self.key("cpuacct", "cpuacct.stat", mode) * TICK if self.v1
                else self.key("", "cpu.stat", mode + "_usec") / 1e6)

    def cpus(self, v2="cpuset.cpus.effective"):
        got = []
        for part in (self.pick("cpuset", "cpuset.effective_cpus", v2) or "").split(","):
            first, _, last = part.partition("-")
            got += range(int(first), int(last or first) + 1) if first else []
        return got

    def percpu(self):
        usage = [int(n) for n in self.file("cpuacct", "cpuacct.usage_percpu").split()]
        return {c: n for c, n in enumerate(usage) if n or c in self.cpus()}

    def fails(self, v1, key):
        if not self.v1:
            return self.key("", "memory.events", key)
        got = [text(p) for d in os.walk(self.dir("memory"))
               for p in glob.glob("%s/%s" % (d[0], v1))]
        return sum(map(int, got)) if got else None

    def fail_count(self):
        return self.fails("memory.failcnt", "oom" if self.strict else "max")

    def processes(self):
        """The processes of the job, without those of Slurm; the originals count the sleep of its
        extern step."""
        pids = [int(pid) for d in os.walk(self.dir("cpuacct"))
                for pid in text(d[0] + "/cgroup.procs").split()]
        return [p for p in map(Process, pids) if p.comm not in ("slurmstepd", "slurmd")
                and (self.strict or not p.file("cmdline").split("\0")[-3:-1] == ["sleep", "100000000"])]

    def alive(self, what):
        return sum(map(what, self.processes()))

    def by(self, key, what):
        got = {}
        for p in self.processes():
            got[key(p)] = got.get(key(p), 0) + what(p)
        return got

    def io(self, key):
        """The sum over running processes, and how much larger the value may be: processes that
        have ended count too."""
        got = self.alive(lambda p: p.number("io", key))
        return got, 0 if self.strict or len(self.processes()) == 1 else math.inf

    def open_files(self):
        links = {link for p in self.processes() for link in p.links()}
        return {link for link in links if link.startswith("/")}


class Process:
    def __init__(self, pid):
        self.pid = pid
        head, _, rest = self.file("stat").rpartition(")")
        self.comm = head.partition("(")[2]
        self.fields = [0, 0, 0] + rest.split()
        self.exe = os.readlink("/proc/%d/exe" % pid) if self.comm != "slurmstepd" else ""

    def file(self, name):
        return text("/proc/%d/%s" % (self.pid, name))

    def number(self, name, key):
        return next(int(line.split()[1]) for line in self.file(name).splitlines()
                    if line.startswith(key + ":"))

    def threads(self):
        return self.number("status", "Threads")

    def name(self):
        """The name of the process as psutil reports it."""
        whole = os.path.basename(self.file("cmdline").split("\0")[0])
        return whole if len(self.comm) >= 15 and whole.startswith(self.comm) else self.comm

    def is_users(self):
        """Whether it belongs to a user other than root and is not the shell of the batch script."""
        uid = next(int(line.split()[1]) for line in self.file("status").splitlines()
                   if line.startswith("Uid:"))
        args = self.file("cmdline").split("\0") + [""]
        return uid != 0 and not (args[0] == "/bin/bash" and "/var/spool" in args[1]
                                 and "slurm_script" in args[1])

    def links(self):
        return [os.readlink(fd) for fd in glob.glob("/proc/%d/fd/*" % self.pid)]

    def seconds(self, children):
        return sum(map(int, self.fields[14:18 if children else 16])) * TICK


# --- expected samples ----------------------------------------------------------
# Each function returns the samples of a job by family, as lists of (labels, value, relative
# tolerance, absolute tolerance).

def one(value, rel=0, absolute=1e-6, **labels):
    return NONE if value is None else [(labels, value, rel, absolute)]


def memory(value, **labels):
    return one(value, *MEMORY, **labels)


def each(values, rel=0, absolute=1e-6, **names):
    """A sample for each item of values; the keyword (label=None) names the label of the key."""
    (label, _), = names.items()
    return [({label: str(k)}, v, rel, absolute) for k, v in values.items()] or NONE


def total(*parts):
    return None if None in parts else sum(parts)


def slurm_job_exporter(raw):
    mapped = raw.stat("mapped_file", "file_mapped")
    cpu = raw.cpu_usec() * 1000
    if raw.v1:
        cores = each(raw.percpu(), 0, 1000 + raw.slack * 1e9, core=None)
    elif raw.strict:
        cores = each({c: cpu / len(raw.cpus()) for c in raw.cpus()}, 0,
                     1000 + raw.slack * 1e9, core=None)
    else:
        cores = [({}, cpu, 0.2, 1e9)]  # one value: the sum over CPUs
    exes = {exe: sec for exe, sec in raw.by(lambda p: p.exe, lambda p: p.seconds(raw.strict)).items()
            if sec >= 60 and os.path.basename(exe) not in ("ssh", "sshd", "bash", "srun")}
    counted = [p for p in raw.processes() if not raw.strict or p.is_users()]
    want = {
        "usage": memory(int(raw.pick("memory", "memory.usage_in_bytes", "memory.current"))),
        "max": memory(int(raw.pick("memory", "memory.max_usage_in_bytes", "memory.peak"))),
        "limit": one(raw.limit("memory", "memory.limit_in_bytes", "memory.max")),
        "cache": memory(raw.stat("cache", "file")),
        "rss": memory(raw.stat("rss", "anon")),
        "rss_huge": memory(raw.stat("rss_huge", "anon_thp")),
        "mapped_file": memory(mapped + raw.stat("", "shmem") if raw.strict_v2 else mapped),
        "active_file": memory(raw.stat("active_file", "active_file")),
        "inactive_file": memory(raw.stat("inactive_file", "inactive_file")),
        "unevictable": memory(raw.stat("unevictable", "unevictable")),
    }
    want = {"slurm_job_memory_" + k: v for k, v in want.items()}
    want.update({
        "slurm_job_core_usage_total": cores,
        "slurm_job_process_count": one(len(counted)),
        "slurm_job_threads_count": one(sum(map(Process.threads, counted)), state="stopped"),
        "slurm_job_process_usage_total": each(exes, 0, 0.05 if raw.strict else 1.5, exe=None),
    })
    for name in ("memory_total memory_usage power utilization sm_occupancy tensor fp64 fp32 "
                 "fp16 pcie nvlink").split():
        want["slurm_job_%s_gpu" % name] = NONE
    want["slurm_job_utilization_gpu_memory"] = NONE
    return want, {"slurmjobid": raw.job, "user": raw.user, "account": "physics"}


def io(measured, unit):
    least, more = measured
    return [({}, least / unit, 0, (1e-6, more))]


def jobs_exporter(raw):
    cpu = raw.cpu_usec() / 1e6
    cores = (each({c: n / 1e9 for c, n in raw.percpu().items()}, 0, 1e-6 + raw.slack, core=None)
             if raw.v1 else [({}, cpu, 0.2, 1)])
    threads = raw.alive(Process.threads)
    rss = (raw.alive(lambda p: int(p.file("statm").split()[1])) * PAGE if raw.strict else
           raw.stat("rss", "anon") + raw.stat("mapped_file", "file_mapped"))
    scratch = any(f.startswith(raw.scratch + "/") for f in raw.open_files())
    return {
        "jobs_spawned_processes": one(threads if raw.strict else len(raw.processes())),
        "jobs_opened_files": one(len(raw.open_files())),
        "jobs_thread_count": each(raw.by(Process.name, Process.threads), proc_name=None),
        "jobs_user_time": one(raw.mode("user") / TICK, 0, 1 + 100 * raw.slack),
        "jobs_system_time": one(raw.mode("system") / TICK, 0, 1 + 100 * raw.slack),
        "jobs_cpu_time_core": cores,
        "jobs_cpu_time_total": one(cpu, 0, 1e-5 + raw.slack),
        "jobs_uses_scratch": one(int(scratch)),
        "jobs_read_mb": io(raw.io("read_bytes"), MIB),
        "jobs_write_mb": io(raw.io("write_bytes"), MIB),
        "jobs_read_count": io(raw.io("syscr"), 1),
        "jobs_write_count": io(raw.io("syscw"), 1),
        "jobs_rss": one(rss / MIB, 0.02, 0.3),
        # The processes are stopped, for longer than the time over which the page averages.
        "jobs_cpu_percent": one(0, 0, 1e-6 + 10 * raw.slack),
        "jobs_cpu_percent_per_core": one(0, 0, 1e-6 + 10 * raw.slack),
        "jobs_gpus_used": NONE,
    }, {"slurm_job": raw.job, "instance": os.uname().nodename.split(".")[0]}


def usage(raw):
    """The families of both cgroup_exporters and of the exporters derived from them."""
    cpus = raw.cpus("cpuset.cpus") if raw.strict_v2 else raw.cpus()
    limit = raw.limit("memory", "memory.limit_in_bytes", "memory.max")
    used = int(raw.pick("memory", "memory.usage_in_bytes", "memory.current"))
    want = {
        "cpu_user_seconds": one(raw.mode("user"), 0, 2e-2 + raw.slack),
        "cpu_system_seconds": one(raw.mode("system"), 0, 2e-2 + raw.slack),
        "cpu_total_seconds": one(raw.cpu_usec() / 1e6, 0, 1e-5 + raw.slack),
        "cpus": one(len(cpus)),
        "memory_rss_bytes": memory(raw.stat("rss", "anon")),
        "memory_cache_bytes": memory(raw.stat("cache", "file")),
        "memory_used_bytes": memory(used),
        "memory_total_bytes": one(limit),
        "memory_fail_count": one(raw.fail_count()),
        "memsw_fail_count": NONE,
    }
    if raw.v1:
        both = raw.file("memory", "memory.memsw.usage_in_bytes")
        want["memsw_used_bytes"] = memory(used if both is None else int(both))
        most = raw.limit("memory", "memory.memsw.limit_in_bytes", "")
        want["memsw_total_bytes"] = one(
            2.0 ** 63 if raw.strict and both is not None and most is None else most, 1e-9)
        want["memsw_fail_count"] = one(raw.fails("memory.memsw.failcnt", ""))
    else:
        swap = int(raw.file("", "memory.swap.current") or 0)
        most = raw.limit("", "", "memory.swap.max")
        want["memsw_used_bytes"] = memory(swap if raw.strict else used + swap)
        want["memsw_total_bytes"] = one(most if raw.strict else total(limit, most))
    return want


def zeros(raw, want):
    for name in "memsw_used_bytes", "memsw_total_bytes", "memsw_fail_count":
        if raw.strict_v2:
            want[name] = one(0)
    return want


def cgroup_exporter(raw):
    want = {"cgroup_" + k: v for k, v in usage(raw).items()}
    cpus = raw.cpus("cpuset.cpus") if raw.strict_v2 else raw.cpus()
    if raw.strict_v2:
        want["cgroup_memory_rss_bytes"] = memory(raw.stat("", "anon") + raw.stat("", "file"))
        if raw.limit("", "", "memory.swap.max") is None:
            want["cgroup_memsw_total_bytes"] = one(2.0 ** 64)
    want.update({
        "cgroup_cpu_info": one(1, cpus=",".join(map(str, cpus))),
        "cgroup_info": one(1, username=raw.user, uid=raw.uid, jobid=raw.job),
        "cgroup_process_exec_count": each(raw.by(lambda p: p.exe, lambda p: 1), exec=None),
        "cgroup_exporter_collect_error": NONE,
        "cgroup_exporter_build_info": one(1),
    })
    return want, {"cgroup": raw.group}


def jobstats(raw):
    want = {"cgroup_" + k: v for k, v in zeros(raw, usage(raw)).items()}
    if raw.strict_v2:
        want["cgroup_cpus"] = one(len(raw.cpus()))
    shmem = raw.stat("shmem", "shmem")
    want.update({
        "cgroup_memory_shmem_bytes": memory(shmem),
        "cgroup_uid": one(int(raw.uid)),
        "cgroup_info": one(1, uid=raw.uid, username=raw.user),
        "cgroup_exporter_collect_error": NONE,
        "cgroup_exporter_build_info": one(1),
    })
    return want, {"jobid": raw.job}


def batchjob_monitoring(raw):
    want = {"batchjob_" + k: v for k, v in zeros(raw, usage(raw)).items()}
    if raw.strict_v2:
        want["batchjob_cpus"] = one(len(raw.cpus()))
    for zone, joules, _ in ZONES:
        want["batchjob_rapl_%s_joules_total" % zone] = one(joules, index="0")
    want.update({
        "batchjob_exporter_collect_error": NONE,
        "batchjob_ipmi_dcmi_watts_total": one(415),
        "batchjob_emissions_gCo2_kWh": one(56.25),
        "batchjob_nvidia_gpu_jobid": NONE,
        "batchjob_scrape_collector_duration_seconds": one(0, 0, 60, collector="cpu"),
        "batchjob_scrape_collector_success": one(1, collector="cpu"),
        "batchjob_exporter_build_info": one(1),
    })
    return want, {"jobid": raw.job, "batch": "slurm", "jobaccount": "physics", "jobuuid": None}


def meminfo(key):
    return next(int(line.split()[1]) * 1024 for line in text("/proc/meminfo").splitlines()
                if line.startswith(key + ":"))


def cores_of_node():
    got = set()
    for cpu in glob.glob("/sys/devices/system/cpu/cpu[0-9]*/topology"):
        try:
            die = text(cpu + "/die_id") if os.path.exists(cpu + "/die_id") else 0
            got.add((text(cpu + "/physical_package_id"), die, text(cpu + "/core_id")))
        except OSError:
            pass
    return len(got)


def pressure(raw, name):
    got = raw.file("", name) if not raw.v1 else None
    full = [line for line in (got or "").splitlines() if line.startswith("full ")]
    return int(full[0].rpartition("=")[2]) / 1e6 if full else None


def ceems(raw):
    left_out = {"cpu_total_seconds"}
    want = {"ceems_compute_unit_" + k: v for k, v in usage(raw).items() if k not in left_out}
    for mode in "user", "system":
        want["ceems_compute_unit_cpu_%s_seconds_total" % mode] = want.pop(
            "ceems_compute_unit_cpu_%s_seconds" % mode)
    if raw.strict_v2:
        want["ceems_compute_unit_cpus"] = one(len(raw.cpus()))
    if raw.strict_v2 and raw.file("", "memory.swap.current") and not want[
            "ceems_compute_unit_memsw_total_bytes"]:
        want["ceems_compute_unit_memsw_total_bytes"] = one(meminfo("MemTotal"))
    node = dict(hostname=os.uname().nodename)
    modes = text("/proc/stat").split("\n", 1)[0].split()[1:9]
    cpus = os.sysconf("SC_NPROCESSORS_ONLN")
    want.update({
        "ceems_compute_units": io((1, 0 if raw.alone == "1" else math.inf), 1),
        "ceems_compute_unit_cpu_psi_seconds": one(pressure(raw, "cpu.pressure"), 0.05, 0.1),
        "ceems_compute_unit_memory_psi_seconds": one(pressure(raw, "memory.pressure"), 0.05, 0.1),
        "ceems_compute_unit_gpu_index_flag": NONE,
        "ceems_compute_unit_gpu_sm_count": NONE,
        "ceems_cpu_seconds_total": [
            (dict(node, mode=m), int(n) * TICK, 0, 10 * cpus)
            for m, n in zip("user nice system idle iowait irq softirq steal".split(), modes)],
        "ceems_cpu_count": one(cpus, **node),
        "ceems_cpu_per_core_count": one(cpus // cores_of_node(), **node) if cores_of_node() else NONE,
        "ceems_meminfo_MemTotal_bytes": one(meminfo("MemTotal"), **node),
        "ceems_meminfo_MemFree_bytes": one(meminfo("MemFree"), 0.5, 1 << 30, **node),
        "ceems_meminfo_MemAvailable_bytes": one(meminfo("MemAvailable"), 0.5, 1 << 30, **node),
        "ceems_cray_pm_counters_energy_joules": one(7, domain="node"),
        "ceems_cray_pm_counters_power_watts": one(300, domain="node"),
        "ceems_cray_pm_counters_power_limit_watts": one(900, domain="node"),
        "ceems_ipmi_dcmi_current_watts": one(415, **node),  # of the command
        # This needs a BMC; other tests cover the meter.
        "ceems_redfish_current_watts": NONE,
        "ceems_emissions_gCo2_kWh": one(56.25, provider="constant"),
        "ceems_scrape_collector_duration_seconds": one(0, 0, 60, collector="cpu"),
        "ceems_scrape_collector_success": one(1, collector="cpu"),
        "ceems_exporter_build_info": one(1),
    })
    for zone, joules, limit in ZONES:
        want["ceems_rapl_%s_joules_total" % zone] = one(joules, index="0", **node)
        want["ceems_rapl_%s_power_limit_watts_total" % zone] = one(limit, index="0", **node)
    return want, {"uuid": raw.job, "manager": "slurm", "hostname": node["hostname"]}


TABLES = {"slurm-job-exporter": slurm_job_exporter, "jobs_exporter": jobs_exporter,
          "cgroup_exporter": cgroup_exporter, "jobstats": jobstats,
          "batchjob_monitoring": batchjob_monitoring, "ceems": ceems}
