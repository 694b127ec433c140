#!/usr/bin/python3
"""Receive and print what collectd's write_http sends.

  collectd_http.py serve FILE PORT   append every body to FILE, one a line
  collectd_http.py check FILE        all of it is JSON; print the number of value lists
  collectd_http.py meta FILE INSTANCE   the distinct meta data of the value
        lists with that plugin instance ("-": without one), one a line
  collectd_http.py value FILE INSTANCE TYPE TYPE_INSTANCE   the newest value
"""
import http.server
import json
import sys


def serve(path, port):
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            with open(path, "ab") as f:
                f.write(body.replace(b"\n", b" ") + b"\n")
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *args):
            pass

    http.server.HTTPServer(("127.0.0.1", int(port)), Handler).serve_forever()


def lists(path):
    with open(path, encoding="ascii") as f:
        for line in f:
            for v in json.loads(line):
                if v["plugin"] == "batchjob":
                    yield v


def main(what, path, *args):
    if what == "serve":
        serve(path, *args)
    elif what == "check":
        print(sum(1 for _ in lists(path)))
    elif what == "meta":
        instance = "" if args[0] == "-" else args[0]
        print("\n".join(sorted({
            json.dumps(v.get("meta"), sort_keys=True) for v in lists(path)
            if v["plugin_instance"] == instance})))
    elif what == "value":
        found = [v["values"][0] for v in lists(path)
                 if (v["plugin_instance"], v["type"],
                     v["type_instance"]) == args]
        if not found:
            return 1
        print(found[-1])
    else:
        sys.exit(__doc__)
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main(*sys.argv[1:]))
    except (TypeError, KeyboardInterrupt):
        sys.exit(__doc__)
