"""Cgroup trees with the jobs of `sleepers`: copies of /sys/fs/cgroup on a
tmpfs (version 1 and 2), and real cgroups if the host has controllers.

The copies hold every file that the kernel would show at each level, since
listing a directory takes time; values are invented from a seed, so that the
same jobs give the same bytes.
"""
import os
import random
import shutil

V1_PICTURE = ["cpu,cpuacct", "cpuset", "memory", "pids", "blkio", "devices",
              "freezer"]
V1_REAL = ["cpu", "cpuacct", "cpuset", "memory", "pids", "blkio"]
V2_REAL = ["cpu", "memory", "io", "pids", "cpuset"]
NODE_CPUS, JOB_CPUS, PAGE = 128, 4, 4096
LIMIT = "16777216000"  # of a job's memory


class Job:
    """A job: id, uid and {step: [(pid, [tid, ...]), ...]}."""

    def __init__(self, number, uid):
        self.id, self.uid, self.steps = number, uid, {}


def read_jobs(lines):
    """Parse the table that sleepers prints."""
    jobs = {}
    for line in lines:
        words = line.split()
        if len(words) == 5:
            job = jobs.setdefault(words[0], Job(int(words[0]), int(words[1])))
            job.steps.setdefault(words[2], []).append(
                (words[3], words[4].split(",")))
    return list(jobs.values())


def put(path, text):
    with open(path, "w") as f:
        f.write(text)


def lines(pairs):
    return "".join("%s %s\n" % p for p in pairs)


class Facts:
    """Invented but plausible usage of one cgroup."""

    def __init__(self, seed, cpus):
        r = self.r = random.Random(seed)
        self.cpus = cpus
        self.anon = r.randrange(1000, 10**6) * PAGE
        self.file = r.randrange(100, 10**6) * PAGE
        self.peak = self.anon + self.file + r.randrange(10**5) * PAGE
        self.cpu_usec = r.randrange(10**6, 10**12)

    def cpulist(self):
        return "%d-%d\n" % (self.cpus[0], self.cpus[-1])

    def below(self, n):
        return self.r.randrange(n)


def v1_memory_stat(f):
    own = [("cache", f.file), ("rss", f.anon), ("rss_huge", f.anon >> 22 << 21),
           ("shmem", f.below(5000) * PAGE), ("mapped_file", f.below(9999) * PAGE),
           ("dirty", f.below(200) * PAGE), ("writeback", 0),
           ("workingset_refault_anon", 0),
           ("workingset_refault_file", f.below(50000)), ("swap", 0),
           ("swapcached", 0), ("pgpgin", f.below(10**9)),
           ("pgpgout", f.below(10**9)), ("pgfault", f.below(10**9)),
           ("pgmajfault", f.below(5000)), ("inactive_anon", f.anon // 10),
           ("active_anon", f.anon - f.anon // 10),
           ("inactive_file", f.file * 3 // 5),
           ("active_file", f.file - f.file * 3 // 5), ("unevictable", 0)]
    return (lines(own) + lines([("hierarchical_memory_limit", 16777216000),
                                ("hierarchical_memsw_limit", 16777216000)]) +
            lines(("total_" + k, v) for k, v in own))


def v1_memory(f, pids, tids):
    used = f.anon + f.file
    out = {"memory.stat": v1_memory_stat(f), "memory.use_hierarchy": "1\n",
           "memory.swappiness": "60\n", "memory.soft_limit_in_bytes":
           "9223372036854771712\n", "memory.oom_control":
           "oom_kill_disable 0\nunder_oom 0\noom_kill 0\n",
           "memory.move_charge_at_immigrate": "0\n", "memory.numa_stat":
           "total=%d N0=%d\n" % (used // PAGE, used // PAGE)}
    for kind, now, peak, limit in (
            ("", used, f.peak, 16777216000), ("memsw.", used, f.peak,
                                              16777216000),
            ("kmem.", used // 90, used // 80, 9223372036854771712),
            ("kmem.tcp.", 0, 0, 9223372036854771712)):
        for name, value in (("usage_in_bytes", now), ("failcnt", 0),
                            ("max_usage_in_bytes", peak),
                            ("limit_in_bytes", limit)):
            out["memory." + kind + name] = "%d\n" % value
    return out


def v1_cpu(f, pids, tids):
    per = [0] * NODE_CPUS
    for c in f.cpus:
        per[c] = f.cpu_usec * 1000 // len(f.cpus)
    total = sum(per)
    return {"cpuacct.usage": "%d\n" % total,
            "cpuacct.usage_user": "%d\n" % (total * 95 // 100),
            "cpuacct.usage_sys": "%d\n" % (total * 5 // 100),
            "cpuacct.usage_percpu": " ".join(map(str, per)) + " \n",
            "cpuacct.usage_all": "cpu user system\n" + "".join(
                "%d %d %d\n" % (i, v, 0) for i, v in enumerate(per)),
            "cpuacct.stat": "user %d\nsystem %d\n" % (total * 95 // 10**9,
                                                      total * 5 // 10**9),
            "cpu.stat": "nr_periods 0\nnr_throttled 0\nthrottled_time 0\n",
            "cpu.shares": "1024\n", "cpu.cfs_quota_us": "-1\n",
            "cpu.cfs_period_us": "100000\n"}


def v1_blkio(f, pids, tids):
    out = {}
    for name, top in (("io_service_bytes", 10**11), ("io_serviced", 10**7)):
        r, w = f.below(top), f.below(top)
        text = ("259:0 Read %d\n259:0 Write %d\n259:0 Sync %d\n259:0 Async 0\n"
                "259:0 Discard 0\n259:0 Total %d\nTotal %d\n" %
                (r, w, r + w, r + w, r + w))
        out["blkio.throttle." + name] = text
        out["blkio.throttle." + name + "_recursive"] = text
    return out


def v1_pids(f, pids, tids):
    return {"pids.current": "%d\n" % len(tids), "pids.max": "max\n",
            "pids.events": "max 0\n"}


def v1_cpuset(f, pids, tids):
    return {"cpuset.cpus": f.cpulist(), "cpuset.effective_cpus": f.cpulist(),
            "cpuset.mems": "0-1\n", "cpuset.effective_mems": "0-1\n"}


V1_FILES = {"memory": v1_memory, "cpu,cpuacct": v1_cpu, "blkio": v1_blkio,
            "pids": v1_pids, "cpuset": v1_cpuset,
            "devices": lambda *_: {"devices.list": "a *:* rwm\n"},
            "freezer": lambda *_: {"freezer.state": "THAWED\n"}}


def v2_memory_stat(f):
    known = {"anon": f.anon, "file": f.file, "anon_thp": f.anon >> 22 << 21,
             "kernel": f.below(50000) * PAGE, "shmem": f.below(5000) * PAGE,
             "file_mapped": f.below(9999) * PAGE, "inactive_anon":
             f.anon // 10, "active_anon": f.anon - f.anon // 10,
             "inactive_file": f.file * 3 // 5,
             "active_file": f.file - f.file * 3 // 5,
             "slab": f.below(10**8), "pgfault": f.below(10**9)}
    names = """anon file kernel kernel_stack pagetables sec_pagetables percpu
        sock vmalloc shmem zswap zswapped file_mapped file_dirty file_writeback
        swapcached anon_thp file_thp shmem_thp inactive_anon active_anon
        inactive_file active_file unevictable slab_reclaimable
        slab_unreclaimable slab workingset_refault_anon workingset_refault_file
        workingset_activate_anon workingset_activate_file
        workingset_restore_anon workingset_restore_file workingset_nodereclaim
        pgscan pgsteal pgscan_kswapd pgscan_direct pgscan_khugepaged
        pgsteal_kswapd pgsteal_direct pgsteal_khugepaged pgfault pgmajfault
        pgrefill pgactivate pgdeactivate pglazyfree pglazyfreed zswpin zswpout
        thp_fault_alloc thp_collapse_alloc""".split()
    return lines((n, known.get(n, 0)) for n in names)


def v2_pressure(f):
    t = f.below(10**9)
    return ("some avg10=0.12 avg60=0.34 avg300=0.56 total=%d\n"
            "full avg10=0.00 avg60=0.00 avg300=0.00 total=%d\n" % (t, t // 3))


def v2_files(f, pids, tids):
    used, zero = f.anon + f.file, "0\n"
    out = {n: zero for n in (
        "cgroup.freeze", "cpu.weight.nice", "cpu.idle", "memory.low",
        "memory.min", "memory.swap.current", "memory.swap.max",
        "memory.swap.peak", "memory.oom.group")}
    out.update({n: "max\n" for n in (
        "cgroup.max.depth", "cgroup.max.descendants", "memory.high",
        "memory.swap.high", "pids.max", "io.max")})
    out.update({n: v2_pressure(f) for n in (
        "cpu.pressure", "memory.pressure", "io.pressure")})
    events = "low 0\nhigh 0\nmax 0\noom 0\noom_kill 0\noom_group_kill 0\n"
    out.update({
        "cgroup.controllers": "cpuset cpu io memory hugetlb pids rdma\n",
        "cgroup.subtree_control": "cpuset cpu io memory pids\n",
        "cgroup.events": "populated 1\nfrozen 0\n", "cgroup.type": "domain\n",
        "cgroup.stat": "nr_descendants 0\nnr_dying_descendants 0\n",
        "cgroup.threads": "".join(t + "\n" for t in tids),
        "cpu.stat": lines([
            ("usage_usec", f.cpu_usec), ("user_usec", f.cpu_usec * 19 // 20),
            ("system_usec", f.cpu_usec // 20), ("nr_periods", 0),
            ("nr_throttled", 0), ("throttled_usec", 0), ("nr_bursts", 0),
            ("burst_usec", 0)]),
        "cpu.max": "max 100000\n", "cpu.weight": "100\n",
        "cpuset.cpus": f.cpulist(), "cpuset.cpus.effective": f.cpulist(),
        "cpuset.cpus.partition": "member\n", "cpuset.mems": "0-1\n",
        "cpuset.mems.effective": "0-1\n",
        "io.stat": "259:0 rbytes=%d wbytes=%d rios=%d wios=%d dbytes=0 "
                   "dios=0\n" % tuple(f.below(10**x) for x in (11, 11, 7, 7)),
        "io.weight": "default 100\n",
        "memory.current": "%d\n" % used, "memory.peak": "%d\n" % f.peak,
        "memory.max": LIMIT + "\n", "memory.stat": v2_memory_stat(f),
        "memory.events": events, "memory.events.local": events,
        "memory.swap.events": "high 0\nmax 0\nfail 0\n",
        "pids.current": "%d\n" % len(tids), "pids.peak": "%d\n" % len(tids),
        "pids.events": "max 0\n"})
    return out


def fill(path, make, facts, pids=(), tids=()):
    os.makedirs(path, exist_ok=True)
    for name, text in make(facts, pids, tids).items():
        put(path + "/" + name, text)
    put(path + "/cgroup.procs", "".join(p + "\n" for p in pids))
    if make is not v2_files:
        put(path + "/tasks", "".join(t + "\n" for t in tids))
        put(path + "/cgroup.clone_children", "0\n")
        put(path + "/notify_on_release", "0\n")


def job_facts(n):
    first = n * JOB_CPUS % NODE_CPUS
    return Facts(n, range(first, first + JOB_CPUS))


def members(processes):
    return ([p for p, _ in processes], [t for _, ts in processes for t in ts])


def make_v1(root, jobs):
    whole = Facts(0, range(NODE_CPUS))
    for ctl, make in V1_FILES.items():
        base = "%s/%s/slurm" % (root, ctl)
        fill(base, make, whole)
        for n, job in enumerate(jobs):
            user = "%s/uid_%d" % (base, job.uid)
            if not os.path.isdir(user):
                fill(user, make, whole)
            here = "%s/job_%d" % (user, job.id)
            facts = job_facts(n)
            fill(here, make, facts)
            for step, processes in job.steps.items():
                fill("%s/step_%s" % (here, step), make, facts)
                fill("%s/step_%s/task_0" % (here, step), make, facts,
                     *members(processes))
    for name in ("cpu", "cpuacct"):
        os.symlink("cpu,cpuacct", "%s/%s" % (root, name))


def make_v2(root, jobs):
    whole = Facts(0, range(NODE_CPUS))
    scope = root + "/system.slice/slurmstepd.scope"
    for path in (root, root + "/system.slice", scope, scope + "/system"):
        fill(path, v2_files, whole)
    for n, job in enumerate(jobs):
        here = "%s/job_%d" % (scope, job.id)
        facts = job_facts(n)
        fill(here, v2_files, facts)
        for step, processes in job.steps.items():
            base = "%s/step_%s" % (here, step)
            for sub in ("", "/slurm", "/user"):
                fill(base + sub, v2_files, facts)
            fill(base + "/user/task_0", v2_files, facts, *members(processes))


class Picture:
    """A tree on a tmpfs, removed at the end."""

    def __init__(self, top, version, jobs):
        self.root, self.version = "%s/v%d" % (top, version), version
        shutil.rmtree(self.root, ignore_errors=True)
        (make_v1 if version == 1 else make_v2)(self.root, jobs)

    def empty(self):
        return True

    def remove(self):
        shutil.rmtree(self.root, ignore_errors=True)


class Real:
    """Real cgroups, all below a directory of our own in each hierarchy, so that
    jobs of the host are neither read nor changed.  root is a directory of links
    to them that looks like /sys/fs/cgroup."""

    def __init__(self, top, version, jobs):
        self.version, self.dirs = version, []
        self.name = os.path.basename(top).replace("stage.", "batchjob_bench_")
        self.root = top + "/real"
        try:
            (self.make_v1 if version == 1 else self.make_v2)(jobs)
        except OSError:
            self.remove()
            raise

    def mkdir(self, path):
        if not os.path.isdir(path):
            os.mkdir(path)
            self.dirs.append(path)
            return True
        return False

    def make_v1(self, jobs):
        os.makedirs(self.root, exist_ok=True)
        for ctl in V1_REAL:
            own = "/sys/fs/cgroup/%s/%s" % (ctl, self.name)
            os.symlink(own, "%s/%s" % (self.root, ctl))
            for job in jobs:
                path = own
                self.mkdir_v1(ctl, path)
                for part in ("slurm", "uid_%d" % job.uid, "job_%d" % job.id):
                    path += "/" + part
                    self.mkdir_v1(ctl, path)
                if ctl == "memory":
                    put(path + "/memory.limit_in_bytes", LIMIT)
                for step, processes in job.steps.items():
                    task = "%s/step_%s/task_0" % (path, step)
                    self.mkdir_v1(ctl, os.path.dirname(task))
                    self.mkdir_v1(ctl, task)
                    for pid, _ in processes:
                        put(task + "/cgroup.procs", pid)

    def mkdir_v1(self, ctl, path):
        """A v1 cpuset accepts no process before it has CPUs and memory."""
        if self.mkdir(path) and ctl == "cpuset":
            for name in ("cpuset.cpus", "cpuset.mems"):
                with open(os.path.dirname(path) + "/" + name) as f:
                    put(path + "/" + name, f.read())

    def make_v2(self, jobs):
        self.root = "/sys/fs/cgroup/" + self.name
        scope = self.root + "/system.slice/slurmstepd.scope"
        self.mkdir_v2(self.root)
        self.mkdir_v2(os.path.dirname(scope))
        self.mkdir_v2(scope)
        for job in jobs:
            here = "%s/job_%d" % (scope, job.id)
            self.mkdir_v2(here)
            put(here + "/memory.max", LIMIT)
            for step, processes in job.steps.items():
                base = "%s/step_%s" % (here, step)
                self.mkdir_v2(base)
                self.mkdir(base + "/slurm")
                self.mkdir_v2(base + "/user")
                self.mkdir(base + "/user/task_0")
                for pid, _ in processes:
                    put(base + "/user/task_0/cgroup.procs", pid)

    def mkdir_v2(self, path):
        """Make a cgroup with its controllers enabled for its children."""
        if self.mkdir(path):
            put(path + "/cgroup.subtree_control",
                " ".join("+" + c for c in V2_REAL))

    def empty(self):
        """Whether all processes have ended."""
        for path in self.dirs:
            with open(path + "/cgroup.procs") as f:
                if f.read():
                    return False
        return True

    def remove(self):
        for path in reversed(self.dirs):
            try:
                os.rmdir(path)
            except OSError as e:
                print("# left behind: %s" % e)
        if self.version == 1:
            shutil.rmtree(self.root, ignore_errors=True)


def real_version():
    """1 or 2: the version of the host's controllers; 0 if they cannot be used."""
    if os.geteuid() != 0:
        return 0
    if all(os.path.isdir("/sys/fs/cgroup/" + c) for c in V1_REAL):
        return 1
    try:
        with open("/sys/fs/cgroup/cgroup.subtree_control") as f:
            return 2 if set(V2_REAL) <= set(f.read().split()) else 0
    except OSError:
        return 0
