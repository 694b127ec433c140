# Measure the energy ledger: tests/bench/energy_bench.c.
$(O)/bench/energy_bench: $(O)/tests/bench/energy_bench.o $(O)/libcore.a \
		$(O)/libcarbon.a $(O)/libsched.a $(O)/libbase.a
	@mkdir -p $(@D)
	$(CC) $(BJ_LDFLAGS) $(LDFLAGS) -o $@ $^ $(LIBS_core) $(LIBS_base)
