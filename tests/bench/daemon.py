"""What a read of the collectd plugin costs: collectd with write_prometheus, without
the plugin, with it, and with two writers (WriteThreads), over the same number of intervals."""
import glob
import os
import shutil
import subprocess
import tempfile
import time

import machine

CONFIG = """
Hostname "bench"
FQDNLookup false
Interval 1
BaseDir "{top}"
PIDFile "{top}/pid"
PluginDir "{stock}"
TypesDB "/usr/share/collectd/types.db"
LoadPlugin write_prometheus
<Plugin write_prometheus>
  Host "127.0.0.1"
  Port "{port}"
</Plugin>
"""
PLUGIN = """
TypesDB "{source}/types.db"
PluginDir "{build}"
LoadPlugin batchjob
<Plugin batchjob>
  PathCgroupfs "{root}"
</Plugin>
"""
STOCK = ["/usr/lib/collectd", "/usr/lib64/collectd"] + \
    glob.glob("/usr/lib/*/collectd")
SECONDS = 20


def cpu_seconds(pid):
    """CPU time so far of all threads, and by kind of thread ("reader",
    "writer": collectd numbers them), and as "turns", how often a thread was scheduled."""
    kinds, turns = {}, 0
    for tid in os.listdir("/proc/%d/task" % pid):
        with open("/proc/%d/task/%s/comm" % (pid, tid)) as f:
            kind = f.read().strip().split("#")[0]
        with open("/proc/%d/task/%s/schedstat" % (pid, tid)) as f:
            ns, _, times = map(int, f.read().split())
        kinds[kind] = kinds.get(kind, 0) + ns / 1e9
        turns += times
    kinds["all"] = sum(kinds.values())
    kinds["turns"] = turns / 1e3
    return kinds


def daemon(o, tree, more, top):
    """Start collectd; returns (process, port)."""
    port = machine.free_port()
    text = CONFIG + more
    stock = next((d for d in STOCK if os.path.isdir(d)), STOCK[0])
    with open(top + "/collectd.conf", "w") as f:
        f.write(text.format(top=top, port=port, stock=stock, build=o.build,
                            source=os.getcwd(), root=tree.root))
    log = open(top + "/log", "w")
    process = subprocess.Popen(
        [shutil.which("collectd", path="/usr/sbin:/usr/bin:/usr/local/sbin"),
         "-f", "-C", top + "/collectd.conf"],
        stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    log.close()
    return process, port


def cost(o, tree, more):
    """({kind of thread: CPU ms an interval, "turns": their number}, series on the page)."""
    with tempfile.TemporaryDirectory() as top:
        process, port = daemon(o, tree, more, top)
        try:
            time.sleep(4)
            if process.poll() is not None:
                with open(top + "/log") as f:
                    raise machine.CannotRun("collectd ended:\n" + f.read())
            start = cpu_seconds(process.pid)
            time.sleep(SECONDS)
            used = {k: (v - start.get(k, 0)) / SECONDS * 1e3
                    for k, v in cpu_seconds(process.pid).items()}
            page = machine.Peer(port, process.pid).scrape(o.build, 3)
            return used, page["series"]
        finally:
            machine.stop(process)


def run(o, results, make_stage, shape):
    print("\n## collectd with write_prometheus, CPU ms an interval, over %d "
          "intervals" % SECONDS)
    if not shutil.which("collectd", path="/usr/sbin:/usr/bin:/usr/local/sbin"):
        raise machine.CannotRun("no collectd installed")
    if not os.path.exists(o.build + "/batchjob.so"):
        raise machine.CannotRun("the plugin was not built")
    for jobs in (16, 128):
        stage = make_stage(o, o.trees[0], shape(jobs, 1, 16, 4, 0))
        try:
            without, _ = cost(o, stage.tree, "")
            with_plugin, series = cost(o, stage.tree, PLUGIN)
            two, _ = cost(o, stage.tree, "WriteThreads 2\n" + PLUGIN)
        finally:
            stage.end()
        results.extra["collectd_%d" % jobs] = {
            "without": without, "with": with_plugin, "two_writers": two, "series": series}
        print("%s, %d jobs, %d series: %.3f without the plugin, %.3f with: "
              "%.3f in the reader's thread, %.3f in collectd's writers" %
              (o.trees[0], jobs, series, without["all"], with_plugin["all"],
               with_plugin.get("reader", 0), with_plugin.get("writer", 0)),
              flush=True)
        print("with WriteThreads 2: %.3f, and %.0f times a thread is scheduled instead of %.0f" %
              (two["all"], two["turns"], with_plugin["turns"]), flush=True)
