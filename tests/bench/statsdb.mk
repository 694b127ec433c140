# Measure the accounting database: tests/bench/statsdb.sh.
BENCH_STATSDB := $(addprefix $(O)/bench/,statsdb_load statsdb_gen statsdb_query statsdb_floor)

$(BENCH_STATSDB): $(O)/bench/%: $(O)/tests/bench/%.o $(STATSDB_LIBS)
	@mkdir -p $(@D)
	$(call Q,LD)$(CC) $(BJ_LDFLAGS) $(LDFLAGS) -o $@ $^ $(LIBS_statsdb)

bench-statsdb: $(BENCH_STATSDB) $(O)/batchjob_acct $(O)/batchjob_stats_db
	tests/bench/statsdb.sh $(O) $(BENCH_LINES)

ifeq ($(HAVE_SQLITE),yes)
bench: bench-statsdb
endif
.PHONY: bench-statsdb
