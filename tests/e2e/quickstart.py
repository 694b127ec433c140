#!/usr/bin/env python3
"""Runs the commands and writes the files of docs/quickstart.md, and of the start of docs/snmp.md, exactly as they
are there.

Its fenced blocks are marked with a language, the role of the host, and for files
the path:  ```sh node    ```yaml management /etc/batchjob/cluster.yml

  quickstart.py check        the packages have every command and file that the pages name
  quickstart.py print ROLE   the commands of a role
  quickstart.py walk [collectd|snmp]
                             run the blocks for a site with the exporter, and then those
                             that move its store to PostgreSQL (docs/scale.md); or the blocks
                             for a site with collectd; or those of docs/snmp.md.  Needs root, a machine with systemd,
                             Slurm, Prometheus and PostgreSQL, and the packages in the
                             current directory
"""

import fnmatch
import glob
import json
import os
import re
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from tap import check, plan, same  # noqa: E402

HERE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PAGE = os.path.join(HERE, "docs/quickstart.md")
SCALE = os.path.join(HERE, "docs/scale.md")
SNMP = os.path.join(HERE, "docs/snmp.md")
# Replacements for the names of the page: here all hosts are one machine.
SITE = {"alpha": "sandbox", "PROMETHEUS": "127.0.0.1", "node001": "localhost", "node002": "127.0.0.1"}
BOTH = {"slurm", "query", "management", "grafana"}
WALKS = {"exporter": BOTH | {"node", "prometheus", "cluster"}, "collectd": BOTH | {"collectd", "collectd_prometheus"}}
# Ports on which the programs and collectd listen.
PORTS = {"exporter": [9010, 9011, 9020], "collectd": [9020, 9103]}
UNITS = {"exporter": ["batchjob_exporter", "batchjob_exporter_cluster", "batchjob_stats_db", "batchjob_stats_server"],
         "collectd": ["collectd", "batchjob_stats_db", "batchjob_stats_server"],
         "snmp": ["snmpd", "batchjob_snmp"]}
PASSWORD = "secret"


def blocks(page=PAGE):
    """Yield (language, role, path, lines) of each marked block."""
    with open(page, encoding="utf-8") as f:
        text = f.read()
    for m in re.finditer(r"^( *)```(\w+) (\w+)(?: (\S+))?\n(.*?)^ *```$", text, re.M | re.S):
        indent = len(m[1])
        lines = [line[indent:] for line in m[5].splitlines()]
        yield m[2], m[3], m[4], lines


def command_of(line):
    return re.sub(r" +# .*", "", line)


def packaged():
    """Return the paths that the packages contain, from dh_install's lists and the unit files."""
    paths = {f"/{unit}" for unit in os.listdir(os.path.join(HERE, "examples"))
             if unit.endswith((".service", ".timer"))}
    folder = os.path.join(HERE, "packaging/debian")
    for name in os.listdir(folder):
        package, _, kind = name.rpartition(".")
        if kind in ("install", "examples"):
            with open(os.path.join(folder, name), encoding="utf-8") as f:
                lines = [line.split()[0] for line in f if line.strip()]
            paths |= {f"/usr/share/doc/{package}/{line}" if kind == "examples" else "/" + line for line in lines}
    return paths


def check_page():
    """The packages have the files, commands and units that the pages name; links are valid."""
    text = ""
    for page in (PAGE, SNMP):
        with open(page, encoding="utf-8") as f:
            text += f.read()
    marked = [*blocks(), *blocks(SNMP)]
    same({b[1] for b in marked}, {"build", "login", "login_key", "plugin", "snmp"}.union(*WALKS.values()),
         "the pages' blocks have the expected roles")
    prose = re.sub(r"^ *```.*?^ *```$", "", text, flags=re.M | re.S)
    check(text.count("```") == 2 * len(marked) and not re.search(r"^    \S", prose, re.M),
          "every block of the pages is marked", f"{text.count('```')} fences, {len(marked)} blocks")
    have = packaged()
    names = set(re.findall(r"/usr/share/batchjob/[\w./*-]+\w", text))
    names |= set(re.findall(r"/usr/share/doc/[\w./*-]+\w", text))
    names |= set(re.findall(r"/etc/batchjob/[\w.-]+\w", text)) - {"/etc/batchjob/web.yml", "/etc/batchjob/tokens"}
    names |= {"/usr/bin/" + p for p in re.findall(r"^(?:.* )?(batchjob_(?:acct|stats_db)) [a-z-]", text, re.M)}
    for unit in re.findall(r"systemctl [a-z]+(?: --now)? ([\w.]+\w)", text):
        names.add("/" + (unit if "." in unit else unit + ".service"))
    names -= {"/collectd.service", "/snmpd.service"}
    names -= {n for n in names if n.startswith("/etc/batchjob/server.")}  # the site's certificate
    for name in sorted(names):
        check(os.path.dirname(name) in have or fnmatch.filter(have, name)
              or any(h.startswith(name + "/") for h in have), f"the packages have {name}")
    with open(os.path.join(HERE, "packaging/debian/control"), encoding="utf-8") as f:
        control = f.read()
    for package in sorted(set(re.findall(r"\./([a-z-]+)_\*\.deb", text))):
        check(f"Package: {package}\n" in control, f"make deb builds {package}")
    for link in sorted(set(re.findall(r"\]\(([\w./-]+)\)", text))):
        check(os.path.exists(os.path.join(os.path.dirname(PAGE), link)), f"the link to {link} leads to a file")


# --- running the blocks ---------------------------------------------------------


def journal(*words):
    return subprocess.run(["journalctl", "-q", "--no-pager", *words], text=True, check=False,
                          stdout=subprocess.PIPE).stdout


def sandbox(*words):
    return subprocess.run([os.path.join(HERE, "tests/sandbox/slurm"), *words], text=True, check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


class Walk:
    def __init__(self, kind):
        self.kind = kind
        self.conf = os.environ["SLURM_CONF"]
        self.words = dict(SITE)
        if kind == "collectd":
            del self.words["node002"]  # two nodes on one machine would have the same series
        self.jobs = []
        self.started = []

    def substitute(self, text):
        for word, value in self.words.items():
            text = re.sub(rf"\b{word}\b", lambda _, v=value: v, text)
        return text

    def submit(self):
        """Submit a job of anna and one of boris, and wait until they run."""
        for user in ("anna", "boris"):
            p = sandbox("as", user, "sbatch", "--parsable", "-o", "/dev/null", "-n", "1", "--mem=50",
                        "-t", "20", "--wrap", "while :; do seq 200000 >/dev/null; sleep 1; done")
            job = p.stdout.strip()
            deadline = time.monotonic() + 300
            while time.monotonic() < deadline:
                state = subprocess.run(["squeue", "-h", "-j", job, "-o", "%T"], text=True, check=False,
                                       stdout=subprocess.PIPE, stderr=subprocess.STDOUT).stdout.strip()
                if state == "RUNNING":
                    break
                time.sleep(0.2)
            check(state == "RUNNING", f"a job of {user} runs", f"{job}: {state}")
            self.jobs.append(job)

    def wants(self, command):
        """Return the words that the output of a command must contain."""
        if "cpu_seconds" in command and "curl" in command:
            return [f'jobid="{job}"' for job in self.jobs]
        if "collectd_batchjob_job_source" in command:
            return [f'batchjob="{self.jobs[-1]}']
        if "collectd_batchjob_job" in command:
            return [f'batchjob="{job}' for job in self.jobs]
        if "9011" in command:
            return ["batchjob_cluster_jobs"]
        if "source=" in command:
            return ['account="physics"', f'jobid="{self.jobs[-1]}"']
        if "promtool query" in command:
            return ['user="anna"', 'user="boris"']
        if command == "batchjob_acct --since=1d":
            return ["anna", "boris"]
        if "X-Grafana-User" in command or "runuser -u anna" in command or command == "batchjob_acct":
            return ["anna"]
        if command.startswith("batchjob_acct report"):
            return [self.jobs[0]]
        if command.startswith("snmpwalk"):
            return ["bjVersion.0", "bjNodeCpus.0"]
        if command.startswith("snmptable"):
            return self.jobs
        if "write-access" in command:
            return ["access rules"]
        return []

    def run(self, command, wants=(), what=None):
        # Repeats the command, as a reader would until the first import is done.  htpasswd
        # prompts twice for the password.
        wants = wants or self.wants(command)
        if "STATS" in self.words and command.startswith("batchjob_acct"):
            command = f"runuser -l anna -c '{command}'"
        if "promtool query" in command and not self.started:
            self.prometheus("/etc/prometheus/prometheus.yml")
        deadline = time.monotonic() + (150 if wants else 0)
        while True:
            p = subprocess.run(["bash", "-o", "pipefail", "-c", command], text=True, check=False,
                               input=f"{PASSWORD}\n" * (2 if "htpasswd" in command else 1), start_new_session=True,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            missing = [w for w in wants if w not in p.stdout]
            if (p.returncode == 0 and not missing) or time.monotonic() > deadline:
                break
            time.sleep(1)
        check(p.returncode == 0 and not missing, what or f"$ {command}",
              f"status {p.returncode}, without {missing}:\n{p.stdout[-3000:]}")
        if "anna" in command and wants:
            check("boris" not in p.stdout, "anna sees only her jobs", p.stdout[-2000:])
        m = re.search(r"grafana:(\$2y\$\S+)", p.stdout)
        if m:
            self.words["HASH"] = m[1]
        if "make-token" in command:
            subprocess.run(["runuser", "-l", "anna", "-c", "umask 077 && mkdir -p .config/batchjob && cat >.config/batchjob/token"],
                           text=True, check=True, input=p.stdout)

    def write(self, language, path, lines):
        text = self.substitute("\n".join(lines)) + "\n"
        path = (glob.glob(path) or [path])[0]  # "*" stands for a version
        if path.endswith("/slurm.conf"):
            with open(self.conf, encoding="utf-8") as f:
                old = f.read()
            for line in lines:
                old = re.sub(rf"^{line.split('=')[0]}=.*\n", "", old, flags=re.M)
            text = old + text
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
        check(True, f"writes {path}")

    def prometheus(self, path):
        with open("/var/log/prometheus.log", "w", encoding="utf-8") as log:
            self.started.append(subprocess.Popen(
                ["prometheus", f"--config.file={path}", "--storage.tsdb.path=/var/lib/walk-prometheus"],
                stdout=log, stderr=log))

    def ports(self):
        """The programs listen on the ports of the page's table, and on no others."""
        out = subprocess.run(["ss", "-ltnpH"], text=True, check=False, stdout=subprocess.PIPE).stdout
        got = sorted({int(m[1]) for m in re.finditer(r":(\d+) .*\"(?:batchjob_|collectd)", out)})
        same(got, PORTS[self.kind], "the programs listen on the page's ports")

    def dashboards(self):
        """The dashboards show anna's job, and no panel is empty that Prometheus has data for."""
        with open("/var/lib/grafana/dashboards/batchjob/prometheus/job.json", encoding="utf-8") as f:
            panels = {p["title"]: p["targets"][0]["expr"] for p in json.load(f)["panels"]}
        for title in ("User", "CPUs used by node", "Memory held by node"):
            expr = panels[title].replace("$cluster", SITE["alpha"]).replace("$__rate_interval", "2m")
            self.run(f"promtool query instant http://localhost:9090 '{expr.replace('$jobid', self.jobs[0])}'",
                     ["=>"], f"the panel {title} of the dashboard Job has data")
        p = subprocess.run([os.path.join(HERE, "tests/e2e/dashboards_collectd.py"), "http://localhost:9090",
                            self.jobs[0], "2m"], text=True, check=False, stdout=subprocess.PIPE)
        lines = p.stdout.splitlines()
        check(p.returncode == 0 and len(lines) == 1, "no panel lacks data that Prometheus has", *lines)
        print("#", *lines[-1:])

    def files_of_jobs(self):
        """collectd writes no files for jobs."""
        found = [d for d, _, _ in os.walk("/var/lib/collectd") if os.path.basename(d).startswith("batchjob")]
        same(found, [], "collectd stores no files of jobs")

    def quiet(self):
        """With the distribution's configuration, collectd logs nothing for some intervals."""
        def lines():
            return journal("-u", "collectd", "-o", "cat").splitlines()

        def stamps():
            p = subprocess.run(["curl", "-s", "http://localhost:9103/metrics"], text=True, check=False,
                               stdout=subprocess.PIPE)
            return set(re.findall(r"^collectd_batchjob_job_cpu_usec_total\{.* (\d+)$", p.stdout, re.M))

        before, seen = lines(), stamps()
        deadline = time.monotonic() + 150
        while len(seen) < 5 and time.monotonic() < deadline:
            time.sleep(1)
            seen |= stamps()
        check(len(seen) >= 5, "collectd sends values of several intervals", *sorted(seen))
        same(lines()[len(before):], [], "collectd logs no line in these intervals")
        same([x for x in before if "batchjob" in x and re.search("error|fail|warn", x)], [],
             "the plugin logs no error at its start")

    def units(self):
        """The services run under the restrictions of their units, and systemd had to restart none."""
        self.run("systemctl list-units --failed --plain --no-legend 'batchjob*' collectd.service | { ! grep .; }",
                 what="no service has failed")
        log = journal("-u", "batchjob*", "-o", "cat").splitlines()
        same([line for line in log if re.search("level=(warn|error)", line)], [], "the services log no warning")
        for unit in UNITS[self.kind]:
            p = subprocess.run(["systemctl", "show", unit, "-P", "ActiveState", "-P", "NRestarts", "-P", "NoNewPrivileges"],
                               text=True, check=False, stdout=subprocess.PIPE)
            wanted = ["0", "active", "yes" if unit.startswith("batchjob") else "no"]
            same(sorted(p.stdout.split()), wanted, f"{unit} runs since its start, with its restrictions")

    def login(self):
        """Login nodes: TLS with a certificate of the site, and a token of anna."""
        self.run("openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost -addext subjectAltName=DNS:localhost"
                 " -keyout /etc/batchjob/server.key -out /etc/batchjob/server.pem"
                 " && cp /etc/batchjob/server.pem /usr/local/share/ca-certificates/site.crt && update-ca-certificates",
                 what="the system trusts the server's certificate")
        self.words |= {"STATS": "localhost", "4711": self.jobs[0]}
        self.follow(PAGE, {"login", "login_key"})
        self.run("curl -s -u grafana:secret -H 'X-Grafana-User: anna' 'https://localhost:9020/api/v1/jobs?limit=3'",
                 what="Grafana can query the server over https")

    def remove_plugin(self):
        """collectd starts again when the plugin's package is removed, and when it is purged."""
        for verb in ("remove", "purge"):
            self.run(f"apt-get {verb} collectd-plugin-batchjob && systemctl restart collectd",
                     what=f"collectd starts after {verb}")

    def follow(self, page, roles):
        for language, role, path, lines in blocks(page):
            if role not in roles:
                continue
            if path:
                self.write(language, path, lines)
                continue
            for line in re.sub(r"\\\n *", "", "\n".join(lines)).splitlines():
                command = self.substitute(command_of(line))
                if "prolog'" in command:
                    self.submit()
                self.run(command)
                if command == "apt-get install postgresql":  # it is installed, but not started
                    self.run("systemctl start postgresql")

    def all(self):
        self.submit()
        if self.kind == "snmp":
            self.follow(SNMP, {"snmp"})
            self.units()
            return
        self.follow(PAGE, WALKS[self.kind])
        self.ports()
        self.dashboards()
        self.units()
        if self.kind == "collectd":
            self.files_of_jobs()
            self.quiet()
            self.remove_plugin()
        else:
            self.login()
            self.follow(SCALE, {"database"})


def walk(kind):
    for d in ("datasources", "dashboards"):
        os.makedirs(f"/etc/grafana/provisioning/{d}", exist_ok=True)
    p = sandbox("start")
    if not check(p.returncode == 0, "Slurm runs", p.stdout):
        return
    w = Walk(kind)
    os.makedirs("/etc/slurm", exist_ok=True)
    if not os.path.lexists("/etc/slurm/slurm.conf"):
        os.symlink(w.conf, "/etc/slurm/slurm.conf")
        os.symlink(os.path.join(os.path.dirname(w.conf), "cgroup.conf"), "/etc/slurm/cgroup.conf")
    try:
        w.all()
    finally:
        for p in w.started:
            p.kill()
        sandbox("purge")


if sys.argv[1:2] == ["print"]:
    for language, role, _, lines in blocks():
        if language == "sh" and role == sys.argv[2]:
            print(*map(command_of, lines), sep="\n")
    sys.exit(0)
if sys.argv[1:2] == ["walk"]:
    walk(sys.argv[2] if len(sys.argv) > 2 else "exporter")
else:
    check_page()
sys.exit(plan())
