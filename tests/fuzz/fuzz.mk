# Fuzzers: each tests/fuzz/fuzz_NAME.c is a program, built by clang. It starts
# from the inputs in tests/fuzz/seeds/fuzz_NAME and uses the dictionary
# tests/fuzz/fuzz_NAME.dict, if these exist.
#
#   make fuzz   build all of them below $(O)/san and run each on its seeds, then
#               on inputs of its own for FUZZ_SECONDS; -j2 -k -O runs two at a time
#   make sanitized GOAL=fuzz/fuzz_NAME
#               build one (a program of libFuzzer; --help=1 lists its options)
FUZZ_CC      ?= clang
FUZZ_SECONDS ?= 5
FUZZ_CFLAGS  ?= -O1 -g1
FUZZ_SAN     ?= address,undefined

FUZZ_SRC := $(wildcard tests/fuzz/fuzz_*.c)
ifneq ($(HAVE_SQLITE),yes)
FUZZ_SRC := $(filter-out tests/fuzz/fuzz_api% tests/fuzz/fuzz_statsdb%,$(FUZZ_SRC))
endif
FUZZ      := $(patsubst tests/fuzz/%.c,%,$(FUZZ_SRC))
FUZZ_LIBS := $(if $(HAVE_SQLITE),$(O)/libapi.a $(O)/libmail.a $(O)/libreport.a $(O)/libstatsdb.a $(O)/libstore.a) $(O)/unit/libexporter.a $(UNIT_LIBS)

$(addprefix $(O)/fuzz/,$(FUZZ)): $(O)/fuzz/%: $(O)/tests/fuzz/%.o $(FUZZ_LIBS)
	@mkdir -p $(@D)
	$(call Q,LD)$(CC) $(BJ_LDFLAGS) -fsanitize=fuzzer $(LDFLAGS) -o $@ $^ $(LIBS_api) $(LIBS_exporter)

# New inputs are kept in the build folder for the next run.
FUZZ_RUN := $(addprefix fuzz-run-,$(FUZZ))
$(FUZZ_RUN): fuzz-run-%: $(O)/fuzz/%
	@mkdir -p $(O)/fuzz/corpus/$*
	@$< -max_total_time=$(FUZZ_SECONDS) -timeout=60 -rss_limit_mb=1024 \
	    -verbosity=0 -artifact_prefix=$(O)/fuzz/ \
	    $(addprefix -dict=,$(wildcard tests/fuzz/$*.dict)) \
	    $(O)/fuzz/corpus/$* $(wildcard tests/fuzz/seeds/$*) && \
	    echo "ok - $* finds nothing in $(FUZZ_SECONDS) s" || \
	    { echo "not ok - $* finds something"; false; }

fuzz-programs: $(addprefix $(O)/fuzz/,$(FUZZ))
fuzz-run: $(FUZZ_RUN)

# Sanitized unit tests and fuzzers use the same objects.
SANITIZED = CC=$(FUZZ_CC) SAN=$(FUZZ_SAN) CFLAGS="$(FUZZ_CFLAGS) -fsanitize=fuzzer-no-link"
sanitized:
	@$(MAKE) O=$(O)/san $(SANITIZED) $(O)/san/$(GOAL)
fuzz:
	@$(MAKE) O=$(O)/san $(SANITIZED) fuzz-run

-include $(FUZZ_SRC:%.c=$(O)/%.d)
.PHONY: fuzz fuzz-run fuzz-programs sanitized $(FUZZ_RUN)
