# Measure the process collector: tests/bench/process_bench.c.
$(O)/bench/process_bench: $(O)/tests/bench/process_bench.o $(O)/libcore.a \
		$(O)/libcarbon.a $(O)/libsched.a $(O)/libbase.a
	@mkdir -p $(@D)
	$(CC) $(BJ_LDFLAGS) $(LDFLAGS) -o $@ $^ $(LIBS_core) $(LIBS_base)
