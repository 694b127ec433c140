# The accounting database: the library that batchjob_stats_db, batchjob_acct, the
# API server and tests share, and the first of them.
statsdb_SRC := $(filter-out statsdb/daemon/main.c,$(wildcard statsdb/*/*.c))

$(O)/libstatsdb.a: $(call obj,$(statsdb_SRC))
-include $(patsubst %.o,%.d,$(call obj,$(wildcard statsdb/*/*.c)))

$(O)/batchjob_stats_db: $(O)/statsdb/daemon/main.o $(STATSDB_LIBS)
	$(call Q,LD)$(CC) $(BJ_LDFLAGS) $(LDFLAGS) -pie -o $@ $^ $(LIBS_statsdb) \
	    $(LIBS_httpd) $(call PKG,zlib)

ifeq ($(HAVE_SQLITE),yes)
PROGRAMS += $(O)/batchjob_stats_db
all: $(O)/batchjob_stats_db
install: install-statsdb
endif

install-statsdb: $(O)/batchjob_stats_db
	$(INSTALL) -D -m 755 $(O)/batchjob_stats_db $(DESTDIR)$(bindir)/batchjob_stats_db
.PHONY: install-statsdb
