#!/usr/bin/env python3
"""Terminal, page, PDF, mail and JSON show the same figures of a job, number by number, and their
first lines say what to change.  TAP."""
import email
import email.policy
import html.parser
import os
import re
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from api_lib import O, SERVER, TOP, Site, check, plan, rounded, same, user  # noqa: E402

ACCT, STATS_DB = (os.path.abspath(os.path.join(TOP, O, p)) for p in ("batchjob_acct", "batchjob_stats_db"))
JOBS = os.path.abspath(os.path.join(TOP, O, "unit/test_statsdb_report"))
BOSS = user("boss")

# The first lines of each report: what was wrong, and what to do (None: nothing).
FIRST = {
    "1000": ("there is nothing to change", None),
    "1001": ("never used 1 of its GPUs", "#SBATCH --gres=gpu:h100:1"),
    "1002": ("used 7.19 % of its memory", "#SBATCH --mem=6G"),
    "1003": ("ran out of memory; it had 8 GiB", "#SBATCH --mem-per-cpu=3G"),
    "1004": ("reached its time limit of 01:00:00", "write checkpoints"),
    "1005": ("no CPU time on 2 of its nodes", "Request -N 1 instead of -N 3"),
    "2007": ("20 of 20 tasks of the array completed", "2000_7 used 30 GiB of 32 GiB"),
    "3000+1": ("there is nothing to change", None),
    "3100": ("CPU efficiency was 37.5 %", "Try fewer"),
    "3200": ("too short to judge", None),
    "3300": ("It is not known what the job used", None),
    "3400": ("failed with exit code 3", None),
    "3600": ("Only 0.986 of the CPUs was busy", "#SBATCH -c 1"),
    "3700": ("CPU efficiency was 9.55 %", "#SBATCH -t 01:30:00"),
}
LABELS = {"cpu": "CPU time", "memory": "Memory", "memory_charged": "With cache", "gpu": "GPU time",
          "gpu_memory": "GPU memory", "time": "Run time", "read": "Read", "write": "Written",
          "energy": "Energy", "emissions": "Emissions", "cost": "Cost"}
VALUE = re.compile(r"(?<![\w.])(?:\d+-)?\d\d:\d\d:\d\d|(?<![\w.,])[0-9.,]+ (?:[KMGTP]iB|B|k?Wh|k?g|%|EUR|h)(?!\w)")
QUALITY = ("measured", "recorded", "estimated", "calculated", "at least")


def formatted(unit, v):
    """A value of JSON in the format of the reports; halves are rounded up."""
    if unit == "hours":
        return rounded(round(v * 1e6) / 3.6e9) + " h"  # as in C: ties are rounded the same way
    if unit == "seconds":
        v = int(v + 0.5)
        day = "%d-" % (v // 86400) if v >= 86400 else ""
        return day + "%02d:%02d:%02d" % (v // 3600 % 24, v // 60 % 60, v % 60)
    if unit == "bytes":
        for name in ("B", "KiB", "MiB", "GiB", "TiB"):
            if v < 1023.5 or name == "TiB":
                return "%s %s" % (rounded(v), name)
            v /= 1024
    if unit == "joules":
        return rounded(v / 3.6e6) + " kWh" if v / 3600 >= 999.5 else rounded(v / 3600) + " Wh"
    if unit == "grams":
        return rounded(v / 1000) + " kg" if v >= 999.5 else rounded(v) + " g"
    cents = int(v * 100 + 0.5)
    return "{:,}.{:02d} {}".format(cents // 100, cents % 100, unit) if cents or not v else \
        "%s %s" % (("%.6f" % v).rstrip("0"), unit)


class Tables(html.parser.HTMLParser):
    """Collects the rows of all tables as lists of cells, and the text outside tables."""

    def __init__(self, text):
        super().__init__()
        self.rows, self.text, self.open, self.row, self.style = [], "", [], None, False
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        if tag == "tr":
            self.row = []
        if tag in ("td", "th") and self.row is not None:
            self.row.append("")
            self.open.append(tag)
        if tag == "br" and self.open:
            self.row[-1] += " "
        self.style = tag == "style"
        if tag in ("p", "li", "h2", "h3", "br", "div"):
            self.text += " "

    def handle_endtag(self, tag):
        if tag in ("td", "th") and self.open:
            self.open.pop()
        if tag == "tr" and self.row is not None:
            self.rows.append([" ".join(c.split()) for c in self.row])
            self.row = None

    def handle_data(self, text):
        if self.open:
            self.row[-1] += text
        elif not self.style:
            self.text += text


def figures_of_lines(lines):
    """{label: (values, quality)} of the lines of a text."""
    found = {}
    for line in lines:
        for label in LABELS.values():
            if line.startswith(label + " ") and label not in found:
                rest = line[len(label):]
                found[label] = (VALUE.findall(rest), [q for q in QUALITY if q in rest])
    return found


def without_request(lines):
    """The lines of a PDF without the table of the request, which has rows of the same names."""
    if "Requested and used" not in lines:
        return lines
    return lines[next((i for i, line in enumerate(lines) if line.lower().endswith("resources used")), len(lines)):]


def figures_of_mail(html):
    """Those of a mail without the table of the request."""
    html = re.sub(r"<h2>Requested and used</h2>.*?</table>", "", html, flags=re.S)
    return figures_of_rows(Tables(html.split("Tasks of the array")[0]).rows)


def rows_of_page(body):
    """The rows of what was used, on the page of a job that has ended."""
    return Tables(body.split("<h2>Resources used</h2>")[1].split("</table>")[0]).rows if "<h2>Resources used</h2>" in body else []


def figures_of_rows(rows):
    return {r[0]: (VALUE.findall(" | ".join(r[1:])), [q for q in QUALITY if q in r[-1]])
            for r in reversed(rows) if r and r[0] in LABELS.values()}


def set_up(site):
    """Fill the store with the jobs of tests/unit/statsdb/report_jobs.h; start the server."""
    subprocess.run([os.environ.get("MAKE", "make"), "-C", TOP, "-s", "O=" + O,
                    O + "/unit/test_statsdb_report"], check=True, stdout=subprocess.DEVNULL)
    subprocess.run([JOBS, site.store], check=True)
    site.start("--access.trust-loopback", "--access.admins=boss")
    cluster = site.file("alpha.yml", "name: alpha\nsacct:\n  command: /bin/false\n")
    site.conf = site.file("site.yml", "store:\n  path: %s\ncluster:\n  file: %s\nmail:\n  send: directory\n"
                          "  directory: %s\n  from: a@b.example\n  reply-to: a@b.example\n"
                          "  address: '{user}@b.example'\n" % (site.store, cluster, site.folder))


def run(*words):
    p = subprocess.run(words, capture_output=True, env=dict(os.environ, LC_ALL="C.UTF-8", TZ="UTC"))
    if p.returncode:
        check(False, "%s ends with 0" % " ".join(words[:3]), p.stderr)
    return p.stdout


def lines_of(text):
    return [" ".join(line.split()) for line in text.replace("\u00a0", " ").splitlines() if line.strip()]


def lines_of_pdf(path):
    """pdftotext may lose the blank before a narrow unit."""
    return [re.sub(r"(?<=[0-9])(?=(?:%|h|B|g|kg|Wh|kWh)(?!\w))", " ", line)
            for line in lines_of(run("pdftotext", "-layout", path, "-").decode())]


def forms_of(site, job):
    """The report as JSON, the size of the page, and {form: (figures, first lines, order of values)}."""
    forms = {}
    text = lines_of(run(ACCT, "--store.path=" + site.store, "--utc", "report", job).decode())
    forms["terminal"] = (figures_of_lines(text), " ".join(text[:14]), "PUA")
    key = run(ACCT, "--store.path=" + site.store, "--job=" + job, "--format=key", "--limit=1",
              "--output=csv").decode().split()[-1]
    a = site.fetch("/jobs/" + key, BOSS)
    page = Tables(a.body.decode())
    if job == "2007":
        links = re.findall(r'<a class="(\w+)" href="[^"]+" title="(2000_\d+): completed[^"]*">', a.body.decode())
        same(sorted(links), sorted(("u2", "2000_%d" % i) for i in range(1, 21)), "an array has a link to each task")
    forms["page"] = (figures_of_rows(rows_of_page(a.body.decode())),
                     " ".join(page.text.split()).split("equested and used")[0], "AUPR")
    if shutil.which("pdftotext"):
        path = os.path.join(site.folder, "x.pdf")
        run(ACCT, "--store.path=" + site.store, "--utc", "report", "--format=pdf", "--file=" + path, job)
        text = lines_of_pdf(path)
        forms["PDF"] = (figures_of_lines(without_request(text)), " ".join(text[:14]), "PUAR")
    if job == "3400":  # its owner's name cannot be in a mail address
        return site.fetch("/api/v1/jobs/%s/report" % key, BOSS).data, len(a.body), forms
    mail = email.message_from_bytes(run(STATS_DB, "mail", "show", job, "--config.file=" + site.conf),
                                    policy=email.policy.default)
    text = lines_of(mail.get_body(("plain",)).get_content())
    forms["mail"] = (figures_of_lines(text), " ".join(text[:20]), "PUA")
    text = mail.get_body(("html",)).get_content()
    body = Tables(text)
    forms["mail as HTML"] = (figures_of_mail(text), " ".join(body.text.split())[:1500], "PUA")
    return site.fetch("/api/v1/jobs/%s/report" % key, BOSS).data, len(a.body), forms


def expected(figure, order):
    """The values of a figure in the order of a form: P percent, U used, A allocated, R requested."""
    unit = "hours" if figure["figure"] in ("cpu", "gpu") else figure["unit"] or ""
    def amount(name):
        return [] if figure[name] is None else [formatted(unit, figure[name])]
    percent = [] if figure["percent"] is None else [rounded(figure["percent"]) + " %"]
    requested = amount("requested")
    parts = {"P": percent, "U": amount("used"), "A": amount("allocated"), "R": requested}
    # A page shows the request only if it differs from the allocation.
    if order == "AUPR" and figure["requested"] == figure["allocated"]:
        parts["R"] = []
    return [v for part in order for v in parts[part]]


def agree(site):
    wrong, unclear, sizes, compared = [], [], [], 0
    for job, (what, todo) in FIRST.items():
        data, size, forms = forms_of(site, job)
        sizes.append(size)
        for name, (figures, first, order) in forms.items():
            if not (what in first and (todo or "") in first):
                unclear.append((name, job, what, todo, first[:600]))
            for f in data["figures"]:
                label = LABELS[f["figure"]]
                got = figures.get(label)
                if f["used"] is None and f["percent"] is None:
                    # A page shows the allocation even if the use is unknown.
                    if got and not (name == "page" and got[0] == expected(f, order)):
                        wrong.append((name, job, label, got, "nothing"))
                    continue
                want = expected(f, order)
                if not got or got[0] != want:
                    wrong.append((name, job, label, got, want))
                elif f["quality"] != "measured" and f["quality"] not in got[1]:
                    wrong.append((name, job, label, got, f["quality"]))
                compared += len(want)
    same(wrong[:4], [], "terminal, page, PDF and mail show the figures of JSON, number by number")
    check(compared > 800, "more than 800 numbers were compared", compared)
    same(unclear[:2], [], "the first lines of each form say what was wrong and what to do")
    check(max(sizes) < 300000, "each page is below 300 KB", sizes)


def main():
    if not os.access(SERVER, os.X_OK):
        print("1..0 # SKIP %s was not built: SQLite is not installed" % SERVER)
        return 0
    site = Site()
    try:
        set_up(site)
        agree(site)
    finally:
        site.clean_up()
    return plan()


if __name__ == "__main__":
    sys.exit(main())
