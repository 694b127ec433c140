#!/usr/bin/env python3
"""Mails about jobs, delivered by a real mail server (exim) and parsed with Python's email
package: headers, and figures in text and HTML equal to those of batchjob_acct.  TAP."""
import email
import email.policy
import glob
import html
import json
import os
import pwd
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import ports  # noqa: E402
import store_lib  # noqa: E402
import tls_lib  # noqa: E402
import tap  # noqa: E402
from gate_lib import FilledPrometheus  # noqa: E402
from history import job  # noqa: E402
from png import Image  # noqa: E402
from tap import check, plan, same, skip  # noqa: E402

TOP = os.path.abspath(os.path.join(HERE, "../.."))
O = os.path.join(TOP, os.environ.get("O", "build"))
EXIM, USER = "/usr/sbin/exim4", "Debian-exim"
HOSTILE = "a\nBcc: x@example.org\n<b>\u00e4\u202e"
# Jobs of tests/unit/statsdb/report_jobs.h: idle GPU, memory, OOM, one of many nodes, array,
# heterogeneous, failed.
JOBID = "CAST(jobid AS INTEGER)"
IDS = ("1001", "1002", "1003", "1005", "2000", "3400")

SERVER = """primary_hostname = mail.test
local_interfaces = 127.0.0.1
daemon_smtp_ports = %(port)d
spool_directory = %(folder)s/spool
log_file_path = %(folder)s/exim.%%s.log
pid_file_path = %(folder)s/exim.pid
tls_advertise_hosts = *
tls_certificate = %(folder)s/server.pem
tls_privatekey = %(folder)s/server.key
acl_smtp_rcpt = rcpt
keep_environment =
message_size_limit = 5M
begin acl
rcpt:
  deny message = authenticate first
    !authenticated = *
  deny message = no such user here
    local_parts = gone
  defer message = try again
    local_parts = slow
    condition = ${if exists{%(folder)s/greylist}}
  accept
begin routers
all:
  driver = accept
  transport = box
begin transports
box:
  driver = appendfile
  directory = %(folder)s/box
  maildir_format
  envelope_to_add
  return_path_add
  create_directory
  user = %(user)s
begin authenticators
plain:
  driver = plaintext
  public_name = PLAIN
  server_prompts = :
  server_condition = ${if and{{eq{$auth2}{batch}}{eq{$auth3}{open sesame}}}}
  server_set_id = $auth2
  server_advertise_condition = ${if def:tls_in_cipher}
"""


class Site:
    def __init__(self, folder):
        self.folder = folder
        self.database = store_lib.store(folder + "/stats.db")
        self.store, self.rows = self.database.url, self.database.rows
        self.now = int(time.time())
        self.daemon = None
        for name in ("spool", "box", "eml"):
            os.mkdir(os.path.join(folder, name))
            shutil.chown(os.path.join(folder, name), USER, USER)
        shutil.chown(folder, USER, USER)
        tls_lib.ca(folder, "ca", tls_lib.EC)
        tls_lib.cert(folder, "server", "ca", "/CN=mail.test", "subjectAltName=IP:127.0.0.1",
                     key=tls_lib.EC)
        shutil.chown(folder + "/server.key", USER, USER)
        self.write("exim.conf", SERVER % dict(port=ports.free_ports(1), folder=folder, user=USER))
        self.port = re.search(r"daemon_smtp_ports = (\d+)", self.read("exim.conf")).group(1)
        self.write("password", "open sesame\n", 0o600)
        self.write("cluster.yml", "name: alpha\nsacct:\n  command: \"\"\n")
        self.write("addresses", "gone gone@example.org\neve -\n")
        self.mail(send="smtp")

    def write(self, name, text, mode=0o644):
        with open(os.path.join(self.folder, name), "w") as f:
            f.write(text)
        os.chmod(os.path.join(self.folder, name), mode)

    def read(self, name):
        with open(os.path.join(self.folder, name)) as f:
            return f.read()

    def mail(self, **more):
        """Write the configuration with these options below mail."""
        options = {"default": "all", "from": "batch@example.org", "from-name": "J\u00f6bs, here",
                   "reply-to": "help@example.org", "envelope-sender": "bounce@example.org",
                   "address": "{user}@example.org", "address-file": self.folder + "/addresses",
                   "delay": "0s", "url": "https://stats.example.org/x/",
                   "smtp-url": "smtp://127.0.0.1:" + self.port, "smtp-user": "batch",
                   "smtp-password-file": self.folder + "/password",
                   "smtp-ca-file": self.folder + "/ca.pem", "per-user": "100", **more}
        self.write("site.yml", "store:\n  path: %s\ncluster:\n  file: %s/cluster.yml\nmail:\n%s" % (
            self.store, self.folder, "".join("  %s: %s\n" % (k, json.dumps(v, ensure_ascii=False))
                                             for k, v in options.items())))

    def run(self, *words, code=0):
        p = subprocess.run([O + "/batchjob_stats_db", *words, "--config.file=%s/site.yml" %
                            self.folder], capture_output=True, timeout=300)
        if p.returncode != code:
            check(False, "batchjob_stats_db %s ends with %d" % (" ".join(words), code), p.stderr)
        return p

    def start(self):
        log = open(self.folder + "/daemon.log", "a")
        self.daemon = subprocess.Popen([O + "/batchjob_stats_db", "--config.file=%s/site.yml" %
                                        self.folder], stdout=log, stderr=log)
        until(lambda: self.rows("SELECT count(*) FROM mail_state")[0][0] == 1 or None,
              "mails are enabled")

    def stop(self, how=signal.SIGTERM):
        self.daemon.send_signal(how)
        self.daemon.wait(300)
        self.daemon = None

    def box(self, name="anna"):
        """The mails of a user, by Message-ID."""
        found = {}
        for path in glob.glob("%s/box/new/*" % self.folder):
            with open(path, "rb") as f:
                m = email.message_from_binary_file(f, policy=email.policy.default)
            if not name or m["Envelope-to"] == name + "@example.org":
                found.setdefault(m["Message-ID"], []).append(m)
        return found


def until(what, failure, seconds=300):
    end = time.time() + seconds
    while time.time() < end:
        got = what()
        if got is not None:
            return got
        time.sleep(0.1)
    check(False, failure, "not within %d s" % seconds)
    return what()


def acct(site, *words):
    return subprocess.run([O + "/batchjob_acct", "report", "--store.path=" + site.store, *words],
                          capture_output=True, check=True).stdout.decode("utf-8")


def fill_store(site):
    """Fill the store with jobs that have just ended."""
    subprocess.run([os.environ.get("MAKE", "make"), "-C", TOP, "-s",
                    "O=" + os.path.relpath(O, TOP),
                    os.path.relpath(O, TOP) + "/unit/test_statsdb_report"],
                   check=True, stdout=subprocess.DEVNULL)
    subprocess.run([O + "/unit/test_statsdb_report", site.database.file], check=True)
    # before the copy to PostgreSQL, where ids of jobs and records contain their times
    rows = store_lib.File(site.database.file).rows
    last, = rows("SELECT max(\"end\") FROM job")[0]
    later = site.now - last - 60
    rows("UPDATE jobname SET text = ? WHERE id = (SELECT name FROM job WHERE jobid = 1001)", HOSTILE)
    rows("UPDATE job SET start = start + ?1, submit = submit + ?1, eligible = eligible + ?1, \"end\" = \"end\" + ?1", later)
    rows("UPDATE node_record SET start = start + ?1, \"end\" = \"end\" + ?1", later)
    site.database.file_changed()


def end_jobs(site, which, user="anna"):
    """Let these jobs end now, as an import does while the daemon runs."""
    site.rows("INSERT INTO user(name) VALUES(?) ON CONFLICT DO NOTHING", user)
    was = site.rows("SELECT id, \"end\" FROM job WHERE " + which)
    ids = " WHERE id IN (%s)" % ", ".join(str(n) for n, _ in was)
    site.rows("UPDATE job SET \"end\" = NULL, user = (SELECT id FROM user WHERE name = ?)" + ids, user)
    now = int(time.time())
    site.rows("UPDATE job SET \"end\" = CASE id %s END" % " ".join(
        "WHEN %d THEN %d" % (n, max(now, end or 0)) for n, end in was) + ids)


def start_exim(site):
    server = subprocess.Popen([EXIM, "-C", site.folder + "/exim.conf", "-bdf"],
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    until(lambda: not ports.is_free(int(site.port)) or None, "exim listens")
    return server


def parts(m):
    return (m.get_body(("plain",)).get_content(), m.get_body(("html",)).get_content())


def plain_text(text):
    text = re.sub("</?span[^>]*>", "", text)
    return " ".join(html.unescape(re.sub("<style>.*</style>|<[^>]*>", " ", text,
                                         flags=re.S)).split())


def same_figures(site, ids):
    """Each mail has the report of batchjob_acct, and its HTML has the same figures."""
    box = site.box()
    same([len(v) for v in box.values() if len(v) != 1], [], "each mail arrived once")
    by_id = {}
    for (m,) in box.values():
        text, page = parts(m)
        by_id[text.splitlines()[0].split()[1]] = (m, text, page)
    for job in ids:
        if not check(job in by_id, "job %s: a mail arrived" % job, sorted(by_id)):
            continue
        m, text, page = by_id[job]
        want = acct(site, "--ascii", job)
        same(text[:len(want)].splitlines(), want.splitlines(), "job %s: the text is the report" %
             job)
        data = json.loads(acct(site, "--output=json", job))[0]
        shown = plain_text(page)
        missing = [s for s in [data["verdict"]["wrong"], data["verdict"]["cost"],
                               data["verdict"]["todo"], *[f["text"] for f in data["findings"]],
                               *[a["text"] for a in data["advice"]],
                               *[a["line"] for a in data["advice"]],
                               *re.findall(r"[\d.]+ (?:%|[KMGT]iB|kWh)", want)]
                   if s and " ".join(s.split()) not in shown]
        same(missing, [], "job %s: HTML has the figures and sentences of the text" % job)
    return by_id


def headers(site, m):
    same([str(m[h]) for h in ("Auto-Submitted", "Precedence", "List-Unsubscribe", "To",
                              "Return-path", "Reply-To")],
         ["auto-generated", "bulk", "<mailto:help@example.org?subject=stop%20mails>",
          "anna@example.org", "<bounce@example.org>", "help@example.org"], "the headers are right")
    sender = m["From"].addresses[0]
    same((sender.display_name, sender.addr_spec), ("J\u00f6bs, here", "batch@example.org"),
         "From is the configured sender")
    check(abs(m["Date"].datetime.timestamp() - time.time()) < 120, "Date is now", m["Date"])
    check("esmtpsa" in str(m["Received"]), "the mail arrived over TLS from an authenticated client",
          m["Received"])
    same(m.defects + [d for p in m.walk() for d in p.defects], [], "MIME has no defects")


def hostile_names(by_id):
    m, text, page = by_id["1001"]
    same(m["Bcc"], None, "a job name adds no header")
    check("<b>" not in re.sub(r"<b class|<b>Next", "", page) and "&lt;b&gt;" in page,
          "a job name adds no HTML")
    check("a?Bcc: x@example.org?<b>\u00e4" in text, "the job name is in the text", text[:200])
    links = re.findall(r"(?:src|href|url)\s*[=(]\s*\"?([^\" >)]+)", page)
    same([u for u in links if not u.startswith(("https://stats.example.org/x/jobs/",
                                                "https://stats.example.org/x/mail",
                                                "mailto:help@example.org"))], [],
         "HTML loads no external content")


def no_mails_for_past_jobs(site):
    site.start()
    time.sleep(0)
    until(lambda: site.rows("SELECT count(*) FROM derive_todo")[0][0] == 0 or None,
          "all jobs are derived")
    same(site.rows("SELECT count(*) FROM mail_todo")[0][0], 0,
         "jobs that ended before mails were enabled are not queued")


def mails(site):
    end_jobs(site, "array_job_id IS NOT NULL OR " + JOBID + " IN (1001, 1002, 1003, 1005, 3400)")
    until(lambda: len(site.box()) >= len(IDS) or None, "mails arrive")
    by_id = same_figures(site, IDS)
    headers(site, by_id["1002"][0])
    hostile_names(by_id)
    same(sorted(by_id), sorted(IDS), "an array gets one mail")
    return by_id


def refusals(site):
    """Status 5xx is final, 4xx is retried; the address "-" and the choice "off" stop mails."""
    site.write("greylist", "")
    site.run("mail", "choice", "bob", "off")
    for job, user in ((1000, "gone"), (3200, "slow"), (3300, "eve"), (3600, "bob")):
        end_jobs(site, JOBID + " = %d" % job, user)
    until(lambda: len(site.rows("SELECT * FROM mail_sent WHERE user IN ('gone', 'slow') AND"
                                " state != 'sending'")) == 2 or None, "the server refuses")
    same(site.rows("SELECT user, state, tries FROM mail_sent WHERE user != 'anna' ORDER BY user"),
         [("gone", "failed", 1), ("slow", "waiting", 1)], "one mail is refused, another will be retried")
    until(lambda: site.rows("SELECT count(*) FROM mail_todo")[0][0] == 1 or None,
          "the other jobs are handled")
    os.unlink(site.folder + "/greylist")
    site.rows("UPDATE mail_sent SET at = at - 3600 WHERE user = 'slow'")
    until(lambda: site.box("slow") or None, "the retried mail arrives")
    same({str(m["Envelope-to"]) for v in site.box(None).values() for m in v},
         {"anna@example.org", "slow@example.org"}, "other users get no mail")


def kills(site):
    """After SIGKILL at any moment there is at most one mail of each job."""
    for i in range(4):
        site.stop(signal.SIGKILL)
        site.start()
        end_jobs(site, JOBID + " IN (1004, 3100)")
        if i % 2:
            time.sleep(0.3 * i)
    until(lambda: site.rows("SELECT count(*) FROM mail_todo")[0][0] == 0 or None, "all jobs are handled")
    states = dict(site.rows("SELECT key, state FROM mail_sent WHERE user = 'anna'"))
    sent = len([s for s in states.values() if s == "sent"])
    until(lambda: len(site.box()) >= sent or None, "the server delivers what it accepted")
    box = site.box()
    same([len(v) for v in box.values() if len(v) != 1], [], "killed: no mail arrives twice")
    check(sent <= len(box) <= len(states), "killed: all mails marked as sent have arrived",
          sent, len(box), states)


def commands(site):
    """The mail commands and check-config."""
    site.run("mail", "choice", "anna", "weekly")
    same(site.run("mail", "choice", "anna").stdout, b"weekly\n", "mail choice shows the choice")
    same(site.run("mail", "choice", "zoe").stdout, b"all (default)\n", "mail choice shows the default")
    check(b"not a choice" in site.run("mail", "choice", "anna", "x", code=1).stderr,
          "mail choice refuses an unknown choice")
    check(b"sent" in site.run("mail", "log").stdout, "mail log shows sent mails")
    site.run("mail", "send", "1002", "boss@example.org")
    until(lambda: site.box("boss") or None, "mail send delivers to another address")
    site.run("check-config")
    os.mkdir(site.folder + "/templates")
    site.run("mail", "templates", site.folder + "/templates")
    page = site.read("templates/job.html")
    site.write("templates/job.html", page.replace("{{about}}", "{{abouts}}"))
    site.mail(send="smtp", **{"template-dir": site.folder + "/templates"})
    failure = site.run("check-config", code=1).stderr.decode()
    check("templates/job.html, line" in failure and "unknown placeholder abouts" in failure,
          "check-config names the line of a wrong placeholder", failure)
    site.write("templates/job.html", page.replace("<h1>", "<h1>Our site: "))
    check(b"Our site: Job" in site.run("mail", "show", "1002").stdout, "the site's template is used")
    for option, value in (("from", "nobody"), ("smtp-url", "http://x"), ("reply-to", ""),
                          ("quiet-hours", "night"), ("address", "x"), ("smtp-tls", "false")):
        site.mail(send="smtp", **{option: value})
        failure = site.run("check-config", code=1).stderr.decode()
        check("mail." in failure and (option in failure or option == "smtp-tls"),
              "check-config refuses mail.%s: %s" % (option, value), failure)


def images(m):
    """The images of a mail by Content-ID; checks that its HTML refers to each."""
    found = {p["Content-ID"].strip("<>"): p.get_content() for p in m.walk()
             if p.get_content_type() == "image/png"}
    _, page = parts(m)
    same(re.findall(r"src=\"cid:([^\"]+)\"", page), list(found), "HTML refers to each image")
    return found


def received(site, name, *words):
    site.run("mail", "send", *words, name + "@example.org")
    (m,), = until(lambda: site.box(name) or None, "a mail to %s arrives" % name).values()
    same(m.defects + [d for p in m.walk() for d in p.defects], [], "MIME has no defects")
    return m


def plots(site):
    """Mails have plots of their jobs, from a real Prometheus."""
    row, = site.rows('SELECT start, "end" FROM job WHERE ' + JOBID + " = 1001")
    prom = FilledPrometheus(job(*row, "1001", "anna", 1, 4, 2, (1,), cluster="alpha"))
    if prom.failure:
        skip("plots in mails", prom.failure)
        return None
    try:
        site.write("cluster.yml", "name: alpha\nsacct:\n  command: \"\"\nprometheus:\n  url: %s\n"
                   % prom.url)
        site.mail(send="smtp")
        m = received(site, "plots", "1001")
        found = images(m)
        same(len(found), 5, "there are plots of CPUs, memory, data, and use and memory of GPUs")
        sizes = {(i.width, len(d) < 150000) for d in found.values() for i in [Image(d)]}
        same(sizes, {(880, True)}, "images are 880 pixels wide, for a width of 440, and small")
        text, page = parts(m)
        words = " ".join(text.split("\nOver time\n")[1].split())
        for want in ("CPUs. CPUs used: 2 on average, at most 2. CPUs allocated: 4.",
                     "GPU use, each GPU. Mean: n1: GPU 0 80 %, n1: GPU 1 always 0."):
            check(want in words and want in html.unescape(page),
                  "text and alternative text: " + want, words)
        same(sum(len(d) for d in found.values()) < 400000, True, "all images together are small")
        rows = [Image(d) for d in found.values()]
        same([len(i.lines(0x8FC1E0, i.width // 2)) for i in rows][2:4], [1, 1],
             "one of two GPUs is idle")
        m = received(site, "none", "1002")
        same(images(m), {}, "a job without samples has no images")
        for part in parts(m):
            check("Prometheus has no samples of this job" in " ".join(part.split()),
                  "a mail without plots has the reason")
        site.mail(send="smtp", plots=False)
        same((images(received(site, "off", "1001")), "Over time" in parts(m)[0]), ({}, True),
             "mail.plots can disable plots")
    finally:
        prom.stop()
        site.mail(send="smtp")
    m = received(site, "away", "1001")
    check("did not answer" in parts(m)[0] and not images(m), "without Prometheus, a mail has no plots")
    return m


def digest(site):
    """The digest has the report of batchjob_acct for the same jobs."""
    site.mail(send="smtp")
    m = email.message_from_bytes(site.run("mail", "digest", "anna").stdout,
                                 policy=email.policy.default)
    first, last = re.findall(r"\d{4}-\d\d-\d\d", m["Subject"])
    noon = time.mktime(time.strptime(last + " 12:00", "%Y-%m-%d %H:%M"))
    site.rows("UPDATE job SET start = start + ?1 WHERE user = (SELECT id"
              " FROM user WHERE name = 'anna')",
              int(noon) - site.rows("SELECT max(start) FROM job")[0][0])
    m = email.message_from_bytes(site.run("mail", "digest", "anna", "weekly").stdout,
                                 policy=email.policy.default)
    text, page = parts(m)
    end = time.strftime("%Y-%m-%d", time.localtime(noon + 86400))
    want = acct(site, "--ascii", "--user=anna", "--since=" + first, "--until=" + end)
    n = len(want.splitlines()) - 1
    check(n > 20, "there are jobs to report on", want)
    todo, rest = text.split("What to change\n", 1)[1].split("\n\n", 1)
    todo = " ".join(todo.split())
    check("#SBATCH --gres=gpu:h100:1" in todo and "1 of 2 GPUs were never used. 1 job, " in todo
          and "GPU hours held and not used." in todo, "a digest begins with what to change", todo)
    check("#SBATCH --gres=gpu:h100:1" in acct(site, "--ascii", "1001"), "as the report of the job says it")
    check("What to change" in page and "<code>#SBATCH --gres=gpu:h100:1</code>" in page, "also in HTML", page)
    text = text.split("What to change\n", 1)[0] + rest
    same(text.splitlines()[1:n + 1], want.splitlines()[1:], "a digest contains the report of the jobs")
    shown = plain_text(page)
    figures = re.findall(r"[\d.]+ (?:%|h\b|kWh)", want.split("most unused")[0])
    same([f for f in figures if f not in shown], [], "HTML of a digest has the same figures")
    image, = [Image(d) for d in images(m).values()] or [None]
    if check(image, "a digest has a plot of its days"):
        same(image.width, 880, "the plot of a digest is 880 pixels wide")
        check(len(image.lines(0x0072B2, 10)) >= 1, "the plot of a digest has bars")


def by_sendmail(site):
    """Mails sent by exim's sendmail, and written to a directory."""
    site.write("sendmail", "#!/bin/sh\nexec %s -C %s/exim.conf \"$@\"\n" % (EXIM, site.folder),
               0o755)
    site.mail(send="sendmail", sendmail=site.folder + "/sendmail", **{"envelope-sender": "<>"})
    site.run("mail", "send", "1002", "other@example.org")
    m = until(lambda: site.box("other") or None, "sendmail: the mail arrives")
    (m,), = m.values()
    same(m["Return-path"], "<>", "sendmail: the envelope sender is empty")
    text, _ = parts(m)
    want = acct(site, "--ascii", "1002")
    same(text[:len(want)], want, "sendmail: the text is the report")
    site.mail(send="directory", directory=site.folder + "/eml")
    site.run("mail", "send", "1002")
    same(len(glob.glob(site.folder + "/eml/*.eml")), 1, "directory: the mail is a file")


def chromium(site, m):
    """In a browser, the HTML part needs no horizontal scrolling."""
    if not shutil.which("chromium"):
        skip("HTML in a browser", "chromium is not installed")
        return
    _, page = parts(m)
    probe = page.replace("</body>", "<script>document.title='W'+document.documentElement."
                         "scrollWidth+' '+innerWidth</script></body>")
    site.write("mail.html", probe)
    for width in (360, 1200):
        p = subprocess.run(["chromium", "--headless=new", "--no-sandbox", "--disable-gpu",
                            "--disable-dev-shm-usage", "--user-data-dir=" + site.folder + "/chrome",
                            "--dump-dom", "--window-size=%d,1000" % width,
                            "file://" + site.folder + "/mail.html"], capture_output=True,
                           timeout=300)
        wide = re.search(r"<title>W(\d+) (\d+)</title>", p.stdout.decode(errors="replace"))
        check(wide and int(wide.group(1)) <= int(wide.group(2)),
              "HTML fits a window of %d" % width, wide and wide.group(0), p.stderr[-300:])


def main():
    if not os.path.exists(EXIM):
        skip("mails read back from a server", "exim4 is not installed")
        return plan()
    if os.geteuid() != 0:
        skip("mails read back from a server", "not root")
        return plan()
    pwd.getpwnam(USER)
    with tempfile.TemporaryDirectory(prefix="bj-mail-") as folder:
        site = Site(folder)
        server = None
        try:
            fill_store(site)
            server = start_exim(site)
            no_mails_for_past_jobs(site)
            by_id = mails(site)
            refusals(site)
            kills(site)
            site.stop()
            commands(site)
            plots(site)
            digest(site)
            by_sendmail(site)
            chromium(site, by_id["1001"][0])
        finally:
            for log in ("daemon.log", "exim.main.log", "exim.panic.log", "exim.reject.log"):
                if tap.failed and os.path.exists(os.path.join(folder, log)):
                    print("\n".join("# " + line for line in site.read(log).splitlines()[-30:]))
            if site.daemon:
                site.stop()
            if server:
                server.terminate()
                server.wait()
            site.database.close()
    return plan()


sys.exit(main())
