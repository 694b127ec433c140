#!/usr/bin/env python3
"""Forwarding by the PromQL gate to a simulated Prometheus: the requests that the server
receives, and the responses of clients when it streams, waits, fails or is down.  TAP."""
import gzip
import os
import socket
import sys
import threading
import time
import urllib.parse

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from gate_lib import API, GRAFANA, ScriptedPrometheus, Gate  # noqa: E402
from ports import free_port  # noqa: E402
from prom_lib import wait_for  # noqa: E402
from tap import check, plan, same  # noqa: E402

BIG = b'{"status":"success","data":"%s"}' % (b"x" * (3 << 20))


def error(a):
    return a.status, a.json.get("errorType"), a.json["status"]


def metric(gate, name):
    for line in gate.fetch("/metrics").body.decode().splitlines():
        if line.startswith("batchjob_api_gate_" + name + " "):
            return int(line.split()[1])
    return None


def test_form(gate, prometheus):
    prometheus.reply = lambda h: h.send()
    same(gate.post("user1", "query_range", ("Cookie", "a=b"), ("X-Forwarded-For", "1.2.3.4"),
                   ("X-Id-Token", "secret"), query=" m  # all", start="1700000000.1234",
                   end="2023-11-14T23:30:00+01:00", step="1m30s", timeout="5s", extra="1").status, 200,
         "a query succeeds")
    method, path, headers, body = prometheus.received[-1]
    same((method, path), ("POST", "/base/api/v1/query_range"),
         "the path of a query is appended to the URL of the server")
    same(urllib.parse.parse_qs(body),
         {"query": ['{__name__="m",user="user1"}'], "start": ["1700000000.123"],
          "end": ["1700001000.000"], "step": ["90.000"], "timeout": ["5.000"]},
         "the form contains the restricted query and normalized parameters")
    same(sorted(k.lower() for k in headers),
         ["accept", "content-length", "content-type", "host", "user-agent", "x-scope-orgid"],
         "no header of the client is passed on")
    gate.get("user1", "label/U__a_2e_b/values", m='m{a="b c&d"}', start=5, end=6, limit=3)
    method, path, headers, body = prometheus.received[-1]
    same((method, path.partition("?")[0], urllib.parse.parse_qs(path.partition("?")[2])),
         ("GET", "/base/api/v1/label/U__a_2e_b/values",
          {"match[]": ['{__name__="m",a="b c&d",user="user1"}'], "start": ["5.000"], "end": ["6.000"],
           "limit": ["3"]}),
         "values are requested by GET")
    prometheus.reply = lambda h: h.send()
    for path, more in (("labels", {}), ("label/a/values", {}), ("series", dict(m="up")),
                       ("query_exemplars", dict(query="up"))):
        same(error(gate.get("user1", path, start=0, end=401 * 86400, **more)), (400, "bad_data", "error"),
             "%s over more than gate.max-range is refused" % path)
        same(gate.get("user1", path, end=500 * 86400, **more).status, 200, "a request without a start is answered")
        form = prometheus.received[-1][3] or prometheus.received[-1][1].partition("?")[2]
        same(urllib.parse.parse_qs(form)["start"], ["%d.000" % (100 * 86400)], "it gets the start of the longest range")


def test_description(gate, prometheus):
    paths = gate.fetch("/api/v1/openapi.json").json["paths"]

    def names(path, required):
        return [p["name"] for p in paths[API + path]["get"]["parameters"] if required in (None, p.get("required", False))]
    same(names("query_range", None), ["query", "start", "end", "step", "timeout", "limit"],
         "the OpenAPI document has the parameters of the gate")
    same((names("query_range", True), names("series", True), names("label/{name}/values", True)),
         (["query", "start", "end", "step"], ["match[]"], ["name"]), "the OpenAPI document has the required parameters")


def test_replies(gate, prometheus):
    packed = gzip.compress(BIG)
    prometheus.reply = lambda h: h.send(body=packed, Content_Encoding="gzip")
    a = gate.get("user1", "query", ("Accept-Encoding", "deflate, gzip;q=0.8"), query="up")
    check(a.body == packed and a.headers["Content-Encoding"] == "gzip", "a compressed reply is passed on as it is")
    same(prometheus.received[-1][2].get("Accept-Encoding"), "gzip", "compression is requested for a client that accepts it")
    for accept in ("identity", "gzip;q=0", "br"):
        a = gate.get("user1", "query", ("Accept-Encoding", accept), query="up")
        same((error(a), prometheus.received[-1][2].get("Accept-Encoding")), ((502, "unavailable", "error"), None),
             "no compression for a client with Accept-Encoding: " + accept)

    def chunks(h):
        h.send_response(200)
        h.send_header("Content-Type", "application/json; charset=utf-8")
        h.send_header("Transfer-Encoding", "chunked")
        h.end_headers()
        for k in range(0, len(BIG), 100000):
            piece = BIG[k:k + 100000]
            h.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
        h.wfile.write(b"0\r\n\r\n")
    prometheus.reply = chunks
    check(gate.get("user1", "query", query="up").body == BIG, "a reply in chunks is complete")
    line = [x for x in open(gate.log) if 'msg="request" ' in x][-1]
    check(" bytes=%d " % len(BIG) in line and " status=200 " in line and 'endpoint="/prometheus/api/v1/query" ' in line,
          "the log has the bytes of the response", line)
    raw = gate.raw(b"GET " + API.encode() + b"query?query=up HTTP/1.0\r\nAuthorization: " +
                   GRAFANA[1].encode() + b"\r\nX-Grafana-User: user1\r\n\r\n")
    check(raw.partition(b"\r\n\r\n")[2] == BIG, "a reply to an HTTP/1.0 client is complete")
    own = b'{"status":"error","errorType":"execution","error":"found duplicate series"}'
    prometheus.reply = lambda h: h.send(422, own)
    a = gate.get("user1", "query", query="up")
    same((a.status, a.body), (422, own), "an error of Prometheus is passed on")
    for status, type, want in ((200, "text/html", 502), (500, "text/plain", 502), (503, "text/html", 503),
                               (302, "application/json", 502), (401, "application/json", 502),
                               (403, "application/json", 502)):
        prometheus.reply = lambda h: h.send(status, b"secret", type, Location="http://127.0.0.1:1/")
        a = gate.get("user1", "query", query="up")
        check(error(a) == (want, "unavailable", "error") and b"secret" not in a.body,
              "a reply with status %d and type %s is not passed on" % (status, type), a)
    prometheus.reply = lambda h: h.send(body=b'{"status":"success","data":{"batchjob_job_cpus":[{"type":"gauge",'
                                        b'"help":"a \\"b\\"","unit":""}],"of_someone":[{"type":"gauge"}]}}')
    same(gate.get("user1", "metadata").data,
         {"batchjob_job_cpus": [{"type": "gauge", "help": 'a "b"', "unit": ""}]},
         "users get descriptions of metrics that have a rule")
    same(sorted(gate.get("boss", "metadata").data), ["batchjob_job_cpus", "of_someone"],
         "admins get descriptions of all metrics")
    prometheus.reply = lambda h: h.send(body=b"{")
    same(gate.get("user1", "metadata").status, 502, "descriptions that are not JSON are an error")


def test_no_content(gate, prometheus):
    def empty(h):
        h.send_response(204)
        h.end_headers()
    prometheus.reply = empty
    same([gate.get("user1", "query_exemplars", query="up").status for _ in range(3)], [204] * 3,
         "a reply without content is passed on")
    same([line.split()[1] for line in gate.fetch("/metrics").body.decode().splitlines()
          if line.startswith("batchjob_api_gate_server_up")], ["1"], "it does not mark the server down")
    prometheus.reply = lambda h: h.send()
    same(gate.get("user1", "query", query="up").status, 200, "the next query is answered")


def test_limits(gate, prometheus):
    prometheus.reply = lambda h: h.send(body=b"x" * (5 << 20))
    same(error(gate.get("user1", "query", query="up")), (422, "execution", "error"),
         "a reply longer than gate.max-bytes is an error")

    def endless(h):
        h.send_response(200)
        h.send_header("Content-Type", "application/json")
        h.end_headers()
        h.close_connection = True
        for _ in range(200):
            h.wfile.write(b"x" * 100000)
    prometheus.reply = endless
    try:
        whole = len(gate.get("user1", "query", query="up").body)
    except Exception:  # noqa: the connection breaks; the exception depends on the library
        whole = None
    same(whole, None, "a too long reply of unknown length breaks off")
    check(b"up" in gate.fetch("/metrics").body, "the server still responds")


def stall(prometheus):
    """Delay the replies of the simulated server until the returned event is set."""
    go = threading.Event()

    def reply(h):
        go.wait(300)
        h.send()
    prometheus.reply = reply
    return go


def query_in_thread(gate, user, into):
    t = threading.Thread(target=lambda: into.append(gate.get(user, "query", query="up").status))
    t.start()
    return t


def test_waits(gate, prometheus):
    go = stall(prometheus)
    before, answers = len(prometheus.received), []
    threads = [query_in_thread(gate, "user1", answers) for _ in range(5)]
    wait_for(lambda: metric(gate, "waiting") == 3)
    same((metric(gate, "running"), metric(gate, "waiting")), (2, 3), "a user has two queries at a time; others wait")
    threads += [query_in_thread(gate, "user2", answers)]
    wait_for(lambda: len(prometheus.received) - before == 3)
    same(len(prometheus.received) - before, 3, "another user's query does not wait for them")
    same(gate.fetch("/api/v1/me", GRAFANA, ("X-Grafana-User", "user1")).status, 200,
         "requests of another kind do not wait")
    same(error(gate.get("user1", "query", query="up")), (429, "unavailable", "error"),
         "a user with too many queries is refused")
    go.set()
    for t in threads:
        t.join()
    same(answers, [200] * 6, "all queries get their replies")
    prometheus.reply = lambda h: h.send()
    same([gate.get("user1", "query", query="up").status for _ in range(400)], [200] * 400,
         "many replies leave no memory in use")
    same((metric(gate, "running"), metric(gate, "waiting")), (0, 0), "no query runs or waits at the end")


def test_clients_that_leave(gate, prometheus):
    go = stall(prometheus)
    canceled = metric(gate, "canceled_total")
    s = [socket.create_connection(("127.0.0.1", gate.port)) for _ in range(3)]
    for one in s:
        one.sendall(b"GET " + API.encode() + b"query?query=up HTTP/1.1\r\nHost: a\r\nAuthorization: " +
                    GRAFANA[1].encode() + b"\r\nX-Grafana-User: user1\r\n\r\n")
    wait_for(lambda: metric(gate, "waiting") == 1)
    for one in s:
        one.close()
    wait_for(lambda: metric(gate, "running") == 0)
    same((metric(gate, "running"), metric(gate, "waiting"), metric(gate, "canceled_total") - canceled),
         (0, 0, 3), "queries of clients that leave are canceled")
    go.set()

    def slow(h):
        h.send_response(200)
        h.send_header("Content-Type", "application/json")
        h.end_headers()
        h.close_connection = True
        for _ in range(300):
            h.wfile.write(b"x" * 10000)
            time.sleep(0.01)
    prometheus.reply = slow
    prometheus.client_disconnected.clear()
    one = socket.create_connection(("127.0.0.1", gate.port))
    one.sendall(b"GET " + API.encode() + b"query?query=up HTTP/1.1\r\nHost: a\r\nAuthorization: " +
                GRAFANA[1].encode() + b"\r\nX-Grafana-User: user1\r\n\r\n")
    one.recv(1000)
    one.close()
    check(prometheus.client_disconnected.wait(300), "a query is canceled when the client leaves in the middle of the reply")


def test_slow_readers(gate, prometheus):
    prometheus.reply = lambda h: h.send(body=BIG)
    one = socket.socket()
    one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    one.connect(("127.0.0.1", gate.port))
    one.sendall(b"GET " + API.encode() + b"query?query=up HTTP/1.1\r\nHost: a\r\nConnection: close\r\n"
                b"Authorization: " + GRAFANA[1].encode() + b"\r\nX-Grafana-User: user1\r\n\r\n")
    wait_for(lambda: metric(gate, "running") == 1)
    same(gate.get("user2", "query", query="up").body, BIG, "a slow reader does not delay other clients")
    got = b""
    while True:
        piece = one.recv(1 << 20)
        if not piece:
            break
        got += piece
    check(got.partition(b"\r\n\r\n")[2] == BIG, "a slow reader gets the whole reply")


def test_ends(gate, prometheus):
    go = stall(prometheus)
    a = gate.get("user1", "query", query="up", timeout="0.5")
    same(error(a), (503, "timeout", "error"), "a query that takes longer than its timeout is an error")
    wait_for(lambda: metric(gate, "running") == 0)
    answers = []
    t = query_in_thread(gate, "user1", answers)
    wait_for(lambda: metric(gate, "running") == 1)
    gate.server.terminate()
    go.set()
    t.join()
    same(answers, [200], "a running query ends before the server does")
    same(gate.stop(), 0, "the server ends with status 0")
    gate.start_with_prometheus("http://127.0.0.1:%d" % free_port())
    same(error(gate.get("user1", "query", query="up")), (502, "unavailable", "error"),
         "a missing Prometheus server is an error")
    gate.start("--web.config.file=" + gate.web)
    same(gate.get("user1", "query", query="up").status, 404, "without gate.enabled there is no gate")


def main():
    prometheus, gate = ScriptedPrometheus(), Gate()
    try:
        gate.start_with_prometheus(prometheus.url + "/base/", "--gate.max-user-queries=2", "--gate.max-bytes=4M",
                                   "--web.max-requests=20", "--prometheus.header=X-Scope-OrgID: site")
        for test in (test_form, test_description, test_replies, test_no_content, test_limits, test_waits, test_clients_that_leave,
                     test_slow_readers, test_ends):
            test(gate, prometheus)
    finally:
        gate.stop()
        gate.clean_up()
        prometheus.stop()
    return plan()


sys.exit(main())
