#!/usr/bin/env python3
"""nginx and Apache in front of the server, with the blocks of docs/questions.md: each user gets
the own name, whatever headers a client sends.  TAP; downloads the proxies' packages (Debian)."""
import base64
import glob
import http.server
import os
import re
import socket
import subprocess
import sys
import threading
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from api_lib import O, TOP, Site, basic, bcrypt, check, plan, same  # noqa: E402
from ports import free_port  # noqa: E402

PACKAGES = ("nginx", "apache2-bin", "libapr1", "libaprutil1")
FOLDER = os.path.abspath(os.path.join(TOP, O, "proxies"))
PASSWORDS = {"user1": "one", "user2": "two"}
PREFIX = "/batchjob"


def install():
    """Unpack the packages into a folder; return the reason if they are missing."""
    done = os.path.join(FOLDER, "done")
    if os.path.exists(done):
        return None
    os.makedirs(FOLDER, exist_ok=True)
    for name in PACKAGES:
        # Names of libraries end with t64 since Debian 13.
        if not any(subprocess.run(["apt-get", "-q", "download", n], cwd=FOLDER, capture_output=True).returncode == 0
                   for n in (name, name + "t64")):
            return "apt-get cannot download " + name
    for deb in glob.glob(FOLDER + "/*.deb"):
        subprocess.run(["dpkg-deb", "-x", deb, FOLDER], check=True)
    open(done, "w").close()
    return None


def block_of_page(first):
    """The block of docs/questions.md that begins with this line, without its indentation."""
    with open(os.path.join(TOP, "docs/questions.md"), encoding="utf-8") as f:
        text = f.read()
    block = re.search(r"^    %s\n(?:    .*\n)+" % re.escape(first), text, re.M)
    return re.sub("^    ", "", block[0], flags=re.M)


class SignOn(http.server.BaseHTTPRequestHandler):
    """What nginx asks who a client is (auth_request)."""

    def do_GET(self):
        sent = base64.b64decode((self.headers["Authorization"] or "")[6:]).decode()
        name, _, password = sent.partition(":")
        good = PASSWORDS.get(name) == password
        self.send_response(200 if good else 401)
        if good:
            self.send_header("X-User", name)
        self.end_headers()

    def log_message(self, *_):
        pass


def with_names(site, block):
    known = base64.b64encode(b"proxy:pass").decode()
    return block.replace("BASE64_OF_proxy:PASSWORD", known).replace("127.0.0.1:9020", "127.0.0.1:%d" % site.port)


def nginx(site, port):
    sso = http.server.ThreadingHTTPServer(("127.0.0.1", 0), SignOn)
    threading.Thread(target=sso.serve_forever, daemon=True).start()
    conf = site.file("nginx.conf", """daemon off;
pid {0}/nginx.pid;
error_log {0}/nginx.log;
events {{}}
http {{
    access_log off;
    client_body_temp_path {0}/body;
    proxy_temp_path {0}/proxy;
    fastcgi_temp_path {0}/fastcgi;
    uwsgi_temp_path {0}/uwsgi;
    scgi_temp_path {0}/scgi;
    server {{
        listen 127.0.0.1:{1};
        location = /sso {{ internal; proxy_pass http://127.0.0.1:{2}; proxy_pass_request_body off; proxy_set_header Content-Length ""; }}
        {3}
    }}
}}
""".format(site.folder, port, sso.server_port, with_names(site, block_of_page("location /batchjob/ {"))), 0o644)
    return [FOLDER + "/usr/sbin/nginx", "-e", site.folder + "/nginx.log", "-p", site.folder, "-c", conf]


def apache(site, port):
    modules = ("mpm_event authn_core authn_file authz_core authz_user auth_basic headers proxy proxy_http".split())
    users = site.file("users", "".join("%s:%s\n" % (n, bcrypt(p)) for n, p in PASSWORDS.items()), 0o644)
    block = block_of_page("<Location /batchjob/>").replace(
        "AuthType openid-connect", "AuthType Basic\n    AuthName site\n    AuthUserFile " + users)
    conf = site.file("apache.conf", "".join(
        "LoadModule %s_module %s/usr/lib/apache2/modules/mod_%s.so\n" % (m, FOLDER, m) for m in modules) +
        "ServerName localhost\nServerRoot {0}\nPidFile {0}/apache.pid\nErrorLog {0}/apache.log\nDefaultRuntimeDir {0}\n"
        "Listen 127.0.0.1:{1}\n{2}".format(site.folder, port, with_names(site, block)), 0o644)
    return [FOLDER + "/usr/sbin/apache2", "-D", "FOREGROUND", "-f", conf]


def answer(port, data):
    """Send bytes on a new connection; return all that comes until it is closed."""
    with socket.create_connection(("127.0.0.1", port), timeout=300) as s:
        s.sendall(data)
        out = b""
        while True:
            piece = s.recv(65536)
            if not piece:
                return out
            out += piece


def request(lines, user="user1", path="/api/v1/me", body=b""):
    return (b"GET %s%s HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: %s\r\n" %
            (PREFIX.encode(), path.encode(), basic(user, PASSWORDS[user])[1].encode())) + lines + b"\r\n" + body


ATTACKS = (
    b"X-Grafana-User: boss\r\n", b"X-Grafana-User: boss\r\nX-Grafana-User: user2\r\n", b"x-grafana-user:boss\r\n",
    b"X_Grafana_User: boss\r\n", b"X-Grafana-User : boss\r\n", b"X-Grafana-User:\r\n boss\r\n",
    b"X-Grafana:\r\n -User: boss\r\n", b"X-Grafana: a\r\n\t-User: boss\r\n", b" X-Grafana-User: boss\r\n",
    b"A: b\rX-Grafana-User: boss\r\n", b"A: b\nX-Grafana-User: boss\r\n", b"A: b\0\r\nX-Grafana-User: boss\r\n",
    b"X-Grafana-User\0: boss\r\n", b"Connection: close, X-Grafana-User\r\n", b"Connection: close, Authorization\r\n",
    b"Content-Length:\r\n 5\r\n", b"Content-Length: 0\r\nTransfer-Encoding: chunked\r\n",
    b"Transfer-Encoding:\r\n chunked\r\n", b"Authorization: Basic %s\r\n" % base64.b64encode(b"proxy:pass"),
)
SMUGGLED = (b"0\r\n\r\nGET /api/v1/me HTTP/1.1\r\nHost: x\r\nX-Grafana-User: boss\r\nAuthorization: Basic %s\r\n\r\n"
            % base64.b64encode(b"proxy:pass"))


def behind(name, site, command, port):
    """All requests through one proxy."""
    env = dict(os.environ, LD_LIBRARY_PATH=glob.glob(FOLDER + "/usr/lib/*-linux-gnu")[0])
    with open(os.path.join(site.folder, name + ".out"), "w", encoding="utf-8") as out:
        p = subprocess.Popen(command, env=env, stdout=out, stderr=out)
    try:
        for _ in range(1200):
            with socket.socket() as s:
                if s.connect_ex(("127.0.0.1", port)) == 0 or p.poll() is not None:
                    break
            time.sleep(0.05)
        for user in PASSWORDS:
            got = answer(port, request(b"", user))
            check(b" 200 " in got.split(b"\r\n")[0] and b'"user":"%s"' % user.encode() in got,
                  "%s: %s is %s" % (name, user, user), got, open(out.name, encoding="utf-8").read()[-600:])
        got = answer(port, b"GET /batchjob/api/v1/me HTTP/1.1\r\nHost: x\r\nConnection: close\r\nX-Grafana-User: user1\r\n\r\n")
        check(b" 401 " in got.split(b"\r\n")[0], name + ": nobody without credentials", got)
        for lines in ATTACKS:
            got = answer(port, request(lines, body=SMUGGLED))
            users = set(re.findall(rb'"user":"([^"]*)"', got))
            check(got.startswith(b"HTTP/1.1 ") and users <= {b"user1"},
                  "%s: nobody else by %s" % (name, repr(lines)[2:-1]), got)
        got = answer(port, request(b"", path="/jobs"))
        links = set(re.findall(rb'(?:href|src)="([^"#?]+)"', got))
        check(len(links) > 3 and not any(link.startswith((b"/", b"http")) for link in links),
              name + ": links of pages stay below the prefix", sorted(links))
        got = answer(port, request(b"", path="/static/style.css"))
        check(b" 200 " in got.split(b"\r\n")[0], name + ": a page finds its style", got[:600])
    finally:
        p.terminate()
        p.wait(300)


def main():
    if len(sys.argv) > 1:  # over the network, which an isolated test lacks
        sys.exit(install())
    if not os.path.exists(FOLDER + "/done"):
        print("1..0 # SKIP %s are not downloaded" % " ".join(PACKAGES))
        return 0
    site = Site(count=60, days=3)
    try:
        site.fill()
        web = site.file("web.yml", "basic_auth_users:\n  proxy: %s\n" % bcrypt("pass"))
        site.start("--web.config.file=" + web, "--access.proxies=proxy", "--access.admins=boss")
        got = site.fetch("/api/v1/me", basic("proxy", "pass"), ("X-Grafana-User", "boss"))
        same((got.status, got.data[0]["user"]), (200, "boss"), "the name that a proxy sends is the user")
        for name, conf in (("nginx", nginx), ("Apache", apache)):
            port = free_port()
            behind(name, site, conf(site, port), port)
    finally:
        site.clean_up()
    return plan()


sys.exit(main())
