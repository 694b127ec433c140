"""Results of Python tests as TAP.  A failed test prints what it compared."""
import ast
import sys

number, failed = 0, 0


def condition():
    """The condition that was passed to check(), and the values of its variables."""
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


def check(good, what, *more):
    """One test; where it fails, "more" says why."""
    global number, failed
    number += 1
    failed += not good
    print("%sok %d - %s" % ("" if good else "not ", number, what))
    for m in () if good else more or condition():
        for line in str(m)[:3000].splitlines()[:30]:
            print("# " + line[:600])
    sys.stdout.flush()
    return good


def same(got, want, what):
    return check(got == want, what, "got:  %r" % (got,), "want: %r" % (want,))


def skip(what, why):
    check(True, "%s # SKIP %s" % (what, why))


def plan():
    """The end of a program: its exit status."""
    print("1..%d" % number)
    return int(failed > 0)
