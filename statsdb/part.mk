# The accounting database: the library that its programs, their tests and the
# API server share, and the programs.  SQLite 3.37 brings STRICT tables.
HAVE_SQLITE := $(shell pkg-config --atleast-version=3.37 sqlite3 2>/dev/null && echo yes)
LIBS_statsdb := $(call PKG,sqlite3) $(call PKG,yaml-0.1) $(LIBS_base) -lm
acct_SRC := acct/main.c acct/report.c acct/period.c
statsdb_SRC := $(filter-out statsdb/daemon/main.c $(acct_SRC),$(wildcard statsdb/*.c))
STATSDB_LIBS = $(O)/libmail.a $(O)/libreport.a $(O)/libstatsdb.a $(O)/libstore.a $(O)/libcarbon.a $(O)/libsched.a $(O)/libbase.a

$(O)/libstatsdb.a: $(call obj,$(statsdb_SRC))
-include $(patsubst %.o,%.d,$(call obj,$(wildcard statsdb/*.c)))

$(O)/batchjob_stats_db: $(O)/statsdb/main.o $(STATSDB_LIBS)
	$(call Q,LD)$(CC) $(BJ_LDFLAGS) $(LDFLAGS) -pie -o $@ $^ $(LIBS_statsdb) \
	    $(LIBS_httpd) $(call PKG,zlib)

$(O)/batchjob_acct: $(call obj,$(acct_SRC)) $(STATSDB_LIBS)
	$(call Q,LD)$(CC) $(BJ_LDFLAGS) $(LDFLAGS) -pie -o $@ $^ $(LIBS_statsdb) \
	    $(call PKG,zlib)

ifeq ($(HAVE_SQLITE),yes)
PROGRAMS += $(O)/batchjob_stats_db $(O)/batchjob_acct
all: $(O)/batchjob_stats_db $(O)/batchjob_acct
install: install-statsdb
endif

install-statsdb: $(O)/batchjob_stats_db $(O)/batchjob_acct
	$(INSTALL) -D -m 755 $(O)/batchjob_stats_db $(DESTDIR)$(bindir)/batchjob_stats_db
	$(INSTALL) -D -m 755 $(O)/batchjob_acct $(DESTDIR)$(bindir)/batchjob_acct
	for f in $(wildcard docs/man/*.1); do \
	    $(INSTALL) -D -m 644 $$f $(DESTDIR)$(mandir)/man1/$${f##*/} || exit 1; done
.PHONY: install-statsdb
