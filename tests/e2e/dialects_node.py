#!/usr/bin/python3
"""Compare the pages in dialects of job exporters with the kernel's files: every
family of the originals, for one stopped job.

  dialects_node.py meters DIR    create DIR, a sysfs with RAPL zones and a Cray
                                 blade; if it exists, advance its counters
  dialects_node.py rate URL JOB FILE v1|v2   jobs_cpu_percent while it runs; FILE has
                                 the CPU time of the job
  dialects_node.py check URL version=v1|v2 strict=0|1 job= uid= user= group=
                   scratch= slack=SECONDS alone=0|1 DIRECTORY...   of the job's
                                 cgroup; slack is the CPU time that the job may use
                                 meanwhile; alone=1: there is no other job

Prints "ok - ..." and "not ok - ...".  A family of dialects_tables.py that is not on
its page is a failure, and so is one on the page that is in no table."""
import os
import sys
import tempfile
import time
import urllib.request

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import prom  # noqa: E402
from dialects_tables import NONE, TABLES, ZONES, Raw, text  # noqa: E402


def say(good, what, why=""):
    print(("ok - " if good else "not ok - ") + what + ("" if good else ": " + why))
    return good


def fetch(url, dialect):
    """Families by name, and their samples as (name, labels, value)."""
    with urllib.request.urlopen("%s/metrics/%s" % (url, dialect), timeout=300) as f:
        body = f.read()
    with tempfile.NamedTemporaryFile() as f:
        f.write(body)
        f.flush()
        samples = [(n, labels, float(v)) for n, labels, v in prom.parse(f.name)]
    families = [line.split()[2] for line in body.decode().splitlines()
                if line.startswith("# TYPE ")]
    return families, samples


def near(got, want, rel, absolute):
    if isinstance(absolute, tuple):  # tolerance below, above
        return want - absolute[0] <= got <= want + max(absolute)
    return abs(got - want) <= max(abs(want) * rel, absolute)


# --- pages -----------------------------------------------------------------------

# The labels that identify the job of a sample.
IDS = "slurmjobid", "slurm_job", "jobid", "uuid", "cgroup"


def of_job(labels, ident):
    return all(labels.get(k) == v for k, v in ident.items() if k in labels and v is not None)


def difference(samples, want, ident):
    """Compare samples with those wanted; return the first difference, or ""."""
    got = [(labels, value) for labels, value in samples
           if of_job(labels, ident) and not labels.get("step") and not labels.get("task")]
    if len(want) == 1 and not want[0][0] and len(got) > 1:
        got = [({}, sum(v for _, v in got))]  # the sum over all CPUs
    for labels, value, rel, absolute in want:
        fits = [v for have, v in got if all(have.get(k) == x for k, x in labels.items())]
        if len(fits) != 1:
            return "%d samples with %s, not one" % (len(fits), labels)
        if not near(fits[0], value, rel, absolute):
            return "%s is %r, want %r" % (labels, fits[0], value)
    more = [g for g in got if not any(all(g[0].get(k) == x for k, x in w[0].items())
                                      for w in want)]
    # Ignored: states without a thread any more (0), series by collector, exe="(other)".
    more = [g for g in more if g[1] != 0 and "collector" not in g[0]
            and g[0].get("exe") != "(other)"]
    return "" if not more else "surplus: %s" % more


def compare(url, dialect, raw):
    """(good, what, why) for each family."""
    families, samples = fetch(url, dialect)
    want, ident = TABLES[dialect](raw)
    found = [(False, "%s: %s" % (dialect, name), "it is not in dialects_tables.py")
             for name in families if name not in want]
    labelled = {n: [(labels, v) for m, labels, v in samples if m == n] for n in want}
    for name, expected in want.items():
        if expected is NONE:
            found.append((not labelled[name], "%s has no %s" % (dialect, name), str(labelled[name])))
            continue
        why = difference(labelled[name], expected, ident)
        found.append((not why, "%s: %s" % (dialect, name), why))
        for labels, _ in labelled[name]:
            missing = [k for k in ident if k not in labels and any(i in labels for i in IDS)]
            if missing and not (dialect == "jobstats" and name in ("cgroup_uid", "cgroup_info")):
                found.append((False, "%s: labels of %s" % (dialect, name), "no %s" % missing))
    return found


def check_page(url, dialect, raw):
    """Compare up to three times: between page and file the kernel may give back memory
    that it charged in advance, 64 pages for each CPU."""
    for _ in range(3):
        found = compare(url, dialect, raw)
        if all(f[0] for f in found):
            break
    return sum(not say(*f) for f in found)


def check(url, options, dirs):
    raw = Raw(options, dirs)
    return any([check_page(url, d, raw) for d in TABLES])


# --- while it runs --------------------------------------------------------------

def percent(url, job, name="jobs_cpu_percent"):
    _, samples = fetch(url, "jobs_exporter")
    got = [v for n, labels, v in samples if n == name and labels["slurm_job"] == job]
    return got[0] if got else None


def rate(url, job, counter):
    """Check the rate between two scrapes that are 10 s apart.  It is at least the CPU time
    from the end of the first to the begin of the second, divided by the longest time
    between them, and at most the reverse.  The scrape before them ends the window
    that an earlier scrape began."""
    def scrape():
        before = time.monotonic(), counter()
        value = percent(url, job)
        return before, value, (time.monotonic(), counter())
    scrape()
    time.sleep(10.1)
    first = scrape()
    time.sleep(10.1)
    second = scrape()
    again = percent(url, job)
    say(again == second[1], "jobs_cpu_percent is the same in the next scrape",
        "%s, then %s" % (second[1], again))
    least = (second[0][1] - first[2][1]) / (second[2][0] - first[0][0]) / 1e7
    most = (second[2][1] - first[0][1]) / (second[0][0] - first[2][0]) / 1e7
    got = second[1]
    say(got is not None and least * 0.98 <= got <= most * 1.02,
        "jobs_cpu_percent is the job's CPU time over time (%s)" % got,
        "got %s, want %s to %s" % (got, least, most))
    return 0


# --- meters ----------------------------------------------------------------------

NODES = {"package": "intel-rapl:0", "core": "intel-rapl:0/intel-rapl:0:0",
         "uncore": "intel-rapl:0/intel-rapl:0:1", "dram": "intel-rapl:0/intel-rapl:0:2",
         "psys": "intel-rapl:1"}


def write(path, what):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as f:
        f.write("%s\n" % what)


def meters(where):
    again = os.path.exists(where + "/class")
    for zone, joules, limit in ZONES:
        base = "%s/class/powercap/intel-rapl/%s" % (where, NODES[zone])
        write(base + "/energy_uj", 10 ** 9 + (joules * 10 ** 6 if again else 0))
        if again:
            continue
        write(base + "/name", "package-0" if zone == "package" else zone)
        write(base + "/enabled", 1)
        write(base + "/max_energy_range_uj", 2 ** 40)
        write(base + "/constraint_0_name", "long_term")
        write(base + "/constraint_0_power_limit_uw", limit * 10 ** 6)
        write(base + "/constraint_0_max_power_uw", limit * 10 ** 6)
    write(where + "/cray/pm_counters/energy", "%d J 1700000000000000 us" % (107 if again else 100))
    if again:
        return 0
    write(where + "/class/powercap/intel-rapl/enabled", 1)
    write(where + "/cray/pm_counters/power", "300 W 1700000000000000 us")
    write(where + "/cray/pm_counters/power_cap", "900 W")
    os.makedirs(where + "/devices/system")
    os.symlink("/sys/devices/system/cpu", where + "/devices/system/cpu")
    return 0


def main(argv):
    if argv[0] == "meters":
        return meters(argv[1])
    if argv[0] == "rate":
        return rate(argv[1], argv[2], lambda: int(text(argv[3])) if argv[4] == "v1" else 1000 * int(
            next(line.split()[1] for line in text(argv[3]).splitlines()
                 if line.startswith("usage_usec"))))
    options = dict(a.split("=", 1) for a in argv[2:] if "=" in a and not a.startswith("/"))
    dirs = [a for a in argv[2:] if a.startswith("/")]
    return check(argv[1], options, dirs)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
