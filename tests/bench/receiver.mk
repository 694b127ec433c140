# Measure how batchjob_stats_db receives final records: "make bench-receiver".
$(O)/bench/records_load: $(O)/tests/bench/records_load.o $(O)/libbase.a
	@mkdir -p $(@D)
	$(call Q,LD)$(CC) $(BJ_LDFLAGS) $(LDFLAGS) -o $@ $^ $(LIBS_httpd) $(call PKG,zlib) $(LIBS_base)

bench-receiver: $(O)/batchjob_stats_db $(O)/bench/records_load
	python3 tests/bench/receiver.py $(O)
.PHONY: bench-receiver
