#!/usr/bin/python3
"""Compare the pages of the exporter and the collectd plugin, and a walk by SNMP.

  hosts_agree.py freeze CGROUPFS NAME TO   copy the kernel's files of a node: the
        directories called NAME (with their parents and all below) to TO/cgroup,
        their processes to TO/proc
  hosts_agree.py compare EXPORTER-PAGE COLLECTD-PAGE   print series that only one
        page has, and values that differ; exit 1 when there are any
  hosts_agree.py snmp EXPORTER-PAGE WALK   the same for a walk of batchjob_snmp by
        snmpbulkwalk -OnxtUe, and metrics that should be in the MIB and are not

Names are translated by rule, not by table: a collectd type is the exporter's metric
without its prefix and with microseconds instead of seconds; labels become instances.
Metrics about the moment or the program (sampler, collectors, process) must be on both
pages, with any value."""
import os
import re
import shutil
import sys
from decimal import Decimal

import snmp_lib
from prom import parse

ANY_VALUE = re.compile(r"collectd_batchjob_(process|sampler|collector)_"
                            r"|collectd_batchjob_(meter|gpu_source)_(age|duration)_"
                            r"|collectd_batchjob_job_gpu_(held|idle)_"
                            # errors are counted at each reading, not at each scrape
                            r"|collectd_batchjob_gpu_(source_)?errors_")
FREE_TEXT = {"name"}
PID_FILES = ("stat", "status", "io", "environ", "cgroup", "comm", "cmdline")


# --- freezing ----------------------------------------------------------------

def copy_file(src, dst):
    """Copy the current content of a file; unreadable files are left out."""
    try:
        with open(src, "rb") as f:
            data = f.read()
    except OSError:
        return
    os.makedirs(os.path.dirname(dst), exist_ok=True)
    with open(dst, "wb") as f:
        f.write(data)


def copy_files(src, dst):
    for entry in os.scandir(src):
        if entry.is_file(follow_symlinks=False):
            copy_file(entry.path, os.path.join(dst, entry.name))


def copy_tree(root, rel, to):
    """Copy the directory rel, all below it, and the files of its parents."""
    parts = rel.split("/")
    for i in range(len(parts)):
        copy_files(os.path.join(root, *parts[:i]), os.path.join(to, *parts[:i]))
    for path, _, _ in os.walk(os.path.join(root, rel)):
        below = os.path.relpath(path, root)
        os.makedirs(os.path.join(to, below), exist_ok=True)
        copy_files(path, os.path.join(to, below))


def copy_links(src, dst):
    os.makedirs(dst, exist_ok=True)
    for name in os.listdir(src):
        try:
            os.symlink(os.readlink(os.path.join(src, name)),
                       os.path.join(dst, name))
        except OSError:
            pass


def copy_process(pid, to):
    src, dst = f"/proc/{pid}", f"{to}/{pid}"
    for name in PID_FILES:
        copy_file(f"{src}/{name}", f"{dst}/{name}")
    os.symlink(os.readlink(f"{src}/exe"), f"{dst}/exe")
    copy_links(f"{src}/fd", f"{dst}/fd")
    for tid in os.listdir(f"{src}/task"):
        for name in ("stat", "status", "comm"):
            copy_file(f"{src}/task/{tid}/{name}", f"{dst}/task/{tid}/{name}")


def freeze(root, name, to):
    pids = set()
    for path, dirs, _ in os.walk(root):
        if path.count("/") - root.count("/") > 2:
            dirs.clear()
        if name in dirs:
            dirs.remove(name)
            rel = os.path.relpath(os.path.join(path, name), root)
            copy_tree(root, rel, f"{to}/cgroup")
    for path, _, files in os.walk(f"{to}/cgroup"):
        if name in path and "cgroup.procs" in files:
            with open(os.path.join(path, "cgroup.procs"), encoding="ascii") as f:
                pids.update(f.read().split())
    for name in ("stat", "meminfo", "cpuinfo", "uptime"):
        copy_file(f"/proc/{name}", f"{to}/proc/{name}")
    for pid in pids:
        copy_process(pid, f"{to}/proc")
    shutil.copytree(f"{to}/proc/{min(pids)}", f"{to}/proc/self", symlinks=True)
    print(len(pids), "processes")


# --- names, by the rules in collectd-plugin/name.h ---------------------------

def digest(parts):
    h = 14695981039346656037
    for part in parts:
        for byte in part.encode() + b"\0":
            h = (h ^ byte) * 1099511628211 % 2**64
    return "%012x" % ((h ^ h >> 48) & 0xffffffffffff)


def ident(parts, separators=""):
    """The collectd name for a text, or for a job, node and step."""
    text, hashed = parts[0], False
    for sep, part in zip(separators, parts[1:]):
        hashed |= sep in part
        text += sep + part
    hashed |= separators != "" and "@" in parts[0]
    hashed |= bool(re.search("--[0-9a-f]{12}$", text)) or text[:1] in (":", "[")
    if text[:1] in ("/", "("):
        hashed |= any(c in text for c in ":[]")
        text = text.translate(str.maketrans("/()", ":[]"))
    clean = re.sub(r"[^A-Za-z0-9_.:@+\[\]-]", "_", text)
    if hashed or clean != text or len(clean) > 127:
        clean = clean[:113] + "--" + digest(parts)
    return clean


# --- comparing ---------------------------------------------------------------

def instance_of(labels):
    parts, separators = [labels.pop("jobid")], ""
    for key, sep in (("slurm_node", "@"), ("step", ".")):
        if key in labels:
            parts.append(labels.pop(key))
            separators += sep
    if "@" in parts[0]:
        return ident(parts, separators or " ")
    return ident(parts, separators)


MICRO = {"seconds": "usec", "joules": "uj", "watts": "uw",
         "grams_per_kwh": "ug_per_kwh", "ratio": "ppm", "celsius": "ucelsius"}


def family_of(name, have):
    base = "collectd_batchjob_" + name.removeprefix("batchjob_")
    for unit, micro in MICRO.items():
        type_ = re.sub(f"_{unit}(_total)?$", rf"_{micro}\1", base)
        if type_ != base and type_ in have:
            return type_, 10**6
    return base, 1


def translate(page, have):
    """The exporter's page as {(family, batchjob, type): value}."""
    out = {}

    def put(family, instance, type_instance, value):
        if instance is None:
            instance, type_instance = type_instance, None
        key = family, instance, type_instance
        if key in out:
            sys.exit(f"two series of the exporter are one: {key}")
        out[key] = value

    for name, labels, value in parse(page):
        labels = dict(labels)
        of_job = {k: labels.pop(k, "") for k in ("user", "account", "cluster")}
        instance = instance_of(labels) if "jobid" in labels else None
        if name.endswith("_info") and "gpu" not in labels:
            stem = "collectd_batchjob_" + name[len("batchjob_"):-len("info")]
            labels.update(of_job if instance else {})
            for key, text in labels.items():
                if text and key not in FREE_TEXT:
                    put(stem + key, instance, ident([text]), Decimal(1))
            continue
        rest = list(labels.values())
        if instance is None and len(rest) > 1:
            instance = ident([rest.pop(0)])
        if len(rest) > 2 or (instance and "jobid" in labels and len(rest) > 1):
            sys.exit(f"{name}: more labels than collectd has room for: {labels}")
        family, scale = family_of(name, have)
        put(family, instance, ident(rest, ":" * (len(rest) - 1))
            if rest else None,
            Decimal(value) * scale)
    return out


def compare(exporter_page, collectd_page):
    collectd = {}
    for name, labels, value in parse(collectd_page):
        if "batchjob" not in name:
            continue
        key = name, labels.get("batchjob"), labels.get("type")
        if key in collectd:
            sys.exit(f"twice in collectd: {key}")
        collectd[key] = Decimal(value)
    exporter = translate(exporter_page, {name for name, _, _ in collectd})
    bad = [f"only in the exporter: {k}" for k in sorted(
        exporter.keys() - collectd.keys(), key=str)]
    bad += [f"only in collectd: {k}" for k in sorted(
        collectd.keys() - exporter.keys(), key=str)]
    bad += [f"{k}: exporter {exporter[k]}, collectd {collectd[k]}"
            for k in sorted(exporter.keys() & collectd.keys(), key=str)
            if exporter[k] != collectd[k] and not ANY_VALUE.match(k[0])]
    print("\n".join(bad) if bad else
          f"{len(exporter)} series, {len({k[0] for k in exporter})} families")
    return 1 if bad else 0


# Metrics without a place in the MIB: too many rows for SNMP, or of no use there.
NOT_BY_SNMP = re.compile(
    r"batchjob_(step|task)_|batchjob_job_(core|device|hugetlb|state|exe|place|gpu_engine)_"
    r"|batchjob_(job|gpu|build|node_energy|emission)\w*_info$|batchjob_(emission|carbon)_|batchjob_cluster_")


def compare_snmp(exporter_page, walk):
    mib = snmp_lib.read_mib(snmp_lib.MIB, snmp_lib.BASE)
    samples = list(parse(exporter_page))
    with open(walk, encoding="utf-8", errors="replace") as f:
        values = snmp_lib.read_values(f.read())
    values = {o: v for o, v in values.items() if v[1] is not None}
    bad = snmp_lib.differences(samples, values, mib)
    want, unknown = snmp_lib.expected(samples, mib)
    bad += ["not in the MIB: " + m for m in sorted(unknown) if not NOT_BY_SNMP.match(m)]
    print("\n".join(bad) if bad else f"{len(want)} numbers by SNMP, {len(values)} values")
    return 1 if bad else 0


if __name__ == "__main__":
    if len(sys.argv) == 4 and sys.argv[1] == "snmp":
        sys.exit(compare_snmp(*sys.argv[2:]))
    if len(sys.argv) == 5 and sys.argv[1] == "freeze":
        freeze(*sys.argv[2:])
    elif len(sys.argv) == 4 and sys.argv[1] == "compare":
        sys.exit(compare(*sys.argv[2:]))
    else:
        sys.exit(__doc__)
