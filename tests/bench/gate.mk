# Measure the PromQL gate: "make bench-gate".
$(O)/bench/gate_bench: $(O)/tests/bench/gate_bench.o $(API_LIBS)
	@mkdir -p $(@D)
	$(call Q,LD)$(CC) $(BJ_LDFLAGS) $(LDFLAGS) -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc \
		-o $@ $^ $(LIBS_api)

$(O)/bench/gate_floor $(O)/bench/gate_server: $(O)/bench/%: $(O)/tests/bench/%.o $(O)/libbase.a
	@mkdir -p $(@D)
	$(call Q,LD)$(CC) $(BJ_LDFLAGS) $(LDFLAGS) -o $@ $^ $(LIBS_api)

$(O)/bench/gate_floor_loop: $(O)/tests/bench/gate_floor_loop.o $(O)/libbase.a
	@mkdir -p $(@D)
	$(call Q,LD)$(CC) $(BJ_LDFLAGS) $(LDFLAGS) -o $@ $^ $(LIBS_api) -lcurl

bench-gate: $(O)/batchjob_stats_server \
		$(addprefix $(O)/bench/,gate_bench gate_floor gate_floor_loop gate_server)
	$(O)/bench/gate_bench
	python3 tests/bench/gate.py $(O)
.PHONY: bench-gate
