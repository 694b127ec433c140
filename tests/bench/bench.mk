# Measuring: docs/performance.md.  "make bench" runs floor and exporter in turn
# and prints figures and ratios; "make bench-vm" counts the instructions of a
# pass on a kernel with real cgroup v2 and many CPUs, under QEMU.
#
#   BENCH  arguments for the harness (BENCH=--help, BENCH=--quick)

BENCH ?=
BENCH_PROGRAMS := $(addprefix $(O)/bench/,floor sleepers scrape pass_bench)
bench_floor_SRC := $(wildcard tests/bench/floor*.c)

$(O)/bench/floor: $(call obj,$(bench_floor_SRC))
$(O)/bench/sleepers: $(O)/tests/bench/sleepers.o
$(O)/bench/scrape: $(O)/tests/bench/scrape.o
$(O)/bench/pass_bench: $(O)/tests/bench/pass_bench.o $(O)/libcore.a $(O)/libbase.a
$(BENCH_PROGRAMS):
	@mkdir -p $(@D)
	$(CC) $(BJ_LDFLAGS) $(LDFLAGS) -o $@ $^ $(LIBS_bench)
$(O)/bench/pass_bench: LIBS_bench = $(LIBS_core)

bench: $(PROGRAMS) $(BENCH_PROGRAMS)
	python3 tests/bench/bench.py --build $(O) $(BENCH)

bench-vm:
	tests/bench/vm.sh $(O)

-include $(patsubst %.c,$(O)/%.d,$(wildcard tests/bench/*.c))
.PHONY: bench-vm
