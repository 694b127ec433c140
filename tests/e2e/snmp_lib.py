"""Shared by the tests of SNMP: private snmpd, snmptrapd and batchjob_snmp on loopback, with folders of their
own; the programs of net-snmp as a client; the MIB, and what it says of each value."""
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from decimal import Decimal

import energy
from ports import free_ports
from prom import parse
from tap import check, plan

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
O = os.path.abspath(os.path.join(TOP, os.environ.get("O", "build")))
os.environ["PATH"] += ":/usr/sbin:/sbin"
AUTH, PRIV = "auth-of-tests", "priv-of-tests"


def missing():
    """The first program that the tests need and that is not installed, or None."""
    return next((p for p in ("snmpd", "snmptrapd", "snmpbulkwalk", "snmpget", "snmptable") if not shutil.which(p)),
                None)


def until(what, seconds=60):
    """Repeat what() until its result is true; returns the last result."""
    end = time.monotonic() + seconds
    while True:
        result = what()
        if result or time.monotonic() > end:
            return result
        time.sleep(0.05)


def eventually(what, description, *details):
    """A check that may need some time; returns the seconds.  Details are functions, called at the end."""
    start = time.monotonic()
    check(until(what), description, *(d() for d in details))
    return time.monotonic() - start


def run(make, *parts):
    """Run the parts, or those that the command line names, with a site in a folder of its own; KEEP=1 keeps it."""
    folder = tempfile.mkdtemp(prefix="bj-e2e.")
    site = make(folder)
    try:
        site.start()
        for part in [p for p in parts if p.__name__ in sys.argv[1:]] or parts:
            start = time.monotonic()
            part(site)
            print("# %s: %.0f s" % (part.__name__, time.monotonic() - start), flush=True)
        return plan()
    finally:
        site.stop()
        if os.environ.get("KEEP"):
            print("# kept " + folder)
        else:
            shutil.rmtree(folder, ignore_errors=True)


def numbers(text):
    return tuple(int(i) for i in text.strip(".").split("."))


def dotted(oid):
    return "." + ".".join(map(str, oid))


def index(*texts):
    """The index of a row: each text with its length first."""
    found = ()
    for text in texts:
        data = text.encode()
        found += (len(data), *data)
    return found


class Process:
    """A program with its log; ended by stop()."""

    def __init__(self, args, log, env=None, cwd=None):
        self.args, self.log, self.env, self.cwd = args, log, env, cwd
        self.process = None

    def start(self):
        with open(self.log, "a") as log:
            self.process = subprocess.Popen(self.args, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=self.env,
                                            cwd=self.cwd)
        return self

    @property
    def pid(self):
        return self.process.pid

    def runs(self):
        return self.process is not None and self.process.poll() is None

    def kill(self, number):
        self.process.send_signal(number)
        if number == signal.SIGKILL:
            self.process.wait(300)

    def stop(self):
        """Returns the exit status."""
        if self.process is None:
            return None
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGCONT)
            self.process.terminate()
            try:
                self.process.wait(300)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait(300)
        return self.process.returncode

    def text(self):
        try:
            with open(self.log, errors="replace") as f:
                return f.read()
        except OSError:
            return ""

    def rss(self):
        with open("/proc/%d/status" % self.pid) as f:
            return int(re.search(r"VmRSS:\s+(\d+)", f.read()).group(1))

    def holds(self, text):
        """Whether it has a file open whose path contains the text."""
        folder = "/proc/%d/fd" % self.pid
        for fd in os.listdir(folder):
            try:
                if text in os.readlink(folder + "/" + fd):
                    return True
            except OSError:  # closed meanwhile
                pass
        return False

    def check_reports(self):
        """The sanitizers have found nothing."""
        reports = [w for w in ("AddressSanitizer", "runtime error", "LeakSanitizer") if w in self.text()]
        check(not reports, "no report of a sanitizer", self.text()[-3000:])


class Daemon(Process):
    """A private snmpd: AgentX on a Unix socket, SNMP on loopback."""

    def __init__(self, folder, lines="rocommunity public 127.0.0.1\n", trap_port=None):
        self.folder = folder
        self.port = free_ports(1)
        self.socket = folder + "/agentx"
        os.makedirs(folder + "/persist", exist_ok=True)
        with open(folder + "/snmpd.conf", "w") as f:
            f.write("agentAddress udp:127.0.0.1:%d\nmaster agentx\nagentXSocket %s\n%s" % (
                self.port, self.socket, lines))
            if trap_port:
                f.write("trap2sink 127.0.0.1:%d public\n" % trap_port)
        self.client_env = {**os.environ, "MIBS": "", "SNMPCONFPATH": folder, "LC_ALL": "C",
                           "SNMP_PERSISTENT_DIR": folder + "/persist"}
        super().__init__(["snmpd", "-f", "-Lf", folder + "/snmpd.log", "-C", "-c", folder + "/snmpd.conf",
                          "-I", "-smux,mteTrigger,mteTriggerConf", "-p", folder + "/snmpd.pid"],
                         folder + "/snmpd.out", self.client_env)

    def start(self):
        super().start()
        if not until(lambda: os.path.exists(self.socket) and self.run("snmpget", "1.3.6.1.2.1.1.3.0").returncode == 0):
            sys.exit("snmpd does not answer: " + self.text() + open(self.folder + "/snmpd.log").read())
        return self

    def run(self, program, *oids, who=("-v2c", "-cpublic"), options=(), mibs=None, wait=10):
        """Run a program of net-snmp."""
        env = dict(self.client_env)
        if mibs:
            env.update(mibs)
        return subprocess.run([program, *who, "-t%d" % wait, "-r1", *options, "127.0.0.1:%d" % self.port, *oids],
                              env=env, capture_output=True, text=True, errors="replace", timeout=300)

    def values(self, program, *oids, who=("-v2c", "-cpublic"), options=(), wait=10):
        """{oid: (type, value)}; value is a number, bytes, a tuple for an OID, or None for an exception."""
        done = self.run(program, *map(dotted, oids), who=who, options=("-OnxtUe", *options), wait=wait)
        if done.returncode:
            raise OSError("%s: %s%s" % (program, done.stdout[-500:], done.stderr[-500:]))
        return read_values(done.stdout)

    def walk(self, root, who=("-v2c", "-cpublic"), options=("-Cr25",), program="snmpbulkwalk", wait=10):
        """All values below root; raises ValueError if OIDs do not increase."""
        found = self.values(program, root, who=who, options=options, wait=wait)
        order = list(found)
        if order != sorted(order):
            raise ValueError("the walk is not in the order of OIDs")
        return {o: v for o, v in found.items() if v[1] is not None}

    def get(self, *oids, **more):
        return self.values("snmpget", *oids, **more)


EXCEPTIONS = ("No Such Instance", "No Such Object", "No more variables")


def read_values(text):
    """Parse the output of -OnxtUe."""
    found, last = {}, None
    for line in text.splitlines():
        m = re.match(r"(\.[0-9.]+) = (.*)", line)
        # The end of the view comes with the name of the last object.
        if m and m.group(2).startswith("No more variables") and numbers(m.group(1)) == last:
            break
        if m:
            last = numbers(m.group(1))
            found[last] = [m.group(2)]
        elif last is not None:
            found[last].append(line)
    return {o: read_value(" ".join(v).strip()) for o, v in found.items()}


def read_value(text):
    if text.startswith(EXCEPTIONS):
        return text, None
    if text in ('""', "STRING: ", 'STRING: ""'):
        return "string", b""
    kind, _, value = text.partition(": ")
    if kind == "Hex-STRING":
        return "string", bytes.fromhex(value)
    if kind == "STRING":
        return "string", value.strip('"').encode()
    if kind == "OID":
        return "oid", numbers(value)
    if re.fullmatch(r"\d+", text):  # time ticks by -Ot
        return "Timeticks", int(text)
    if re.fullmatch(r"-?\d+", value):
        return kind, int(value)
    raise ValueError("cannot read %r" % text)


class TrapDaemon(Process):
    """A private snmptrapd; its log has the notifications."""

    def __init__(self, folder):
        os.makedirs(folder, exist_ok=True)
        self.port = free_ports(1)
        with open(folder + "/snmptrapd.conf", "w") as f:
            f.write("authCommunity log public\n")
        super().__init__(["snmptrapd", "-f", "-Lo", "-n", "-On", "-C", "-c", folder + "/snmptrapd.conf", "-p",
                          folder + "/pid", "-F", "TRAP %v\\n", "udp:127.0.0.1:%d" % self.port],
                         folder + "/traps", {**os.environ, "MIBS": "", "SNMPCONFPATH": folder,
                                             "SNMP_PERSISTENT_DIR": folder})

    def traps(self):
        """The notifications so far, each {oid: text}."""
        found = []
        for line in self.text().splitlines():
            if line.startswith("TRAP "):
                found.append(dict(re.findall(r"(\.[0-9.]+) = ([^\t]*)", line)))
        return found


# --- a node that does not change by itself ---------------------------------

SOURCE = TOP + "/tests/fixtures/trees/v2-slurm/system.slice/node01_slurmstepd.scope/job_1"
FILES = ("cpu.stat", "memory.current", "memory.stat", "memory.peak", "memory.events", "memory.max",
         "memory.swap.current", "cpuset.cpus.effective", "cgroup.procs", "cgroup.controllers", "cgroup.events")


class Tree:
    """A cgroup tree of files, whose jobs are batch/ID, and a /proc that does not change."""

    def __init__(self, folder):
        self.root, self.proc, self.sys = folder + "/cgroup", folder + "/proc", folder + "/sys"
        self.info = folder + "/jobs"
        for d in (self.root + "/batch", self.proc, self.info):
            os.makedirs(d)
        for name in ("stat", "meminfo", "cpuinfo"):
            shutil.copy("/proc/" + name, self.proc)
        self.files = {}
        for name in FILES:
            with open(SOURCE + "/" + name) as f:
                self.files[name] = f.read()
        for place in (self.root, self.root + "/batch"):
            self.write(place + "/cgroup.controllers", "cpuset cpu io memory pids\n")
            self.write(place + "/cgroup.procs", "")
        energy.lay_out(self.sys)

    @staticmethod
    def write(path, text):
        """Replace a file at once."""
        with open(path + "~", "w") as f:
            f.write(text)
        os.rename(path + "~", path)

    def add(self, job, number=0, holes=()):
        """A job whose values differ from those of other jobs; without the files in holes."""
        final = self.root + "/batch/" + job
        place = self.root + "/new"
        os.mkdir(place)
        for name, text in self.files.items():
            if name in holes:
                continue
            if name == "cpu.stat":
                text = text.replace("usage_usec 8068862", "usage_usec %d" % (8068862 + 7 * number))
            elif name == "memory.current":
                text = "%d\n" % (4096 * (number + 1) + (1 << 33 if number % 5 == 0 else 0))
            self.write(place + "/" + name, text)
        os.rename(place, final)
        self.write(self.info + "/" + job, "jobid=%s\nuid=65534\nuser=anna%d\naccount=physics\npartition=long\n"
                   "name=secret%d\n" % (job, number, number))

    def kill(self, job, times):
        """The kernel killed processes of the job for lack of memory."""
        # In the file, as the kernel does: the programs keep it open.
        with open("%s/batch/%s/memory.events" % (self.root, job), "r+") as f:
            f.write(self.files["memory.events"].replace("oom_kill 0", "oom_kill %d" % times))

    def remove(self, job):
        shutil.rmtree(self.root + "/batch/" + job)
        os.unlink(self.info + "/" + job)

    def clear(self):
        for job in os.listdir(self.root + "/batch"):
            if not job.startswith("cgroup."):
                self.remove(job)

    def options(self):
        return ["--path.cgroupfs=" + self.root, "--path.procfs=" + self.proc, "--path.sysfs=" + self.sys,
                "--job.pattern=batch=batch/(?<jobid>[^/]+)", "--job.file-dir=" + self.info, "--job.grace=0",
                "--energy.state-file=", "--sample.slow=0.2", "--identity.wait=1", "--cluster=alpha"]


# --- the MIB -----------------------------------------------------------------

class Object:
    """An OBJECT-TYPE or NOTIFICATION-TYPE of the MIB."""

    def __init__(self, name, oid, macro, body):
        self.name, self.oid, self.macro, self.body = name, oid, macro, body
        self.syntax = self.clause(r"SYNTAX\s+([A-Za-z0-9-]+(?: OF \w+)?)")
        self.units = self.clause(r'UNITS\s+"([^"]*)"')
        self.access = self.clause(r"MAX-ACCESS\s+([a-z-]+)")
        self.reference = self.clause(r'REFERENCE\s+"([^"]*)"')
        self.status = self.clause(r"STATUS\s+([a-z]+)")
        self.description = re.sub(r"\s+", " ", self.clause(r'DESCRIPTION\s+"([^"]*)"') or "")
        self.index = [i.strip() for i in (self.clause(r"INDEX\s+\{([^}]*)\}") or "").split(",") if i.strip()]

    def clause(self, expression):
        m = re.search(r"(?<![A-Z-])" + expression, self.body)
        return m and m.group(1)


def read_mib(path, base):
    """The objects of a MIB by name, below the OID of its module."""
    with open(path) as f:
        text = re.sub(r"^\s*--.*$", "", f.read(), flags=re.M)
    text = text[text.index("BEGIN"):]
    known, found = {}, {}
    pattern = (r"(?m)^\s*([a-z]\w*)\s+(MODULE-IDENTITY|OBJECT-TYPE|NOTIFICATION-TYPE|OBJECT IDENTIFIER|OBJECT-GROUP"
               r"|NOTIFICATION-GROUP|MODULE-COMPLIANCE|OBJECT-IDENTITY)((?:[^\"]|\"[^\"]*\")*?)::=\s*\{\s*([^}]*)\}")
    for name, macro, body, place in re.findall(pattern, text):
        words = place.split()
        oid = base if macro == "MODULE-IDENTITY" else known[words[0]] + tuple(int(i) for i in words[1:])
        known[name] = oid
        found[name] = Object(name, oid, macro, body)
    return found


# --- what the exporter's page says -------------------------------------------

MIB = TOP + "/snmp-agent/BATCHJOB-MIB.txt"
BASE = (1, 3, 6, 1, 4, 1, 8072, 9999, 9999, 9010)
OF_EVERY_JOB = ("jobid", "slurm_node", "user", "account", "cluster")
SCALES = {"millionths": 10**6, "micro": 10**6, "milli": 10**3}


def scale(units):
    """By what a value of the exporter, in base units, is multiplied."""
    return next((v for k, v in SCALES.items() if (units or "").startswith(k)), 1)


def row_of(labels, keys):
    """The index of a sample's row in a table with that many index columns."""
    texts = []
    if "jobid" in labels:
        node = labels.get("slurm_node")
        texts = [labels["jobid"] + ("@" + node if node else "")]
    texts += [v for k, v in labels.items() if k not in OF_EVERY_JOB]
    return index(*texts[:keys])


def expected(samples, mib):
    """{oid: number} of the exporter's samples, and the metrics that the MIB has not."""
    entries = {o.oid: o for o in mib.values() if o.index}
    by_metric = {}
    for o in mib.values():
        if o.reference and o.macro == "OBJECT-TYPE" and o.status == "current":
            by_metric.setdefault(o.reference, []).append(o)
    values, unknown = {}, set()
    for name, labels, text in samples:
        found = by_metric.get(name, ())
        if not found:
            unknown.add(name)
        for o in found:
            if o.syntax in ("SnmpAdminString", "OCTET"):
                continue
            entry = entries.get(o.oid[:-1])
            oid = o.oid + (row_of(labels, len(entry.index)) if entry else (0,))
            number = Decimal(text) * scale(o.units)
            if o.syntax == "TruthValue":
                number = 1 if number else 2
            elif o.syntax == "Gauge32":
                number = min(number, 2**32 - 1)
            if oid in values:
                sys.exit("two samples of %s are one object: %s" % (name, dotted(oid)))
            values[oid] = number
    return values, unknown


def name_of(oid, mib):
    """The object of an OID with its index, for people."""
    for n in range(len(oid), len(BASE), -1):
        for o in mib.values():
            if o.oid == oid[:n]:
                return "%s%s" % (o.name, dotted(oid[n:]))
    return dotted(oid)


# Metrics of the moment or of the program, whose numbers differ.
ANY_VALUE = (r"batchjob_(process|sampler|collector|build)_|process_|batchjob_(meter|gpu_source)_(age|duration)_"
             r"|batchjob_job_gpu_(held|idle)_|batchjob_gpu_(source_)?errors_")


def differences(samples, walk, mib):
    """What the exporter's samples and a walk do not agree on, as lines."""
    want, _ = expected(samples, mib)
    by_oid = {o.oid: o for o in mib.values()}

    def owner(oid):
        return next((by_oid[oid[:n]] for n in range(len(oid), 0, -1) if oid[:n] in by_oid), None)
    numeric = {o: v for o, (k, v) in walk.items() if k != "string" and owner(o) and owner(o).reference}
    lines = ["only on the page: " + name_of(o, mib) for o in sorted(want.keys() - numeric.keys())]
    lines += ["only by SNMP: %s = %s" % (name_of(o, mib), numeric[o]) for o in sorted(numeric.keys() - want.keys())]
    for o in sorted(want.keys() & numeric.keys()):
        if want[o] != numeric[o] and not re.match(ANY_VALUE, owner(o).reference):
            lines.append("%s: the page has %s, SNMP %s" % (name_of(o, mib), want[o], numeric[o]))
    total = mib["bjNodeEnergyTotal"].oid + (0,)
    if walk.get(total, (None, None))[1] != node_energy(samples):
        lines.append("%s: %s, the sum of the page is %s" % (name_of(total, mib), walk.get(total), node_energy(samples)))
    return lines


def node_energy(samples):
    """The energy of the node in microjoules; None where no meter measures the whole node."""
    parts = {labels["component"]: Decimal(text) * 10**6 for name, labels, text in samples
             if name == "batchjob_node_energy_joules_total"}
    return sum(parts.values()) if "other" in parts else None


def read_page(url):
    """The samples of the exporter's page."""
    done = subprocess.run(["curl", "-sSf", "--max-time", "60", url], capture_output=True, check=True)
    path = os.environ.get("TMPDIR", "/tmp") + "/bj-page.%d" % os.getpid()
    with open(path, "wb") as f:
        f.write(done.stdout)
    try:
        return list(parse(path))
    finally:
        os.unlink(path)
