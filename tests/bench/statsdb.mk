# What the accounting database costs: tests/bench/statsdb_load.c.
$(O)/bench/statsdb_load: $(O)/tests/bench/statsdb_load.o $(STATSDB_LIBS)
	@mkdir -p $(@D)
	$(call Q,LD)$(CC) $(BJ_LDFLAGS) $(LDFLAGS) -o $@ $^ $(LIBS_statsdb)
