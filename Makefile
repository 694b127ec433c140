# Batch job monitoring.  There is no configure step.
#
#   make              build all programs
#   make test         run the tests that CI runs
#   make check-long   run repeated, long and package tests (hours)
#   make demo         try the programs with sample jobs, without a scheduler
#   make demo-slurm   try the programs with a private Slurm (needs root)
#   make coverage     count the lines that tests run (half an hour)
#   make bench        measure time and memory
#   make lint         check style, texts and generated files
#   make install      install below DESTDIR and prefix
#   make dist         write an archive of the source
#   make deb          build Debian packages
#   make rpm          build RPM packages
#   make clean        remove the build folder
#   make help         show this text
#
# On Debian and Ubuntu "tests/deps build" installs what the build needs.
# Variables: O (build folder), CC, CFLAGS, SAN (address,undefined or thread),
# prefix, DESTDIR, WERROR=1 (warnings are errors).

VERSION  := 0.3.0
# From git archive, or from git.
REVISION := $(shell grep -v Format packaging/revision | cut -c1-12 | grep . || \
              git rev-parse --short=12 HEAD 2>/dev/null || echo unknown)

O       ?= build
$(if $(filter-out 1,$(words $(O))),$(error O='$(O)': a folder without blanks in its name, please))
prefix  ?= /usr/local
CC      ?= cc
CFLAGS  ?= $(if $(SAN),-O1,-O2) -g
bindir      = $(prefix)/bin
mandir      = $(prefix)/share/man
datadir     = $(prefix)/share/batchjob
collectddir = $(prefix)/lib/collectd
docdir      = $(prefix)/share/doc/batchjob
bashdir     = $(prefix)/share/bash-completion/completions
zshdir      = $(prefix)/share/zsh/site-functions
fishdir     = $(prefix)/share/fish/vendor_completions.d

WARN = -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wstrict-prototypes \
       -Wmissing-prototypes -Wwrite-strings -Wpointer-arith -Wformat=2 \
       -Wno-string-concatenation
BJ_CFLAGS = -std=c11 -D_GNU_SOURCE -I. -fPIC -fvisibility=hidden -pthread \
            -fno-strict-overflow $(WARN) $(if $(WERROR),-Werror) \
            $(if $(SAN),-fsanitize=$(SAN) -fno-omit-frame-pointer \
            -fno-sanitize-recover=all,-D_FORTIFY_SOURCE=2 \
            -fstack-protector-strong) -MMD -MP
# A program links only the libraries that it calls.
BJ_LDFLAGS = -pthread $(if $(SAN),-fsanitize=$(SAN)) -Wl,-z,relro,-z,now \
             -Wl,--as-needed

PKG = $(shell pkg-config --libs $(1) 2>/dev/null)
# Expanded once, or each test program would run pkg-config.
LIBS_core := $(call PKG,libpcre2-8) $(call PKG,zlib) -lm
LIBS_base := $(call PKG,yajl) -ldl
LIBS_httpd := $(call PKG,libmicrohttpd) $(call PKG,gnutls) $(call PKG,yaml-0.1) \
             $(call PKG,libcrypt)
LIBS_exporter := $(LIBS_httpd) $(LIBS_core) $(LIBS_base)
# SQLite 3.37 brings STRICT tables.
HAVE_SQLITE := $(shell pkg-config --atleast-version=3.37 sqlite3 2>/dev/null && echo yes)
LIBS_statsdb := $(call PKG,sqlite3) $(call PKG,yaml-0.1) $(LIBS_base) -lm
STATSDB_LIBS = $(addprefix $(O)/,libnotify.a libmail.a libreport.a libstatsdb.a libstore.a libcarbon.a libsched.a libbase.a)
COLLECTD_INCLUDE ?= /usr/include/collectd
HAVE_COLLECTD := $(wildcard $(COLLECTD_INCLUDE)/core/daemon/plugin.h)

# The sources of each folder: every .c in it; a main.c is a program.
base_SRC     := $(wildcard base/*.c)
sched_SRC    := $(wildcard sched/*.c)
carbon_SRC   := $(wildcard carbon/*.c)
core_SRC     := $(wildcard core/*.c core/*/*.c)
exporter_SRC := $(wildcard standalone/*.c)
plugin_SRC   := $(wildcard collectd-plugin/*.c)
obj = $(patsubst %.c,$(O)/%.o,$(1))

PROGRAMS = $(O)/batchjob_exporter $(if $(HAVE_COLLECTD),$(O)/batchjob.so)

# One line a file; make V=1 shows the commands.
ifndef V
MAKEFLAGS += --no-print-directory
Q = @printf '  %-3s %s\n' '$(1)' '$@';
endif

all: $(PROGRAMS) types.db docs/metrics.md
	$(if $(HAVE_COLLECTD),,@echo "no collectd headers in $(COLLECTD_INCLUDE): the plugin was left out")
	$(if $(HAVE_SQLITE),,@echo "no SQLite of 3.37 or later: the accounting database and its API were left out")

include $(sort $(wildcard */part.mk))

# Name all missing libraries before the compiler stops at the first one.
NEEDED = gnutls libcurl libmicrohttpd libpcre2-8 yajl yaml-0.1 zlib
needed:
	@command -v pkg-config >/dev/null || \
	    { echo 'pkg-config is not installed; "tests/deps build" installs what it takes' >&2; exit 1; }
	@for l in $(NEEDED); do pkg-config --exists $$l || missing="$$missing $$l"; done; \
	[ -z "$$missing" ] || \
	    { echo "pkg-config finds none of these:$$missing; \"tests/deps build\" installs them" >&2; exit 1; }

$(O)/%.o: %.c | needed
	@mkdir -p $(@D)
	$(call Q,CC)$(CC) $(BJ_CFLAGS) $(CPPFLAGS) $(CFLAGS) $(X_CFLAGS) -c -o $@ $<

# The one file that knows the revision is compiled again when it changes.
%/base/version.o: X_CFLAGS = -DBJ_VERSION='"$(VERSION)"' -DBJ_REVISION='"$(REVISION)"'
$(O)/base/version.o: $(O)/revision
$(O)/revision: FORCE
	@mkdir -p $(@D)
	@echo '$(VERSION) $(REVISION)' | cmp -s - $@ || echo '$(VERSION) $(REVISION)' >$@

$(O)/collectd-plugin/%.o: X_CFLAGS = -DHAVE_CONFIG_H -isystem $(COLLECTD_INCLUDE) \
    $(if $(filter-out /usr/include/%,$(COLLECTD_INCLUDE)),-isystem $(dir $(COLLECTD_INCLUDE)))

# Not every program uses all of base (opt_yaml.c, json*.c, fetch.c): from an
# archive the linker takes what a program needs, without the other libraries.
$(O)/libbase.a: $(call obj,$(base_SRC))
$(O)/libsched.a: $(call obj,$(sched_SRC))
$(O)/libcarbon.a: $(call obj,$(carbon_SRC))
$(O)/libcore.a: $(call obj,$(core_SRC))
$(O)/%.a:
	@rm -f $@
	$(call Q,AR)$(AR) rcs $@ $^

$(O)/batchjob_exporter: $(call obj,$(exporter_SRC)) $(O)/libcore.a $(O)/libcarbon.a $(O)/libsched.a $(O)/libbase.a
	$(call Q,LD)$(CC) $(BJ_LDFLAGS) $(LDFLAGS) -pie -o $@ $^ $(LIBS_exporter)

$(O)/batchjob.so: $(call obj,$(plugin_SRC)) $(O)/libcore.a $(O)/libcarbon.a $(O)/libsched.a $(O)/libbase.a
	$(call Q,LD)$(CC) $(BJ_LDFLAGS) $(LDFLAGS) -shared -Wl,--exclude-libs,ALL -o $@ $^ $(LIBS_core) $(LIBS_base)

-include $(patsubst %.o,%.d,$(call obj,$(base_SRC) $(sched_SRC) $(carbon_SRC) $(core_SRC) $(exporter_SRC) $(plugin_SRC)))

INSTALL ?= install
EXAMPLES = $(shell find examples -type f)
DOCS     = README.md CHANGELOG.md LICENSE SECURITY.md $(wildcard docs/*.md docs/*.png docs/*.svg)

install: all
	$(INSTALL) -D -m 755 $(O)/batchjob_exporter $(DESTDIR)$(bindir)/batchjob_exporter
	$(if $(HAVE_COLLECTD),$(INSTALL) -D -m 755 $(O)/batchjob.so $(DESTDIR)$(collectddir)/batchjob.so)
	$(INSTALL) -D -m 644 types.db $(DESTDIR)$(datadir)/types.db
	for f in $(EXAMPLES); do \
	    $(INSTALL) -D -m $$(test -x $$f && echo 755 || echo 644) $$f $(DESTDIR)$(datadir)/$$f || exit 1; done
	for f in $(wildcard docs/man/*.[58]); do \
	    $(INSTALL) -D -m 644 $$f $(DESTDIR)$(mandir)/man$${f##*.}/$${f##*/} || exit 1; done
	for f in $(DOCS); do $(INSTALL) -D -m 644 $$f $(DESTDIR)$(docdir)/$$f || exit 1; done

dist:
	@mkdir -p $(O)
	git -c tar.umask=0022 archive --prefix=batchjob-$(VERSION)/ --format=tar HEAD | \
	    gzip -9n >$(O)/batchjob-$(VERSION).tar.gz
	@echo $(O)/batchjob-$(VERSION).tar.gz

clean:
	rm -rf $(O)

help:
	@sed -n '1,/^$$/s/^# \{0,1\}//p' Makefile

.DELETE_ON_ERROR:
.PHONY: FORCE all needed test check-long coverage bench demo demo-slurm install lint dist clean help
