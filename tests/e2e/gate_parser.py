#!/usr/bin/env python3
"""The gate's PromQL parser compared with a real Prometheus: both accept and refuse the same
queries (the cases of the unit test, and thousands of random changes of them), and printed
queries keep their meaning.  TAP.

    tests/e2e/gate_parser.py [NUMBER of changed queries]
"""
import json
import os
import random
import re
import subprocess
import sys
import urllib.error
import urllib.parse
import urllib.request

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
from prom_lib import Prometheus  # noqa: E402
from tap import check, plan, skip  # noqa: E402

TOP = os.path.join(HERE, "../..")
PROGRAM = os.path.join(TOP, os.environ.get("O", "build"), "e2e/gate_print")
TOKEN = re.compile(r"\w+|\s+|[^\w\s]")
# What Prometheus 3 accepts and 2.42 does not, or only when a feature flag
# enables it.  "parsing regexp": the parser does not compile regular expressions.
NEWER = re.compile(
    r"unexpected string|missing unit|unknown function|anchored|smoothed|expected duration"
    r"|bad number or duration|unexpected duration|expected timestamp|unexpected <op:/>"
    r"|bad duration syntax|unexpected metric identifier|is not enabled|parsing regexp")
NEWER_CALL = re.compile(r"(?i)\b(start|end|max_of|min_of)\s*\(")
# A duration as a number; 2.42 reports the comma before it as a trailing comma.
NEWER_NUMBER = re.compile(r",\s*[\d.]+(ms|[smhdwy])")


def cases(name):
    """The strings of a C header of tests/unit/promql."""
    with open(os.path.join(TOP, "tests/unit/promql", name), encoding="ascii") as f:
        return [line.encode().decode("unicode_escape").encode("latin-1").decode()
                for line in re.findall(r'^    "(.*)",$', f.read(), re.M)]


def changed(query, tokens):
    for _ in range(random.choice((1, 1, 2, 3))):
        own = TOKEN.findall(query)
        if not own:
            return query
        at, how = random.randrange(len(own)), random.random()
        if how < 0.3:
            del own[at]
        elif how < 0.7:
            own.insert(at, random.choice(tokens))
        else:
            own[at] = random.choice(tokens)
        query = "".join(own)
    return query


def gate(queries):
    """(accepted, printed query or error) of each query, by the gate's parser."""
    out = subprocess.run([PROGRAM], input="".join(q + "\0" for q in queries).encode(),
                         stdout=subprocess.PIPE, check=True).stdout.decode().split("\0")[:-1]
    assert len(out) == len(queries)
    return [(o[0] == "+", o[1:]) for o in out]


def reference(url, query):
    data = urllib.parse.urlencode({"query": query}).encode()
    try:
        with urllib.request.urlopen(url + "/api/v1/format_query", data, timeout=300) as r:
            return True, json.load(r)["data"]
    except urllib.error.HTTPError as e:
        return False, json.load(e)["error"]


def plain(text):
    """The characters of a printed query, sorted, as Prometheus sorts matchers; without empty
    lists and names, which it leaves out, and with one form of numbers."""
    text = text.replace(" by()", "").replace(" on()", "")
    text = text.replace('__name__="",', "").replace(',__name__=""', "")
    text = re.sub(r"(?<![\w.\"])\d+(?:\.\d+)?(?:e[+-]?\d+)?(?![\w.\"])",
                  lambda m: repr(float(m.group())), text)
    return sorted(text)


def main(count):
    prom = Prometheus()
    if prom.failure:
        skip("the parser agrees with Prometheus", prom.failure)
        return plan()
    random.seed(16)
    good, wrong = cases("promql_good.h"), cases("promql_wrong.h")
    tokens = [t for q in good + wrong for t in TOKEN.findall(q)]
    queries = good + wrong + [changed(random.choice(good + wrong), tokens) for _ in range(count)]
    queries = [q for q in dict.fromkeys(queries) if q and not set("\0\ufffd") & set(q)]
    refused, accepted, both = [], [], []
    for q, (ok, text) in zip(queries, gate(queries)):
        ref, answer = reference(prom.url, q)
        if ref and not ok:
            refused.append((q, text))
        elif ok and not ref:
            if not (NEWER.search(answer) or NEWER_CALL.search(q) or
                    "trailing commas" in answer and NEWER_NUMBER.search(q)):
                accepted.append((q, answer))
        elif ok and ref:
            both.append((q, answer, text))
    check(not refused, "of %d queries, none is refused that Prometheus accepts" % len(queries),
          *refused[:20])
    check(not accepted, "of them, none is accepted that Prometheus refuses", *accepted[:20])
    again = gate([answer for _, answer, _ in both])
    differ = [(b, a) for b, a in zip(both, again) if plain(b[2]) != plain(a[1])]
    check(len(both) > 100 and not differ,
          "%d accepted queries have the same form after Prometheus formats them" % len(both),
          *differ[:20])
    formatted = gate([text for _, _, text in both])
    check(all(f == (True, b[2]) for f, b in zip(formatted, both)),
          "a printed query does not change when it is parsed and printed again")
    wrong_form = [(b, f) for b in both for f in [reference(prom.url, b[2])] if not f[0]]
    check(not wrong_form, "Prometheus accepts all printed queries", *wrong_form[:20])
    prom.stop()
    return plan()


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 3000))
