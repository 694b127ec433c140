# Measuring: docs/performance.md.  "make bench" runs floor and exporter in turn
# and prints figures and ratios; "make bench-vm" counts the instructions of a
# pass on a kernel with real cgroup v2 and many CPUs, under QEMU; "make
# bench-noise" measures how much the exporter disturbs a computation.
#
#   BENCH  arguments of bench.py (BENCH=--help, BENCH=--quick)

BENCH ?=
BENCH_PROGRAMS := $(addprefix $(O)/bench/,floor sleepers scrape pass_floor pass_bench quantum)
bench_floor := $(addprefix $(O)/tests/bench/,floor_jobs.o floor_page.o floor_processes.o)

$(O)/bench/floor: $(O)/tests/bench/floor.o $(bench_floor)
$(O)/bench/pass_floor: $(O)/tests/bench/pass_floor.o $(bench_floor)
$(O)/bench/sleepers: $(O)/tests/bench/sleepers.o
$(O)/bench/scrape: $(O)/tests/bench/scrape.o
$(O)/bench/quantum: $(O)/tests/bench/quantum.o
$(O)/bench/pass_bench: $(O)/tests/bench/pass_bench.o $(O)/standalone/page.o \
	$(O)/libcore.a $(O)/libcarbon.a $(O)/libsched.a $(O)/libbase.a
$(O)/bench/pass_bench: LIBS_bench = $(LIBS_core) $(LIBS_base)

$(BENCH_PROGRAMS):
	@mkdir -p $(@D)
	$(CC) $(BJ_LDFLAGS) $(LDFLAGS) -o $@ $^ $(LIBS_bench)

bench: $(PROGRAMS) types.db $(BENCH_PROGRAMS) $(O)/bench/page_bench $(O)/bench/energy_bench gpu-fake
	python3 tests/bench/bench.py --build $(O) $(BENCH)

bench-vm: $(BENCH_PROGRAMS)
	tests/bench/vm.sh $(O)

bench-noise: $(O)/batchjob_exporter $(BENCH_PROGRAMS)
	python3 tests/bench/noise.py --build $(O) $(BENCH)

-include $(patsubst %.c,$(O)/%.d,$(wildcard tests/bench/*.c))
.PHONY: bench-vm bench-noise
