#!/usr/bin/python3
"""Choose TCP ports that no other test gets and that Linux does not use for outgoing connections.

    ports.py [N]    print the first of N consecutive ports (default: 1)
"""
import fcntl
import os
import socket
import sys

FIRST, END = 20000, 32000  # below Linux's ephemeral ports (32768 and above)
TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def is_free(port):
    with socket.socket() as s:
        try:
            s.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def free_ports(n):
    """Return the first of n consecutive free ports.  Tests that share a build folder get
    different ports."""
    folder = os.path.join(TOP, os.environ.get("O", "build"), "e2e")
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, "ports")
    if not os.path.exists(path):
        open(path, "a").close()
        os.chmod(path, 0o666)  # some tests run as root
    with open(path, "r+") as f:
        fcntl.flock(f, fcntl.LOCK_EX)
        base = int(f.read() or FIRST)
        while base + n > END or not all(map(is_free, range(base, base + n))):
            base = base + 1 if base + n <= END else FIRST
        f.seek(0)
        f.truncate()
        f.write(str(base + n))
    return base


def free_port():
    return free_ports(1)


if __name__ == "__main__":
    print(free_ports(int(sys.argv[1]) if len(sys.argv) > 1 else 1))
