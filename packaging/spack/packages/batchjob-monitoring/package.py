# A recipe for Spack; it builds the checkout that it is in:
#
#   spack repo add CHECKOUT/packaging/spack
#   spack install batchjob-monitoring
#
# The programs run as services: copy the units and configuration files from
# share/batchjob/examples of the installation, as their first lines say, with
# /usr/local changed to its path.
import pathlib

from spack.package import *


class BatchjobMonitoring(MakefilePackage):
    """Metrics of the batch jobs on compute nodes for Prometheus (batchjob_exporter) and
    collectd, and accounting of batch jobs (batchjob_stats_db, batchjob_stats_server,
    batchjob_acct)."""

    git = "file://" + str(pathlib.Path(__file__).resolve().parents[4])
    homepage = git

    license("MIT AND CC-BY-4.0")

    version("main", branch="main")

    variant("pdf", default=True, description="Reports as PDF")

    depends_on("c", type="build")
    depends_on("bison", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("xxhash", type="build")
    depends_on("curl")
    depends_on("gnutls")
    depends_on("libmicrohttpd+https")
    depends_on("libxcrypt")
    depends_on("libyaml")
    depends_on("pcre2")
    depends_on("sqlite@3.37:")
    depends_on("yajl")
    depends_on("zlib-api")
    depends_on("cairo+pdf", when="+pdf")
    depends_on("pango", when="+pdf")

    def make_arguments(self, spec):
        # These are loaded when they are needed; Spack's are in no directory that the
        # dynamic linker searches.
        loaded = ["curl"] + (["cairo", "pango"] if spec.satisfies("+pdf") else [])
        return [
            f"prefix={spec.prefix}",
            "LDFLAGS=" + " ".join(f"-Wl,-rpath,{spec[p].prefix.lib}" for p in loaded),
        ]

    def build(self, spec, prefix):
        make("all", *self.make_arguments(spec))

    def install(self, spec, prefix):
        make("install", *self.make_arguments(spec))
