#!/usr/bin/python3
"""Install Grafana's npm packages for api_dashboards.py and gate_grafana.py in O/grafana-node.

    grafana_packages.py [VERSION]     another version of Grafana, in O/grafana-node-VERSION

Prints nothing on success; else prints the reason and exits with 1."""
import fcntl
import json
import os
import re
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
SOURCE = os.path.join(HERE, "grafana")
FOLDER = os.path.abspath(os.path.join(TOP, os.environ.get("O", "build"), "grafana-node"))
VERSION = "11.6.0"  # in package.json
# Packages for user interfaces are large and not used: replaced by empty packages of the
# same version.
EMPTY = ["@floating-ui/react", "@grafana/e2e-selectors", "@grafana/faro-web-sdk", "@grafana/plugin-ui",
         "@grafana/ui", "@hello-pangea/dnd", "@reduxjs/toolkit", "monaco-promql", "react-highlight-words",
         "react-window"]


def text(path):
    try:
        with open(path, encoding="utf-8") as f:
            return f.read()
    except FileNotFoundError:
        return None


def folder_of(version):
    return FOLDER if version == VERSION else "%s-%s" % (FOLDER, version)


def node_version():
    if not shutil.which("npm") or not shutil.which("node"):
        return 0
    return int(subprocess.run(["node", "--version"], capture_output=True, text=True, check=True).stdout[1:].split(".")[0])


def install(version=VERSION):
    """Install the packages; return None, or the reason why they are missing."""
    if node_version() < (1 if version == VERSION else 20):
        return "npm and node are needed" + ("" if version == VERSION else ", version 20 or later")
    folder = folder_of(version)
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "lock"), "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # two test steps use the folder
        return install_alone(version, folder)


def npm(folder, *args):
    command = ["npm", *args, "--fetch-timeout=30000", "--fetch-retries=1"]
    try:
        return subprocess.run(command, cwd=folder, capture_output=True, text=True,
                              timeout=300, check=False)
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(command, 1, "", "ETIMEDOUT")


def failure(p):
    offline = re.search("ENOTFOUND|EAI_AGAIN|ECONN|ETIMEDOUT|network", p.stderr)
    return "npm's registry cannot be reached" if offline else "npm failed: " + p.stderr[-500:]


def add_empty(folder, version):
    """Create the packages in EMPTY in the required versions, and add them to package.json."""
    path = os.path.join(folder, "package.json")
    package = json.loads(text(path))
    for user in ("@grafana/prometheus", "@grafana/runtime"):
        p = npm(folder, "view", "%s@%s" % (user, version), "dependencies", "--json")
        if p.returncode != 0:
            return failure(p)
        for name, wanted in json.loads(p.stdout).items():
            if name in EMPTY:
                own = os.path.join("empty", name)
                os.makedirs(os.path.join(folder, own), exist_ok=True)
                with open(os.path.join(folder, own, "package.json"), "w", encoding="utf-8") as f:
                    json.dump({"name": name, "version": wanted.lstrip("^~")}, f)
                package["dependencies"][name] = "file:" + own
    with open(path, "w", encoding="utf-8") as f:
        json.dump(package, f)
    return None


def install_alone(version, folder):
    shutil.copytree(SOURCE, folder, dirs_exist_ok=True)
    stamp = os.path.join(folder, "installed")
    wanted = text(os.path.join(SOURCE, "package.json")).replace(VERSION, version)
    if text(stamp) == wanted:
        return None
    if os.path.exists(stamp):
        os.unlink(stamp)
    with open(os.path.join(folder, "package.json"), "w", encoding="utf-8") as f:
        f.write(wanted)
    # npm does not apply changed overrides to an existing tree.
    shutil.rmtree(os.path.join(folder, "node_modules"), ignore_errors=True)
    if os.path.exists(os.path.join(folder, "package-lock.json")):
        os.unlink(os.path.join(folder, "package-lock.json"))
    error = add_empty(folder, version)
    if error:
        return error
    p = npm(folder, "install", "--no-audit", "--no-fund", "--ignore-scripts", "--legacy-peer-deps")
    if p.returncode != 0:
        return failure(p)
    with open(stamp, "w", encoding="utf-8") as f:
        f.write(wanted)
    return None


if __name__ == "__main__":
    error = install(*sys.argv[1:2])
    if error:
        sys.exit(error)
