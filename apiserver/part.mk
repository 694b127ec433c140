# The API server: a library, which tests link as well, and the program.
LIBS_api = $(LIBS_httpd) $(call PKG,zlib) $(LIBS_statsdb)
api_SRC := $(filter-out apiserver/server/main.c,$(wildcard apiserver/*/*.c))
API_LIBS = $(addprefix $(O)/,libapi.a libpromql.a libreport.a libstatsdb.a libstore.a libcarbon.a libsched.a libbase.a)

# The static files of the pages are compiled in.
$(O)/apiserver/pages/static/%.inc: apiserver/pages/static/%
	@mkdir -p $(@D)
	$(call Q,GEN)LC_ALL=C od -An -v -tu1 $< | sed 's/  *\([0-9]*\)/\1,/g' >$@

$(O)/apiserver/pages/pages.o: $(patsubst %,$(O)/%.inc,$(wildcard apiserver/pages/static/*))
$(O)/apiserver/pages/pages.o: X_CFLAGS = -I$(O)

$(O)/libapi.a: $(call obj,$(api_SRC))
-include $(patsubst %.o,%.d,$(call obj,$(wildcard apiserver/*/*.c)))

$(O)/batchjob_stats_server: $(O)/apiserver/server/main.o $(API_LIBS)
	$(call Q,LD)$(CC) $(BJ_LDFLAGS) $(LDFLAGS) -pie -o $@ $^ $(LIBS_api)

ifeq ($(HAVE_SQLITE),yes)
PROGRAMS += $(O)/batchjob_stats_server
all: $(O)/batchjob_stats_server
install: install-api
endif

install-api: $(O)/batchjob_stats_server
	$(INSTALL) -D -m 755 $< $(DESTDIR)$(bindir)/batchjob_stats_server
.PHONY: install-api
