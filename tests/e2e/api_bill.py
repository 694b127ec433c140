#!/usr/bin/env python3
"""One bill: API, pages, terminal, JSON, CSV, PDF and mail give the same figures for a period, which
the test computes itself from the rows of jobs: with running jobs, jobs over the ends of months, a
month in which clocks change, jobs whose node failed, which a site may not charge, and a site outside
UTC.  TAP."""
import csv
import datetime
import email
import email.policy
import html
import io
import json
import os
import pwd
import re
import shutil
import subprocess
import sys
import time
import zoneinfo
from fractions import Fraction

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
from api_lib import IMPORTER, O, SERVER, TOP, Site, check, plan, same, skip, user  # noqa: E402

ACCT = os.path.abspath(os.path.join(TOP, O, "batchjob_acct"))
BOSS = user("boss")
PRICES = {"cpu-hour": "0.012", "gib-hour": "0.0015", "kwh": "0.28"}
FACTOR = 200  # g/kWh


def utc(text):
    return int(datetime.datetime.fromisoformat(text).replace(tzinfo=datetime.timezone.utc).timestamp())


class Billed(Site):
    """A site with prices, emissions and a time zone, whose jobs end before a given time."""

    def __init__(self, zone, now, free=False, **simulation):
        super().__init__(**simulation)
        self.zone, self.simulation["now"], self.free = zone, now, free

    def fill(self):
        sacct = os.path.join(self.folder, "sacct")
        shutil.copy(os.path.join(HERE, "statsdb_sacct.py"), sacct)
        os.chmod(sacct, 0o755)
        self.file("sacct.env", json.dumps(self.simulation))
        days = self.simulation["days"] + (int(time.time()) - self.simulation["now"]) // 86400 + 2
        self.cluster = self.file("fake.yml", "name: fake\nsacct:\n  command: %s\n  history: %dd\n  slice: %dd\n"
                                 "  pause: 0s\n" % (sacct, days, min(days, 366)))
        self.write(self.zone)
        self.once()
        os.makedirs(os.path.join(self.folder, "spool"))
        for i, record in enumerate(self.records()):
            self.file("spool/%d.json" % i, json.dumps(dict(record, format=1, cluster="fake")), 0o640)
        self.cluster = self.file("records.yml", "name: fake\nqstat:\n  command: /bin/true\nrecords:\n"
                                 "  dir: [%s/spool]\n" % self.folder)
        self.write(self.zone)
        self.once()

    def records(self):
        """Yield the final records of the nodes."""
        rows = self.db().execute("SELECT jobid, cpus, start_sec, end_sec, nodelist FROM job_v WHERE end_sec > start_sec ORDER BY id").fetchall()
        for i, (job, cpus, start, end, node) in enumerate(rows):
            if i % 3 == 0:
                continue  # not measured
            yield {"host": node, "jobid": str(job), "start": start, "end": end,
                   "cpu_usec": (end - start) * 900000 * cpus, "energy_policy": "usage",
                   "energy_uj": {"usage": {"cpu": (end - start) * cpus * 7654321}}}

    def write(self, zone):
        self.conf = self.file("site.yml", "store:\n  path: %s\ncluster:\n  file: %s\ntime-zone: %s\n"
                              "emissions:\n  provider: [constant]\n  factor: %d\nmail:\n  send: directory\n"
                              "  directory: %s\n  from: a@example.org\n  reply-to: h@example.org\n  address: '{user}@example.org'\n"
                              "price:\n  currency: EUR\n%s" % (
                                  self.store, self.cluster, zone, FACTOR, self.folder,
                                  "".join("  %s: \"%s\"\n" % p for p in PRICES.items())
                                  + "  failed-nodes-free: true\n" * self.free))

    def once(self):
        p = subprocess.run([IMPORTER, "--once", "--config.file=" + self.conf], capture_output=True, timeout=300)
        if p.returncode != 0:
            raise RuntimeError(p.stderr.decode()[-600:])

    def midnight(self, day):
        return int(datetime.datetime.combine(day, datetime.time(), zoneinfo.ZoneInfo(self.zone)).timestamp())


def serve(site):
    site.start("--access.trust-loopback", "--access.admins=boss",
               "--access.admins=" + pwd.getpwuid(os.geteuid()).pw_name,
               "--web.unix-socket=" + os.path.join(site.folder, "sock"))


def acct(site, way, *words):
    source = ["--store.path=" + site.store] if way == "store" else [
        "--server=unix:" + os.path.join(site.folder, "sock")]
    env = dict(os.environ, TZ="Asia/Tokyo", LC_ALL="C.UTF-8")  # the reader's machine does not matter
    p = subprocess.run([ACCT, "report", *source, *words], capture_output=True, timeout=300, env=env)
    if p.returncode != 0:
        check(False, "batchjob_acct " + " ".join(words), p.stderr.decode())
    return p.stdout


def bill(site, since, until, who=None, account=None):
    """What jobs used within [since, until), from the rows of jobs, of a user and an account: exact."""
    rows = site.db().execute(
        "SELECT j.start, j.\"end\", j.elapsed, j.suspended, j.cpus, j.memory_allocated_bytes, j.cpu_usec,"
        " u.cpu_usec, u.energy_uj, g.micrograms, j.state IN (9, 13) FROM job AS j LEFT JOIN job_use AS u ON u.job = j.id LEFT JOIN"
        " job_grams AS g ON g.job = j.id AND g.source = (SELECT id FROM factor_source WHERE provider = 'best' AND"
        " kind = 'average' AND cluster IS NULL) WHERE j.start IS NOT NULL AND ? IN ('', (SELECT name FROM user"
        " WHERE id = j.user)) AND ? IN ('', (SELECT name FROM account WHERE id = j.account))",
        (who or "", account or "")).fetchall()
    s = dict.fromkeys(("cpu", "memory", "known", "used", "energy_cpu", "energy", "grams"), Fraction(0))
    failed = dict(s)  # of jobs whose node failed
    s.update(jobs=0, over=0, running=0)
    for start, end, elapsed, suspended, cpus, memory, accounted, measured, energy, grams, node_failed in rows:
        stop = end if end is not None else start + elapsed + (suspended or 0)
        if stop <= start:
            part = Fraction(int(since <= stop < until))
        else:
            part = Fraction(max(0, min(stop, until) - max(start, since)), stop - start)
        if part == 0:
            continue
        s["jobs"] += 1
        s["over"] += part < 1
        s["running"] += end is None
        for of in (s, failed) if node_failed else (s,):
            of["cpu"] += part * cpus * elapsed
            of["memory"] += part * elapsed * (memory or 0) / 2**30
            if end is not None and energy is not None:
                of["energy_cpu"] += part * cpus * elapsed
                of["energy"] += part * energy / 10**6
        used = max((v for v in (accounted, measured) if v is not None), default=None)
        if used is not None:
            s["known"] += part * cpus * elapsed
            s["used"] += part * used / 10**6
        if end is not None and energy is not None:
            s["grams"] += part * (grams or 0) / 10**6
    price = {k: Fraction(v) for k, v in PRICES.items()}

    def cost(of):
        return of["cpu"] / 3600 * price["cpu-hour"] + of["memory"] / 3600 * price["gib-hour"] \
            + of["energy"] / 3600000 * price["kwh"]

    free = {k: v * site.free for k, v in failed.items()}
    check(who or account or cost(failed) > 0, "nodes of some jobs failed")
    return s, {
        "core_hours": s["cpu"] / 3600, "cpu_used_hours": s["used"] / 3600,
        "cpu_efficiency_percent": 100 * s["used"] / s["known"], "cpu_coverage": 100 * s["known"] / s["cpu"],
        "energy_kwh": s["energy"] / 3600000, "energy_coverage": 100 * s["energy_cpu"] / s["cpu"],
        "emissions_grams": s["grams"], "emissions_coverage": 100 * s["energy_cpu"] / s["cpu"],
        "cost": cost(s) - cost(free), "cost_not_charged": cost(free),
        "cost_coverage": 100 * (s["energy_cpu"] - free["energy_cpu"]) / (s["cpu"] - free["cpu"])}


KEYS = ("core_hours", "cpu_used_hours", "cpu_efficiency_percent", "cpu_coverage", "energy_kwh", "energy_coverage",
        "emissions_grams", "emissions_coverage", "cost", "cost_coverage", "cost_not_charged")


def of_row(row):
    return {k: float(row[k]) if row[k] not in (None, "") else None for k in KEYS}


def unlike(got, want):
    """The figures that differ.  The sums of the store have the CPU time of accounting and what was measured beyond it, each
    cut to milliseconds at the borders of a period; batchjob_acct cuts their sum.  So a job over a border may differ by a
    millisecond, which changes the last digit."""
    last = {"cpu_used_hours": 0.0011, "cpu_efficiency_percent": 0.11}
    return {k: (got[k], want[k]) for k in KEYS
            if got[k] != want[k] and not (k in last and got[k] and want[k] and abs(got[k] - want[k]) < last[k])}


def compare(site, what, got, want, over):
    """Equal to exact values: a part of a job is cut to whole seconds, milliseconds and millijoules."""
    wrong = [(k, got[k], float(want[k])) for k in KEYS
             if abs(got[k] - float(want[k])) > (0.06 if "coverage" in k or "percent" in k
                                                else 0.002 + over * 64 / 3600 * 0.02)]
    same(wrong, [], what)


def plain(text):
    """The text of a form in one line, numbers without separators of thousands."""
    text = re.sub(r"<[^>]*>", " ", text)
    text = " ".join(html.unescape(text).replace("\u00a0", " ").split())
    return re.sub(r"(?<=\d),(?=\d\d\d)", "", text)


MONEY = re.compile(r"(?<![\w.])([0-9.]+) EUR,? ?([0-9.]+) % known")
SMALL = re.compile(r"(?<![\w.])([0-9.]+) (k?g|kWh|Wh|t|MWh)(?: CO2e \(estimate\))?,? ?([0-9.]+) % known")
SCALE = {"g": 1, "kg": 1e3, "t": 1e6, "Wh": 1e-3, "kWh": 1, "MWh": 1e3}


def differences(site, text, row, words=True):
    """What a form for people does not show of cost, energy and emissions, each with the known part, and what they mean."""
    text = plain(text)
    money, small = MONEY.search(text), {("g" if u.endswith("g") or u == "t" else "kWh"): (float(v) * SCALE[u], float(p))
                                        for v, u, p in SMALL.findall(text)}
    bad = []
    if not money or abs(float(money[1]) - row["cost"]) > 0.0051 + row["cost"] * 5e-3 * (float(money[1]) >= 1000) \
            or abs(float(money[2]) - row["cost_coverage"]) > 0.51:
        bad.append(("cost", money and money[0], row["cost"], row["cost_coverage"]))
    amounts = [float(v) for v in re.findall(r"(?<![\w.])([0-9.]+) EUR (?:of jobs whose node failed|not charged)", text)]
    free = row["cost_not_charged"]
    if len(amounts) != (free > 0) or any(abs(v - free) > 0.0051 + free * 5e-3 * (v >= 1000) for v in amounts):
        bad.append(("not charged", amounts, free))
    for unit, key, part in ("kWh", "energy_kwh", "energy_coverage"), ("g", "emissions_grams", "emissions_coverage"):
        v = small.get(unit)
        if row[key] is None:
            bad += [(key, v)] if v else []
        elif not v or abs(v[0] - row[key]) > row[key] * 6e-3 + 0.05 or abs(v[1] - row[part]) > 0.51:
            bad.append((key, v, row[key], row[part]))
    if words and "running jobs included; days of %s." % site.zone not in text:
        bad.append("the meaning")
    return bad


def shows(site, what, text, row, words=True):
    bad = differences(site, text, row, words)
    same(bad, [], "%s shows cost, energy and emissions with their known parts, and says what they mean" % what)


def month(site, name):
    first = datetime.date.fromisoformat(name + "-01")
    last = (first + datetime.timedelta(days=31)).replace(day=1) - datetime.timedelta(days=1)
    since, until = site.midnight(first), site.midnight(last + datetime.timedelta(days=1))
    s, want = bill(site, since, until)
    check(s["over"] > 0, "%s: jobs cross the ends of the month" % name, s["over"])
    span = "from=%s&to=%s" % (first, last)
    row = site.fetch("/api/v1/usage?" + span, BOSS).data[0]
    compare(site, "%s: /api/v1/usage is what the rows of jobs say" % name, of_row(row), want, s["over"])
    by_month = [r for r in site.fetch("/api/v1/usage?group_by=month&" + span, BOSS).data]
    same([(r["month"], of_row(r)) for r in by_month], [(name, of_row(row))], "%s: grouped by month" % name)
    days = site.fetch("/api/v1/usage?group_by=day&" + span, BOSS).data
    check(abs(sum(r["core_hours"] for r in days) - row["core_hours"]) < 0.02 and
          all(r["time_ms"] == 1000 * site.midnight(datetime.date.fromisoformat(r["day"])) for r in days),
          "%s: days add up, and begin at the site's midnight" % name)
    for way in "store", "server":
        got = json.loads(acct(site, way, "--month=" + name, "--output=json"))
        same(unlike(got["total"], row), {}, "%s: JSON of batchjob_acct, %s" % (name, way))
        same((got["total"]["jobs"], got["total"]["open"], got["time_zone"]), (s["jobs"], s["running"], site.zone),
             "%s: jobs that ran" % name)
        table = list(csv.DictReader(io.StringIO(acct(site, way, "--month=" + name, "--output=csv").decode())))
        same(unlike(of_row(table[0]), of_row(row)), {}, "%s: CSV of batchjob_acct, %s" % (name, way))
        same((table[0]["of"], table[0]["currency"], table[0]["time_zone"]), ("total", "EUR", site.zone),
             "%s: the first line of CSV is the total" % name)
        accounts = site.fetch("/api/v1/usage?group_by=account&" + span, BOSS).data
        same({r["name"]: of_row(r) for r in table[1:]}, {r["account"]: of_row(r) for r in accounts if r["core_hours"]},
             "%s: accounts in CSV are those of the API" % name)
        shows(site, "%s: text, %s:" % (name, way), acct(site, way, "--month=" + name).decode(), row)
    if shutil.which("pdftotext"):
        path = os.path.join(site.folder, "bill.pdf")
        acct(site, "server", "--month=" + name, "--format=pdf", "--file=" + path)
        text = subprocess.run(["pdftotext", "-layout", path, "-"], capture_output=True, check=True).stdout.decode()
        shows(site, "%s: PDF" % name, text, row)
    for page in "/usage?group_by=account&" + span, "/management?" + span:
        body = site.fetch(page, BOSS).body.decode()
        total = [r for r in re.findall(r"<tr.*?</tr>", body, re.S) if "Total" in r or 'class="total"' in r]
        shows(site, "%s: %s" % (name, page.split("?")[0]), total[0] if total else body, row, False)
        check("running jobs included; days of %s." % site.zone in plain(body), "the page says what it means")
    return s


def of_account(site, name, account="acct1"):
    """The bill of an account for a month: CSV and page, against the rows of jobs."""
    first = datetime.date.fromisoformat(name + "-01")
    starts = [site.midnight(first + datetime.timedelta(days=i)) for i in range(-31, 33)]
    day = {datetime.datetime.fromtimestamp(s, zoneinfo.ZoneInfo(site.zone)).date().isoformat(): s for s in starts}
    until = day[(first + datetime.timedelta(days=31)).replace(day=1).isoformat()]
    before = day[(first - datetime.timedelta(days=1)).replace(day=1).isoformat()]
    path = "/accounts/%s?month=%s" % (account, name)
    a = site.fetch(path + "&format=csv", BOSS)
    rows = list(csv.DictReader(io.StringIO(a.body.decode())))
    same(a.headers["Content-Type"], "text/csv; charset=utf-8", "the bill as CSV")
    keys = ("core_hours", "memory_gib_hours", "energy_kwh", "energy_coverage", "cost", "cost_not_charged")

    def agrees(what, row, since, until, who=None):
        s, want = bill(site, since, until, who, account)
        want["memory_gib_hours"] = s["memory"] / 3600
        wrong = [(k, row[k], float(want[k])) for k in keys
                 if abs(float(row[k] or 0) - float(want[k])) > (0.06 if "coverage" in k else 0.002 + s["over"] * 0.36)]
        same(wrong, [], "%s of the bill of %s for %s is what the rows of jobs say" % (what, account, name))
        return s

    s, _ = bill(site, before, day[name + "-01"], None, account)
    part = {p: [r for r in rows if r["part"] == p] for p in ("month", "month before", "day", "user")}
    same([len(v) for v in part.values()][:3], [1, 1, (until - day[name + "-01"] + 7200) // 86400], "a line for each day")
    agrees("the total", part["month"][0], day[name + "-01"], until)
    if s["cpu"]:
        agrees("the month before", part["month before"][0], before, day[name + "-01"])
    for r in part["user"]:
        if float(r["core_hours"]) > 0:
            agrees("user " + r["name"], r, day[name + "-01"], until, r["name"])
    check(len(part["user"]) > 1 and all(abs(sum(float(r[k] or 0) for r in part[p]) - float(part["month"][0][k])) < 0.01
                                        for p in ("day", "user") for k in ("core_hours", "cost")),
          "days and members add up to the bill of %s" % name)
    body = site.fetch(path, BOSS).body.decode()
    text = plain(body)
    check(text.count("%.2f" % (int(float(part["month"][0]["cost"]) * 100 + 0.5) / 100)) >= 3
          and "only your own jobs" not in text and all(r["name"] in text for r in part["user"][:20]),
          "the page of the bill has its total and members", text)
    total = re.search(r'<tfoot><tr><th scope="row">Total</th><td></td><td></td><td class="n p">([^<]*)</td><td class="n r">([^<]*)<', body)
    same([float(v.replace(",", "")) if v != "&ndash;" else None for v in total.groups()],
         [round(float(part[p][0]["cost"]), 2) if part[p][0]["cost"] else None for p in ("month before", "month")],
         "its totals of both months") if total else check(False, "it has a total", text[:900])
    check("final: all its jobs have ended" in text or "not final: " in text, "it says whether it is final", text[:900])
    who = part["user"][0]["name"]
    own = list(csv.DictReader(io.StringIO(site.fetch(path + "&format=csv", user(who)).body.decode())))
    same([r["name"] for r in own if r["part"] == "user"], [who], "a member sees only the own part")
    agrees("the part of a member", own[0], day[name + "-01"], until, who)
    check("only your own jobs" in plain(site.fetch(path, user(who)).body.decode()), "and the page says so")
    on_paper(site, body)
    as_pdf(site, path, part)


def as_pdf(site, path, part):
    """The bill as PDF: one tagged page of A4 with the figures of the CSV."""
    a = site.fetch(path + "&format=pdf", BOSS)
    if a.status == 501 or not shutil.which("pdftotext"):
        skip("the bill as PDF", "cairo, Pango or poppler-utils is not installed")
        return
    same((a.status, a.headers["Content-Type"]), (200, "application/pdf"), "the bill as PDF")
    file = site.file("bill.pdf", "")
    with open(file, "wb") as f:
        f.write(a.body)
    info = dict(line.split(":", 1) for line in subprocess.run(
        ["pdfinfo", file], capture_output=True, check=True, text=True).stdout.splitlines() if ":" in line)
    same([info[k].strip() for k in ("Pages", "Tagged")] + [info["Page size"].strip()[-4:]], ["1", "yes", "(A4)"],
         "one tagged page")
    text = subprocess.run(["pdftotext", "-layout", file, "-"], capture_output=True, check=True).stdout.decode()
    total = "%.2f" % (int(float(part["month"][0]["cost"]) * 100 + 0.5) / 100)
    check(text.count(total) >= 3 and info["Title"].strip() in text, "with account, month and total", text)
    rows = {line.split()[0]: line.split() for line in text.split("Who used it", 1)[1].splitlines() if line.strip()}
    same({r["name"]: rows[r["name"]][-1] for r in part["user"][:11]},
         {r["name"]: "%.2f" % (int(float(r["cost"]) * 100 + 0.5) / 100) for r in part["user"][:11]}, "with the cost of each member")
    same([site.fetch(path + "&format=pdf&paper=" + p, BOSS).status for p in ("letter", "a3")], [200, 400], "the paper is a choice")
    same([site.fetch(p + "format=pdf", BOSS).status for p in ("/api/v1/jobs?", "/api/v1/usage?")], [400, 400],
         "other tables have no PDF")


def on_paper(site, body):
    """Print the bill: one page of A4 with the period on it."""
    if not shutil.which("chromium") or not shutil.which("pdftotext"):
        skip("the bill on paper", "chromium or poppler-utils is not installed")
        return
    css = re.search(r'href="\.\./([^"]*\.css[^"]*)"', body)
    page = site.file("bill.html", body.replace('href="../' + css[1], 'href="bill.css'), 0o644)
    site.file("bill.css", site.fetch("/" + css[1], BOSS).body.decode(), 0o644)
    path = os.path.join(site.folder, "paper.pdf")
    subprocess.run(["chromium", "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                    "--user-data-dir=" + os.path.join(site.folder, "chromium"), "--no-pdf-header-footer",
                    "--print-to-pdf=" + path, "file://" + page], capture_output=True, timeout=300, check=True)
    text = subprocess.run(["pdftotext", "-layout", path, "-"], capture_output=True, check=True).stdout.decode()
    title = html.unescape(re.sub("<[^>]*>", "", re.search("<h1>(.*?)</h1>", body, re.S)[1]))
    same((text.count("\f"), title in text, "Who used it" in text), (1, True, True),
         "the bill is one page of A4 with account and month on it")


def no_bill(site):
    same([site.fetch("/accounts/acct1?month=" + m, BOSS).status for m in ("2025-13", "2025", "9999-01", "1969-12", "x")],
         [400] * 5, "a month that is none, or not yet, is refused")
    text = plain(site.fetch("/accounts/nobody?month=2025-03", BOSS).body.decode())
    check("0.00 EUR" in text and "&ndash;" not in text, "an account without jobs has a bill of 0", text)


def months(site):
    serve(site)
    of_account(site, "2025-03")
    no_bill(site)
    seen = [month(site, name) for name in ("2025-02", "2025-03", "2025-04")]
    check(seen[1]["running"] and seen[2]["running"], "jobs that run are in the bill of both months")
    same(site.fetch("/api/v1/site", BOSS).data, [{"time_zone": site.zone, "currency": "EUR", "cpu_hour": 0.012,
                                                  "gpu_hour": None, "gib_hour": 0.0015, "kwh": 0.28,
                                                  "failed_nodes_free": site.free}],
         "the API reports the zone and the prices")


def zones(site):
    """Every form has the times of the site's zone, and names it once."""
    job = site.fetch("/api/v1/jobs?limit=1&state=completed&from=0", BOSS).data[0]
    page = site.fetch("/jobs/%s" % job["key"], BOSS).body.decode()
    at = datetime.datetime.fromtimestamp(job["end_ms"] // 1000, zoneinfo.ZoneInfo(site.zone))
    named = "Times are those of the time zone %s." % site.zone
    check('<time datetime="%s">%s</time>' % (at.isoformat(), at.strftime("%Y-%m-%d %H:%M")) in page
          and plain(page).count(named) == 1, "pages have the site's time and name its zone", at, page[-300:])

    def run(*words):
        p = subprocess.run(words, capture_output=True, timeout=300, env=dict(os.environ, TZ="Asia/Tokyo"))
        if p.returncode != 0:
            raise RuntimeError(p.stderr.decode()[-600:])
        return p.stdout

    def of_pdf(data):
        return subprocess.run(["pdftotext", "-layout", "-", "-"], input=data, capture_output=True, check=True).stdout.decode()

    store = "--store.path=" + site.store
    mail = email.message_from_bytes(run(IMPORTER, "mail", "show", job["key"], "--config.file=" + site.conf),
                                    policy=email.policy.default)
    forms = [("terminal", run(ACCT, store, "report", job["key"]).decode()),
             ("mail", mail.get_body(("plain",)).get_content()), ("HTML of a mail", mail.get_body(("html",)).get_content())]
    if shutil.which("pdftotext"):
        forms += [("PDF of batchjob_acct", of_pdf(run(ACCT, store, "report", "--format=pdf", job["key"]))),
                  ("PDF of the API", of_pdf(site.fetch("/api/v1/jobs/%s/report.pdf" % job["key"], BOSS).body))]
    for name, text in forms:
        check(at.strftime("%Y-%m-%d %H:%M:%S") in plain(text) and plain(text).count(named) == 1,
              "%s: the site's time, and its zone once" % name, at, plain(text)[-600:])
    text = run(ACCT, store, "report", "--as=jobstats", job["key"]).decode()
    start = datetime.datetime.fromtimestamp(job["start_ms"] // 1000, zoneinfo.ZoneInfo(site.zone))
    check("Start Time: %s %s" % (start.strftime("%Y-%m-%d %H:%M:%S"), site.zone) in text, "the form of jobstats names the zone", text)
    for words, zone in ((), site.zone), (("--utc",), "UTC"):
        text = run(ACCT, store, *words, "--format=jobid,end", job["key"]).decode().splitlines()
        local = datetime.datetime.fromtimestamp(job["end_ms"] // 1000, zoneinfo.ZoneInfo(zone))
        same([line.split() for line in text], [["JobIDRaw", "End", "(%s)" % zone], [job["display_id"], local.strftime("%Y-%m-%dT%H:%M:%S")]],
             "the head of a table names the zone %s" % zone)
    text = run(ACCT, store, "--utc", "report", job["key"]).decode()
    check(plain(text).count("Times are UTC.") == 1 and named not in plain(text), "a report with --utc is in UTC", text)


def move(site):
    """Another zone: the sums of all jobs move to its days."""
    for zone in "America/New_York", "Pacific/Auckland":
        site.stop()
        site.zone = zone
        site.write(zone)
        site.once()
        serve(site)
        month(site, "2025-03")


def change(site):
    """The site stops charging jobs whose node failed: of all jobs in the store, in each form."""
    site.stop()
    site.free = True
    site.write(site.zone)
    site.once()
    serve(site)
    of_account(site, "2025-03")
    month(site, "2025-03")
    fields = "state,cost,cost_not_charged,cost_is_minimum,display_id"
    jobs = site.fetch("/api/v1/jobs?limit=1000&from=0&fields=" + fields, BOSS).data
    bad = [j for j in jobs if j["cost"] is not None
           and (j["cost"] == 0 and j["cost_not_charged"] > 0) != (j["state"] in ("node_fail", "boot_fail"))]
    same(bad, [], "jobs whose node failed cost nothing, and say what is not charged")
    job = next(j for j in jobs if j["state"] == "node_fail" and j["cost_not_charged"] > 0.01)
    text = plain(acct(site, "store", job["display_id"]).decode())
    check("It is not charged (%.2f EUR), since its node or a GPU failed." % job["cost_not_charged"] in text
          and "This is not the fault of the job." in text and "Submit the job again" in text
          and "CPU efficiency was" not in text, "the report of such a job", text)


def digest(site):
    """The weekly mail of a user has the figures of the API for its days."""
    serve(site)
    for name in "user3", "user5", "user7":
        p = subprocess.run([IMPORTER, "mail", "digest", name, "weekly", "--config.file=" + site.conf],
                           capture_output=True, timeout=300)
        mail = email.message_from_bytes(p.stdout, policy=email.policy.default)
        first, last = re.findall(r"\d{4}-\d\d-\d\d", mail["Subject"])[:2]
        row = site.fetch("/api/v1/usage?user=%s&from=%s&to=%s" % (name, first, last), BOSS).data[0]
        s, want = bill(site, site.midnight(datetime.date.fromisoformat(first)),
                       site.midnight(datetime.date.fromisoformat(last) + datetime.timedelta(days=1)), name)
        compare(site, "a week of %s is what the rows of jobs say" % name, of_row(row), want, s["over"])
        shows(site, "the mail of %s" % name, mail.get_body(("plain",)).get_content(), row)
        shows(site, "the mail of %s as HTML" % name, mail.get_body(("html",)).get_content(), row)


def main():
    for program in SERVER, IMPORTER, ACCT:
        if not os.access(program, os.X_OK):
            print("1..0 # SKIP %s was not built: SQLite is not installed" % program)
            return 0
    for zone, now, free, parts in (("Europe/Berlin", utc("2025-04-01T06:00"), False, (months, zones, move, change)),
                                   ("Pacific/Auckland", int(time.time()), True, (digest,))):
        site = Billed(zone, now, free, count=1500, days=50, seed=8)
        try:
            site.fill()
            for part in parts:
                part(site)
        finally:
            site.clean_up()
    return plan()


if __name__ == "__main__":
    sys.exit(main())
