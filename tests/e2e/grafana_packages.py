#!/usr/bin/python3
"""Install Grafana's npm packages for api_dashboards.py and gate_grafana.py in O/grafana-node.

Prints nothing on success; otherwise why not, and the exit status is 1."""
import fcntl
import os
import re
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
SOURCE = os.path.join(HERE, "grafana")
FOLDER = os.path.abspath(os.path.join(TOP, os.environ.get("O", "build"), "grafana-node"))


def text(path):
    try:
        with open(path, encoding="utf-8") as f:
            return f.read()
    except FileNotFoundError:
        return None


def install():
    """None, or why the packages are missing."""
    if not shutil.which("npm") or not shutil.which("node"):
        return "npm and node are needed"
    os.makedirs(FOLDER, exist_ok=True)
    with open(os.path.join(FOLDER, "lock"), "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # two steps use them
        return install_alone()


def install_alone():
    shutil.copytree(SOURCE, FOLDER, dirs_exist_ok=True)
    stamp = os.path.join(FOLDER, "installed")
    wanted = text(os.path.join(SOURCE, "package.json"))
    if text(stamp) == wanted:
        return None
    # npm does not change its own tree to other overrides.
    shutil.rmtree(os.path.join(FOLDER, "node_modules"), ignore_errors=True)
    if os.path.exists(os.path.join(FOLDER, "package-lock.json")):
        os.unlink(os.path.join(FOLDER, "package-lock.json"))
    p = subprocess.run(["npm", "install", "--no-audit", "--no-fund", "--ignore-scripts",
                        "--legacy-peer-deps", "--fetch-timeout=30000", "--fetch-retries=1"],
                       cwd=FOLDER, capture_output=True, text=True, timeout=300, check=False)
    if p.returncode != 0:
        offline = re.search("ENOTFOUND|EAI_AGAIN|ECONN|ETIMEDOUT|network", p.stderr)
        return ("npm's registry cannot be reached" if offline else
                "npm install failed: " + p.stderr[-500:])
    with open(stamp, "w", encoding="utf-8") as f:
        f.write(wanted)
    return None


if __name__ == "__main__":
    why = install()
    if why:
        sys.exit(why)
