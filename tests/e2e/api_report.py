#!/usr/bin/env python3
"""The report of a job: the terminal (from the store and from a server), JSON, PDF and
the page show the same figures; summaries for jobstats; the choice of mails.  TAP."""
import base64
import collections
import gzip
import html
import json
import os
import re
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from api_lib import O, SERVER, TOP, Site, check, plan, rounded, same, user  # noqa: E402

ACCT = os.path.abspath(os.path.join(TOP, O, "batchjob_acct"))
JOBS = os.path.abspath(os.path.join(TOP, O, "unit/test_statsdb_report"))
IDS = ("1000", "1001", "1002", "1003", "1004", "1005", "2000", "2007", "3000+1", "3100", "3200",
       "3300", "3400", "3500", "3600", "3700")
BOSS = user("boss")


def set_up(site):
    """Fill the store with the jobs of tests/unit/statsdb/report_jobs.h; start the server."""
    subprocess.run([os.environ.get("MAKE", "make"), "-C", TOP, "-s", "O=" + O,
                    O + "/unit/test_statsdb_report"], check=True, stdout=subprocess.DEVNULL)
    subprocess.run([JOBS, site.store], check=True)
    socket = os.path.join(site.folder, "sock")
    site.start("--access.trust-loopback", "--access.admins=boss", "--access.admins=root", "--web.unix-socket=" + socket)
    site.ways = {"store": ["--store.path=" + site.store], "server": ["--server=unix:" + socket]}


def acct(site, way, *words, program=ACCT, code=0):
    p = subprocess.run([program, *site.ways[way], "--utc", *words], capture_output=True,
                       env=dict(os.environ, LC_ALL="C.UTF-8"))
    if p.returncode != code:
        check(False, "batchjob_acct %s ends with %d" % (" ".join(words), code), p.stderr)
    return p.stdout.decode("utf-8")


def key_of(site, job):
    return json.loads(acct(site, "store", "--job=" + job, "--format=key", "--limit=1",
                           "--output=json"))[0]["key"]


def report(site, job):
    key = key_of(site, job)
    a = site.fetch("/api/v1/jobs/%s/report" % key, BOSS)
    if a.status != 200:
        check(False, "the API has the report of %s" % job, a)
    return key, a.data


def ways(site):
    """Reports from the store and from a server are the same, in each format."""
    for form in ([], ["--ascii"], ["--as=seff"], ["--as=jobstats"], ["--format=js1"],
                 ["--output=json"], ["--color=always"]):
        texts = [acct(site, way, "report", *form, *IDS) for way in site.ways]
        check(texts[0] == texts[1] and len(texts[0]) > 500, "%s: store and server agree" %
              (form or ["report"])[0], texts)
    from_acct = json.loads(acct(site, "store", "report", "--output=json", *IDS))
    by_key = {r["job"]["key"]: r for r in from_acct}
    bad = [i for i in IDS if by_key.get(report(site, i)[0], report(site, i)[1]) != report(site, i)[1]]
    same(bad, [], "JSON of batchjob_acct is that of the API")


def forms(site):
    """The terminal shows the values of JSON, in 80 columns."""
    wide, wrong = [], []
    for job in IDS:
        text = acct(site, "store", "report", job)
        _, data = report(site, job)
        wide += [line for line in text.splitlines() if len(line) > 80 and "3400" not in job]
        flat = " ".join(text.split())
        for s in data["verdict"]["wrong"], data["verdict"]["cost"], data["verdict"]["todo"]:
            if s and s not in flat:
                wrong.append((job, s))
        for a in data["advice"]:
            if a["text"] not in flat or (a["line"] or "") not in text:
                wrong.append((job, a))
        for f in data["figures"]:
            if f["percent"] is not None and percent(f["percent"]) not in text:
                wrong.append((job, f))
    same(wide, [], "no line is longer than 80 columns")
    same(wrong[:3], [], "the terminal shows the verdict, the advice and each figure")
    same(acct(site, "store", "report", "3400").count("\x1b"), 0, "hostile names are harmless")


def percent(v):
    return rounded(v) + " %"


def page(site):
    """The page of a job has the percentages of its report."""
    wrong = []
    for job in IDS:
        key, data = report(site, job)
        a = site.fetch("/jobs/" + key, BOSS)
        text = html.unescape(re.sub(r"<[^>]*>", " ", re.sub(r"</?span[^>]*>", "", a.body.decode("utf-8", "replace"))))
        text = " ".join(text.replace("\u00a0", " ").split())
        wrong += [(job, f["figure"], percent(f["percent"])) for f in data["figures"]
                  if f["percent"] is not None and percent(f["percent"]) not in text]
        wanted = [data["verdict"][k] for k in ("wrong", "cost")] + [v for x in data["advice"] for v in
                                                                       (x["text"], x["line"])]
        wrong += [(job, v) for v in wanted if v and v not in text]
    same(wrong[:5], [], "the page of a job shows the same figures, verdict and advice")


def periods(site):
    """Sums over the jobs of an account, a user and a month."""
    for words in (["--account=phys", "--since=2025-01-01"], ["--month=2025-11"],
                  ["--user=anna", "--month=2025-11", "--output=json"]):
        texts = [acct(site, way, "report", *words) for way in site.ways]
        check(texts[0] == texts[1] and len(texts[0]) > 500, "%s: store and server agree" % words[0], texts)
        same([l for l in texts[0].splitlines() if len(l) > 80 and "json" not in words[-1]], [],
             "%s: no line is longer than 80 columns" % words[0])
    got = json.loads(acct(site, "store", "report", "--month=2025-11", "--output=json"))
    jobs = json.loads(acct(site, "store", "--month=2025-11", "--output=json", "--format=elapsed_seconds,cpus,"
                           "cpu_used_seconds,state,energy_joules,finding_names,start"))
    jobs = [j for j in jobs if j["start"]]  # the report is about jobs that ran
    known = [j for j in jobs if j["cpu_used_seconds"] is not None]
    held = sum((j["cpus"] or 0) * (j["elapsed_seconds"] or 0) for j in jobs)
    total = got["total"]
    same((total["jobs"], total["core_hours"], total["cpu_used_hours"], round(total["energy_kwh"], 4)),
         (len(jobs), round(held / 3600, 3), round(sum(j["cpu_used_seconds"] for j in known) / 3600, 3),
          round(sum(j["energy_joules"] or 0 for j in jobs if j["state"] != "running") / 3.6e6, 4)),
         "totals are the sums over the jobs")
    coverage = 100 * sum(j["cpus"] * j["elapsed_seconds"] for j in known) / held
    check(abs(total["cpu_coverage"] - coverage) < 0.06, "coverage is the part of the CPU time with a known use",
          total, coverage)
    same({f["finding"]: f["jobs"] for f in got["findings"]},
         dict(collections.Counter(n for j in jobs for n in (j["finding_names"] or "").split(",") if n)),
         "findings are counted")
    same([w["display_id"] for w in got["waste"]["cpu_unused"][:3]], ["1005", "3700", "3600"],
         "the jobs with the most unused CPU hours come first")
    same([w["display_id"] for w in got["waste"]["gpu_unused"]], ["1001"], "unused GPUs are found")
    usage = site.fetch("/api/v1/usage?from=2025-11-01&to=2025-11-30", BOSS).data[0]
    same([round(usage[k], 1) for k in ("core_hours", "cpu_used_hours", "cpu_efficiency_percent")],
         [round(total[k], 1) for k in ("core_hours", "cpu_used_hours", "cpu_efficiency_percent")],
         "usage has the same CPU time")
    for words in (["--month=2025-13"], ["1001", "--output=csv"], ["--month=2025-11", "--as=seff"]):
        acct(site, "store", "report", *words, code=1)


def drawn(site, way, *words):
    """Draw a PDF; return it, its text with one blank between words, and its properties."""
    path = os.path.join(site.folder, "report.pdf")
    acct(site, way, "report", "--format=pdf", "--file=" + path, *words)
    with open(path, "rb") as f:
        pdf = f.read()
    text = subprocess.run(["pdftotext", "-layout", path, "-"], check=True, capture_output=True).stdout
    about = subprocess.run(["pdfinfo", path], check=True, capture_output=True).stdout
    return pdf, " ".join(text.decode("utf-8").replace("\u00a0", " ").split()), about.decode("utf-8", "replace")


def pdf(site):
    """A PDF shows the values of JSON, and has the same bytes each time."""
    if not shutil.which("pdftotext"):
        check(True, "PDF # SKIP pdftotext is not installed")
        return
    wrong, pages = [], []
    for job in IDS:
        _, text, about = drawn(site, "store", job)
        _, data = report(site, job)
        wanted = [data["verdict"][k] for k in ("wrong", "cost", "todo")] + [
            v for a in data["advice"] for v in (a["text"], a["line"])] + [f["text"] for f in data["findings"]]
        wanted += [percent(f["percent"]) for f in data["figures"] if f["percent"] is not None]
        wrong += [(job, v) for v in wanted if v and v not in text]
        terminal = " ".join(acct(site, "store", "report", job).split())
        wrong += [(job, v) for v in re.findall(r"[0-9.]+ (?:[KMGT]iB|k?Wh|k?g)\b", terminal) if v not in text]
        pages += [job for line in about.splitlines() if line.startswith("Pages:") and line.split()[1] != "1"]
    same(wrong[:5], [], "PDF shows the verdict, the advice, findings and each figure")
    same(pages, [], "the report of each of these jobs has one page")
    first, text, about = drawn(site, "store", "1001")
    check(first == drawn(site, "store", "1001")[0] == drawn(site, "server", "1001")[0],
          "PDF has the same bytes each time, from store and server")
    properties = dict(re.findall(r"(?m)^(\w[\w ]*): +(.*)$", about))
    same((properties["Title"], properties["Author"]), ("Report of job 1001 (solve)", "batchjob"),
         "PDF has a title and an author")
    check("595.28 x 841.89" in properties["Page size"] and "2025" in properties["CreationDate"],
          "PDF is A4 and has the date of the job", properties)
    check("612 x 792" in drawn(site, "store", "--paper=letter", "1001")[2], "Letter is an option")
    path = "/api/v1/jobs/%s/report.pdf" % key_of(site, "1001")
    a = site.fetch(path, BOSS)
    same((a.status, a.headers["Content-Type"]), (200, "application/pdf"), "the API draws PDF")
    check(a.body == first, "PDF of the API has the bytes of batchjob_acct")
    same(site.fetch(path, BOSS, ("If-None-Match", a.headers["ETag"])).status, 304, "PDF has an ETag")
    letter = site.fetch(path + "?paper=letter", BOSS).body
    check(letter[:5] == b"%PDF-" and letter == drawn(site, "store", "--paper=letter", "1001")[0],
          "the API draws PDF on Letter")
    same([site.fetch(path + q, user_header).status
          for q, user_header in (("?paper=a5", BOSS), ("", user("newcomer")))], [400, 404],
         "PDF of another paper, and of another user's job, is refused")
    about = drawn(site, "store", *IDS)[2]
    check("Pages: %d " % (len(IDS) - 1) in " ".join(about.split()), "each job begins a page",
          about)  # two of IDS are one array
    month, text, _ = drawn(site, "store", "--month=2025-11")
    total = json.loads(acct(site, "store", "report", "--month=2025-11", "--output=json"))["total"]
    check(percent(total["cpu_efficiency_percent"]) in text and "%d jobs" % total["jobs"] in text and "1005" in text,
          "a month as PDF has the same sums", text, total)
    check(month == drawn(site, "server", "--month=2025-11")[0], "a month has the same bytes each time")
    acct(site, "store", "report", "--format=pdf", "--file=/nonexistent/x.pdf", "1001", code=1)


def summaries(site):
    """Summaries in the format JS1 of jobstats."""
    js1 = acct(site, "store", "report", "--format=js1", "1001").strip()
    check(js1.startswith("JS1:"), "a summary begins with JS1:", js1)
    doc = json.loads(gzip.decompress(base64.b64decode(js1[4:], validate=True)))
    same(doc, {"nodes": {"n1": {"total_memory": 8 << 30, "used_memory": 7 << 30,
                                "total_time": 13700.0, "cpus": 4,
                                "gpu_total_memory": {},
                                "gpu_used_memory": {"0": 8 << 30, "1": 0},
                                "gpu_utilization": {"0": 90.0, "1": 0.0}}},
               "total_time": 3600, "gpus": 2}, "a summary has nodes and GPUs")
    same(acct(site, "store", "report", "--format=js1", "3300").strip(), "JS1:None",
         "without measurements a summary is None")
    folder = os.path.join(site.folder, "bin")
    os.mkdir(folder)
    calls = os.path.join(folder, "asked")
    for name, text in (("batchjob_acct", "exec %s %s \"$@\"" % (ACCT, site.ways["store"][0])),
                       ("sacctmgr", "printf '%%s\\n' \"$*\" >>%s" % calls)):
        path = os.path.join(folder, name)
        with open(path, "w") as f:
            f.write("#!/bin/sh\n%s\n" % text)
        os.chmod(path, 0o755)
    with open(os.path.join(TOP, "examples/slurm-js1.sh")) as f:
        script = f.read().replace("PATH=/usr", "PATH=%s:/usr" % folder, 1)
    script = script.replace("store >/dev/null 2>&1 </dev/null &", "store")
    for env in ({"SLURM_JOB_ID": "1001"}, {"SLURM_JOB_ID": "3300"},
                {"SLURM_JOB_ID": "2000", "SLURM_ARRAY_JOB_ID": "2000", "SLURM_ARRAY_TASK_ID": "20"},
                {"SLURM_JOB_ID": "1; rm"}):
        subprocess.run(["sh", "-c", script], env=dict(os.environ, JS1_WAIT="0", JS1_TRIES="2", **env),
                       check=True)
    with open(calls) as f:
        lines = f.read().splitlines()
    same([line.split(" set ")[0] for line in lines],
         ["-i -Q update job where jobid=%s" % i for i in ("1001", "2000_20")],
         "the epilog writes summaries of jobs that were measured")
    check(lines[0].endswith("AdminComment=" + js1), "it writes the summary", lines[0])


def names(site):
    """batchjob_acct acts as seff or jobstats when called by that name; wrong requests are refused."""
    for name, first in (("seff", "Job ID: 1002"), ("jobstats", "=" * 80)):
        link = os.path.join(site.folder, name)
        os.symlink(ACCT, link)
        same(acct(site, "store", "1002", program=link).splitlines()[0], first, "called as %s it has its output" % name)
    for words in (["report"], ["report", "99"], ["report", "--format=cpus", "1000"]):
        acct(site, "store", *words, code=1)
    same(site.fetch("/api/v1/jobs/99/report", BOSS).status, 404, "an unknown job is status 404")
    same(site.fetch("/api/v1/jobs/1000/report", user("mallory")).status, 404,
         "a report is shown only to those who may see the job")


def mails(site):
    """The API and the page change a user's choice of mails; pages of other sites cannot."""
    anna, path = user("anna"), "/api/v1/mail"
    same(site.fetch(path, anna).data, {"user": "anna", "choice": None, "default": None},
         "at first a user has no choice")
    same(site.fetch(path, anna, method="POST", body=b"x=1&choice=weekly").data["choice"], "weekly",
         "a choice is stored")
    foreign = [("Origin", "https://evil.example"), ("Origin", "null"),
               ("Sec-Fetch-Site", "cross-site"), ("Sec-Fetch-Site", "same-site")]
    same([site.fetch(p, anna, h, method="POST", body=b"choice=off").status
          for h in foreign for p in (path, "/mail")], [403] * 8, "pages of other sites change nothing")
    same([site.fetch(path, anna, method="POST", body=b).status
          for b in (b"", b"choice=no", b"choice", b"choice=off'--", b"choice=weekly%00")],
         [400] * 5, "wrong choices are refused")
    same(site.fetch(path, anna).data["choice"], "weekly", "the choice stays")
    a = site.fetch("/mail", anna, ("Sec-Fetch-Site", "same-origin"), method="POST",
                   body=b"choice=daily").body.decode()
    check("stored" in a and '<option value="daily" selected>' in a, "the page stores a choice", a)
    stored = "SELECT \"user\" || ' ' || choice FROM mail_choice"
    rows = site.postgres.sql(stored).split("\n") if site.postgres else [r for r, in site.db().execute(stored)]
    same([r.strip() for r in rows if r.strip()], ["anna daily"], "only the user's own is stored")
    site.fetch(path, anna, method="POST", body=b"choice=default")
    same(site.fetch(path, anna).data["choice"], None, "a user returns to the default")


def main():
    if not os.access(SERVER, os.X_OK):
        print("1..0 # SKIP %s was not built: SQLite is not installed" % SERVER)
        return 0
    site = Site()
    try:
        for part in set_up, ways, forms, page, periods, pdf, summaries, names, mails:
            part(site)
    finally:
        site.clean_up()
    return plan()


sys.exit(main())
