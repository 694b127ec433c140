# The test program emissions_feed, for emissions.py.
e2e-tools: $(O)/e2e/emissions_feed
$(O)/e2e/emissions_feed: $(O)/tests/e2e/emissions_feed.o $(O)/libcarbon.a $(O)/libbase.a
	@mkdir -p $(@D)
	$(call Q,LD)$(CC) $(BJ_LDFLAGS) $(LDFLAGS) -o $@ $^ $(LIBS_base)
