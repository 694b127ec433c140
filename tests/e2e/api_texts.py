#!/usr/bin/env python3
"""Pages, terminal reports, PDF and mails take all texts from the catalogue: with a catalogue in
which each word is marked, only names, values and keywords appear without the mark.  TAP."""
import email
import email.policy
import html.parser
import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from api_lib import IMPORTER, HERE, O, SERVER, TOP, Site, check, plan, same, user  # noqa: E402
from page_lib import FakePrometheus  # noqa: E402

ACCT = os.path.abspath(os.path.join(TOP, O, "batchjob_acct"))
JOBS = os.path.abspath(os.path.join(TOP, O, "unit/test_statsdb_report"))
BOSS = user("boss")
MARK = "\u00a4<i>&\""  # contains markup, which must be escaped exactly once
STRIP = ".,;:()\"'*\u00b7\u2022!?-"

# Words that do not come from the catalogue.
EXCEPT = re.compile("^(?:" + "|".join((
    r"[KMGT]iB|k?Wh|kg|CO2e|EUR|min|UTC|GiB|kh",  # units
    r"idle|down|completed|deadline|failed|timeout|oom|cancelled|running|pending|node_fail|boot_fail|preempted",  # states
    r"critical|warning|info|good|unknown",  # levels
    r"measured|recorded|estimated|calculated|at|least|nodes|scheduler|prometheus|prices",  # quality, source
    r"(?:--|#SBATCH|-l|/|[a-z_]+=|https?:).*",  # options, paths, links
    r"\d.*|[A-Z][a-z]{2} \d+",  # numbers and dates
    r"x+\u2026?",  # a long name, cut
    r"Priority|None|Resources",  # the scheduler's reasons
    r"warn|cancel|dry|run|done",  # actions
    r".*@.*",  # addresses
)) + ")$")


def mark(text):
    """Mark each word of a text, but no placeholder such as {value}."""
    return " ".join(w if re.fullmatch(r"\{\w+\}\W*", w) or not re.search("[A-Za-z]", w) else MARK + w
                    for w in text.split(" "))


def catalogue(site):
    lines = subprocess.run([IMPORTER, "texts"], capture_output=True, text=True, check=True).stdout
    out, n = [], 0
    for line in lines.splitlines():
        name, equal, text = line.partition(" = ")
        if equal:
            n += 1
            line = name + equal + mark(text)
        out.append(line)
    check(n > 500, "the catalogue has many texts", n)
    return site.file("texts", "\n".join(out) + "\n", 0o644)


class Words(html.parser.HTMLParser):
    """Collects the words of a page, those of screen readers included, but no users' texts."""

    def __init__(self, text):
        super().__init__()
        self.words, self.inside, self.tags = [], [], set()
        self.feed(text)
        self.close()

    def put(self, text):
        self.words += text.split()

    def handle_starttag(self, tag, attrs):
        a = dict(attrs)
        self.tags.add(tag)
        if tag not in ("meta", "link", "input", "br", "img", "path"):
            self.inside.append((tag, a))
        for name in ("lang", "data-l", "aria-label", "alt", "placeholder"):
            self.put(a.get(name) or "")

    def handle_endtag(self, tag):
        while self.inside and self.inside.pop()[0] != tag:
            pass

    def handle_data(self, text):
        tags = {t for t, _ in self.inside}
        links = " ".join(a.get("href") or "" for t, a in self.inside if t == "a")
        if tags & {"style", "bdi", "code", "time", "script"}:
            return
        # The text of a link to a job, user, account or finding is its name.
        if re.search(r"(jobs/|users/|accounts/|finding=|jobs\?job=|mailto:)", links) and MARK not in text:
            return
        self.put(text)


def unmarked(words, known):
    """Words of letters without the mark."""
    found = []
    for w in words:
        bare = w.strip(STRIP)
        if MARK in w or not re.search("[A-Za-z]{2}", bare) or EXCEPT.match(bare) or EXCEPT.match(w) or bare in known:
            continue
        found.append(w)
    return found


def html_words(what, text):
    page = Words(text)
    check("i" not in page.tags and not re.search("&(amp|lt|quot|#)", " ".join(page.words)),
          what + " has marks escaped once", [w for w in page.words if "&" in w][:9])
    return page.words


def set_up(site):
    subprocess.run([os.environ.get("MAKE", "make"), "-C", TOP, "-s", "O=" + O,
                    O + "/unit/test_statsdb_report"], check=True, stdout=subprocess.DEVNULL)
    subprocess.run([JOBS, site.store], check=True)
    sacct = os.path.join(site.folder, "sacct")
    shutil.copy(os.path.join(HERE, "statsdb_sacct.py"), sacct)
    site.file("sacct.env", json.dumps(site.simulation))
    site.fake = FakePrometheus()
    cluster = site.file("fake.yml", "name: fake\nsacct:\n  command: %s\n  history: 21d\n"
                        "  slice: 21d\n  pause: 0s\n" % sacct)
    site.conf = site.file("site.yml", json.dumps({
        "store": {"path": site.store}, "cluster": {"file": cluster},
        "report": {"texts": catalogue(site)}, "price": {"currency": "EUR", "cpu-hour": "0.01"},
        "mail": {"send": "directory", "directory": site.folder, "from": "a@b.example",
                 "reply-to": "a@b.example", "address": "{user}@b.example", "url": "https://b.example"}}))
    p = subprocess.run([IMPORTER, "--once", "--config.file=" + site.conf], capture_output=True, text=True)
    same(p.returncode, 0, "the catalogue is loaded") or print("# " + p.stderr[-600:])
    # Mark the texts of findings that were derived before.
    db = sqlite3.connect(site.store)
    for word in "and", "GPU":
        db.execute("UPDATE job_finding SET names = replace(names, ?, ?)", (" %s " % word, " %s " % mark(word)))
    for rule, text, advice in db.execute("SELECT id, text, advice FROM finding_rule").fetchall():
        if MARK not in text:
            db.execute("UPDATE OR IGNORE finding_rule SET text = ?, advice = ?, condition = condition || ' '"
                       " WHERE id = ?", (mark(text), mark(advice or ""), rule))
    db.commit()
    db.close()
    site.start("--access.trust-loopback", "--access.admins=boss", "--prometheus.url=" + site.fake.url,
               "--prometheus.scrape-interval=30s")
    # Names in the store; other names have no letters, or are in <bdi>.
    site.known = {str(v) for table in ("user", "account", "partition", "cluster", "qos") for v, in
                  site.db().execute("SELECT name FROM %s" % table)}
    for text, in site.db().execute("SELECT CAST(text AS BLOB) FROM jobname"):
        site.known |= set(re.sub("[\x00-\x1f]", "?", (text or b"").decode("utf-8", "replace")).split())
    site.known |= {w for v in site.known for w in v.split()}
    site.known |= {w.strip(STRIP) for w in site.known} | {"tab", "here", "node1"}
    for text, in site.db().execute("SELECT name FROM finding_rule"):
        site.known |= set(text.split("_")) | {text}


# 3400 has a hostile name.
JOB = ("1000", "1001", "1002", "1003", "1004", "1005", "2007", "3000+1", "3100", "3200", "3300", "3500", "3600", "3700")


def key_of(site, job):
    return run(ACCT, "--store.path=" + site.store, "--cluster=alpha", "--job=" + job, "--format=key", "--limit=1",
               "--output=csv").decode().split()[-1]


def run(*words):
    p = subprocess.run(words, capture_output=True, env=dict(os.environ, LC_ALL="C.UTF-8", TZ="UTC"))
    if p.returncode:
        check(False, "%s ends with 0" % " ".join(words[:3]), p.stderr)
    return p.stdout


def page_words(site, path):
    a = site.fetch(path, BOSS, ("Accept", "text/html"))
    text = a.body.decode()
    check(a.status in (200, 300, 400, 404) and MARK[0] in text, "%s has marked texts" % path, a)
    return html_words(path, text)


def pages(site):
    site.fake.grid = [({"bj": p, "state": s, "flags": ""}, 3) for p in ("nodes", "cpus") for s in ("idle", "down")]
    keys = {j: key_of(site, j) for j in JOB}
    fake = site.fetch("/api/v1/jobs?state=running&limit=1", BOSS).data[0]["key"]
    waiting = [j["key"] for j in site.fetch("/api/v1/jobs?state=pending&from=0&limit=1", BOSS).data]
    paths = ["/home", "/jobs?from=2020-01-01", "/jobs?job=1", "/queue", "/findings?from=2020-01-01", "/usage?from=2020-01-01",
             "/management?from=2020-01-01", "/management",
             "/accounts/phys?month=2026-01", "/support", "/nodes", "/nodes/node1", "/cluster", "/users/anna", "/accounts/phys", "/mail",
             "/compare?job=%s&job=%s" % (keys["1000"], keys["1001"])]
    paths += ["/jobs/" + k for k in list(keys.values()) + [fake] + waiting]
    found = {p: unmarked(page_words(site, p), site.known) for p in paths}
    site.fake.grid = [({"bj": n, "instance": "node1:9", "index": "0", "gpu": "g"}, v)
                      for n, v in (("use", .5), ("held", 1))]
    found["/gpus"] = unmarked(page_words(site, "/gpus"), site.known)
    same({p: w[:12] for p, w in found.items() if w}, {}, "pages have only marked words")


def reports(site):
    found = {}
    store = "--store.path=" + site.store
    for job in JOB:
        found[job] = unmarked(run(ACCT, store, "--cluster=alpha", "report", job).decode().split(), site.known)
    period = run(ACCT, store, "report", "--user", "user1", "--since=2020-01-01").decode()
    found["period"] = unmarked(period.split("\n", 1)[1].split(), site.known)
    same({p: w[:12] for p, w in found.items() if w}, {}, "reports on a terminal have only marked words")
    if not shutil.which("pdftotext"):
        return
    found = {}
    path = os.path.join(site.folder, "x.pdf")
    for job in JOB:
        run(ACCT, store, "--cluster=alpha", "report", "--format=pdf", "--file=" + path, job)
        found[job] = unmarked(run("pdftotext", "-layout", path, "-").decode().split(), site.known)
    run(ACCT, store, "report", "--format=pdf", "--file=" + path, "--user", "user1", "--since=2020-01-01")
    found["period"] = unmarked(run("pdftotext", "-layout", path, "-").decode().split("\n", 3)[3].split(), site.known)
    a = site.fetch("/api/v1/jobs/%s/report.pdf" % key_of(site, "2007"), BOSS)
    with open(path, "wb") as f:
        f.write(a.body)
    found["server"] = unmarked(run("pdftotext", "-layout", path, "-").decode().split(), site.known)
    same({p: w[:12] for p, w in found.items() if w}, {}, "PDF has only marked words")


def mails(site):
    found = {}
    site.known |= {"en"}  # the language, in the template
    for job in JOB:
        m = email.message_from_bytes(run(IMPORTER, "mail", "show", job, "--config.file=" + site.conf),
                                     policy=email.policy.default)
        found[job] = unmarked(m["Subject"].split() + m.get_body(("plain",)).get_content().split() +
                              html_words("mail", m.get_body(("html",)).get_content()), site.known)
    m = email.message_from_bytes(run(IMPORTER, "mail", "digest", "user1", "weekly", "--config.file=" + site.conf),
                                 policy=email.policy.default)
    found["digest"] = unmarked(m.get_body(("plain",)).get_content().split() +
                               html_words("mail", m.get_body(("html",)).get_content()), site.known)
    same({p: w[:12] for p, w in found.items() if w}, {}, "mails have only marked words")


def main():
    if not os.access(SERVER, os.X_OK):
        print("1..0 # SKIP %s was not built: SQLite is not installed" % SERVER)
        return 0
    site = Site(count=300, days=20)
    try:
        set_up(site)
        pages(site)
        reports(site)
        mails(site)
    finally:
        site.clean_up()
    return plan()


sys.exit(main())
