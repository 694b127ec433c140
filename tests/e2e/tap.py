"""Results of Python tests as TAP.  A failed test prints what it compared."""
import ast
import decimal
import sys

number, failed = 0, 0


def condition():
    """Return the condition that was passed to check(), and the values of its variables."""
    frame = sys._getframe(2)
    try:
        with open(frame.f_code.co_filename, encoding="utf-8") as f:
            tree = ast.parse(f.read())
    except OSError:
        return []
    calls = [n for n in ast.walk(tree) if isinstance(n, ast.Call)
             and getattr(n.func, "id", "") == "check" and n.lineno <= frame.f_lineno <= n.end_lineno]
    if not calls:
        return []
    test = calls[-1].args[0]
    names = {n.id for n in ast.walk(test) if isinstance(n, ast.Name)}
    known = {**frame.f_globals, **frame.f_locals}
    return ["false: " + ast.unparse(test)] + [
        "%s = %r" % (n, known[n]) for n in sorted(names)
        if n in known and not callable(known[n]) and not isinstance(known[n], type(sys))]


def check(passed, description, *details):
    """Print the result of a test; if it failed, also the details, or else the condition."""
    global number, failed
    number += 1
    failed += not passed
    print("%sok %d - %s" % ("" if passed else "not ", number, description))
    for m in () if passed else details or condition():
        for line in str(m)[:3000].splitlines()[:30]:
            print("# " + line[:600])
    sys.stdout.flush()
    return passed


def same(got, want, description):
    return check(got == want, description, "got:  %r" % (got,), "want: %r" % (want,))


def rounded(v):
    """A number as all forms show it: three significant digits, from 100 on whole, with separators."""
    if v >= 99.95:
        return "{:,.0f}".format(v)
    return "{:f}".format(decimal.Decimal("%.3g" % v).normalize())


def skip(description, reason):
    check(True, "%s # SKIP %s" % (description, reason))


def plan():
    """Print the TAP plan, and return the exit status of the program."""
    print("1..%d" % number)
    return int(failed > 0)
