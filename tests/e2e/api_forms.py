#!/usr/bin/env python3
"""All forms say the same: at least 200 random jobs as JSON, page, terminal, PDF, mail, CSV, JS1 and in the form
of seff, and 50 random periods as JSON, pages, terminal, PDF, mail and CSV: figures, words, colours and bars.  What a
form shows is parsed, and compared with the JSON.  BJ_TEST_LONG: more of both.  TAP."""
import base64
import csv
import datetime
import email
import email.policy
import gzip
import html
import io
import json
import os
import random
import re
import shutil
import subprocess
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import api_agree  # noqa: E402
import api_bill  # noqa: E402
from api_lib import IMPORTER, SERVER, check, plan, rounded, same, user  # noqa: E402

LONG = bool(os.environ.get("BJ_TEST_LONG"))
JOBS, PERIODS = (1000, 300) if LONG else (200, 50)
BOSS = user("boss")
# poor below, fair below, full above; the built-in rules have these thresholds.
LEVELS = {"cpu": (65, 80, 105), "memory": (35, 70, 95), "gpu": (25, 60, 105), "time": (10, 60, 95)}
SEVERITIES = {"critical": "Serious", "warning": "Worth changing", "info": "Hint", "good": "Fine"}
# States of GPUs: an Xid number (0: another kind of error), and what forms say.
FAULTS = {"application": (31, "program error (Xid 31)"), "degraded": (0, "needs attention"),
          "drain_later": (63, "needs a reset later (Xid 63)"), "drain_now": (95, "results in doubt (Xid 95)"),
          "reset": (62, "needs a reset (Xid 62)"), "lost": (79, "lost (Xid 79)")}
METER = re.compile(r'<svg class="bar(?: (\w+))?" [^>]*><rect width="[^"]*" height="1"/></svg><span class="pct">([0-9.,]+) %</span>'
                   r'(?: <small>(poor|fair|good|full|over)</small>)?')
FIELDS = ("key,display_id,state,user,account,partition,cpus,nodes,gpus,elapsed_seconds,cpu_efficiency_percent,"
          "memory_efficiency_percent,gpu_efficiency_percent,energy_joules,emissions_grams,cost,finding_names")


class Wide(api_bill.Billed):
    """A site whose jobs have several nodes, GPUs, arrays, and use what they hold well or badly."""

    def records(self):
        rng = random.Random(self.simulation["seed"] + 2)
        rows = self.db().execute(
            "SELECT jobid, state, cpus, nodes, coalesce(gpus, 0), memory_allocated_bytes, start_sec, end_sec, nodelist"
            " FROM job_v WHERE end_sec > start_sec ORDER BY id").fetchall()
        for job, state, cpus, nodes, gpus, memory, start, end, hosts in rows:
            first = int(re.search(r"\d+", hosts).group())
            seen = rng.choice([0, nodes, nodes, nodes, nodes, nodes - (nodes > 1)])  # of some jobs not all nodes
            use, held = rng.choice([0, 0.03, 0.4, 0.75, 0.97]), rng.choice([0.01, 0.3, 0.6, 0.95])
            for i in range(seen):
                busy = use if rng.random() > 0.1 else 0
                peak = int(memory / nodes * (1 if state == "out_of_memory" else held * rng.uniform(0.8, 1)))
                joules = (end - start) * cpus // nodes * 7
                yield {"host": "n%02d" % (first + i), "jobid": str(job), "start": start, "end": end,
                       "cpus": cpus // nodes, "cpu_usec": int((end - start) * 1e6 * busy * (cpus // nodes)),
                       "memory_held_peak_bytes": peak, "memory_charged_peak_bytes": peak + peak // 9,
                       "memory_limit_bytes": memory // nodes, "io_read_bytes": 10**rng.randrange(3, 12),
                       "io_write_bytes": 10**rng.randrange(3, 12), "oom_kills": int(state == "out_of_memory"),
                       "energy_policy": "usage", "energy_uj": {"usage": {"cpu": 10**6 * joules}},
                       "gpus": {"GPU-%04d-%d" % (job, 8 * i + g): self.gpu(g, end - start, rng) | self.fault(job, i, g, end)
                                for g in range(gpus // nodes)}}

    @staticmethod
    def gpu(index, seconds, rng):
        busy = rng.choice([0, 0, 0.05, 0.3, 0.9])
        return {"index": str(index), "model": "H100", "held_usec": 10**6 * seconds,
                "idle_usec": int(10**6 * seconds * (1 - busy)), "busy_ppm": int(10**6 * busy),
                "memory_peak_bytes": int(busy * 60 * 2**30)}

    @staticmethod
    def fault(job, node, gpu, end):
        """The last GPU of the first node of every third job has an error."""
        if job % 3 or node or gpu:
            return {}
        state, xid = list(FAULTS.items())[job // 3 % len(FAULTS)]
        return {"fault": state, "fault_xid": xid[0], "fault_time": end - 1, "fault_evidence": "holder"}


def words(text):
    """A text without the places where lines end, and without characters that a form may not have."""
    return "".join(re.findall(r"[A-Za-z0-9.,:;%=-]+", text))


def wrong_level(kind, percent, shown, judged):
    """What is wrong with an efficiency on a page: "shown" are the groups of METER."""
    if not shown:
        return percent is not None
    if not judged:
        return shown != (None, rounded(percent), None)
    poor, fair, full = LEVELS[kind]
    level = ("poor" if percent < poor else "fair" if percent < fair else "over" if percent > 105 else
             "full" if percent > full else "good")
    colour = {"poor": "bad", "good": None}.get(level, "warn")
    return shown != (colour, rounded(percent), level)


def of_job(lines):
    """The lines with the figures: without the sentences above, and those about the other tasks of an array."""
    first = next((i for i, line in enumerate(lines) if re.match(r"(Task \S+: r|R)esources used", line)), len(lines))
    last = next((i for i, line in enumerate(lines) if line.startswith("Tasks of the array")), len(lines))
    return lines[first:last]


def bars_of(lines):
    """{label: number of full cells} of the bars in the lines of a text."""
    return {label: line.count("\u2588") + line.count("#") for line in reversed(lines)
            for label in api_agree.LABELS.values() if line.startswith(label + " ")}


def parts(site, key):
    """{form: (figures, all its words, order of values)} of the report of a job, the page, and {form: bars}."""
    forms, bars = {}, {}
    acct = [api_agree.ACCT, "--store.path=" + site.store, "--utc", "report"]
    text = api_agree.lines_of(api_agree.run(*acct, key).decode())
    forms["terminal"] = (api_agree.figures_of_lines(of_job(text)), words(" ".join(text)), "PUA")
    bars["terminal"] = bars_of(of_job(text))
    a = site.fetch("/jobs/" + key, BOSS)
    body = a.body.decode()
    page = api_agree.Tables(body)
    used = api_agree.Tables(body[body.find("<h2>Resources used</h2>"):])
    forms["page"] = (api_agree.figures_of_rows([r for r in used.rows if len(r) == 5]),
                     words(page.text + " ".join(" ".join(r) for r in page.rows)), "AUPR")
    if shutil.which("pdftotext"):
        path = os.path.join(site.folder, "x.pdf")
        api_agree.run(*acct, "--format=pdf", "--file=" + path, key)
        text = api_agree.lines_of_pdf(path)
        forms["PDF"] = (api_agree.figures_of_lines(of_job(api_agree.without_request(text))), words(" ".join(text)), "PUAR")
    mail = email.message_from_bytes(api_agree.run(api_agree.STATS_DB, "mail", "show", key, "--config.file=" + site.conf),
                                    policy=email.policy.default)
    text = api_agree.lines_of(mail.get_body(("plain",)).get_content())
    forms["mail"] = (api_agree.figures_of_lines(of_job(text)), words(" ".join(text)), "PUA")
    bars["mail"] = bars_of(of_job(text))
    html = mail.get_body(("html",)).get_content()
    bars["mail as HTML"] = {label: int(width) for label, width in re.findall(
        r'<tr><t[hd][^>]*>([^<]+)</t[hd]>(?:(?!</tr>).)*?<div style="width:(\d+)%', html, re.S)}
    figures = api_agree.figures_of_mail(html)
    html = api_agree.Tables(html)
    forms["mail as HTML"] = (figures,
                             words(html.text + " ".join(" ".join(r) for r in html.rows)), "PUA")
    return forms, body, bars


def compare_levels(data, elapsed, body, bars, wrong):
    """The colours, words and bars of efficiencies; what ran for less than five minutes has only bars."""
    judged = elapsed >= 300 or data["array"] is not None or data["job"]["state"] == "running"
    rows = dict(re.findall(r'<tr><th scope="row">([^<]+)</th>(.*?)</tr>', body, re.S))
    for f in data["figures"]:
        label, percent = api_agree.LABELS[f["figure"]], f["percent"]
        meter = METER.search(rows.get(label, ""))
        if f["figure"] in LEVELS and wrong_level(f["figure"], percent, meter and meter.groups(), judged) \
                or f["figure"] not in LEVELS and meter and meter[3]:
            wrong.append(("page", data["job"]["key"], label, percent, meter and meter.group()))
        for form, shown in bars.items():
            cells = None if percent is None else min(int(percent) if "HTML" in form else int(percent * 0.24 + 0.5),
                                                     100 if "HTML" in form else 24)
            if shown.get(label, 0) != (cells or 0):
                wrong.append((form, data["job"]["key"], label, percent, shown.get(label)))


def compare_figures(data, forms, wrong):
    n = 0
    for name, (figures, _, order) in forms.items():
        for f in data["figures"]:
            if name == "page" and f["figure"] == "time" and data["job"]["state"] == "running":
                continue  # it says for how long the job has been running
            got = figures.get(api_agree.LABELS[f["figure"]])
            if f["used"] is None and f["percent"] is None:
                # A page shows the allocation even if the use is unknown.
                if got and got[0] and not (name == "page" and got[0] == api_agree.expected(f, order)):
                    wrong.append((name, data["job"]["key"], f, got))
                continue
            want = api_agree.expected(f, order)
            n += len(want)
            if not got or got[0] != want:
                wrong.append((name, data["job"]["key"], f["figure"], got, want))
    return n


def compare_words(data, forms, body, wrong):
    """Verdict, advice and findings are in each form; the page has the level as its colour."""
    v, key = data["verdict"], data["job"]["key"]
    for name, (_, text, _) in forms.items():
        for what in [v["wrong"], v["todo"]] + [f["text"] for f in data["findings"]]:
            if what and words(what) not in text:
                wrong.append((name, key, what))
        for g in data["gpus"] if len(data["gpus"]) <= 10 else []:  # forms show the 10 least busy
            what = FAULTS[g["fault"]][1] if g["fault"] else "no error known" if g["source"] == "nodes" else "errors not known"
            if words(what) not in text:
                wrong.append((name, key, "errors of a GPU", g))
        if data["next"] and words(data["next"]["options"]) not in text:
            wrong.append((name, key, data["next"]["options"]))
    if re.findall(r'<section class="card verdict (\w+)"', body) != [v["level"]]:
        wrong.append(("colour", key, v["level"], re.findall(r'<section class="[^"]*verdict[^>]*', body)))
    severities = re.findall(r'<li><span class="s \w+">([^<]+)</span> <bdi>', body)
    if severities != [SEVERITIES[f["severity"]] for f in data["findings"]]:
        wrong.append(("colours of findings", key, severities, data["findings"]))


def compare_others(site, data, wrong):
    """JS1 and the form of seff."""
    key = data["job"]["key"]
    of = {f["figure"]: f for f in data["figures"]}
    acct = [api_agree.ACCT, "--store.path=" + site.store, "--utc", "report"]
    text = api_agree.run(*acct, "--as=seff", key).decode()
    for label, figure in ("CPU", "cpu"), ("Memory", "memory"):
        got = re.search(label + r" Efficiency: (unknown|[0-9.]+)", text).group(1)
        want = of[figure]["percent"]
        if (got == "unknown") != (want is None) or (want is not None and abs(float(got) - want) > 0.0051):
            wrong.append(("seff", key, label, got, want))
    line = api_agree.run(*acct, "--format=js1", key).decode().strip().split()[-1]
    if not line.startswith("JS1:") or line in ("JS1:Short", "JS1:None"):
        return 0
    js1 = json.loads(gzip.decompress(base64.b64decode(line[4:])))
    seconds = sum(n.get("total_time", 0) for n in js1["nodes"].values())
    # JS1 has what the nodes measured, even if the scheduler knows more.
    if of["cpu"]["used"] is not None and of["cpu"]["quality"] == "measured" and abs(seconds - of["cpu"]["used"]) > 0.06 * len(js1["nodes"]) + 1:
        wrong.append(("JS1", key, seconds, of["cpu"]["used"]))
    memory = [n.get("used_memory") for n in js1["nodes"].values()]
    if None not in memory and of["memory"]["quality"] == "measured" and of["memory"]["used"] not in (None, sum(memory)):
        wrong.append(("JS1", key, memory, of["memory"]["used"]))
    return 1


def jobs(site, rng):
    api_bill.serve(site)
    rows = site.fetch("/api/v1/jobs?from=0&limit=10000&fields=" + FIELDS, BOSS).data
    arrays = advised = 0
    reports = []
    some = rng.sample([r for r in rows if r["state"] != "pending"], JOBS)
    for name in "gpu_hardware", "gpu_suspect":
        some += [r for r in rows if name in (r["finding_names"] or [])][:2]
    wrong_figures, wrong_words, wrong_levels, wrong_others, compared, js1, found = [], [], [], [], 0, 0, 0
    for row in some:
        data = site.fetch("/api/v1/jobs/%s/report" % row["key"], BOSS).data
        reports.append(data)
        forms, body, bars = parts(site, row["key"])
        compare_levels(data, row["elapsed_seconds"] or 0, body, bars, wrong_levels)
        compared += compare_figures(data, forms, wrong_figures)
        compare_words(data, forms, body, wrong_words)
        found += len(data["findings"])
        arrays += data["array"] is not None
        advised += data["next"] is not None
        js1 += compare_others(site, data, wrong_others)
        for column, figure in (("cpu_efficiency_percent", "cpu"), ("memory_efficiency_percent", "memory")):
            want = next(f for f in data["figures"] if f["figure"] == figure)["percent"]
            if (row[column] is None) != (want is None) or (want is not None and abs(want - row[column]) > 0.01):
                wrong_others.append(("list", row["key"], column, row[column], want))
    same(wrong_figures[:3], [], "%d jobs: terminal, page, PDF and mail have the figures of JSON" % len(some))
    same(wrong_words[:3], [], "%d jobs: each form has verdict, advice and findings, and the page their colour" % len(some))
    same(wrong_levels[:3], [], "%d jobs: the colour, word and bar of each efficiency are those of its value" % len(some))
    same(wrong_others[:3], [], "%d jobs: JS1, seff and lists have the figures of JSON" % len(some))
    faults = {g["fault"] for r in reports for g in r["gpus"]}
    names = {f["finding"] for r in reports for f in r["findings"]}
    check(faults >= FAULTS.keys() and names >= {"gpu_hardware", "gpu_suspect"}, "GPUs with all kinds of errors were compared",
          (faults, names & {"gpu_hardware", "gpu_suspect"}))
    check(compared > 10 * JOBS and js1 > JOBS // 4 and found > JOBS // 2 and arrays > JOBS // 10 and advised > JOBS // 20,
          "enough values were compared", (compared, js1, found, arrays, advised))
    list_levels(site, rows)
    list_of_findings(site, reports)
    table = list(csv.DictReader(io.StringIO(api_agree.run(
        api_agree.ACCT, "--store.path=" + site.store, "--since=2000-01-01", "--limit=100000", "--output=csv",
        "--format=" + FIELDS).decode())))
    have = {r["key"]: r for r in table}
    bad = []
    for r in rows:
        for k, v in r.items():
            text = have.get(r["key"], {}).get(k)
            if isinstance(v, (int, float)) and not isinstance(v, bool):
                if not text or abs(float(text) - v) > 1e-6 * abs(v):
                    bad.append((r["key"], k, text, v))
            elif isinstance(v, list):
                if text != ",".join(v) and text != " ".join(v):
                    bad.append((r["key"], k, text, v))
            elif (text or None) != v:
                bad.append((r["key"], k, text, v))
    same(bad[:3], [], "CSV of batchjob_acct has the values of the API: %d jobs" % len(rows))


# What findings of built-in rules say was wasted.
WASTES = {"cpu": ("nodes_unused", "serial_many_cpus", "cpu_very_low", "cpu_low", "cpu_uneven", "core_imbalance",
                  "nodes_uneven", "cpu_over_100"),
          "gpu": ("gpus_unused", "gpu_low_interactive", "gpu_very_low", "gpu_low", "gpus_uneven"),
          "memory": ("memory_per_gpu", "memory_low", "memory_low_gpu", "memory_over_100"),
          "time": ("hang", "idle_end", "idle_start"), "all": ("oom", "oom_leak", "timeout")}


def wasted(finding, job, prices):
    """The cost of what a finding says was wasted, from the values that users see; None: unknown."""
    kind = next((k for k, names in WASTES.items() if finding["finding"] in names), None)
    if kind in ("time", "all"):
        part = 1 if kind == "all" else finding["value"] / job["elapsed_seconds"]
        return None if job["cost"] is None else job["cost"] * part
    held, used, price = {
        "cpu": (job["cpu_allocated_seconds"], job["cpu_used_seconds"], prices["cpu_hour"]),
        "gpu": (job["gpu_allocated_seconds"], job["gpu_efficiency_percent"], prices["gpu_hour"]),
        "memory": (job["memory_allocated_bytes"], job["memory_efficiency_percent"], prices["gib_hour"]),
        None: (None, None, None)}[kind]
    if None in (held, used, price):
        return None
    if kind == "memory":
        held *= job["elapsed_seconds"] / 2**30
    return max(0, held - used if kind == "cpu" else held * (1 - used / 100)) / 3600 * price


def list_of_findings(site, reports):
    """Lists of findings sorted by cost have the order of reports."""
    path = "/api/v1/findings?from=0&limit=499&sort=cost"
    rows, cursor = [], "0"
    while cursor is not None:
        a = site.fetch(path + "&cursor=" + cursor, BOSS)
        rows, cursor = rows + a.data, a.json["meta"]["next"]
    name = lambda r: (r["key"], r["finding"])  # noqa: E731
    newest, cursor = [], ""
    while cursor is not None:
        a = site.fetch("/api/v1/findings?from=0&limit=499" + (cursor and "&cursor=" + cursor), BOSS)
        newest, cursor = newest + a.data, a.json["meta"]["next"]
    same(sorted(map(name, rows)), sorted(map(name, newest)), "sorted by cost, each finding is listed once")
    same(a.json["meta"]["partial"], False, "few findings are all sorted")
    wrong, compared = [], 0
    for data in reports:
        want = [f["finding"] for f in data["findings"]]
        key = data["job"]["key"]
        here = [r["finding"] for r in site.fetch("/api/v1/jobs/%s/findings" % key, BOSS).data]
        compared += len(want) > 1
        if data["array"] is None and not want == here == [r["finding"] for r in rows if r["key"] == key]:
            wrong.append((key, want, here))
    same(wrong[:3], [], "findings of a job have the order of its report")
    check(compared > JOBS // 10, "some jobs have several findings", compared)
    jobs_ = {r["key"]: r for r in site.fetch(
        "/api/v1/jobs?from=0&limit=10000&fields=key,elapsed_seconds,cpu_allocated_seconds,cpu_used_seconds,cost,"
        "gpu_allocated_seconds,gpu_efficiency_percent,memory_allocated_bytes,memory_efficiency_percent", BOSS).data}
    prices = site.fetch("/api/v1/site", BOSS).data[0]
    order = [(("critical", "warning", "info").index(r["severity"]), wasted(r, jobs_[r["key"]], prices), name(r))
             for r in rows]
    wrong = [(a, b) for a, b in zip(order, order[1:])
             if a[0] > b[0] or (a[0] == b[0] and b[1] is not None
                                and (a[1] is None or a[1] < b[1] * 0.999 - 0.0001))]
    same(wrong[:3], [], "the most severe, then the most expensive findings are first, unknown costs last")
    known = sum(1 for o in order if o[1])
    check(known > JOBS // 2 and any(o[1] is None for o in order), "costs are known, some are not", known)
    body = site.fetch("/findings?from=0", BOSS).body.decode()
    listed = [html.unescape(re.sub("<[^>]*>", "", link.split("<small>")[-1]))  # the id is after the name
              for link in re.findall(r'data-l="Job"><a [^>]*>(.*?)</a>', body)]
    same(listed[:50], [r["display_id"] for r in rows[:50]], "the page has this order")
    same(site.fetch("/api/v1/findings?sort=cpus", BOSS).status, 400, "findings have no other order")


def list_levels(site, rows):
    """The bars of efficiencies in a list of jobs; their colours are those of findings (api_pages.py)."""
    of = {r["display_id"]: r for r in rows}
    body = site.fetch("/jobs?from=0&limit=1000", BOSS).body.decode()
    wrong, compared = [], 0
    for line in re.findall(r"<tr>.*?</tr>", body, re.S):
        job = re.search(r'data-l="Job"><a [^>]*><bdi>([^<]+)</bdi>(?: <small>([^<]+)</small>)?', line)
        row = of.get(job and (job[2] or job[1]))
        for kind, title in ("cpu", "CPU efficiency"), ("memory", "Memory efficiency"), ("gpu", "GPU efficiency"):
            cell = re.search(r'<td[^>]* data-l="%s">(.*?)</td>' % title, line)
            if row and cell:
                meter, percent = METER.search(cell[1]), row[kind + "_efficiency_percent"]
                compared += meter is not None
                if (meter and (meter[2], meter[3])) != (None if percent is None else (rounded(percent), None)):
                    wrong.append((row["key"], title, percent, cell[1]))
    same(wrong[:3], [], "the list of jobs has bars of the efficiencies")
    check(compared > 500, "enough cells were compared", compared)


# --- periods ---

def near(text, value, rough=0.0):
    """A number of three digits; rough: how exact the value is, to a thousandth at least."""
    return text is not None and abs(float(text) - value) <= 0.0051 * abs(value) + max(rough, 0.00051)


def compare_hours(form, text, row, wrong):
    """CPU and GPU hours: used, of what was held, and the part that was measured, which add up; bars from half of it."""
    for label, kind, held in ("CPU time", "cpu", row["core_hours"]), ("GPU time", "gpu", row["gpu_hours"]):
        m = re.search(label + r" ([^0-9]*)(?:([0-9.]+) % )?(?:([0-9.]+) of ([0-9.]+) h|([0-9.]+) of the ([0-9.]+) h that"
                      r" were measured; ([0-9.]+) h were not|([0-9.]+) h, not measured)", text)
        percent, coverage = row[kind + "_efficiency_percent"], row[kind + "_coverage"] or 0
        if not held or not m:
            if bool(held) != bool(m):
                wrong.append((form, label, m and m[0], held))
            continue
        bar, shown, used, of, used_part, measured, rest, unmeasured = m.groups()
        ok = near(unmeasured, held) if percent is None else (
            near(shown, percent, 0.051) and near(used or used_part, held * coverage * percent / 1e4,
                                                 held * (percent + coverage) * 6e-4)
            and (near(of, held) and coverage > 99.9 if used else
                 near(measured, held * coverage / 100, held * 6e-4)
                 and abs(float(measured) + float(rest) - held) <= 0.0101 * held))
        if "PDF" not in form and "page" not in form and abs(coverage - 50) > 0.1:
            ok = ok and (len(bar) > 20) == (percent is not None and coverage > 50)
        if not ok:
            wrong.append((form, label, m[0], percent, coverage, held))


def compare_groups(form, text, rows, group, wrong):
    """The table of groups: CPU hours, the part used, the part known, GPU hours and energy."""
    n = 0
    for r in rows:
        m = re.search(r"(?<![\w.])%s ([0-9.]+) ([0-9.]+) (-|[0-9.]+ %%) ([0-9.]+) %% (-|[0-9.]+) (-|[0-9.]+ k?Wh)(?!\w)"
                      % re.escape(r[group]), text)
        if not m:
            wrong.append((form, r[group], "is missing", text[-900:]))
            continue
        _, hours, used, known, gpu, energy = m.groups()
        percent, kwh = r["cpu_efficiency_percent"], r["energy_kwh"]
        ok = near(hours, r["core_hours"]) and near(known, r["cpu_coverage"], 0.051)
        ok = ok and (used == "-" if percent is None else near(used.split()[0], percent, 0.051))
        ok = ok and (near(gpu, r["gpu_hours"]) if r["gpu_hours"] else gpu == "-")
        ok = ok and (energy == "-" if kwh is None else
                     near(energy.split()[0], kwh * (1 if "kWh" in energy else 1000), 1e-5))
        n += 5
        if not ok:
            wrong.append((form, m[0], r))
    return n


PAGE = {"Jobs ended": "jobs_ended", "Completed": "jobs_completed", "Failed": "jobs_failed",
        "Time limit reached": "jobs_timeout", "Out of memory": "jobs_oom", "Cancelled": "jobs_cancelled",
        "CPU hours": "core_hours", "CPU efficiency": "cpu_efficiency_percent", "CPU hours unused": "cpu_unused_hours",
        "GPU hours": "gpu_hours", "GPU efficiency": "gpu_efficiency_percent", "GPU hours unused": "gpu_unused_hours",
        "Energy": "energy_kwh", "CO2e (estimate)": "emissions_grams", "Cost": "cost"}
PARTS = {"GPU efficiency": "gpu_coverage", "CPU efficiency": "cpu_coverage", "Energy": "energy_coverage",
         "CO2e (estimate)": "emissions_coverage", "Cost": "cost_coverage"}
SCALE = {"Wh": 1e-3, "kg": 1e3, "t": 1e6, "MWh": 1e3}


def compare_page(line, row, wrong):
    """A line of the page of usage: every figure, its known part, and the colour and word of efficiencies."""
    n = 0
    for title, key in PAGE.items():
        cell = re.search(r'<td[^>]* data-l="%s">(.*?)</td>' % re.escape(title), line, re.S)
        value = row[key]
        shown = cell and api_bill.plain(re.sub(r'<small.*', "", cell[1]))
        number = re.match(r"([0-9.]+) ?(\w*)", shown or "")
        if not number or value is None:
            if value or number and float(number[1]):
                wrong.append(("page", title, shown, value))
            continue
        n += 1
        scale = SCALE.get(number[2], 1)
        cents = 0.0051 if title == "Cost" else 0.051 if "efficiency" in title else 0.0
        if not near(number[1], value / scale, cents):
            wrong.append(("page", title, shown, value))
        if title not in PARTS:
            continue
        part, known = row[PARTS[title]], re.search(r"([0-9.]+) % known", cell[1])
        if known and not near(known[1], part, 0.051) or not known and part < 99.9:
            wrong.append(("page", title, "known", cell[1], part))
        if "efficiency" in title and abs(part - 50) > 0.1:
            meter = METER.search(cell[1])
            if part < 50:
                if meter and (meter[1], meter[3]) != ("gray", None):
                    wrong.append(("page", title, "is judged", cell[1], part))
            elif wrong_level(title.split()[0].lower(), value, meter and meter.groups(), True):
                wrong.append(("page", title, "level", cell[1], value))
    return n


def compare_csv(path, text, rows, wrong):
    table = list(csv.DictReader(io.StringIO(text)))
    if len(table) != len(rows):
        wrong.append((path, "CSV", len(table), len(rows)))
    for r, t in zip(rows, table):
        for k, v in r.items():
            if isinstance(v, (int, float)) and not isinstance(v, bool) and k in t:
                if not t[k] or abs(float(t[k]) - v) > 1e-6 * abs(v):
                    wrong.append((path, k, t[k], v))


def texts_of(site, words):
    """{form: text} of the report of a period."""
    forms = {"terminal": api_bill.acct(site, "store", *words).decode()}
    if shutil.which("pdftotext"):
        path = os.path.join(site.folder, "period.pdf")
        api_bill.acct(site, "store", *words, "--format=pdf", "--file=" + path)
        forms["PDF"] = " ".join(api_agree.lines_of_pdf(path))
    return {k: api_bill.plain(v) for k, v in forms.items()}


def period(site, rng, day, wrong):
    """One random period of all jobs, or of those of a user, grouped."""
    first, last = (datetime.date.fromtimestamp(86400 * d) for d in (day, day + rng.randrange(1, 14)))
    name = rng.choice([None, None, "user%d" % rng.randrange(20)])
    group = rng.choice(["account", "user"])
    span = "from=%s&to=%s%s" % (first, last, "&user=" + name if name else "")
    path = "/api/v1/usage?%s&group_by=%s" % (span, group)
    rows = site.fetch(path, BOSS).data
    compare_csv(path, site.fetch(path + "&format=csv", BOSS).body.decode(), rows, wrong)
    total = site.fetch("/api/v1/usage?" + span, BOSS).data
    if not total or not total[0]["core_hours"]:
        return 0
    total, held = total[0], [r for r in rows if r["core_hours"]]
    bad = []
    until = last + datetime.timedelta(days=1)
    arguments = ["--since=%s" % first, "--until=%s" % until, "--by=" + group] + (["--user=" + name] if name else [])
    got = json.loads(api_bill.acct(site, "store", *arguments, "--output=json"))
    if api_bill.unlike(got["total"], total):
        bad.append(("JSON of batchjob_acct", api_bill.unlike(got["total"], total)))
    groups = next(v for k, v in got.items() if k.startswith(group))
    compare_csv("groups of batchjob_acct", api_bill.acct(site, "store", *arguments, "--output=csv").decode(),
                [got["total"]] + groups, bad)
    n = len(api_bill.KEYS) * (len(groups) + 1)
    for form, text in texts_of(site, arguments).items():
        bad += [(form, b) for b in api_bill.differences(site, text, total)]
        compare_hours(form, text, total, bad)
        n += 8 + compare_groups(form, text, held, group, bad)
    body = site.fetch("/usage?%s&group_by=%s" % (span, group), BOSS).body.decode()
    lines = re.findall(r"<tr.*?</tr>", body, re.S)
    for r in held + [total] * (len(rows) > 1):
        line = next((x for x in lines if (">%s<" % (r[group] or "Total")) in x), None)
        if line is None:
            bad.append(("page", r[group], "is missing"))
        else:
            n += compare_page(line, r, bad)
    wrong += [(span, group, b) for b in bad]
    return n


def digests(site, wrong):
    """The mails about the last day and week of each user; both forms."""
    n = 0
    for name in ("user%d" % i for i in range(20)):
        for which in "daily", "weekly":
            p = subprocess.run([IMPORTER, "mail", "digest", name, which, "--config.file=" + site.conf],
                               capture_output=True, timeout=300)
            mail = email.message_from_bytes(p.stdout, policy=email.policy.default)
            days = re.findall(r"\d{4}-\d\d-\d\d", mail["Subject"] or "")
            if not days:
                continue  # no jobs
            row = site.fetch("/api/v1/usage?user=%s&from=%s&to=%s" % (name, days[0], days[-1]), BOSS).data
            if not row or not row[0]["core_hours"]:
                continue
            bad = []
            for form in "plain", "html":
                text = api_bill.plain(mail.get_body((form,)).get_content())
                bad += api_bill.differences(site, text, row[0])
                compare_hours("page of a mail" if form == "html" else "mail", text, row[0], bad)
            n += 1
            wrong += [("mail", name, which, b) for b in bad]
    return n


def periods(site, rng):
    """JSON, CSV, pages, terminal, PDF and mails of random periods."""
    first = int(time.time()) // 86400 - 50
    wrong, compared = [], 0
    for _ in range(PERIODS):
        compared += period(site, rng, first + rng.randrange(48), wrong)
    same(wrong[:3], [], "%d periods: terminal, PDF, page, CSV and JSON say the same" % PERIODS)
    check(compared > 50 * PERIODS, "enough values of periods were compared", compared)
    wrong = []
    mails = digests(site, wrong)
    same(wrong[:3], [], "%d mails about a day or a week have the figures of the API" % mails)
    check(mails > 15, "enough mails were compared", mails)


def main():
    for program in SERVER, IMPORTER, api_agree.ACCT:
        if not os.access(program, os.X_OK):
            print("1..0 # SKIP %s was not built: SQLite is not installed" % program)
            return 0
    seed = int(os.environ.get("BJ_TEST_SEED", "36"))
    site = Wide("UTC", int(time.time()), count=1500, days=50, seed=seed, wide=True)
    try:
        site.fill()
        site.age_imports()
        rng = random.Random(seed)
        jobs(site, rng)
        periods(site, rng)
    finally:
        site.clean_up()
    return plan()


if __name__ == "__main__":
    sys.exit(main())
