#!/usr/bin/python3
"""AgentX (RFC 2741) for tests: PDUs, and a simulated master that may send anything.

  agentx.py walk SOCKET    wait for a sub-agent, walk what it registers, print the number of values"""
import os
import socket
import struct
import sys
import threading

(OPEN, CLOSE, REGISTER, UNREGISTER, GET, GETNEXT, GETBULK, TESTSET, COMMITSET, UNDOSET, CLEANUPSET, NOTIFY,
 PING) = range(1, 14)
RESPONSE = 18
ORDER = 0x10  # flag: integers in network byte order
INTEGER, STRING, NULL, OID = 2, 4, 5, 6
NO_OBJECT, NO_INSTANCE, END_OF_VIEW = 128, 129, 130
NUMBERS = {INTEGER, 65, 66, 67}


def ids(text):
    return tuple(int(i) for i in text.strip(".").split("."))


class Pdu:
    """A PDU; payload is bytes, the other fields are numbers."""

    def __init__(self, kind, payload=b"", session=0, transaction=0, packet=0, big=True, flags=0):
        self.kind, self.payload, self.session, self.transaction, self.packet = kind, payload, session, transaction, packet
        self.order = ">" if big else "<"
        self.flags = flags | (ORDER if big else 0)

    def bytes(self, length=None):
        """The PDU on the wire, with a wrong length on request."""
        return struct.pack("BBBB", 1, self.kind, self.flags, 0) + struct.pack(
            self.order + "IIII", self.session, self.transaction, self.packet,
            len(self.payload) if length is None else length) + self.payload


def oid(numbers, include=0, order=">"):
    """An OID on the wire, without a prefix."""
    return struct.pack("BBBB", len(numbers), 0, include, 0) + struct.pack(order + "%dI" % len(numbers), *numbers)


def string(data, order=">"):
    return struct.pack(order + "I", len(data)) + data + bytes(-len(data) % 4)


class Reader:
    """Takes apart a payload; raises ValueError where it is cut short or padded wrongly."""

    def __init__(self, data, order):
        self.data, self.at, self.order = data, 0, order

    def take(self, n):
        if self.at + n > len(self.data):
            raise ValueError("payload of %d bytes ends early" % len(self.data))
        self.at += n
        return self.data[self.at - n:self.at]

    def number(self, size="I"):
        return struct.unpack(self.order + size, self.take(struct.calcsize(size)))[0]

    def oid(self):
        n, prefix, include, zero = self.take(4)
        if zero or n + (5 if prefix else 0) > 128:
            raise ValueError("bad OID")
        return ((1, 3, 6, 1, prefix) if prefix else ()) + tuple(self.number() for _ in range(n))

    def string(self):
        n = self.number()
        data = self.take(n)
        if self.take(-n % 4).strip(b"\0"):
            raise ValueError("padding is not 0")
        return data

    def varbind(self):
        kind = self.number("H")
        if self.number("H"):
            raise ValueError("reserved is not 0")
        name = self.oid()
        if kind in NUMBERS:
            return name, kind, self.number()
        if kind == 70:
            return name, kind, self.number("Q")
        if kind == OID:
            return name, kind, self.oid()
        if kind in (STRING, 64, 68):
            return name, kind, self.string()
        if kind in (NULL, NO_OBJECT, NO_INSTANCE, END_OF_VIEW):
            return name, kind, None
        raise ValueError("type %d" % kind)

    def varbinds(self):
        found = []
        while self.at < len(self.data):
            found.append(self.varbind())
        return found


class Peer:
    """The master's end of a connection with a sub-agent."""

    def __init__(self, connection, big=True):
        self.connection, self.big, self.packet = connection, big, 0
        self.session, self.subtrees = 4711, []
        connection.settimeout(20)

    def read(self, n):
        data = b""
        while len(data) < n:
            part = self.connection.recv(n - len(data))
            if not part:
                raise ConnectionError("the sub-agent has closed the connection")
            data += part
        return data

    def receive(self):
        """The next PDU of the sub-agent and a Reader of its payload."""
        version, kind, flags, zero = self.read(4)
        if version != 1 or zero:
            raise ValueError("version %d, reserved %d" % (version, zero))
        order = ">" if flags & ORDER else "<"
        session, transaction, packet, length = struct.unpack(order + "IIII", self.read(16))
        if length % 4 or length > 1 << 20:
            raise ValueError("length %d" % length)
        pdu = Pdu(kind, self.read(length), session, transaction, packet, order == ">", flags & ~ORDER)
        return pdu, Reader(pdu.payload, order)

    def send(self, data):
        self.connection.sendall(data)

    def answer(self, pdu, error=0, session=None):
        self.send(Pdu(RESPONSE, struct.pack(pdu.order + "IHH", 0, error, 0),
                      self.session if session is None else session, pdu.transaction, pdu.packet,
                      pdu.order == ">").bytes())

    def welcome(self, error=0):
        """Answer Open and Register as a master does."""
        pdu, reader = self.receive()
        if pdu.kind != OPEN:
            raise ValueError("the first PDU has type %d" % pdu.kind)
        reader.take(4)
        reader.oid()
        self.description = reader.string()
        self.answer(pdu)
        pdu, reader = self.receive()
        if pdu.kind != REGISTER or pdu.session != self.session:
            raise ValueError("the second PDU has type %d and session %d" % (pdu.kind, pdu.session))
        reader.take(4)
        self.subtrees.append(reader.oid())
        self.answer(pdu, error)

    def request(self, kind, payload=b"", length=None, session=None, flags=0):
        """Send a request; returns its packet number."""
        self.packet += 1
        self.send(Pdu(kind, payload, self.session if session is None else session, 1, self.packet, self.big,
                      flags).bytes(length))
        return self.packet

    def reply(self, packet=None):
        """The reply to a request: (error, index, varbinds).  Answers pings and notifications meanwhile."""
        packet = self.packet if packet is None else packet
        while True:
            pdu, reader = self.receive()
            if pdu.kind == RESPONSE and pdu.packet == packet:
                reader.take(4)
                return reader.number("H"), reader.number("H"), reader.varbinds()
            if pdu.kind == CLOSE:
                raise ConnectionError("the sub-agent has closed its session")
            if pdu.kind != RESPONSE:
                self.answer(pdu)

    def ranges(self, *pairs):
        order = ">" if self.big else "<"
        return b"".join(oid(a, include, order) + (oid(b, 0, order) if b else bytes(4)) for a, b, include in pairs)

    def get(self, *names):
        self.request(GET, self.ranges(*((n, (), 0) for n in names)))
        return self.reply()

    def next(self, *names):
        self.request(GETNEXT, self.ranges(*((n, (), 0) for n in names)))
        return self.reply()

    def bulk(self, non_repeaters, repetitions, *names):
        self.request(GETBULK, struct.pack((">" if self.big else "<") + "HH", non_repeaters, repetitions) +
                     self.ranges(*((n, (), 0) for n in names)))
        return self.reply()

    def walk(self, root, most=100000):
        """All values below root: {oid: (type, value)}."""
        found, at = {}, root
        while len(found) < most:
            error, _, binds = self.next(at)
            if error or binds[0][1] == END_OF_VIEW or binds[0][0][:len(root)] != root:
                return found
            if binds[0][0] <= at:
                raise ValueError("%s follows %s" % (binds[0][0], at))
            at = binds[0][0]
            found[at] = binds[0][1:]
        raise ValueError("the walk does not end")

    def close(self):
        self.connection.close()


class Master:
    """A listening socket to which sub-agents connect; accept() returns a Peer."""

    def __init__(self, path):
        self.path = path
        if os.path.exists(path):
            os.unlink(path)
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.bind(path)
        self.socket.listen(8)
        self.socket.settimeout(70)

    def accept(self, big=True):
        return Peer(self.socket.accept()[0], big)

    def close(self):
        self.socket.close()
        os.unlink(self.path)


class SubAgent(threading.Thread):
    """A simulated sub-agent with a table of values {oid: (type, value)}, to test the tests themselves."""

    def __init__(self, path, root, values):
        super().__init__(daemon=True)
        self.values, self.root = values, root
        self.connection = socket.socket(socket.AF_UNIX)
        self.connection.connect(path)
        self.peer = Peer(self.connection)
        self.peer.connection.settimeout(None)
        self.peer.session = 0
        self.peer.request(OPEN, bytes(4) + bytes(4) + string(b"test"), session=0)
        self.peer.session = self.peer.receive()[0].session
        self.peer.request(REGISTER, struct.pack("BBBB", 0, 127, 0, 0) + oid(root))
        self.error = self.peer.reply()[0]

    def bind(self, name, kind, value):
        head = struct.pack(">HH", kind, 0) + oid(name)
        if kind in NUMBERS:
            return head + struct.pack(">I", value)
        if kind == 70:
            return head + struct.pack(">Q", value)
        return head + (string(value) if kind == STRING else b"")

    def run(self):
        try:
            while True:
                pdu, reader = self.peer.receive()
                payload = struct.pack(">IHH", 0, 0, 0)
                while pdu.kind in (GET, GETNEXT) and reader.at < len(reader.data):
                    include = reader.data[reader.at + 2]
                    start = reader.oid()
                    reader.oid()
                    if pdu.kind == GET:
                        kind, value = self.values.get(start, (NO_INSTANCE, None))
                        payload += self.bind(start, kind, value)
                    else:
                        later = [o for o in sorted(self.values) if o > start or (include and o == start)]
                        payload += self.bind(later[0], *self.values[later[0]]) if later else self.bind(
                            start, END_OF_VIEW, None)
                if pdu.kind != RESPONSE:
                    self.peer.send(Pdu(RESPONSE, payload, pdu.session, pdu.transaction, pdu.packet).bytes())
        except (OSError, ConnectionError):
            pass


if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[1] != "walk":
        sys.exit(__doc__)
    listener = Master(sys.argv[2])
    os.chmod(sys.argv[2], 0o666)
    agent = listener.accept()
    agent.welcome()
    values = {}
    while len(values) < 20: # before the first pass there is little
        values = agent.walk(agent.subtrees[0])
    print(len(values), "values")
    agent.request(CLOSE, bytes((5, 0, 0, 0)))
    listener.close()
