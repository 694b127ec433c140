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

    def make_arguments(self, spec):
        # libcurl and libmariadb are loaded when they are needed; Spack's are in no
        # directory that the dynamic linker searches.
        return [
            f"prefix={spec.prefix}",
            f"LDFLAGS=-Wl,-rpath,{spec['curl'].prefix.lib}",
        ]

    def build(self, spec, prefix):
        make("all", *self.make_arguments(spec))

    def install(self, spec, prefix):
        make("install", *self.make_arguments(spec))
