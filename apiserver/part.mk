# The API server: a library, which tests link as well, and the program.
LIBS_api = $(LIBS_httpd) $(call PKG,zlib) $(LIBS_statsdb)
api_SRC := $(filter-out apiserver/server/main.c,$(wildcard apiserver/*/*.c))
API_LIBS = $(addprefix $(O)/,libapi.a libpromql.a libreport.a libstatsdb.a libstore.a libcarbon.a libsched.a libbase.a)

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
