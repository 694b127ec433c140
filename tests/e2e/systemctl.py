#!/usr/bin/env python3
"""systemctl for a root directory without systemd: runs the services of the units that
are installed, with their user, groups, capabilities and directories, and waits until
they are ready.  Not supported: restarts, mounts and system call filters."""

import glob
import os
import pwd
import re
import shlex
import signal
import socket
import subprocess
import sys
import time

RUN = "/run/systemctl"
UNITS = ("/etc/systemd/system", "/lib/systemd/system", "/usr/lib/systemd/system")


def unit(name):
    """Return the settings of a unit: name -> values."""
    for d in UNITS:
        path = f"{d}/{name}"
        if os.path.isfile(path):
            settings = {}
            with open(path, encoding="utf-8") as f:
                for key, value in re.findall(r"^(\w+)=(.*)$", f.read(), re.M):
                    settings.setdefault(key, []).append(value)
            return settings
    sys.exit(f"Unit {name} not found.")


def enabled(name):
    return bool(glob.glob(f"/etc/systemd/system/*.wants/{name}")) or os.path.exists(f"{RUN}/{name}.enabled")


def pid_of(name):
    try:
        with open(f"{RUN}/{name}.pid", encoding="ascii") as f:
            pid = int(f.read())
        with open(f"/proc/{pid}/stat", encoding="ascii") as f:
            state = f.read().rpartition(")")[2].split()[0]
        return 0 if state == "Z" else pid
    except (OSError, ValueError):
        return 0


def as_user(settings):
    """Return the words that start a command as the unit's user, its uid and its gid."""
    name = settings.get("User", ["root"])[-1]
    if name == "root" and "CapabilityBoundingSet" not in settings:
        return [], 0, 0
    if settings.get("DynamicUser", ["no"])[-1] == "yes":
        uid = gid = 61184 + sum(name.encode()) % 1000
        groups = [str(gid)]
    else:
        user = pwd.getpwnam(name)
        uid, gid = user.pw_uid, user.pw_gid
        groups = [str(g) for g in os.getgrouplist(name, gid)]
    groups += " ".join(settings.get("SupplementaryGroups", [])).split()
    with open("/etc/group", encoding="utf-8") as f:
        ids = {line.split(":")[0]: line.split(":")[2] for line in f}
    groups = [ids.get(g, g) for g in groups]
    caps = ",".join(["-all"] + ["+" + c.removeprefix("CAP_").lower()
                                for c in " ".join(settings.get("AmbientCapabilities", [])).split()])
    return ["setpriv", f"--reuid={uid}", f"--regid={gid}", f"--groups={','.join(groups)}",
            f"--inh-caps={caps}", f"--ambient-caps={caps}", f"--bounding-set={caps}", "--no-new-privs"], uid, gid


def directories(settings, uid, gid):
    for key, top in (("StateDirectory", "/var/lib"), ("RuntimeDirectory", "/run")):
        for d in " ".join(settings.get(key, [])).split():
            os.makedirs(f"{top}/{d}", exist_ok=True)
            os.chmod(f"{top}/{d}", int(settings.get(key + "Mode", ["755"])[-1], 8))
            os.chown(f"{top}/{d}", uid, gid)


def start(name):
    if name.endswith(".timer"):
        start(name.replace(".timer", ".service"))
        return
    if pid_of(name):
        return
    settings = unit(name)
    prefix, uid, gid = as_user(settings)
    directories(settings, uid, gid)
    kind = settings.get("Type", ["simple"])[-1]
    notify = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    path = f"{RUN}/{name}.sock"
    if os.path.exists(path):
        os.unlink(path)
    notify.bind(path)
    os.chmod(path, 0o777)
    notify.settimeout(90)
    env = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin", "LANG": "C.UTF-8",
           **({"NOTIFY_SOCKET": path} if kind == "notify" else {})}
    umask = int(settings.get("UMask", ["022"])[-1], 8)

    def command(line):
        words = shlex.split(line.lstrip("+-").replace("%S", "/var/lib"))
        return words if line.startswith("+") else prefix + words

    for line in settings.get("ExecStartPre", []):
        subprocess.run(command(line), env=env, check=True, umask=umask)
    line = settings["ExecStart"][-1]
    if kind == "oneshot":
        subprocess.run(command(line), env=env, check=True, umask=umask)
    else:
        with open(f"/var/log/{name}.log", "ab") as log:
            p = subprocess.Popen(command(line), env=env, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                 umask=umask, start_new_session=True)
        with open(f"{RUN}/{name}.pid", "w", encoding="ascii") as f:
            f.write(str(p.pid))
        if kind == "notify":
            while b"READY=1" not in notify.recv(4096):
                pass
    for line in settings.get("ExecStartPost", []):
        subprocess.run(command(line), check=False)


def stop(name):
    pid = pid_of(name)
    if pid:
        os.kill(pid, signal.SIGTERM)
        deadline = time.monotonic() + 30
        while pid_of(name) and time.monotonic() < deadline:
            time.sleep(0.05)


def main():
    os.makedirs(RUN, exist_ok=True)
    words = [w for w in sys.argv[1:] if not w.startswith("-")]
    verb = words[0]
    names = [w if "." in w else w + ".service" for w in words[1:]]
    if "--all" in sys.argv:
        names = [os.path.basename(p)[:-4] for p in glob.glob(f"{RUN}/*.pid")]
    for name in names:
        if verb == "is-enabled":
            print("enabled" if enabled(name) else "disabled")
            sys.exit(not enabled(name))
        elif verb == "show":
            unit(name)
            print(f"Id={name}\nLoadState=loaded\nActiveState={'active' if pid_of(name) else 'inactive'}")
        elif verb == "is-active":
            sys.exit(not pid_of(name))
        elif verb in ("enable", "disable", "preset"):  # Debian's presets enable units
            unit(name)
            mark = f"{RUN}/{name}.enabled"
            if verb != "disable":
                with open(mark, "w", encoding="ascii"):
                    pass
            elif os.path.exists(mark):
                os.unlink(mark)
            if "--now" in sys.argv:
                start(name) if verb == "enable" else stop(name)
        elif verb == "start":
            start(name)
        elif verb == "stop":
            stop(name)
        elif verb == "restart" or (verb.startswith("try-") and pid_of(name)):
            stop(name)
            start(name)


main()
