"""Certificates for tests, by openssl(1)."""
import os
import subprocess

RSA, EC = ("rsa:2048",), ("ec", "-pkeyopt", "ec_paramgen_curve:P-256")


def write(folder, name, text):
    """Replace the file as a whole, as tools that renew certificates do."""
    path = os.path.join(folder, name)
    with open(path + ".new", "w") as f:
        f.write(text)
    os.rename(path + ".new", path)


def openssl(folder, *args, data=None):
    p = subprocess.run(["openssl"] + list(args), cwd=folder, input=data, capture_output=True,
                       timeout=300)
    return p.returncode, p.stdout.decode(errors="replace"), p.stderr.decode(errors="replace")


def ca(folder, name, key=RSA):
    # Python 3.13 requires the key usage of a CA.
    openssl(folder, "req", "-x509", "-newkey", *key, "-nodes", "-keyout", name + ".key", "-out",
            name + ".pem", "-subj", "/CN=" + name, "-days", "30",
            "-addext", "keyUsage=critical,keyCertSign,cRLSign")


def cert(folder, name, issuer, subject, ext, days=10, key=RSA):
    """Create a certificate signed by the CA `issuer`; with negative days it has expired."""
    openssl(folder, "req", "-newkey", *key, "-nodes", "-keyout", name + ".key", "-out",
            name + ".csr", "-subj", subject)
    write(folder, name + ".ext", ext)
    sign = ["x509", "-req", "-in", name + ".csr", "-CA", issuer + ".pem", "-CAkey", issuer + ".key",
            "-CAcreateserial", "-out", name + ".pem", "-extfile", name + ".ext"]
    rc, _, error = openssl(folder, *sign, "-days", str(days))
    if rc != 0 and days < 0:  # OpenSSL 3.5 also needs the start
        rc, _, error = openssl(folder, *sign, "-not_before", "20200101000000Z",
                               "-not_after", "20200102000000Z")
    if rc != 0:
        raise RuntimeError(error)
