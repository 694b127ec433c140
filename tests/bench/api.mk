# Measure requests to batchjob_stats_server (tests/bench/api.py) and its memory
# (api_memory.py).  "make bench-api"; BENCH_JOBS is the number of jobs in
# the store.
BENCH_JOBS ?= 1000000

$(O)/bench/api_fill: $(O)/tests/bench/api_fill.o $(STATSDB_LIBS)
	@mkdir -p $(@D)
	$(call Q,LD)$(CC) $(BJ_LDFLAGS) $(LDFLAGS) -o $@ $^ $(LIBS_statsdb)

$(O)/bench/api_floor: $(O)/tests/bench/api_floor.o $(O)/libbase.a
	@mkdir -p $(@D)
	$(call Q,LD)$(CC) $(BJ_LDFLAGS) $(LDFLAGS) -o $@ $^ $(LIBS_api)

bench-api: $(O)/batchjob_stats_server $(O)/bench/api_fill $(O)/bench/api_floor
	@rm -f $(O)/bench/api.db*
	$(O)/bench/api_fill $(O)/bench/api.db $(BENCH_JOBS)
	python3 tests/bench/api.py --build $(O) --store $(O)/bench/api.db
	python3 tests/bench/api_memory.py --build $(O) --store $(O)/bench/api.db
	@rm -f $(O)/bench/api.db*
.PHONY: bench-api
