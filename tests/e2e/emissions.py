#!/usr/bin/python3
"""Test requests to providers of emission factors over real HTTP and HTTPS.

  emissions.py [FEED]     default: $O/e2e/emissions_feed

A server on loopback simulates all providers; the first word of the path selects
how it responds (good, or one of many faults).  The client is first the program
emissions_feed, then the exporter.  The test creates its own certificates.
Results are TAP; exit 1 when something failed."""
import base64
import contextlib
import datetime
import http.server
import json
import os
import shutil
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse
import urllib.request

sys.dont_write_bytecode = True
import ports  # noqa: E402
from tap import check, plan, same

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
FEED = (sys.argv[1] if len(sys.argv) > 1 else
        os.path.join(TOP, os.environ.get("O", "build"), "e2e/emissions_feed"))
EXPORTER = os.path.join(os.path.dirname(FEED), "../batchjob_exporter")
scratch = tempfile.mkdtemp(prefix="bj-emissions.")
MIB = 1 << 20


# --- responses of providers --------------------------------------------------

def stamp(t):
    return datetime.datetime.fromtimestamp(t, datetime.timezone.utc).isoformat()


def steps(step, hours):
    """The starts of the periods of the last hours, the running one included."""
    now = int(time.time())
    end = now - now % step
    return range(end - hours * 3600, end + 1, step)


def rte(value):
    rows = [{"taux_co2": value, "date_heure": stamp(t)} for t in steps(900, 3)]
    rows.append({"taux_co2": None, "date_heure": stamp(time.time() + 900)})
    return {"total_count": len(rows), "results": rows[::-1]}


def emaps(value):
    return {"zone": "DE", "carbonIntensity": value, "isEstimated": True,
            "datetime": stamp(steps(3600, 0)[0]), "emissionFactorType": "direct"}


def neso(value):
    rows = [{"from": stamp(t)[:16] + "Z", "to": stamp(t + 1800)[:16] + "Z",
             "intensity": {"forecast": value, "actual": None, "index": "low"}}
            for t in steps(1800, 3)]
    return {"data": rows}


def watttime(value):
    rows = [{"point_time": stamp(t), "value": value} for t in steps(300, 2)]
    return {"data": rows, "meta": {"units": "lbs_co2_per_mwh",
                                   "region": "CAISO_NORTH",
                                   "signal_type": "co2_moer"}}


# Part of the URL, function that makes the response, value, period in seconds, and the
# factor as emissions_feed prints it.
PROVIDERS = {
    "rte": ("/eco2mix-national-tr/", rte, 31, 900,
            "average_direct live FR 31000"),
    "electricitymaps": ("/carbon-intensity/latest", emaps, 302, 3600,
                        "average_direct live DE 302000"),
    "neso": ("/pt24h", neso, 258, 1800, "average_direct live GB 258000"),
    # 870 lb/MWh times 0.45359237 kg
    "watttime": ("/v3/historical", watttime, 870, 300,
                 "marginal live CAISO_NORTH 394625"),
}
TOKENS = {"electricitymaps": "key-4711", "watttime": "anna:pass:word"}
ZONES = {"electricitymaps": "DE", "watttime": "CAISO_NORTH"}


# --- the server --------------------------------------------------------------

class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    seen = []            # (path, headers) of all requests
    stop = threading.Event()

    def log_message(self, *_):
        pass

    def send(self, body, status=200, headers=(), length=None, kind="application/json"):
        if isinstance(body, str):
            body = body.encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", length or len(body))
        for name, value in headers:
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def allowed(self, provider):
        auth = self.headers.get("Authorization", "")
        if provider == "electricitymaps":
            return self.headers.get("auth-token") == TOKENS[provider]
        if provider == "watttime":
            return auth == "Bearer tok-1"
        return not auth and not self.headers.get("auth-token")

    def login(self):
        want = "Basic " + base64.b64encode(TOKENS["watttime"].encode()).decode()
        if self.headers.get("Authorization") == want:
            self.send(json.dumps({"token": "tok-1"}))
        else:
            self.send("{}", 401)

    def do_GET(self):
        Handler.seen.append((self.path, dict(self.headers)))
        url = urllib.parse.urlsplit(self.path)
        mode = url.path.split("/")[1]
        if url.netloc:
            mode = "good"       # the request is for a proxy
        with contextlib.suppress(OSError):
            self.reply(mode, url)

    def reply(self, mode, url):
        if url.path.endswith("/login") and mode in ("good", "null", "html", "forgets"):
            return self.login()
        provider = next(p for p in PROVIDERS if PROVIDERS[p][0] in url.path
                        or url.path.endswith("/login"))
        _, make, value, _, _ = PROVIDERS[provider]
        good = json.dumps(make(value))
        if mode == "good":
            return self.send(good) if self.allowed(provider) else self.send("{}", 401)
        return getattr(self, mode)(good, make)

    # Faulty responses.
    def null(self, _, make): self.send(json.dumps(make(None)))
    def zero(self, _, make): self.send(json.dumps(make(0)))
    def text(self, _, make): self.send(json.dumps(make("31.5")))
    def empty(self, *_): self.send('{"total_count":0,"results":[],"data":[]}')
    def html(self, *_): self.send("<!DOCTYPE html><html>hello</html>", kind="text/html")
    def nothing(self, *_): self.send("")
    def cut(self, good, _): self.send(good[:len(good) // 2])
    def short(self, good, _): self.send(good[:40], length=len(good)); self.close_connection = True
    def error(self, *_): self.send("<html>oops</html>", 500)
    def missing(self, *_): self.send("{}", 404)
    def busy(self, *_): self.send("{}", 429)
    def wait(self, *_): self.send("{}", 429, [("Retry-After", "7200")])
    def deny(self, *_): self.send("{}", 403)
    def away(self, *_): self.send("", 302, [("Location", "/good" + self.path[5:])])
    def hang(self, *_): Handler.stop.wait(600)
    def noise(self, *_): self.wfile.write(b"\x00\xff" * 4000); self.close_connection = True

    def abroad(self, *_):
        self.send("", 302, [("Location", f"http://localhost:{other}/good" + self.path[7:])])

    def huge(self, *_):
        self.send_response(200)
        self.end_headers()
        for _ in range(64):
            self.wfile.write(b"[" * MIB)
        self.close_connection = True

    def drip(self, *_):
        self.send_response(200)
        self.end_headers()
        while not Handler.stop.wait(0.2):
            self.wfile.write(b" ")


def serve(context=None):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    server.handle_error = lambda *_: None
    if context:
        server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server.server_address[1]


def openssl(*args):
    subprocess.run(["openssl", *args], cwd=scratch, check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def certificate(name, san):
    """name.pem with key, signed by the authority in ca.pem."""
    openssl("req", "-newkey", "rsa:2048", "-nodes", "-keyout", f"{name}.key",
            "-out", f"{name}.csr", "-subj", f"/CN={name}")
    with open(f"{scratch}/{name}.ext", "w") as f:
        f.write(f"subjectAltName={san}\n")
    openssl("x509", "-req", "-in", f"{name}.csr", "-CA", "ca.pem", "-CAkey",
            "ca.key", "-CAcreateserial", "-days", "2", "-extfile",
            f"{name}.ext", "-out", f"{name}.pem")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(f"{scratch}/{name}.pem", f"{scratch}/{name}.key")
    return context


# --- the feed ----------------------------------------------------------------

class Run:
    def __init__(self, provider, url, *args, rounds=1, env=None, timeout="60"):
        command = [FEED, "--rounds", str(rounds), "--emissions.provider", provider,
                   "--emissions.url", f"{provider}={url}",
                   "--timeout", timeout, *args]
        if provider in TOKENS:
            command += ["--emissions.token-file", f"{provider}={scratch}/{provider}",
                        "--emissions.zone", f"{provider}={ZONES[provider]}"]
        clean = {k: v for k, v in os.environ.items() if "proxy" not in k.lower()}
        Handler.seen.clear()
        p = subprocess.run(command, capture_output=True, text=True, timeout=300,
                           env={**clean, **(env or {})})
        self.text = p.stdout + p.stderr
        self.rc = p.returncode
        lines = [line.split(" ") for line in p.stdout.splitlines()]
        self.factors = [" ".join(l[2:6]) for l in lines if l[0] == "factor"]
        self.starts = [int(l[6]) for l in lines if l[0] == "factor"]
        self.fault = next((l[2] for l in lines if l[0] == "status"), None)
        self.next = next((int(l[1]) for l in lines if l[0] == "next"), None)


def test_good():
    for provider, (_, _, _, step, factor) in PROVIDERS.items():
        r = Run(provider, http_url + "/good")
        ok = (r.rc, r.factors, r.fault) == (0, [factor], "ok")
        check(ok, f"{provider}: the factor is read", r.text)
        now = time.time()
        check(r.starts and now - step - 60 < r.starts[0] <= now,
              f"{provider}: the factor is of the current period", f"{r.starts} {now}")
        secret = TOKENS.get(provider, "none").split(":")[-1]
        check(secret not in r.text, f"{provider}: the output contains no secret", r.text)
    r = Run("rte", http_url + "/text")
    same(r.factors, ["average_direct live FR 31500"], "a number in quotes is accepted")
    r = Run("rte", http_url + "/away")
    same(r.factors, ["average_direct live FR 31000"], "a redirect within the origin is followed")


BAD = {
    # mode: fault, minimum and maximum seconds until the next request
    "null": ("empty", 1800, 1900), "zero": ("empty", 1800, 1900),
    "empty": ("empty", 1800, 1900), "html": ("content", 60, 76),
    "nothing": ("content", 60, 76), "cut": ("content", 60, 76),
    "short": ("content", 60, 76), "noise": ("content", 60, 76),
    "huge": ("content", 60, 76), "error": ("status", 60, 76),
    "missing": ("status", 60, 76), "busy": ("limited", 1800, 2251),
    "wait": ("limited", 7200, 9001), "deny": ("denied", 900, 1126),
    "hang": ("timeout", 60, 76), "drip": ("timeout", 60, 76),
    "abroad": ("status", 60, 76),
}


def test_bad():
    for mode, (fault, least, most) in BAD.items():
        limit = "300ms" if fault == "timeout" else "60"
        r = Run("rte", f"{http_url}/{mode}", timeout=limit)
        check((r.rc, r.fault, r.factors) == (0, fault, []),
              f"{mode}: the fault is {fault}, and there is no factor", r.text)
        check(r.next is not None and least <= r.next <= most,
              f"{mode}: the next request is {least} to {most} s later", r.text)
    for mode in ("html", "hang", "cut", "deny"):
        limit = "300ms" if mode == "hang" else "60"
        r = Run("electricitymaps", f"{http_url}/{mode}", timeout=limit)
        check((r.fault, r.factors) == (BAD[mode][0], []) and
              TOKENS["electricitymaps"] not in r.text,
              f"electricitymaps: {mode}: a fault, no factor, no secret in the output", r.text)
        r = Run("watttime", f"{http_url}/{mode}", timeout=limit)
        check((r.fault, r.factors) == (BAD[mode][0], []) and
              "word" not in r.text and "tok-1" not in r.text,
              f"watttime: {mode}: a fault, no factor, no secret in the output", r.text)
    Run("electricitymaps", f"{http_url}/abroad")
    check(not any("localhost" in h.get("Host", "") for _, h in Handler.seen),
          "a token is not sent to another origin", Handler.seen)
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        r = Run("rte", f"http://127.0.0.1:{s.getsockname()[1]}")
    same(r.fault, "connect", "a closed port is a failed connection")
    r = Run("rte", "http://emissions.invalid")
    same(r.fault, "connect", "an unknown host is a failed connection")


def test_tls():
    ca = ["--emissions.ca-file", f"{scratch}/ca.pem"]
    r = Run("rte", f"https://127.0.0.1:{tls}/good", *ca)
    same((r.factors, r.fault), (["average_direct live FR 31000"], "ok"),
         "HTTPS with a trusted certificate works")
    r = Run("watttime", f"https://127.0.0.1:{tls}/good", *ca)
    same(r.fault, "ok", "HTTPS with a login works")
    r = Run("rte", f"https://127.0.0.1:{tls}/good")
    same((r.factors, r.fault), ([], "tls"), "an untrusted certificate is refused")
    r = Run("watttime", f"https://127.0.0.1:{wrong}/good", *ca)
    same((r.factors, r.fault), ([], "tls"), "a certificate for another name is refused")
    same(Handler.seen, [], "no password is sent to a host with a wrong certificate")
    r = Run("rte", f"https://127.0.0.1:{http_port}/good", *ca)
    same(r.fault, "tls", "HTTPS at a port without TLS fails")
    r = Run("rte", f"https://127.0.0.1:{tls}/good",
            "--emissions.ca-file", f"{scratch}/none.pem")
    same((r.factors, r.fault), ([], "local"), "a missing file of certificates is a local error")


def test_proxy():
    r = Run("neso", "http://grid.example.org", env={"http_proxy": http_url})
    same(r.fault, "ok", "a proxy from the environment is used")
    check(any(p.startswith("http://grid.example.org/") for p, _ in Handler.seen),
          "the proxy receives the provider's URL", Handler.seen)


def test_drop():
    drop, file = f"{TOP}/examples/emissions-drop.sh", f"{scratch}/drop.csv"
    old = "FR,average_direct,2020-01-01T00:00:00Z,2020-01-01T01:00:00Z,5,false"
    with open(file, "w") as f:
        f.write(f"zone,kind,start,end,g_per_kwh,estimated\n{old}\n")
    for row in (["FR", "average_direct", "31.5"], ["DE", "marginal", "700"],
                ["FR", "marginal", "480", "30", "true"]):
        subprocess.run([drop, file, *row], check=True)
    p = subprocess.run([FEED, "--emissions.provider=file", "--emissions.country=FR",
                        f"--emissions.file={file}", "--steps=3"],
                       capture_output=True, text=True)
    got = [l.split(" ")[2:6] for l in p.stdout.splitlines() if l.startswith("factor")]
    same(got, [["average_direct", "live", "FR", "31500"],
               ["marginal", "live", "FR", "480000"]], "factors dropped by the example")
    with open(file) as f:
        check(old not in f.read(), "the example drops old factors")
    p = subprocess.run([drop], capture_output=True, text=True)
    check(p.returncode == 2 and "GRAMS" in p.stderr, "the example prints its usage", p.stderr)


def test_abort():
    for mode in ("hang", "drip"):
        r = Run("rte", f"{http_url}/{mode}", "--abort-after", "500ms",
                timeout="300")
        same(r.rc, 0, f"{mode}: the feed shuts down without waiting for the provider")


class Exporter:
    """batchjob_exporter with the collector of emission factors; page() returns /metrics."""

    def __init__(self, *args):
        self.port = ports.free_port()
        self.log = tempfile.TemporaryFile("w+", dir=scratch)
        self.proc = subprocess.Popen(
            [EXPORTER, f"--web.listen-address=127.0.0.1:{self.port}",
             "--collector.disable-defaults", "--collector.emissions", *args],
            stderr=self.log, stdout=self.log)

    def page(self, path="/metrics"):
        url = f"http://127.0.0.1:{self.port}{path}"
        with urllib.request.urlopen(url, timeout=300) as answer:
            return answer.read().decode()

    def wait_for(self, *lines):
        """Wait for all these lines on the page; return None, or the page's emission lines and the log."""
        end, page = time.monotonic() + 300, ""
        while time.monotonic() < end:
            with contextlib.suppress(OSError):
                page = self.page()
            if all(line in page.splitlines() for line in lines):
                return None
            time.sleep(0.2)
        self.log.seek(0)
        return "\n".join(l for l in page.splitlines() if "emission" in l) + self.log.read()

    def stop(self):
        self.proc.terminate()
        return self.proc.wait(300)


def test_exporter():
    factor = "batchjob_emission_factor_grams_per_kwh"
    table = f'{factor}{{provider="table",kind="average_lifecycle",country="FR"}} 56.039'
    live = f'{factor}{{provider="rte",kind="average_direct",country="FR"}} 31'
    args = ["--emissions.provider=rte", "--emissions.provider=table",
            "--emissions.country=FR"]
    e = Exporter(*args, f"--emissions.url=rte={http_url}/good",
                 "--dialect.also=batchjob_monitoring", "--dialect.also=ceems")
    why = e.wait_for(table, live, 'batchjob_emission_provider_success{provider="rte"} 1')
    check(not why, "exporter: the factors are on the page", why)
    why = [line for name, line in
           (("batchjob_monitoring", "batchjob_emissions_gCo2_kWh 31"),
            ("ceems", 'ceems_emissions_gCo2_kWh{provider="rte",country_code="FR",provider_name="RTE eCO2 Mix",country="France"} 31'))
           if line not in e.page("/metrics/" + name).splitlines()]
    check(not why, "exporter: real-time factors are on the pages of other exporters", why)
    e.stop()
    e = Exporter(*args, f"--emissions.url=rte={http_url}/html")
    why = e.wait_for(table, 'batchjob_emission_provider_success{provider="rte"} 0',
                     'batchjob_emission_provider_errors_total{provider="rte",kind="content"} 1')
    check(not why, "exporter: a response in HTML is a fault, not a factor", why)
    check(f'{factor}{{provider="rte"' not in e.page(), "exporter: the page has no factor of that provider")
    e.stop()
    Handler.seen.clear()
    e = Exporter(*args, f"--emissions.url=rte={http_url}/hang")
    why = e.wait_for(table)
    end = time.monotonic() + 300
    while not Handler.seen and time.monotonic() < end:
        time.sleep(0.1)
    page = e.page()
    check(not why and Handler.seen and 'errors_total{provider="rte",kind="timeout"} 1' not in page,
          "exporter: a scrape does not wait for a provider that hangs", why, page)
    same(e.stop(), 0, "exporter: a provider that hangs does not delay its exit")
    p = subprocess.run([EXPORTER, "--collector.emissions", "--emissions.country=XX"],
                       capture_output=True, text=True, timeout=300)
    check(p.returncode != 0 and "emissions.country: 'XX': expected" in p.stderr,
          "exporter: the error names the invalid option", p.stderr)


def main():
    global http_port, http_url, other, tls, wrong
    for name, secret in TOKENS.items():
        with open(f"{scratch}/{name}", "w") as f:
            f.write(secret + "\n")
        os.chmod(f"{scratch}/{name}", 0o600)
    openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", "ca.key",
            "-out", "ca.pem", "-days", "2", "-subj", "/CN=test authority")
    http_port, other = serve(), serve()
    http_url = f"http://127.0.0.1:{http_port}"
    tls = serve(certificate("right", "IP:127.0.0.1,DNS:localhost"))
    wrong = serve(certificate("wrong", "DNS:other.example.org"))
    for test in (test_good, test_bad, test_tls, test_proxy,
                 test_drop, test_abort, test_exporter):
        test()
    Handler.stop.set()


if not shutil.which("openssl"):
    print("1..0 # SKIP openssl is not installed")
    sys.exit(0)
try:
    main()
finally:
    shutil.rmtree(scratch)
sys.exit(plan())
