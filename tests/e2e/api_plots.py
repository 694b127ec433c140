#!/usr/bin/env python3
"""Plots of jobs as PNG and PDF, from a real Prometheus with their samples: the images show the
values of the samples.  TAP."""
import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import threading

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from api_lib import O, TOP, Site, check, plan, same, user  # noqa: E402
from gate_lib import FilledPrometheus  # noqa: E402
from history import job  # noqa: E402
from png import Image  # noqa: E402

JOBS = os.path.abspath(os.path.join(TOP, O, "unit/test_statsdb_report"))
ACCT = os.path.abspath(os.path.join(TOP, O, "batchjob_acct"))
ANNA, BOSS, EVE = user("anna"), user("boss"), user("eve")
BLUE, LIMIT, BELOW, AREA, RED = 0x0072B2, 0x404040, 0xD9E9F4, 0x8FC1E0, 0x9A3324
HOSTILE = 'x"><b>\u202e\n\x01{jobid="1"}\\' + "\u0301" * 100


def set_up(site):
    """Fill store and Prometheus with jobs of tests/unit/statsdb/report_jobs.h; 1001 gets eight GPUs."""
    subprocess.run([os.environ.get("MAKE", "make"), "-C", TOP, "-s", "O=" + O,
                    O + "/unit/test_statsdb_report"], check=True, stdout=subprocess.DEVNULL)
    subprocess.run([JOBS, site.store], check=True)
    db = sqlite3.connect(site.store)
    db.execute("UPDATE job SET gpus = 8 WHERE jobid = 1001")
    db.commit()
    row = db.execute('SELECT min(start), max("end") FROM job WHERE jobid IN (1001, 1005)').fetchone()
    db.close()
    time = row[0], row[1] + 60
    site.prom = FilledPrometheus(
        job(*time, "1001", "anna", 1, 4, 8, (2, 5)) + job(*time, "1005", "anna", 4, 8) +
        job(*time, "1001", "mallory", 1, 1, cluster="beta") +
        job(*time, "1002", "anna", 1, 4, 2, slurm_node=HOSTILE))
    site.options = ["--access.trust-loopback", "--access.admins=boss"]
    if not site.prom.failure:
        site.options += ["--prometheus.url=" + site.prom.url, "--prometheus.scrape-interval=30s"]
    site.start(*site.options)


def key_of(site, name):
    a = site.fetch("/api/v1/jobs?job=%s&fields=key" % name, BOSS)
    return a.data[0]["key"]


def plot(site, name, query, user_header=ANNA):
    return site.fetch("/api/v1/jobs/%s/plot.png?%s" % (key_of(site, name), query), user_header)


def curve(site):
    """Half of the CPUs are used: the curve is half as high as the line of its limit."""
    a = plot(site, "1001", "metric=cpus_used")
    same((a.status, a.headers["Content-Type"]), (200, "image/png"), "a plot")
    image = Image(a.body)
    same(image.width, 1200, "an image of width 600 has 1200 pixels")
    base = [y + 1 for y in range(image.height) if image.count(y, BELOW) > image.width // 2][-1:]
    used = image.lines(BLUE, image.width // 2)
    limit = image.lines(LIMIT, image.width // 4)
    if check(len(base) == len(used) == len(limit) == 1, "an axis, a curve and a limit", base, used,
             limit):
        ratio = (base[0] - used[0]) / (base[0] - limit[0])
        check(abs(ratio - 0.5) < 0.02, "the curve is half as high as the limit", ratio)
    small = Image(plot(site, "1001", "metric=cpus_used&width=300").body)
    same(small.width, 600, "an image of width 300 has 600 pixels")
    check(len(a.body) < 100000, "an image is small", len(a.body))
    same(plot(site, "1001", "metric=cpus_used").body, a.body, "the same plot has the same bytes")


def rows(site):
    """Two of eight GPUs are idle: their rows are empty, and marked."""
    image = Image(plot(site, "1001", "metric=gpu_busy_ratio&by=gpu").body)
    same(len(image.lines(AREA, image.width // 2)), 6, "six of eight GPUs are busy")
    reds = [y for y in range(image.height) if image.count(y, RED) > 3]
    bands = [y for i, y in enumerate(reds) if i == 0 or y > reds[i - 1] + 5]
    same(len(bands), 2, "two GPUs are marked as idle")
    nodes = Image(plot(site, "1005", "metric=cpus_used&by=node").body)
    same(len(nodes.lines(AREA, nodes.width // 2)), 4, "each of four nodes has a row")


def hostile(site):
    """Hostile labels from Prometheus are shown as text."""
    db = sqlite3.connect(site.store)
    db.execute("UPDATE job SET gpus = 2 WHERE jobid = 1002")
    db.commit()
    db.close()
    site.refresh()
    image = Image(plot(site, "1002", "metric=gpu_busy_ratio&by=gpu").body)
    same(len(image.lines(AREA, image.width // 2)), 2, "names of nodes are only text")
    lines = [c["lines"] for c in site.fetch("/api/v1/jobs/%s/charts" % key_of(site, "1002"), ANNA).data[
        "charts"] if c["title"] == "GPU use"][0]
    check(lines[0]["name"].startswith('x"><b>') and "\n" not in lines[0]["name"] and
          "\x01" not in lines[0]["name"], "names of series have no control characters", lines[0]["name"])
    a = site.fetch("/api/v1/jobs/%s/report.pdf" % key_of(site, "1002"), ANNA)
    same((a.status, a.body[:5]), (200, b"%PDF-"), "a PDF with hostile names")


def refusals(site):
    for query, word in (("", "metric"), ("metric=x", "x"), ("metric=cpus_used&by=user", "by"),
                        ("metric=cpus_used,memory_bytes", "unit"),
                        ("metric=cpus_used&width=99999", "width"),
                        ("metric=cpus_used&width=x", "width"), ("metric=cpus_used&what=1", "what")):
        a = plot(site, "1001", query)
        check(a.status == 400 and word in a.json["error"], "refused: " + query, a)
    same(plot(site, "1001", "metric=cpus_used", EVE).status, 404, "another user gets no plot")
    same(site.fetch("/api/v1/jobs/%s/charts" % key_of(site, "1001"), EVE).status, 404,
         "another user gets no values")
    a = plot(site, "1000", "metric=cpus_used")
    check(a.status == 404 and "no samples" in a.json["error"], "a job without samples has no plot", a)
    a = plot(site, "1001", "metric=limit_hits")
    same(a.status, 400, "an unknown metric is refused")


def text_of(pdf, folder, *options):
    path = os.path.join(folder, "report.pdf")
    with open(path, "wb") as f:
        f.write(pdf)
    return subprocess.run(["pdftotext", *options, path, "-"], capture_output=True,
                          check=True).stdout.decode()


def pdf(site):
    a = site.fetch("/api/v1/jobs/%s/report.pdf" % key_of(site, "1001"), ANNA)
    same((a.status, a.body[:5]), (200, b"%PDF-"), "a PDF")
    same(site.fetch("/api/v1/jobs/%s/report.pdf" % key_of(site, "1001"), ANNA).body, a.body,
         "the same report has the same bytes")
    if shutil.which("pdftotext"):
        text = text_of(a.body, site.folder)
        missing = [s for s in ("Over time", "CPUs used: 2 on average, at most 2. CPUs allocated: 4.",
                               "Memory with page cache", "Memory limit: 8 GiB.", "GPU use, each GPU",
                               "time since start", "8 GiB", "100 %") if s not in " ".join(text.split())]
        same(missing, [], "the PDF names its curves, limits and units")
        same(len(re.findall(r"^idle$", text, re.M)), 2, "the PDF marks two GPUs as idle")
        path = os.path.join(site.folder, "report.pdf")
        images = subprocess.run(["pdfimages", "-list", path], capture_output=True).stdout
        same(len(images.splitlines()), 2, "its plots are vectors")
    a = site.fetch("/api/v1/jobs/%s/report.pdf" % key_of(site, "1000"), ANNA)
    if shutil.which("pdftotext"):
        check("Prometheus has no samples of this job" in " ".join(text_of(a.body, site.folder).split()),
              "a PDF without curves says why")


def charts(site):
    """Charts have the values of the samples."""
    data = site.fetch("/api/v1/jobs/%s/charts" % key_of(site, "1001"), ANNA).data
    by = {(c["title"], c["of"]): c for c in data["charts"]}
    same(sorted(by, key=str), [("CPUs", None), ("Data read and written", None),
                               ("GPU memory", "each GPU"), ("GPU use", "each GPU"),
                               ("Memory", None)], "the charts of a job with GPUs")
    values = {line["name"]: [v for v in line["values"] if v is not None]
              for line in by["GPU use", "each GPU"]["lines"]}
    same({n: set(v) for n, v in values.items()},
         {"n1: GPU %d" % g: {0 if g in (2, 5) else 80} for g in range(8)}, "each GPU has its values")
    # A rate covers four intervals, so the first values are lower.
    used = [v for v in by["CPUs", None]["lines"][0]["values"] if v is not None][4:]
    check(len(used) > 50 and all(abs(v - 2) < 0.01 for v in used), "CPUs used", used[:5])
    data = site.fetch("/api/v1/jobs/%s/charts" % key_of(site, "1000"), ANNA).data
    check(data["charts"] == [] and "no samples" in data["reason"],
          "a job without samples has no charts, but a reason", data)


def acct(site):
    """batchjob_acct has curves from the server, but none from the store alone."""
    if not shutil.which("pdftotext"):
        return
    socket = os.path.join(site.folder, "sock")
    site.start(*site.options, "--access.admins=root", "--web.unix-socket=" + socket)
    for way, word in (("--server=unix:" + socket, "CPUs used: 2 on average"),
                      ("--store.path=" + site.store, None)):
        p = subprocess.run([ACCT, way, "--utc", "report", "--format=pdf", "1001"],
                           capture_output=True, check=True)
        text = " ".join(text_of(p.stdout, site.folder).split())
        check(word in text if word else "Over time" not in text,
              "batchjob_acct " + way.split("=")[0], p.stderr)
    p = subprocess.run([ACCT, "--store.path=" + site.store, "--utc", "report", "--format=pdf",
                        "--month=2025-11"], capture_output=True, check=True)
    text = text_of(p.stdout, site.folder)
    check("CPU hours by day" in text and "21 Nov" not in text
          and "19 Nov" in text, "a month has a plot by day", text[:500])


def count_pixels(image, colour):
    return sum(image.count(y, colour) for y in range(image.height))


def petricore(site):
    """Paths of petricore's web application return the same data as the API."""
    a = site.fetch("/plot/1001/cpu_percent", ANNA)
    same(a.body, plot(site, "1001", "metric=cpus_used").body, "/plot/JOB/METRIC is the plot of a job")
    image = Image(site.fetch("/plot/1005/jobs_rss", ANNA).body)
    same(len(image.lines(AREA, image.width // 2)), 4, "with a row for each node")
    for path in ("/plot/1001/cpu_time_core", "/plot/1001/", "/plot/1001", "/plot//rss",
                 "/plot/1001/rss/x", "/pie/1001", "/plot/99/rss"):
        same(site.fetch(path, ANNA).status, 404, "there is no " + path)
    db = sqlite3.connect(site.store)
    number, cpus, sec = db.execute("SELECT id, cpus, elapsed FROM job WHERE jobid = 1001").fetchone()
    used, = db.execute("SELECT cpu_usec FROM job_use WHERE job = ?", (number,)).fetchone()
    db.execute("UPDATE node_record SET cpu_system_usec = ? WHERE jobid = 1001", (used // 4,))
    db.commit()
    db.close()
    site.refresh()
    image = Image(site.fetch("/pie/1001/", ANNA).body)
    parts = [count_pixels(image, colour) for colour in (0x0072B2, 0xD55E00, 0xD5DDE5)]
    have = [used * 3 / 4, used / 4, cpus * sec * 1e6 - used]
    check(all(abs(p / sum(parts) - h / sum(have)) < 0.02 for p, h in zip(parts, have)),
          "/pie/JOB/ has areas as user, system and unused time", parts, have)
    a = site.fetch("/pdf/1001", ANNA)
    same(a.body, site.fetch("/api/v1/jobs/%s/report.pdf" % key_of(site, "1001"), ANNA).body,
         "/pdf/JOB is the PDF of a job")
    a = site.fetch("/mail/1001", ANNA)
    text = a.body.decode()
    same((a.headers["Content-Type"], text.splitlines()[-1]),
         ("text/plain; charset=utf-8", "WARNING=true"), "/mail/JOB ends in WARNING=true")
    same(site.fetch("/mail/1000", ANNA).body.decode().splitlines()[-1], "WARNING=false",
         "/mail/JOB ends in WARNING=false")
    report = subprocess.run([ACCT, "--store.path=" + site.store, "--utc", "report", "--ascii",
                             "1001"], capture_output=True, check=True).stdout.decode()
    check(text.startswith(report), "/mail/JOB begins with the report", text)
    same(site.fetch("/mail", ANNA).status, 200, "the page /mail stays")
    usage = site.fetch("/api/v1/jobs/1001/usage", ANNA).json
    figures = {f["figure"]: f for f in site.fetch("/api/v1/jobs/%s/report" % key_of(site, "1001"),
                                                  ANNA).data["figures"]}
    same(set(usage), {"jobid", "sponsor", "username", "runtime", "uses_scratch", "alloc_tres",
                      "threads", "cpu", "ram", "gpu", "io"}, "the keys of usage")
    same((usage["jobid"], usage["sponsor"], usage["username"], usage["runtime"],
          usage["alloc_tres"]["alloc_cpu"]), (1001, "phys", "anna", "01:00:00", 4), "usage describes the job")
    near = [(usage["cpu"]["time_total"]["time"], figures["cpu"]["used"]),
            (usage["ram"]["used"]["amount"], figures["memory"]["used"] / 1048576),
            (usage["ram"]["used"]["usage"], figures["memory"]["percent"] / 100),
            (usage["io"]["read"]["amount"], figures["read"]["used"] / 1048576),
            (usage["cpu"]["avg_usage_job"]["usage"], figures["cpu"]["percent"] * 4)]
    same([n for n in near if abs(n[0] - n[1]) > 0.01 * n[1]], [], "figures of usage are those of the report")
    same(usage["gpu"]["alloc_gpu"], {"n1": ["0", "1"]}, "GPUs by node")
    gpus = site.fetch("/api/v1/jobs/%s/report" % key_of(site, "1001"), ANNA).data["gpus"]
    same([[round(v, 2) for v in usage["gpu"]["metrics"][k]] for k in ("avg_utilization_gpu", "max_memory_used")],
         [[round(g["busy_percent"], 2) for g in gpus], [round(g["memory_peak_bytes"] / 1048576, 2) for g in gpus]],
         "use and memory of each GPU")
    same(usage["uses_scratch"], None, "an unknown value of usage is null")
    for path in ("/plot/1001/rss", "/pie/1001/", "/pdf/1001", "/mail/1001",
                 "/api/v1/jobs/1001/usage", "/api/v1/users/anna"):
        same((site.fetch(path, EVE).status, site.fetch(path).status), (404, 403),
             "refused to other users: " + path)
    site.file("storage", "anna project smith 10G 20G 500 1000 /project/smith/anna\n"
              "anna quota home 1G 5G 100 400\nbob quota home 1G 5G 1 2\n", 0o644)
    site.start(*site.options, "--storage.file=" + os.path.join(site.folder, "storage"))
    for user_header in (ANNA, BOSS):
        data = site.fetch("/api/v1/users/anna?limit=5", user_header).json
        same((data["user"]["username"], len(data["jobs"]), data["projects"], data["project_usages"],
              data["file_usages"]), ("anna", 5, {"smith": "/project/smith/anna"},
                                     {"unit": "B", "smith": 10 << 30},
                                     {"home": {"file_count": 100, "percentage": 0.25}}),
             "a user with projects and quotas")
    data = site.fetch("/api/v1/users/eve", EVE).json
    same((data["jobs"], data["file_usages"]), ([], {}), "a user without jobs")


def many(site):
    """More requests at a time than drawing processes: each gets a plot or status 503."""
    site.start(*site.options, "--prometheus.max-queries=8")
    key, got = key_of(site, "1001"), []

    def one():
        got.append(site.fetch("/api/v1/jobs/%s/plot.png?metric=cpus_used" % key, ANNA))
    threads = [threading.Thread(target=one) for _ in range(12)]
    for t in threads:
        t.start()
    for t in threads:
        t.join(60)
    check(len(got) == 12 and all(a.status == 200 or (a.status == 503 and a.headers["Retry-After"])
                                 for a in got) and any(a.status == 200 for a in got),
          "twelve plots at a time", [a.status for a in got])


def without_prometheus(site):
    """Without Prometheus there are no plots, and a PDF without curves."""
    site.prom.stop()
    a = plot(site, "1001", "metric=cpus_used")
    check(a.status == 503 and "did not answer" in a.json["error"], "a plot without a running Prometheus is refused", a)
    a = site.fetch("/api/v1/jobs/%s/report.pdf" % key_of(site, "1001"), ANNA)
    same(a.status, 200, "a PDF without Prometheus")
    site.start("--access.trust-loopback", "--access.admins=boss")
    a = plot(site, "1001", "metric=cpus_used")
    check(a.status == 404 and "prometheus.url" in a.json["error"],
          "a plot without a configured Prometheus is refused", a)
    same(site.fetch("/api/v1/jobs/%s/report.pdf" % key_of(site, "1001"), ANNA).status, 200,
         "a PDF where none is configured")
    data = site.fetch("/api/v1/jobs/%s/charts" % key_of(site, "1001"), ANNA).data
    same(data, {"charts": [], "reason": None}, "no charts where none is configured")


def all_parts(site):
    set_up(site)
    if site.prom.failure:
        check(True, "plots # SKIP " + site.prom.failure)
        return
    try:
        for part in curve, rows, hostile, refusals, charts, pdf, petricore, acct, many, without_prometheus:
            part(site)
    finally:
        site.prom.stop()


def main():
    site = Site()
    try:
        all_parts(site)
    finally:
        site.clean_up()
    return plan()


sys.exit(main())
