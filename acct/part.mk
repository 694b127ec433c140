# The command line of the accounting database: a library, which tests link as
# well, and the program.
acct_SRC := $(filter-out acct/main.c,$(wildcard acct/*.c))
$(O)/libacct.a: $(call obj,$(acct_SRC))
-include $(patsubst %.o,%.d,$(call obj,$(wildcard acct/*.c)))

$(O)/batchjob_acct: $(O)/acct/main.o $(O)/libacct.a $(STATSDB_LIBS)
	$(call Q,LD)$(CC) $(BJ_LDFLAGS) $(LDFLAGS) -pie -o $@ $^ $(LIBS_statsdb) \
	    $(call PKG,zlib)

ifeq ($(HAVE_SQLITE),yes)
PROGRAMS += $(O)/batchjob_acct
all: $(O)/batchjob_acct
install: install-acct
endif

install-acct: $(O)/batchjob_acct
	$(INSTALL) -D -m 755 $< $(DESTDIR)$(bindir)/batchjob_acct
	for f in $(wildcard docs/man/*.1); do \
	    $(INSTALL) -D -m 644 $$f $(DESTDIR)$(mandir)/man1/$${f##*/} || exit 1; done
.PHONY: install-acct
