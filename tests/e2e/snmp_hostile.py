#!/usr/bin/python3
"""batchjob_snmp with a simulated AgentX master that sends malformed, huge and endless PDUs: the sub-agent
ends the connection or answers, does not crash, does not grow, and connects again.  TAP; a minute."""
import os
import random
import socket
import struct
import sys

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import agentx  # noqa: E402
import snmp_lib  # noqa: E402
from snmp_lib import BASE, Process, Tree, until  # noqa: E402
from tap import check, same  # noqa: E402

VERSION = BASE + (1, 1)
MOST = 4 << 20  # bytes of a reply
GROWTH = (128 if "san" in snmp_lib.O.split("/")[-1] else 16) << 10  # KiB; freed memory stays with the sanitizer


class Site:
    def __init__(self, folder):
        self.tree = Tree(folder)
        for n in range(40):
            self.tree.add(str(100 + n), n)
        self.master = agentx.Master(folder + "/agentx")
        self.log = folder + "/agent.log"
        self.agent = self.new_agent("0.5")

    def new_agent(self, interval):
        return Process([snmp_lib.O + "/batchjob_snmp", *self.tree.options(), "--sample.interval=" + interval,
                        "--agentx.timeout=2", "--agentx.ping-interval=2", "--agentx.socket=" + self.master.path], self.log)

    def start(self):
        self.agent.start()

    def connect(self, big=True):
        peer = self.master.accept(big)
        peer.welcome()
        return peer

    def stop(self):
        self.agent.stop()
        self.master.close()


def ended(peer):
    """Read until the sub-agent closes the connection; False if it does not."""
    total = 0
    try:
        while True:
            data = peer.connection.recv(1 << 16)
            total += len(data)
            if not data:
                return True
            if total > 64 << 20:
                return False
    except socket.timeout:
        return False
    except OSError:
        return True


def requests(site):
    """Well-formed requests, in both byte orders, to a sub-agent with one pass."""
    usual = site.agent
    usual.stop()
    site.agent = site.new_agent("1h").start()
    walks = []
    for big in (True, False):
        peer = site.connect(big)
        order = "network" if big else "other"
        until(lambda: len(peer.walk(BASE)) > 100)  # the first pass has ended
        walks.append(peer.walk(BASE))
        check(len(walks[-1]) > 100, "%s byte order: a walk has all objects (%d)" % (order, len(walks[-1])))
        first = next(iter(walks[-1]))
        same(peer.get(first)[2][0][:2], (first,) + walks[-1][first][:1], order + " byte order: Get")
        error, _, binds = peer.get(first, BASE + (9, 9), first + (1,))
        check(error == 0 and [b[1] in (128, 129) for b in binds] == [False, True, True],
              order + " byte order: unknown OIDs are exceptions", error, binds)
        peer.request(agentx.GETNEXT, peer.ranges((first, (), 1)))
        same(peer.reply()[2][0][0], first, order + " byte order: include")
        peer.request(agentx.GETNEXT, peer.ranges((first, first + (0,), 0)))
        error, _, binds = peer.reply()
        same((binds[0][0], binds[0][1]), (first, agentx.END_OF_VIEW), order + " byte order: the end of a range")
        same([b[1] for b in peer.next(BASE + (4294967295,))[2]], [agentx.END_OF_VIEW], order + " byte order: past the end")
        names = list(walks[-1])
        error, _, binds = peer.bulk(1, 3, names[0], names[10])
        same([b[0] for b in binds], [names[1]] + names[11:14], order + " byte order: GetBulk")
        peer.request(agentx.TESTSET, struct.pack(">HH" if big else "<HH", 2, 0) +
                     agentx.oid(first, 0, ">" if big else "<") + struct.pack(">I" if big else "<I", 1))
        same(peer.reply()[:2], (17, 1), order + " byte order: TestSet is refused: notWritable")
        for kind, name in ((agentx.COMMITSET, "CommitSet"), (agentx.UNDOSET, "UndoSet")):
            peer.request(kind)
            check(peer.reply()[0] in (14, 15, 5, 267, 268, 0), "%s byte order: %s is answered" % (order, name))
        peer.request(agentx.CLEANUPSET)
        same(peer.get(first)[0], 0, order + " byte order: CleanupSet is not")
        peer.request(agentx.GET, agentx.string(b"context", ">" if big else "<") + peer.ranges((first, (), 0)), flags=8)
        same(peer.reply()[0], 262, order + " byte order: another context is refused: unsupportedContext")
        peer.request(agentx.GET, peer.ranges((first, (), 0)), session=peer.session + 1)
        same(peer.reply()[0], 257, order + " byte order: another session is refused: notOpen")
        peer.request(agentx.CLOSE, bytes((5, 0, 0, 0)))
        check(ended(peer), order + " byte order: Close ends the connection")
        peer.close()
    same(list(walks[0]), list(walks[1]), "both byte orders have the same OIDs")
    end(site)
    site.agent = usual.start()


def malformed():
    """(description, bytes on the wire) of what no master sends."""
    def pdu(kind, payload=b"", **more):
        length = more.pop("length", None)
        return agentx.Pdu(kind, payload, 4711, 1, 1, **more).bytes(length)
    one = agentx.oid(VERSION)
    yield "a length of 4 GiB", pdu(agentx.GET, b"", length=0xfffffffc)
    yield "a length of 1 GiB with a part of the payload", pdu(agentx.GET, bytes(5000), length=1 << 30)
    yield "a length that is no multiple of four", pdu(agentx.GET, bytes(7), length=7)
    yield "version 2", b"\x02" + pdu(agentx.GET, one + bytes(4))[1:]
    yield "an OID of 255 sub-identifiers", pdu(agentx.GET, b"\xff\0\0\0" + bytes(4 * 255 + 4))
    yield "an OID of 128 sub-identifiers with a prefix", pdu(agentx.GET, b"\x80\x04\0\0" + bytes(4 * 128 + 4))
    yield "an OID that is cut short", pdu(agentx.GETNEXT, b"\x09\0\0\0" + bytes(16))
    yield "a search range without an end", pdu(agentx.GETNEXT, one)
    yield "GetBulk of two bytes too few", pdu(agentx.GETBULK, b"")
    yield "a context that is longer than the payload", pdu(agentx.GET, struct.pack(">I", 1 << 31), flags=8)
    yield "a context of almost 2^32 bytes", pdu(agentx.GET, struct.pack(">I", 0xfffffffe) + bytes(16), flags=8)
    yield "TestSet with a value that is cut short", pdu(agentx.TESTSET, struct.pack(">HH", 4, 0) + one + struct.pack(">I", 999))
    yield "a type that does not exist", pdu(99, bytes(8))
    yield "type 0", pdu(0)
    yield "a Response of no request", pdu(agentx.RESPONSE, bytes(8))
    yield "a Response that is cut short", pdu(agentx.RESPONSE, bytes(4))
    yield "an Open of the master", pdu(agentx.OPEN, bytes(4) + bytes(4) + agentx.string(b"master"))
    yield "a Notify of the master", pdu(agentx.NOTIFY, one)
    yield "flags that are not defined", pdu(agentx.GET, one + bytes(4), flags=0xe7)
    rng = random.Random(43)
    for n in range(6):
        yield "random bytes, %d" % n, bytes(rng.randrange(256) for _ in range(rng.randrange(1, 3000)))
    base = pdu(agentx.GETNEXT, (one + bytes(4)) * 5)
    for n in range(6):
        data = bytearray(base)
        for _ in range(rng.randrange(1, 12)):
            data[rng.randrange(len(data))] = rng.randrange(256)
        yield "a request with random changes, %d" % n, bytes(data)


def hostile(site):
    """After each of these the sub-agent answers: on the same connection, or on a new one."""
    peer = site.connect()
    for what, data in malformed():
        try:
            peer.send(data)
            peer.connection.shutdown(socket.SHUT_WR)
        except OSError:
            pass
        closed = ended(peer)
        peer.close()
        peer = site.connect()
        answer = peer.next(BASE)
        check(closed and answer[0] == 0 and answer[2][0][1] != agentx.END_OF_VIEW and site.agent.runs(),
              what + ": the sub-agent ends the connection and comes back", site.agent.text()[-600:])
    # A part of a PDU and then silence must not keep the sub-agent for ever.
    peer.connection.settimeout(30)
    for what, data in (("half a header", b"\x01\x05\x10\0\0"),
                       ("half a payload", agentx.Pdu(agentx.GET, bytes(40), 4711).bytes(4000))):
        peer.send(data)
        check(ended(peer), "%s and silence: the sub-agent ends the connection" % what)
        peer.close()
        peer = site.connect()
        peer.connection.settimeout(30)
    # Silence: no reply to a ping.
    check(ended(peer), "silence: the sub-agent ends the connection after a ping")
    peer.close()


def refused(site):
    """A master that refuses Open or Register, or talks nonsense then."""
    peer = site.master.accept()
    pdu, _ = peer.receive()
    peer.answer(pdu, 256)
    check(ended(peer), "openFailed: the sub-agent ends the connection")
    peer.close()
    peer = site.master.accept()
    peer.welcome(263)
    check(ended(peer), "duplicateRegistration: the sub-agent ends the connection")
    peer.close()
    peer = site.master.accept()
    peer.receive()
    peer.send(b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n")
    check(ended(peer), "HTTP: the sub-agent ends the connection")
    peer.close()
    peer = site.master.accept()
    peer.close()
    peer = site.connect()
    same(peer.next(BASE)[0], 0, "then it registers and answers")
    check(site.agent.text().count("\n") < 300, "the log is short")
    peer.close()


def bloat(site):
    """Requests for more than a reply should have, and requests whose replies nobody reads."""
    peer = site.connect()
    peer.next(BASE)
    before = site.agent.rss()
    peer.connection.settimeout(60)
    peer.request(agentx.GETBULK, struct.pack(">HH", 0, 65535) + peer.ranges(*[(BASE, (), 0)] * 500))
    try:
        total = len(peer.receive()[0].payload)
    except ValueError as e:  # more than 1 MiB
        total = str(e)
    except ConnectionError:
        total = 0
    check(isinstance(total, int) and total < MOST, "GetBulk of 65535 x 500 values has a bounded reply", total)
    peer.close()
    peer = site.connect()
    request = agentx.Pdu(agentx.GETBULK, struct.pack(">HH", 0, 100) + peer.ranges((BASE, (), 0)), peer.session, 1, 9)
    data, sent = request.bytes(), 0
    peer.connection.settimeout(5)
    try:
        while sent < 40000:
            peer.send(data)
            sent += 1
    except OSError:
        pass
    grown = site.agent.rss() - before
    check(grown < GROWTH, "%d requests whose replies are not read: it grows by %d KiB" % (sent, grown))
    peer.close()
    peer = site.connect()
    same(peer.next(BASE)[0], 0, "then it answers a new connection")
    for _ in range(300):
        peer.bulk(0, 200, BASE)
    grown = site.agent.rss() - before
    check(grown < GROWTH, "300 large replies: it grows by %d KiB" % grown)
    peer.close()


def end(site):
    check(site.agent.runs(), "it was the same process all the time")
    same(site.agent.stop(), 0, "SIGTERM ends it")
    site.agent.check_reports()


if __name__ == "__main__":
    sys.exit(snmp_lib.run(Site, requests, hostile, refused, bloat, end))
