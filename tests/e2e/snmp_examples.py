#!/usr/bin/python3
"""The examples for managers of SNMP follow from the MIB, and what they query exists: the queries of the Zabbix
template and of snmp_exporter are sent to a batchjob_snmp behind snmpd, and the results are the exporter's values.
Debian's prometheus-snmp-exporter runs with the example.  TAP.

  snmp_examples.py --write    write examples/snmp/generator.yml, snmp_exporter.yml and zabbix.yaml from the MIB"""
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import urllib.request
from decimal import Decimal

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import snmp_lib  # noqa: E402
from ports import free_ports  # noqa: E402
from snmp_lib import BASE, Daemon, Process, Tree, dotted, until  # noqa: E402
from tap import check, plan, same, skip  # noqa: E402

FOLDER = snmp_lib.TOP + "/examples/snmp"
MANY = 25  # jobs in the test

# --- Prometheus' snmp_exporter -------------------------------------------------

TABLES = ("bjNode", "bjJobTable", "bjJobGpuTable", "bjJobEnergyTable", "bjOwnerTable")
# Labels of series of jobs, from the table of owners.
OWNER = ("bjOwnerUser", "bjOwnerAccount")
USER = """  batchjob:
    version: 3
    username: batchjob
    security_level: authPriv
    password: a long passphrase
    auth_protocol: SHA256
    priv_protocol: AES
    priv_password: another long passphrase
"""


def plain(oid):
    return dotted(oid)[1:]


def quote(text):
    return json.dumps(text, ensure_ascii=False)


def entry_of(o, mib):
    return next((e for e in mib.values() if e.oid == o.oid[:-1] and e.index), None)


def columns(mib):
    """The objects that have values, with the entry of their table, or None."""
    for o in sorted(mib.values(), key=lambda o: o.oid):
        if o.macro == "OBJECT-TYPE" and o.access == "read-only" and o.status == "current":
            yield o, entry_of(o, mib)


def kind_of(o):
    if o.syntax in ("Counter64", "Counter32"):
        return "counter"
    return "DisplayString" if o.syntax == "SnmpAdminString" else "gauge"


def factor(o):
    """The scale to base units as text; empty: 1."""
    n = snmp_lib.scale(o.units)
    return "" if n == 1 else format(Decimal(1) / n, "f")


def has_owner(entry, mib):
    return entry and entry.index[0] == mib["bjOwnerEntry"].index[0] and entry.name != "bjOwnerEntry"


def generator(mib):
    text = """# Source of snmp_exporter.yml for the generator of Prometheus' snmp_exporter, 0.23 or later:
# BATCHJOB-MIB.txt and the IETF's MIBs in $MIBDIRS.  Only levels of 64 bits need an override of their type: the generator
# takes them for counters.  Scales make seconds, bytes, joules and watts.
auths:
""" + USER + """modules:
  batchjob:
    walk:
"""
    text += "".join("      - %s\n" % t for t in TABLES)
    text += "    lookups:\n"
    index = mib["bjOwnerEntry"].index[0]
    text += "".join("      - source_indexes: [%s]\n        lookup: %s\n" % (index, o) for o in OWNER)
    text += "    overrides:\n"
    for o, _ in columns(mib):
        words = []
        if o.syntax == "CounterBasedGauge64":
            words.append("type: gauge")
        if factor(o):
            words.append("scale: " + factor(o))
        if words:
            text += "      %s: {%s}\n" % (o.name, ", ".join(words))
    return text


def exporter_module(mib, scales=True):
    """The module of snmp_exporter.yml, below its name."""
    text = "    walk:\n" + "".join("      - %s\n" % plain(mib[t].oid) for t in TABLES) + "    metrics:\n"
    for o, entry in columns(mib):
        text += "      - name: %s\n        oid: %s\n        type: %s\n        help: %s\n" % (
            o.name, plain(o.oid), kind_of(o), quote(o.description + " - " + plain(o.oid)))
        if entry:
            text += "        indexes:\n"
            text += "".join("          - labelname: %s\n            type: DisplayString\n" % i for i in entry.index)
        if has_owner(entry, mib):
            text += "        lookups:\n"
            text += "".join("          - labels: [%s]\n            labelname: %s\n            oid: %s\n"
                            "            type: DisplayString\n" % (entry.index[0], name, plain(mib[name].oid))
                            for name in OWNER)
        if scales and factor(o):
            text += "        scale: %s\n" % factor(o)
    return text


def exporter(mib):
    return """# Configuration of Prometheus' snmp_exporter, 0.23 or later.  Names are those of BATCHJOB-MIB, values are in seconds,
# bytes, joules and watts; of the values that are yes or no, 1 is yes and 2 is no.  Series of jobs have the user and the
# account as labels, if the view of the user shows bjOwnerTable.
auths:
""" + USER + "modules:\n  batchjob:\n" + exporter_module(mib)


# --- Zabbix ----------------------------------------------------------------------

TEMPLATE = "Batch jobs by SNMP"
# name, object, key, units, how: "rate" of a counter, "value".
SCALARS = (
    ("Age of the values", "bjPassAge", "batchjob.pass.age", "s", "value"),
    ("Last pass succeeded (1: yes, 2: no)", "bjPassSuccess", "batchjob.pass.success", "", "value"),
    ("Jobs", "bjSamplerJobs", "batchjob.jobs", "", "value"),
    ("Power", "bjNodePower", "batchjob.node.power", "W", "value"),
    ("Memory, available", "bjNodeMemoryAvailable", "batchjob.node.memory.available", "B", "value"),
    ("Memory, total", "bjNodeMemoryTotal", "batchjob.node.memory.total", "B", "value"),
    ("Rows left out", "bjRowsRefused", "batchjob.rows.refused", "", "value"),
)
# discovery: name, key, table, macros ({macro: object}), prototypes (name, object, key, units, how)
DISCOVERIES = (
    ("Jobs", "job", {"{#JOBID}": "bjJobId", "{#USER}": "bjOwnerUser"}, "Job {#JOBID} of {#USER}", (
        ("CPUs used", "bjJobCpu", "cpu", "", "rate"),
        ("CPUs", "bjJobCpus", "cpus", "", "value"),
        ("memory, anonymous", "bjJobMemoryRss", "memory.rss", "B", "value"),
        ("memory, held peak", "bjJobMemoryHeldPeak", "memory.held.peak", "B", "value"),
        ("memory, limit", "bjJobMemoryLimit", "memory.limit", "B", "value"),
        ("processes killed for memory", "bjJobOomKills", "oom.kills", "", "value"))),
    ("GPUs of jobs", "jobgpu", {"{#JOBID}": "bjJobGpuJobId", "{#GPU}": "bjJobGpuNumber"}, "Job {#JOBID}, GPU {#GPU}", (
        ("busy", "bjJobGpuBusy", "busy", "%", "value"),
        ("memory", "bjJobGpuMemoryUsed", "memory.used", "B", "value"),
        ("power", "bjJobGpuPower", "power", "W", "value"))),
    ("Energy of jobs", "jobenergy", {"{#JOBID}": "bjJobEnergyJobId", "{#COMPONENT}": "bjJobEnergyComponent"},
     "Job {#JOBID}, {#COMPONENT}", (("power", "bjJobEnergy", "power", "W", "rate"),)),
    ("GPUs", "gpu", {"{#GPU}": "bjGpuNumber", "{#MODEL}": "bjGpuModel"}, "GPU {#GPU} {#MODEL}", (
        ("answers (1: yes, 2: no)", "bjGpuSuccess", "success", "", "value"),
        ("busy", "bjGpuBusy", "busy", "%", "value"),
        ("memory", "bjGpuMemoryUsed", "memory.used", "B", "value"),
        ("power", "bjGpuPower", "power", "W", "value"))),
    ("Power meters", "meter", {"{#METER}": "bjMeterName"}, "Power meter {#METER}", (
        ("answers (1: yes, 2: no)", "bjMeterSuccess", "success", "", "value"),)),
)
TRIGGERS = {
    "batchjob.pass.age": ("Values of batch jobs are old", "last(/%s/batchjob.pass.age)>300" % TEMPLATE, "WARNING"),
    "batchjob.meter.success": ("Power meter {#METER} does not answer",
                               "last(/%s/batchjob.meter.success[{#SNMPINDEX}])=2" % TEMPLATE, "WARNING"),
    "batchjob.gpu.success": ("GPU {#GPU} does not answer",
                             "last(/%s/batchjob.gpu.success[{#SNMPINDEX}])=2" % TEMPLATE, "AVERAGE"),
    "batchjob.job.oom.kills": ("Job {#JOBID}: processes were killed for lack of memory",
                               "last(/%s/batchjob.job.oom.kills[{#SNMPINDEX}])>0" % TEMPLATE, "INFO"),
}


def uuid(text):
    """A constant UUID of version 4, as Zabbix demands, from a text."""
    h = hashlib.md5(("batchjob " + text).encode()).hexdigest()
    return h[:12] + "4" + h[13:16] + "a" + h[17:]


def say(value):
    return "'" + str(value).replace("'", "''") + "'"


def multiplier(o, units):
    """From the MIB's unit to that of Zabbix."""
    n = Decimal(factor(o) or 1) * (100 if units == "%" else 1)
    return None if n == 1 else format(n.normalize(), "f")


def steps(o, how, units, indent, first=()):
    found = list(first)
    if how == "rate":
        found.append(("CHANGE_PER_SECOND", None, None))
    if multiplier(o, units):
        found.append(("MULTIPLIER", [multiplier(o, units)], None))
    text = ""
    for kind, parameters, handler in found:
        text += "%s  - type: %s\n" % (indent, kind)
        if parameters:
            text += "%s    parameters:\n" % indent + "".join("%s      - %s\n" % (indent, say(p)) for p in parameters)
        if handler:
            text += "%s    error_handler: %s\n" % (indent, handler)
    return indent + "preprocessing:\n" + text if text else ""


def trigger(key, indent, word):
    if key not in TRIGGERS:
        return ""
    name, expression, priority = TRIGGERS[key]
    return "%s%s:\n%s  - uuid: %s\n%s    expression: %s\n%s    name: %s\n%s    priority: %s\n" % (
        indent, word, indent, uuid("trigger " + key), indent, say(expression), indent, say(name), indent, priority)


def walked(discovery, mib):
    """The OIDs of the columns that a discovery needs."""
    _, _, macros, _, prototypes = discovery
    return [mib[n].oid for n in [*macros.values(), *(p[1] for p in prototypes)]]


def zabbix(mib):
    text = """# Template for Zabbix 7.0 or later: Data collection, Templates, Import.  Hosts need an SNMP interface, with the
# user of snmpd.conf.
zabbix_export:
  version: '7.0'
  template_groups:
    - uuid: %s
      name: 'Templates/Batch jobs'
  templates:
    - uuid: %s
      template: '%s'
      name: '%s'
      description: 'Jobs, energy and GPUs of a compute node from batchjob_snmp.'
      groups:
        - name: 'Templates/Batch jobs'
      items:
""" % (uuid("group"), uuid("template"), TEMPLATE, TEMPLATE)
    at = "          "
    for name, obj, key, units, how in SCALARS:
        o = mib[obj]
        text += "        - uuid: %s\n%sname: %s\n%stype: SNMP_AGENT\n%ssnmp_oid: %s\n%skey: %s\n%sdelay: 1m\n" % (
            uuid(key), at, say(name), at, at, say("get[%s.0]" % plain(o.oid)), at, key, at)
        text += "%svalue_type: FLOAT\n" % at
        if units:
            text += "%sunits: %s\n" % (at, say(units))
        text += steps(o, how, units, at) + trigger(key, at, "triggers")
    for discovery in DISCOVERIES:
        key = "batchjob.%s.walk" % discovery[1]
        text += ("        - uuid: %s\n%sname: %s\n%stype: SNMP_AGENT\n%ssnmp_oid: %s\n%skey: %s\n%sdelay: 1m\n"
                 "%shistory: '0'\n%svalue_type: TEXT\n") % (
            uuid(key), at, say("Walk: " + discovery[0]), at, at,
            say("walk[%s]" % ",".join(plain(o) for o in walked(discovery, mib))), at, key, at, at, at)
    text += "      discovery_rules:\n"
    for name, short, macros, title, prototypes in DISCOVERIES:
        master = "%smaster_item:\n%s  key: batchjob.%s.walk\n"
        text += "        - uuid: %s\n%sname: %s\n%stype: DEPENDENT\n%skey: batchjob.%s.discovery\n%sdelay: '0'\n%slifetime: 1d\n" % (
            uuid(short + " discovery"), at, say(name), at, at, short, at, at)
        parameters = [p for macro, obj in macros.items() for p in (macro, plain(mib[obj].oid), "0")]
        text += at + "item_prototypes:\n"
        inner = at + "    "
        for what, obj, key, units, how in prototypes:
            o = mib[obj]
            full = "batchjob.%s.%s" % (short, key)
            text += "%s  - uuid: %s\n%sname: %s\n%stype: DEPENDENT\n%skey: %s\n%sdelay: '0'\n%svalue_type: FLOAT\n" % (
                at, uuid(full), inner, say(title + ": " + what), inner, inner, say(full + "[{#SNMPINDEX}]"), inner, inner)
            if units:
                text += "%sunits: %s\n" % (inner, say(units))
            # A value that is unknown is no error.
            text += steps(o, how, units, inner, [("SNMP_WALK_VALUE", [plain(o.oid) + ".{#SNMPINDEX}", "0"],
                                                  "DISCARD_VALUE")])
            text += master % (inner, inner, short) + trigger(full, inner, "trigger_prototypes")
        text += master % (at, at, short)
        text += "%spreprocessing:\n%s  - type: SNMP_WALK_TO_JSON\n%s    parameters:\n" % (at, at, at)
        text += "".join("%s      - %s\n" % (at, say(p)) for p in parameters)
    return text


# --- tests -----------------------------------------------------------------------

FILES = (("generator.yml", generator), ("snmp_exporter.yml", exporter), ("zabbix.yaml", zabbix))
# Keys that the schema of Zabbix 7.0's exports has for these elements.
SCHEMA = {
    "item": {"uuid", "name", "type", "snmp_oid", "key", "delay", "history", "trends", "value_type", "units", "master_item",
             "preprocessing", "triggers", "trigger_prototypes", "description", "tags"},
    "rule": {"uuid", "name", "type", "key", "delay", "lifetime", "item_prototypes", "master_item", "preprocessing"},
    "step": {"type", "parameters", "error_handler", "error_handler_params"},
    "trigger": {"uuid", "expression", "name", "priority", "description", "tags"}}
STEPS = {"SNMP_WALK_VALUE": 2, "SNMP_WALK_TO_JSON": None, "MULTIPLIER": 1, "CHANGE_PER_SECOND": 0}


def schema(template):
    """What is wrong in the template."""
    bad, uuids, keys = [], [], set()

    def known(what, element):
        bad.extend("%s %s: %s" % (what, element.get("name"), k) for k in element if k not in SCHEMA[what])
        if "uuid" in element:
            uuids.append(element["uuid"])
        for step in element.get("preprocessing", ()):
            known("step", step)
            want = STEPS.get(step["type"], -1)
            if want is not None and len(step.get("parameters", ())) != want:
                bad.append("%s: %s" % (element["name"], step))
        for t in element.get("triggers", []) + element.get("trigger_prototypes", []):
            known("trigger", t)
    items = template["items"]
    for i in items:
        known("item", i)
        keys.add(i["key"])
    for rule in template["discovery_rules"]:
        known("rule", rule)
        for element in [rule, *rule["item_prototypes"]]:
            if element["master_item"]["key"] not in keys:
                bad.append("%s: no item %s" % (element["name"], element["master_item"]["key"]))
        for i in rule["item_prototypes"]:
            known("item", i)
    bad += ["uuid " + u for u in uuids if not re.fullmatch(r"[0-9a-f]{12}4[0-9a-f]{3}[89ab][0-9a-f]{15}", u)]
    if len(set(uuids)) != len(uuids):
        bad.append("a uuid is twice")
    return bad


class Site:
    def __init__(self, folder, loaded):
        self.folder = folder
        self.template = loaded["zabbix.yaml"]["zabbix_export"]["templates"][0]
        self.module = loaded["snmp_exporter.yml"]["modules"]["batchjob"]
        self.mib = snmp_lib.read_mib(snmp_lib.MIB, BASE)
        self.tree = Tree(folder)
        for n in range(MANY):
            self.tree.add(str(1000 + n), n, holes=("memory.peak",) if n % 3 == 0 else ())
        self.master = Daemon(folder + "/snmpd")
        port = free_ports(1)
        self.url = "http://127.0.0.1:%d/metrics" % port
        self.exporter = Process([snmp_lib.O + "/batchjob_exporter", *self.tree.options(),
                                 "--web.listen-address=127.0.0.1:%d" % port], folder + "/exporter.log")
        self.agent = Process([snmp_lib.O + "/batchjob_snmp", *self.tree.options(), "--sample.interval=0.2",
                              "--agentx.socket=" + self.master.socket], folder + "/agent.log")
        self.started = [self.agent, self.exporter, self.master]

    def start(self):
        for p in reversed(self.started):
            p.start()
        until(lambda: len(self.walk(self.mib["bjJobId"].oid)) == MANY)
        until(lambda: not snmp_lib.differences(snmp_lib.read_page(self.url), self.walk(BASE), self.mib))
        self.page = snmp_lib.read_page(self.url)
        self.want = snmp_lib.expected(self.page, self.mib)[0]

    def walk(self, oid):
        try:
            return self.master.walk(oid)
        except OSError:
            return {}

    def stop(self):
        for p in self.started:
            p.stop()


def changes(o):
    return re.match(snmp_lib.ANY_VALUE, o.reference or "bjPass")


def test_zabbix(site):
    """Send the queries of the template and process the replies as Zabbix does."""
    template = site.template
    by_oid = {o.oid: o for o in site.mib.values()}
    missing, wrong, compared = [], [], 0
    walks = {}
    for item in template["items"]:
        m = re.fullmatch(r"(get|walk)\[([0-9.,]+)\]", item["snmp_oid"])
        oids = [snmp_lib.numbers(o) for o in m.group(2).split(",")]
        missing += [item["key"] for o in oids if (o[:-1] if m.group(1) == "get" else o) not in by_oid]
        if m.group(1) == "walk":
            walks[item["key"]] = {o: v for column in oids for o, v in site.walk(column).items()}
        else:
            site.master.get(*oids)
    same(missing, [], "each OID of the Zabbix template is an object of the MIB")
    for rule in template["discovery_rules"]:
        walk = walks[rule["master_item"]["key"]]
        parameters = rule["preprocessing"][0]["parameters"]
        rows = {}
        for macro, oid, _ in zip(parameters[::3], parameters[1::3], parameters[2::3]):
            root = snmp_lib.numbers(oid)
            for o, (_, v) in walk.items():
                if o[:len(root)] == root:
                    rows.setdefault(o[len(root):], {})[macro] = v
        if rule["key"] in ("batchjob.job.discovery", "batchjob.meter.discovery"):
            check(rows and all(len(r) == len(parameters) // 3 for r in rows.values()), rule["name"] + ": rows have all macros",
                  list(rows.items())[:3])
        for item in rule["item_prototypes"]:
            first = item["preprocessing"][0]
            root = snmp_lib.numbers(first["parameters"][0].replace(".{#SNMPINDEX}", ""))
            if root not in by_oid or root[:-1] != snmp_lib.numbers(parameters[1])[:-1]:
                missing.append(item["key"])
                continue
            o = by_oid[root]
            for index in rows:
                value = walk.get(root + index)
                number = None if value is None else Decimal(value[1])
                for step in item["preprocessing"][1:]:
                    if step["type"] == "MULTIPLIER" and number is not None:
                        number *= Decimal(step["parameters"][0])
                want = site.want.get(root + index)
                if want is not None and o.syntax != "TruthValue":
                    want = want * Decimal(factor(o) or 1) * (100 if item.get("units") == "%" else 1)
                compared += want is not None
                if number != want:
                    wrong.append("%s of %s: %s, want %s" % (item["key"], index, number, want))
    same(missing, [], "each column of a prototype is in the table of its discovery")
    check(not wrong and compared > 5 * MANY, "what Zabbix gets is what the exporter shows (%d values)" % compared, *wrong[:10])


def test_exporter(site):
    module = site.module
    by_oid = {o.oid: o for o in site.mib.values()}
    values = {o: v for root in module["walk"] for o, v in site.walk(snmp_lib.numbers(root)).items()}
    known = {snmp_lib.numbers(m["oid"]) for m in module["metrics"]}
    same([m["name"] for m in module["metrics"] if by_oid.get(snmp_lib.numbers(m["oid"])) is not site.mib.get(m["name"])], [],
         "each OID of snmp_exporter.yml is that object of the MIB")
    lost = [o for o in values if not any(o[:n] in known for n in range(len(BASE), len(o)))]
    same(lost, [], "each walked value is a metric of snmp_exporter.yml")
    program = shutil.which("prometheus-snmp-exporter") or shutil.which("snmp_exporter")
    if not program:
        skip("snmp_exporter shows what the exporter shows", "prometheus-snmp-exporter is not installed")
        return
    version = subprocess.run([program, "--version"], capture_output=True, text=True)
    old = tuple(int(n) for n in re.search(r"(\d+)\.(\d+)", version.stdout + version.stderr).groups()) < (0, 23)
    path = site.folder + "/snmp.yml"
    with open(path, "w") as f:
        if old:  # authentication in the module, no scales
            f.write("batchjob:\n    version: 2\n    timeout: 20s\n    auth:\n      community: public\n" +
                    exporter_module(site.mib, False))
        else:
            f.write("auths:\n  public:\n    version: 2\n    community: public\nmodules:\n  batchjob:\n" +
                    exporter_module(site.mib))
    port = free_ports(1)
    process = Process([program, "--config.file=" + path, "--web.listen-address=127.0.0.1:%d" % port],
                      site.folder + "/snmp_exporter.log").start()
    site.started.insert(0, process)
    url = "http://127.0.0.1:%d/snmp?module=batchjob&auth=public&target=127.0.0.1:%d" % (port, site.master.port)

    def fetch():
        try:
            return urllib.request.urlopen(url, timeout=300).read().decode()
        except OSError as e:
            return "" if not hasattr(e, "read") else e.read().decode()
    page = until(lambda: fetch() or None) or ""
    with open(site.folder + "/page", "w") as f:
        f.write(page)
    samples = list(snmp_lib.parse(site.folder + "/page"))
    check(any(n == "bjVersion" for n, _, _ in samples), "snmp_exporter accepts the configuration", page[:2000], process.text()[-2000:])
    index_name = site.mib["bjJobEntry"].index[0]
    got = {}
    for name, labels, value in samples:
        o = site.mib.get(name)
        if o is not None and o.syntax != "SnmpAdminString":
            entry = entry_of(o, site.mib)
            texts = [labels.get(i, "") for i in entry.index] if entry else []
            got[o.oid + (snmp_lib.index(*texts) if entry else (0,))] = value
    bad = []
    for oid, want in site.want.items():
        o = by_oid[next(oid[:n] for n in range(len(oid), 0, -1) if oid[:n] in by_oid)]
        if not old:
            want *= Decimal(factor(o) or 1)
        if oid not in got or (not changes(o) and float(got[oid]) != float(want)):
            bad.append("%s: %s, want %s" % (snmp_lib.name_of(oid, site.mib), got.get(oid), want))
    check(not bad and len(site.want) > 20 * MANY, "snmp_exporter shows what the exporter shows (%d values)" % len(site.want), *bad[:10])
    owners = {labels.get(index_name): labels.get("bjOwnerUser") for n, labels, _ in samples if n == "bjJobCpu"}
    same(owners.get("1007"), "anna7", "series of jobs have the user as a label")


def main():
    mib = snmp_lib.read_mib(snmp_lib.MIB, BASE)
    if sys.argv[1:] == ["--write"]:
        for name, make in FILES:
            with open("%s/%s" % (FOLDER, name), "w", encoding="utf-8") as f:
                f.write(make(mib))
        return 0
    for name, make in FILES:
        with open("%s/%s" % (FOLDER, name), encoding="utf-8") as f:
            check(f.read() == make(mib), "examples/snmp/%s follows from the MIB" % name,
                  "run tests/e2e/snmp_examples.py --write")
    # A view of the example is that of this root.
    with open(FOLDER + "/snmpd.conf", encoding="utf-8") as f:
        roots = set(re.findall(r"^view \w+ (?:in|ex)cluded \.(1\.3\.6\.1\.4\.1\.[0-9.]+)", f.read(), re.M))
    same(sorted(roots), sorted(plain(o) for o in (BASE, BASE + (1,), BASE + (4,))), "the views of snmpd.conf have the MIB's roots")
    try:
        import yaml
    except ImportError:
        skip("what the examples query exists", "python3-yaml is not installed")
        return plan()
    loaded = {}
    for name, _ in FILES:
        with open("%s/%s" % (FOLDER, name), encoding="utf-8") as f:
            loaded[name] = yaml.safe_load(f)
    template = loaded["zabbix.yaml"]["zabbix_export"]["templates"][0]
    same(schema(template), [], "the Zabbix template has only elements of the export format")
    names = {o.name for o in mib.values()}
    module = loaded["generator.yml"]["modules"]["batchjob"]
    used = set(module["walk"]) | set(module["overrides"]) | {w for x in module["lookups"] for w in [x["lookup"], *x["source_indexes"]]}
    same(sorted(used - names), [], "generator.yml names objects of the MIB")
    if snmp_lib.missing():
        skip("what the examples query exists", "not installed: " + snmp_lib.missing())
        return plan()
    return snmp_lib.run(lambda folder: Site(folder, loaded), test_zabbix, test_exporter)


if __name__ == "__main__":
    sys.exit(main())
