# What requests to batchjob_stats_server cost: tests/bench/api.py.  "make
# bench-api"; BENCH_JOBS is how many jobs the store has.
BENCH_JOBS ?= 1000000

$(O)/bench/api_fill: $(O)/tests/bench/api_fill.o $(STATSDB_LIBS)
	@mkdir -p $(@D)
	$(call Q,LD)$(CC) $(BJ_LDFLAGS) $(LDFLAGS) -o $@ $^ $(LIBS_statsdb)

bench-api: $(O)/batchjob_stats_server $(O)/bench/api_fill
	python3 tests/bench/api.py --build $(O) --jobs $(BENCH_JOBS)
.PHONY: bench-api
