#!/usr/bin/python3
"""batchjob_snmp with the real snmpd: walks equal the exporter's page, views hide people, SNMPv1 walks
end, notifications arrive, and master and sub-agent recover from each other's absence.  TAP; a minute."""
import os
import re
import signal
import subprocess
import sys
import time

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import snmp_lib  # noqa: E402
from ports import free_ports  # noqa: E402
from snmp_lib import AUTH, BASE, PRIV, Daemon, Process, TrapDaemon, Tree, eventually, index, until  # noqa: E402
from tap import check, same  # noqa: E402

NODE, JOBS, OWNERS = BASE + (1,), BASE + (3,), BASE + (4,)
LONG = "x" * 63 + "y"
TRAP_OID = ".1.3.6.1.6.3.1.1.4.1.0"


class Site:
    """An exporter and a batchjob_snmp over the same tree, and a private snmpd with snmptrapd."""

    def __init__(self, folder):
        self.folder = folder
        self.mib = snmp_lib.read_mib(snmp_lib.MIB, BASE)
        self.notifications = {o.name: snmp_lib.dotted(o.oid) for o in self.mib.values() if o.macro == "NOTIFICATION-TYPE"}
        self.tree = Tree(folder)
        self.traps = TrapDaemon(folder + "/trapd")
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
                                 "--web.listen-address=127.0.0.1:%d" % self.port], folder + "/exporter.log")
        self.agent = self.new_agent()

    def new_agent(self, *more, name="agent", env=None):
        return Process([snmp_lib.O + "/batchjob_snmp", *self.tree.options(), "--sample.interval=0.1",
                        "--agentx.socket=" + self.master.socket, *more], "%s/%s.log" % (self.folder, name), env)

    def start(self):
        for p in (self.traps, self.master, self.exporter, self.agent):
            p.start()
        eventually(self.answers, "the sub-agent answers", self.agent.text)

    def walk(self, root=BASE, **more):
        return self.master.walk(root, **more)

    def column(self, name, **more):
        """{index: value} of a column."""
        oid = self.mib[name].oid
        return {o[len(oid):]: v for o, (_, v) in self.walk(oid, **more).items()}

    def number(self, name):
        """A scalar, or None."""
        oid = self.mib[name].oid + (0,)
        return self.master.get(oid)[oid][1]

    def passed(self, n):
        """Wait for n passes."""
        start = self.number("bjSamplerPasses")
        until(lambda: self.number("bjSamplerPasses") >= start + n)

    def arrived(self, name):
        """The notifications of this name so far."""
        return [t for t in self.traps.traps() if t.get(TRAP_OID, "").endswith(self.notifications[name])]

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
    shown = {}
    for row in rows[1:]:
        job = index(row[head.index("Id")].strip('"'))
        for name, text in zip(head[1:], row[1:]):
            o = site.mib.get("bjJob" + name)
            if o and o.oid[:-1] == entry and text not in ("?", ""):
                shown[o.oid + job] = text
    want, names = {}, list(shown)
    for at in range(0, len(names), 40):
        want.update(site.master.get(*names[at:at + 40]))
    bad = ["%s: %s, want %s" % (snmp_lib.name_of(o, site.mib), text, want[o][1]) for o, text in shown.items()
           if not isinstance(want[o][1], bytes) and text.split()[0] != str(want[o][1])]
    check(rows and not bad, "snmptable's figures are those of snmpget", *bad[:10])


def many(site):
    site.tree.clear()
    for n in range(500):
        site.tree.add(str(1000 + n), n, holes=("memory.peak",) if n % 3 == 0 else ())
    site.agree([str(1000 + n) for n in range(500)], "500 jobs")


def come_and_go(site):
    """Jobs begin and end while GETNEXTs walk: no OID repeats or goes back, jobs that stay are all there."""
    stay = [str(n) for n in range(1000, 1120, 10)]
    site.tree.clear()
    for n in range(1000, 1120):
        site.tree.add(str(n), n)
    until(lambda: len(site.jobs() or ()) == 120)
    column = site.mib["bjJobId"].oid
    at, seen, steps = column, [], 0
    while True:
        got = site.master.values("snmpgetnext", at)
        at = next(iter(got))
        if at[:len(column)] != column:
            break
        seen.append(at)
        steps += 1
        if steps % 11 == 0:
            gone = str(1000 + 2 * steps)
            if gone not in stay and os.path.isdir(site.tree.root + "/batch/" + gone):
                site.tree.remove(gone)
            site.tree.add("new%d" % steps, steps)
            site.tree.add("%d" % (10 + steps), steps)
            until(lambda: "new%d" % steps in (site.jobs() or ()))
    check(seen == sorted(set(seen)), "OIDs increase while jobs begin and end")
    missing = [j for j in stay if column + index(j) not in seen]
    same(missing, [], "jobs that stay are in the walk")
    check(steps > 60, "the walk had many steps (%d)" % steps)


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
    arrived = site.arrived
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
    site.passed(5)
    same(len(arrived("bjJobOomKilled")), before + 1, "the same kills are not notified again")
    # A limit on notifications: 30 jobs are killed at once.
    for n in range(30):
        site.tree.add("oom%d" % n, n)
    until(lambda: "oom29" in (site.jobs() or ()))
    start, refused = len(site.traps.traps()), site.number("bjNotificationsRefused")
    for n in range(30):
        site.tree.kill("oom%d" % n, 1)

    def all_of_them():
        return len(site.traps.traps()) - start, site.number("bjNotificationsRefused") - refused
    until(lambda: sum(all_of_them()) >= 30)
    # Twice as many if a minute ends meanwhile.
    check(sum(all_of_them()) == 30 and 1 <= all_of_them()[0] <= 20,
          "ten notifications are sent in a minute, the others are counted (%d and %d of 30)" % all_of_them())


def troubles(site):
    """A GPU has errors, a power meter is lost and comes back, and records wait: each is notified once.  The GPU is a
    simulated one, the meter a command, and nobody listens at record.url."""
    nvml = snmp_lib.O.replace("/san", "") + "/gpu/libnvidia-ml.so.1"
    script, watts, spool = (site.folder + "/" + name for name in ("nvml", "watts", "spool"))
    gpu = "driver 550.54.15\ngpu 0 uuid GPU-5\ngpu 0 name Simulated\ngpu 0 events 8\n"
    Tree.write(script, gpu)
    Tree.write(watts, "250\n")
    os.mkdir(spool)
    usual = site.agent
    usual.stop()
    site.agent = site.new_agent(
        "--gpu.nvml=" + nvml, "--gpu.interval=1", "--energy.interval=1", "--energy.slow-interval=1",
        "--energy.command=/bin/cat " + watts, "--record.dir=" + spool, "--snmp.records-age=1s",
        "--record.url=http://127.0.0.1:%d" % free_ports(1), name="troubles", env={**os.environ, "FAKE_NVML": script}).start()

    def is_true(table, name):
        return lambda: site.answers() and site.column(table).get(index(name)) == 1

    def once(name, *values):
        """One notification of this name has arrived, with these values."""
        eventually(lambda: site.arrived(name), name + " arrives at snmptrapd", site.agent.text)
        site.passed(5)
        found = site.arrived(name)
        same(len(found), 1, name + " arrives once")
        text = " ".join(found[0].values()) if found else ""
        check(all(v in text for v in values), "%s has its values" % name, text)

    eventually(is_true("bjMeterSuccess", "command"), "a power meter answers", site.agent.text)
    eventually(is_true("bjGpuSuccess", "GPU-5"), "a GPU answers", site.agent.text)
    eventually(lambda: site.number("bjNodeEnergyTotal") and site.number("bjNodeEnergyTotal") == sum(
        site.column("bjNodeEnergy").values()), "with a meter of the node there is its energy",
        lambda: site.column("bjNodeEnergy"))
    os.unlink(watts)
    once("bjMeterLost", '"command"', "INTEGER: 2")
    same(site.arrived("bjMeterBack"), [], "before that none was back")
    Tree.write(watts, "250\n")
    once("bjMeterBack", '"command"', "INTEGER: 1")
    Tree.write(script, gpu + "xid 0 79\n")
    once("bjGpuUnhealthy", '"GPU-5"', "1 new Xid errors, the last one 79")
    same(site.arrived("bjRecordsWaiting"), [], "no record has waited so far")
    site.tree.add("56", 6)
    eventually(lambda: "56" in (site.jobs() or ()), "a job begins")
    site.tree.remove("56")
    once("bjRecordsWaiting", "Gauge32: 1")
    same(site.agent.stop(), 0, "SIGTERM ends the sub-agent of these notifications")
    site.agent.check_reports()
    site.agent = usual.start()
    eventually(site.answers, "the usual sub-agent answers", site.agent.text)


def recover(site):
    """The sub-agent is back after each kind of absence, and passes go on meanwhile."""
    def back(after):
        print("# %.1f s" % eventually(site.answers, "after %s the sub-agent answers" % after, site.agent.text))

    pid = site.agent.pid
    site.master.kill(signal.SIGKILL)
    site.master.start()
    back("kill -9 and restart of snmpd")
    site.master.stop()
    site.master.start()
    back("a restart of snmpd")
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
    back("SIGCONT")
    site.master.kill(signal.SIGSTOP)
    site.tree.add("58", 8)
    eventually(lambda: site.agent.holds("/batch/58/"), "passes go on while snmpd is frozen: a new job is read", site.agent.text)
    site.master.kill(signal.SIGCONT)
    back("SIGCONT of snmpd")
    same((site.agent.runs(), site.agent.pid), (True, pid), "all that time it was the same process")
    site.agent.kill(signal.SIGKILL)
    site.agent.start()
    back("kill -9 and restart")
    lines = [line for line in site.agent.text().splitlines() if "level=error" in line]
    check(len(lines) < 20, "the log is short", *lines[:5])


def late(site):
    """The master starts after the sub-agent."""
    site.agent.stop()
    site.master.stop()
    if os.path.exists(site.master.socket):
        os.unlink(site.master.socket)
    said = len(site.agent.text())
    site.agent.start()
    until(lambda: "no session with the master agent" in site.agent.text()[said:])
    check(site.agent.runs(), "without snmpd the sub-agent runs")
    site.master.start()
    print("# %.1f s" % eventually(site.answers, "it answers after snmpd has started", site.agent.text))


def end(site):
    rss = site.agent.rss()
    before = list(site.master.walk(NODE))
    same(site.agent.stop(), 0, "SIGTERM ends the sub-agent")
    check(before, "before that it had objects")
    eventually(lambda: not site.master.walk(NODE), "then they are gone")
    check(rss < (400 << 10 if "san" in snmp_lib.O else 40 << 10), "it needs little memory (%d KiB)" % rss)
    site.agent.check_reports()


def main():
    missing = snmp_lib.missing()
    if missing:
        print("1..0 # SKIP not installed: " + missing)
        return 0
    return snmp_lib.run(Site, agreement, table, views, version_1, notifications, troubles, many, come_and_go, recover,
                        late, end)


if __name__ == "__main__":
    sys.exit(main())
