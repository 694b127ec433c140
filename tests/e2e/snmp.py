#!/usr/bin/python3
"""batchjob_snmp with the real snmpd: walks equal the exporter's page, views hide people, SNMPv1 walks
end, notifications arrive, and master and sub-agent recover from each other's absence.  TAP; a minute."""
import os
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
import snmp_lib  # noqa: E402
from ports import free_ports  # noqa: E402
from snmp_lib import AUTH, BASE, PRIV, Daemon, Process, TrapDaemon, Tree, index, until  # noqa: E402
from tap import check, plan, same, skip  # noqa: E402

NODE, JOBS, OWNERS = BASE + (1,), BASE + (3,), BASE + (4,)
LONG = "x" * 63 + "y"


class Site:
    """An exporter and a batchjob_snmp over the same tree, and a private snmpd with snmptrapd."""

    def __init__(self, folder):
        self.folder = folder
        self.mib = snmp_lib.read_mib(snmp_lib.MIB, BASE)
        self.tree = Tree(folder)
        self.traps = TrapDaemon(folder + "/trapd").start()
        lines = "".join("view %s %s %s\n" % v for v in (
            ("node", "included", ".1.3.6.1.2.1.1"), ("node", "included", snmp_lib.dotted(NODE)),
            ("people", "included", snmp_lib.dotted(BASE)), ("jobs", "included", snmp_lib.dotted(BASE)),
            ("jobs", "excluded", snmp_lib.dotted(OWNERS)))) + (
            "rocommunity public 127.0.0.1\nrocommunity weak 127.0.0.1 -V node\nrocommunity jobs 127.0.0.1 -V jobs\n"
            "createUser ops SHA-256 %s AES %s\nrouser ops authpriv -V people\n" % (AUTH, PRIV))
        self.master = Daemon(folder + "/snmpd", lines, self.traps.port)
        self.port = free_ports(1)
        self.url = "http://127.0.0.1:%d/metrics" % self.port
        self.exporter = Process([snmp_lib.O + "/batchjob_exporter", *self.tree.options(),
                                 "--web.listen-address=127.0.0.1:%d" % self.port], folder + "/exporter.log").start()
        self.agent = self.new_agent()

    def new_agent(self, *more, name="agent"):
        return Process([snmp_lib.O + "/batchjob_snmp", *self.tree.options(), "--sample.interval=0.1",
                        "--agentx.socket=" + self.master.socket, *more], "%s/%s.log" % (self.folder, name))

    def walk(self, root=BASE, **more):
        return self.master.walk(root, **more)

    def column(self, name, **more):
        """{index: value} of a column."""
        oid = self.mib[name].oid
        return {o[len(oid):]: v for o, (_, v) in self.walk(oid, **more).items()}

    def jobs(self):
        """The ids in the table of jobs; None while no sub-agent answers."""
        try:
            return {v.decode() for v in self.column("bjJobId").values()}
        except OSError:
            return None

    def answers(self):
        try:
            return bool(self.walk(NODE + (1,), wait=2))
        except OSError:
            return False

    def differences(self):
        samples = snmp_lib.read_page(self.url)
        return snmp_lib.differences(samples, self.walk(), self.mib)

    def agree(self, jobs, description):
        """Both hosts have these jobs, and all their figures are equal."""
        state = None

        def equal():
            nonlocal state
            found = self.jobs()
            state = found, self.differences() if found == set(jobs) else ["not yet"]
            return state == (set(jobs), [])
        until(equal)
        same(state[0], set(jobs), description + ": the jobs are in the table")
        check(not state[1], description + ": snmpbulkwalk has every figure of the page", *state[1][:20])

    def stop(self):
        for p in (self.agent, self.exporter, self.master, self.traps):
            p.stop()


def agreement(site):
    site.agree([], "no jobs")
    site.tree.add("7", 1)
    site.agree(["7"], "one job")
    site.tree.add(LONG, 2)
    site.tree.add("4711[3].server", 3)
    site.tree.add("8", 4, holes=("memory.current", "memory.stat"))
    site.tree.add("9", 5, holes=("cpu.stat",))
    site.agree(["7", LONG, "4711[3].server", "8", "9"], "ids of 1 and 64 bytes, jobs without some files")
    used = site.column("bjJobMemoryUsed")
    check(index("8") not in used and index("7") in used, "a column without a value has a hole", used)
    column = site.mib["bjJobMemoryUsed"].oid
    got = site.master.get(column + index("8"), column + index("7"))
    same(got[column + index("8")][0][:16], "No Such Instance", "snmpget of a hole says noSuchInstance")
    same(got[column + index("7")][1], used[index("7")], "snmpget of a value is the walk's")
    whole = site.walk()
    got = {}
    names = list(whole)
    for at in range(0, len(names), 40):
        got.update(site.master.get(*names[at:at + 40]))
    changing = {o.oid for o in site.mib.values() if re.match(snmp_lib.ANY_VALUE, o.reference or "")} | {
        site.mib["bjPassAge"].oid}
    stable = [o for o in names if not any(o[:len(c)] == c for c in changing)]
    bad = [snmp_lib.name_of(o, site.mib) for o in stable if got[o] != whole[o]]
    check(not bad and len(stable) > 100, "snmpget of each OID is equal to snmpbulkwalk", *bad[:10])
    one_by_one = site.walk(program="snmpwalk", options=())
    check([o for o in one_by_one if o in set(stable)] == stable, "a walk by GETNEXT has the same OIDs")
    for r in (1, 10, 100):
        walk = site.walk(JOBS, options=("-Cr%d" % r,))
        same(list(walk), [o for o in names if o[:len(JOBS)] == JOBS], "snmpbulkwalk -Cr%d has the same OIDs" % r)
    sets = subprocess.run(["snmpset", "-v2c", "-cpublic", "-t10", "-r0", "127.0.0.1:%d" % site.master.port,
                           snmp_lib.dotted(column + index("7")), "u", "1"], env=site.master.client_env,
                          capture_output=True, text=True)
    check(sets.returncode != 0, "nothing can be set", sets.stdout + sets.stderr)


def table(site):
    """snmptable with the names of the MIB."""
    done = site.master.run("snmptable", "BATCHJOB-MIB::bjJobTable", options=(
        "-Ci", "-Cb", "-Cf", "|", "-M", os.path.dirname(snmp_lib.MIB), "-m", "BATCHJOB-MIB"), mibs={"MIBS": "BATCHJOB-MIB"})
    rows = [line.split("|") for line in done.stdout.splitlines() if "|" in line]
    head = rows[0] if rows else []
    ids = {r[head.index("Id")].strip('"') for r in rows[1:]} if "Id" in head else set()
    same(ids, site.jobs(), "snmptable shows the jobs with the names of the MIB")
    entry = next(o for o in site.mib.values() if o.name == "bjJobEntry").oid
    bad = []
    for row in rows[1:]:
        job = index(row[head.index("Id")].strip('"'))
        for name, text in zip(head[1:], row[1:]):
            oid = next((o.oid for o in site.mib.values() if o.name == "bjJob" + name and o.oid[:-1] == entry), None)
            want = site.master.get(oid + job)[oid + job][1] if oid else None
            if text not in ("?", "") and not isinstance(want, bytes) and text.split()[0] != str(want):
                bad.append("%s of %s: %s, want %s" % (name, job, text, want))
    check(rows and not bad, "snmptable's figures are those of snmpget", *bad[:10])


def many(site):
    site.tree.clear()
    for n in range(500):
        site.tree.add(str(1000 + n), n, holes=("memory.peak",) if n % 3 == 0 else ())
    site.agree([str(1000 + n) for n in range(500)], "500 jobs")


def come_and_go(site):
    """Jobs begin and end while GETNEXTs walk: no OID repeats or goes back, jobs that stay are all there."""
    stay = [str(n) for n in range(1000, 1500, 50)]
    for n in range(1000, 1500):
        if str(n) not in stay and n % 2:
            site.tree.remove(str(n))
    until(lambda: len(site.jobs() or ()) <= 260)
    column = site.mib["bjJobId"].oid
    at, seen, steps = column, [], 0
    while True:
        got = site.master.values("snmpgetnext", at)
        at = next(iter(got))
        if at[:len(column)] != column:
            break
        seen.append(at)
        steps += 1
        if steps % 25 == 0:
            gone = str(1000 + 2 * steps)
            if gone not in stay and os.path.isdir(site.tree.root + "/batch/" + gone):
                site.tree.remove(gone)
            site.tree.add("new%d" % steps, steps)
            site.tree.add("%d" % (10 + steps), steps)
            until(lambda: "new%d" % steps in (site.jobs() or ()))
    check(seen == sorted(set(seen)), "OIDs increase while jobs begin and end")
    missing = [j for j in stay if column + index(j) not in seen]
    same(missing, [], "jobs that stay are in the walk")
    check(steps > 200, "the walk had many steps (%d)" % steps)


def views(site):
    def texts(**more):
        try:
            walk = site.walk(**more)
        except OSError:
            walk = {}
        return {o: v for o, v in walk.items()}

    names = {b"anna1", b"physics"}
    weak = texts(who=("-v2c", "-cweak"))
    check(weak and all(o[:len(NODE)] == NODE for o in weak), "the view of the node has nothing of jobs",
          *[snmp_lib.name_of(o, site.mib) for o in weak if o[:len(NODE)] != NODE][:5])
    walk = texts(who=("-v2c", "-cjobs"))
    check(any(o[:len(JOBS)] == JOBS for o in walk) and not any(o[:len(OWNERS)] == OWNERS for o in walk),
          "the view of jobs has no owners")
    found = [snmp_lib.name_of(o, site.mib) for o, (k, v) in walk.items()
             if k == "string" and (b"anna" in v or b"physics" in v or b"secret" in v)]
    same(found, [], "no text outside the table of owners names people")
    secure = ("-v3", "-uops", "-lauthPriv", "-aSHA-256", "-A" + AUTH, "-xAES", "-X" + PRIV)
    walk = texts(who=secure)
    check(names <= {v for _, v in walk.values() if isinstance(v, bytes)}, "SNMPv3 with encryption shows owners",
          [v for _, v in walk.values() if isinstance(v, bytes)][:40])
    same(list(walk), list(texts()), "SNMPv3 has the OIDs of the community without a view")
    weaker = ("-v3", "-uops", "-lauthNoPriv", "-aSHA-256", "-A" + AUTH)
    same(texts(who=weaker), {}, "SNMPv3 without encryption shows nothing")


def version_1(site):
    first = site.walk(who=("-v1", "-cpublic"), program="snmpwalk", options=())
    second = site.walk()
    check(first and set(first) <= set(second), "a walk by SNMPv1 ends")
    visible = [o for o, (kind, _) in second.items() if kind != "Counter64"]
    same(list(first), visible, "SNMPv1 shows all but 64-bit numbers")


def notifications(site):
    kinds = {o.oid: o.name for o in site.mib.values() if o.macro == "NOTIFICATION-TYPE"}
    trap_oid = ".1.3.6.1.6.3.1.1.4.1.0"

    def arrived(name):
        want = next(snmp_lib.dotted(o) for o, n in kinds.items() if n == name)
        return [t for t in site.traps.traps() if t.get(trap_oid, "").endswith(want)]

    site.tree.add("55", 5)
    until(lambda: "55" in (site.jobs() or ()))
    before = len(arrived("bjJobOomKilled"))
    site.tree.kill("55", 2)
    until(lambda: len(arrived("bjJobOomKilled")) > before)
    found = arrived("bjJobOomKilled")[before:]
    same(len(found), 1, "a job that was killed for memory is notified once")
    if found:
        check(any('"55"' in v for v in found[0].values()), "the notification has the job's id", found[0])
        kills = site.mib["bjJobOomKills"].oid + index("55")
        check(found[0].get(snmp_lib.dotted(kills), "").endswith(" 2"), "and the number of kills", found[0])
        check(not any("anna" in v for v in found[0].values()), "and no name of a user")
    passes = site.mib["bjSamplerPasses"].oid + (0,)

    def passed(n):
        start = site.master.get(passes)[passes][1]
        until(lambda: site.master.get(passes)[passes][1] >= start + n)
    passed(5)
    same(len(arrived("bjJobOomKilled")), before + 1, "the same kills are not notified again")
    # A limit on notifications: 30 jobs are killed at once.
    for n in range(30):
        site.tree.add("oom%d" % n, n)
    until(lambda: "oom29" in (site.jobs() or ()))
    start = len(site.traps.traps())
    for n in range(30):
        site.tree.kill("oom%d" % n, 1)
    until(lambda: len(site.traps.traps()) >= start + 8)
    passed(5)
    sent = len(site.traps.traps()) - start
    check(1 <= sent <= 10, "at most ten notifications are sent in a minute (%d for 30 jobs)" % sent)


def recover(site):
    """The sub-agent is back in 5 s after each kind of absence, and passes go on meanwhile."""
    def within(what, seconds, description):
        start = time.monotonic()
        until(what, 40)
        took = time.monotonic() - start
        check(what() and took < seconds * slow(), "%s (%.1f s)" % (description, took), site.agent.text()[-1500:])

    def slow():
        # A machine under load gets more time.
        return 2 if os.environ.get("BJ_SLOW") else 1

    pid = site.agent.pid
    site.master.kill(signal.SIGKILL)
    site.master.start()
    within(site.answers, 5, "after kill -9 and restart of snmpd the sub-agent answers")
    site.master.stop()
    site.master.start()
    within(site.answers, 5, "after a restart of snmpd the sub-agent answers")
    site.agent.kill(signal.SIGSTOP)
    start = time.monotonic()
    try:
        site.walk(NODE, wait=20)
        frozen = "an answer"
    except OSError as e:
        frozen = " ".join(str(e).split())
    took = time.monotonic() - start
    up = site.master.get((1, 3, 6, 1, 2, 1, 1, 3, 0))
    check(len(up) == 1, "snmpd answers for other OIDs while the sub-agent is frozen (its own: %s, %.0f s)" %
          (frozen[:40], took))
    site.agent.kill(signal.SIGCONT)
    within(site.answers, 5, "after SIGCONT the sub-agent answers")
    site.master.kill(signal.SIGSTOP)
    cpu = site.agent.cpu()
    until(lambda: site.agent.cpu() > cpu + 0.05, 30)
    check(site.agent.cpu() > cpu, "passes go on while snmpd is frozen")
    site.master.kill(signal.SIGCONT)
    within(site.answers, 5, "after SIGCONT of snmpd the sub-agent answers")
    same((site.agent.runs(), site.agent.pid), (True, pid), "all that time it was the same process")
    site.agent.kill(signal.SIGKILL)
    site.agent.start()
    within(site.answers, 5, "after kill -9 and restart the sub-agent answers")
    lines = [line for line in site.agent.text().splitlines() if "level=error" in line]
    check(len(lines) < 20, "the log is short", *lines[:5])


def late(site):
    """The master starts after the sub-agent."""
    site.agent.stop()
    site.master.stop()
    if os.path.exists(site.master.socket):
        os.unlink(site.master.socket)
    site.agent.start()
    until(lambda: "agentx" in site.agent.text().splitlines()[-1].lower() if site.agent.text() else False, 5)
    check(site.agent.runs(), "without snmpd the sub-agent runs")
    site.master.start()
    start = time.monotonic()
    until(site.answers, 30)
    took = time.monotonic() - start
    check(site.answers() and took < 6, "it answers soon after snmpd starts (%.1f s)" % took, site.agent.text()[-1500:])


def end(site):
    rss = site.agent.rss()
    before = list(site.master.walk(NODE))
    status = site.agent.stop()
    same(status, 0, "SIGTERM ends the sub-agent")
    after = site.master.walk(NODE)
    check(before and not after, "its objects are gone at once", list(after)[:3])
    check(rss < (400 << 10 if "san" in snmp_lib.O else 40 << 10), "it needs little memory (%d KiB)" % rss)
    for report in ("AddressSanitizer", "runtime error", "LeakSanitizer"):
        check(report not in site.agent.text(), "no report of %s" % report, site.agent.text()[-2000:])


def main():
    missing = snmp_lib.missing()
    if missing:
        print("1..0 # SKIP not installed: " + missing)
        return 0
    folder = tempfile.mkdtemp(prefix="bj-e2e.")
    site = None
    try:
        site = Site(folder)
        site.master.start()
        site.agent.start()
        if not until(site.answers):
            check(False, "the sub-agent answers", site.agent.text()[-3000:])
            return plan()
        chosen = sys.argv[1:] or ["agreement", "table", "views", "version_1", "notifications", "many", "come_and_go",
                                  "recover", "late", "end"]
        for part in chosen:
            globals()[part](site)
        return plan()
    finally:
        if site:
            site.stop()
        if os.environ.get("KEEP"):
            print("# kept " + folder)
        else:
            shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
