# Measure the writing of a page under callgrind: tests/bench/page_bench.c.
$(O)/bench/page_bench: $(O)/tests/bench/page_bench.o $(O)/standalone/page.o \
		$(O)/libcore.a $(O)/libcarbon.a $(O)/libsched.a $(O)/libbase.a
	@mkdir -p $(@D)
	$(CC) $(BJ_LDFLAGS) $(LDFLAGS) -o $@ $^ $(LIBS_core) $(LIBS_base)
