# Fuzzers: tests/fuzz/fuzz_NAME.c is a program of its own, built by clang, that
# starts from what lies in tests/fuzz/seeds/fuzz_NAME and knows the words of
# tests/fuzz/fuzz_NAME.dict, where there are such.
#
#   make fuzz                  run each for FUZZ_SECONDS; -j2 -k -O: two at a time
#   make $(O)/fuzz/fuzz_NAME   build one; its arguments are those of libFuzzer
FUZZ_CC      ?= clang
FUZZ_SECONDS ?= 5
FUZZ_CFLAGS  ?= -O1 -g
FUZZ_SAN     ?= address,undefined

FUZZ_SRC := $(wildcard tests/fuzz/fuzz_*.c)
ifneq ($(HAVE_SQLITE),yes)
FUZZ_SRC := $(filter-out tests/fuzz/fuzz_api%,$(FUZZ_SRC))
endif
FUZZ     := $(patsubst tests/fuzz/%.c,%,$(FUZZ_SRC))
fuzz_obj  = $(patsubst %.c,$(O)/fuzz/obj/%.o,$(1))

$(O)/fuzz/obj/%.o: %.c
	@mkdir -p $(@D)
	$(FUZZ_CC) -std=c11 -D_GNU_SOURCE -I. -pthread $(WARN) -MMD -MP \
	    -fsanitize=fuzzer-no-link,$(FUZZ_SAN) -fno-sanitize-recover=all \
	    $(CPPFLAGS) $(FUZZ_CFLAGS) $(X_CFLAGS) -c -o $@ $<

# An archive: a fuzzer takes what it needs of it.
$(O)/fuzz/libfuzz.a: $(call fuzz_obj,$(core_SRC) $(sched_SRC) $(base_SRC))
	@rm -f $@
	$(AR) rcs $@ $^

$(addprefix $(O)/fuzz/,$(FUZZ)): $(O)/fuzz/%: $(O)/fuzz/obj/tests/fuzz/%.o \
		$(O)/fuzz/libfuzz.a
	$(FUZZ_CC) -pthread -fsanitize=fuzzer,$(FUZZ_SAN) -o $@ $^ $(LIBS_exporter)

# What a run finds is kept in the build folder for the next one.
FUZZ_RUN := $(addprefix fuzz-run-,$(FUZZ))
$(FUZZ_RUN): fuzz-run-%: $(O)/fuzz/%
	@mkdir -p $(O)/fuzz/corpus/$*
	@$< -max_total_time=$(FUZZ_SECONDS) -timeout=10 -rss_limit_mb=1024 \
	    -verbosity=0 -artifact_prefix=$(O)/fuzz/ \
	    $(addprefix -dict=,$(wildcard tests/fuzz/$*.dict)) \
	    $(O)/fuzz/corpus/$* $(wildcard tests/fuzz/seeds/$*) && \
	    echo "ok - $* finds nothing in $(FUZZ_SECONDS) s" || \
	    { echo "not ok - $* finds something"; false; }

fuzz: $(FUZZ_RUN)

-include $(patsubst %.o,%.d,$(call fuzz_obj,$(core_SRC) $(sched_SRC) $(base_SRC) $(FUZZ_SRC)))
.PHONY: fuzz $(FUZZ_RUN)
