#!/usr/bin/env python3
"""All forms say the same: at least 200 random jobs as JSON, page, terminal, PDF, mail, CSV, JS1 and in the form
of seff, and 50 random periods as JSON, pages and CSV: figures, words, and the colours of pages.  What a form shows is
parsed, and compared with the JSON.  BJ_TEST_LONG: more of both.  TAP."""
import base64
import csv
import datetime
import email
import email.policy
import gzip
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
from api_lib import IMPORTER, SERVER, check, plan, same, user  # noqa: E402

LONG = bool(os.environ.get("BJ_TEST_LONG"))
JOBS, PERIODS = (1000, 300) if LONG else (200, 50)
BOSS = user("boss")
FIELDS = ("key,display_id,state,user,account,partition,cpus,nodes,gpus,elapsed_seconds,cpu_efficiency_percent,"
          "memory_efficiency_percent,gpu_efficiency_percent,energy_joules,emissions_grams,cost,finding_names")


def words(text):
    """A text without the places where lines end, and without characters that a form may not have."""
    return "".join(re.findall(r"[A-Za-z0-9.,:;%=-]+", text))


def parts(site, key):
    """{form: (figures, all its words, order of values)} of the report of a job, and the page."""
    forms = {}
    acct = [api_agree.ACCT, "--store.path=" + site.store, "--utc", "report"]
    text = api_agree.lines_of(api_agree.run(*acct, key).decode())
    forms["terminal"] = (api_agree.figures_of_lines(text), words(" ".join(text)), "PUA")
    a = site.fetch("/jobs/" + key, BOSS)
    body = a.body.decode()
    page = api_agree.Tables(body)
    forms["page"] = (api_agree.figures_of_rows([r for r in page.rows if len(r) == 5]),
                     words(page.text + " ".join(" ".join(r) for r in page.rows)), "AUPR")
    if shutil.which("pdftotext"):
        path = os.path.join(site.folder, "x.pdf")
        api_agree.run(*acct, "--format=pdf", "--file=" + path, key)
        # pdftotext may lose the blank before a narrow unit.
        text = [re.sub(r"(?<=[0-9])(?=(?:g|B)(?!\w))", " ", line) for line in
                api_agree.lines_of(api_agree.run("pdftotext", "-layout", path, "-").decode())]
        forms["PDF"] = (api_agree.figures_of_lines(text), words(" ".join(text)), "PUAR")
    mail = email.message_from_bytes(api_agree.run(api_agree.STATS_DB, "mail", "show", key, "--config.file=" + site.conf),
                                    policy=email.policy.default)
    text = api_agree.lines_of(mail.get_body(("plain",)).get_content())
    forms["mail"] = (api_agree.figures_of_lines(text), words(" ".join(text)), "PUA")
    html = api_agree.Tables(mail.get_body(("html",)).get_content())
    forms["mail as HTML"] = (api_agree.figures_of_rows(html.rows),
                             words(html.text + " ".join(" ".join(r) for r in html.rows)), "PUA")
    return forms, body


def compare_figures(data, forms, wrong):
    n = 0
    for name, (figures, _, order) in forms.items():
        for f in data["figures"]:
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
        if data["next"] and words(data["next"]["options"]) not in text:
            wrong.append((name, key, data["next"]["options"]))
    if re.findall(r'<section class="verdict (\w+)"', body) != [v["level"]]:
        wrong.append(("colour", key, v["level"], re.findall(r'<section class="verdict[^>]*', body)))
    severities = re.findall(r'<li><b class="(\w+)">', body)
    if severities != [f["severity"] for f in data["findings"]]:
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
    if of["cpu"]["used"] is not None and abs(seconds - of["cpu"]["used"]) > 0.06 * len(js1["nodes"]) + 1:
        wrong.append(("JS1", key, seconds, of["cpu"]["used"]))
    memory = [n.get("used_memory") for n in js1["nodes"].values()]
    if None not in memory and of["memory"]["used"] not in (None, sum(memory)):
        wrong.append(("JS1", key, memory, of["memory"]["used"]))
    return 1


def jobs(site, rng):
    api_bill.serve(site)
    rows = site.fetch("/api/v1/jobs?from=0&limit=10000&fields=" + FIELDS, BOSS).data
    some = rng.sample([r for r in rows if r["state"] != "pending"], JOBS)
    wrong_figures, wrong_words, wrong_others, compared, js1, found = [], [], [], 0, 0, 0
    for row in some:
        data = site.fetch("/api/v1/jobs/%s/report" % row["key"], BOSS).data
        forms, body = parts(site, row["key"])
        compared += compare_figures(data, forms, wrong_figures)
        compare_words(data, forms, body, wrong_words)
        found += len(data["findings"])
        js1 += compare_others(site, data, wrong_others)
        for column, figure in (("cpu_efficiency_percent", "cpu"), ("memory_efficiency_percent", "memory")):
            want = next(f for f in data["figures"] if f["figure"] == figure)["percent"]
            if (row[column] is None) != (want is None) or (want is not None and abs(want - row[column]) > 0.01):
                wrong_others.append(("list", row["key"], column, row[column], want))
    same(wrong_figures[:3], [], "%d jobs: terminal, page, PDF and mail have the figures of JSON" % len(some))
    same(wrong_words[:3], [], "%d jobs: each form has verdict, advice and findings, and the page their colour" % len(some))
    same(wrong_others[:3], [], "%d jobs: JS1, seff and lists have the figures of JSON" % len(some))
    check(compared > 10 * JOBS and js1 > JOBS // 4 and found > JOBS // 10, "enough values were compared",
          (compared, js1, found))
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


def periods(site, rng):
    """Pages, CSV and JSON of random periods."""
    first = int(time.time()) // 86400 - 50
    wrong, compared = [], 0
    for _ in range(PERIODS):
        day = first + rng.randrange(48)
        days = [datetime.date.fromtimestamp(86400 * d) for d in (day, day + rng.randrange(1, 14))]
        span = "from=%s&to=%s" % tuple(days)
        who = rng.choice(["", "", "&user=user%d" % rng.randrange(1, 9)])
        group = rng.choice(["account", "user", "partition"])
        path = "usage?group_by=%s&%s%s" % (group, span, who)
        rows = site.fetch("/api/v1/" + path, BOSS).data
        text = site.fetch("/api/v1/" + path + "&format=csv", BOSS).body.decode()
        table = list(csv.DictReader(io.StringIO(text)))
        if len(table) != len(rows):
            wrong.append((path, "CSV", len(table), len(rows)))
        for r, t in zip(rows, table):
            for k, v in r.items():
                if isinstance(v, (int, float)) and not isinstance(v, bool):
                    compared += 1
                    if not t.get(k) or abs(float(t[k]) - v) > 1e-6 * abs(v):
                        wrong.append((path, k, t.get(k), v))
        total = site.fetch("/api/v1/usage?" + span + who, BOSS).data
        body = site.fetch("/" + path, BOSS).body.decode()
        lines = re.findall(r"<tr.*?</tr>", body, re.S)
        for r in rows:
            line = next((api_bill.plain(x) for x in lines if ">%s</a>" % r[group] in x or
                         "<td>%s</td>" % r[group] in x or ">%s<" % r[group] in x), None)
            # Rows without hours may be left out.
            if line is None and r["core_hours"]:
                wrong.append((path, r[group], "is not on the page"))
        sums = [x for x in lines if "Total" in x or 'class="total"' in x]
        if total and rows and sums:
            hours = numbers(api_bill.plain(sums[0]))
            compared += 1
            if not any(abs(h - total[0]["core_hours"]) <= 0.0051 * max(1, abs(total[0]["core_hours"])) for h in hours):
                wrong.append((path, "total", hours, total[0]["core_hours"]))
    same(wrong[:3], [], "%d periods: page and CSV have the figures of JSON" % PERIODS)
    check(compared > 20 * PERIODS, "enough values of periods were compared", compared)


def numbers(text):
    return [float(n.replace(",", "")) for n in re.findall(r"[0-9][0-9,]*(?:\.[0-9]+)?", text)]


def main():
    for program in SERVER, IMPORTER, api_agree.ACCT:
        if not os.access(program, os.X_OK):
            print("1..0 # SKIP %s was not built: SQLite is not installed" % program)
            return 0
    seed = int(os.environ.get("BJ_TEST_SEED", "36"))
    site = api_bill.Billed("UTC", int(time.time()), count=1500, days=50, seed=seed)
    try:
        site.fill()
        rng = random.Random(seed)
        jobs(site, rng)
        periods(site, rng)
    finally:
        site.clean_up()
    return plan()


if __name__ == "__main__":
    sys.exit(main())
