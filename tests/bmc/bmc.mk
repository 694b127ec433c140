# The program that reads IPMI meters inside the guest of tests/bmc/run.
$(O)/bmc/probe: $(O)/tests/bmc/probe.o $(O)/libcore.a $(O)/libbase.a
	@mkdir -p $(@D)
	$(call Q,LD)$(CC) $(BJ_LDFLAGS) $(LDFLAGS) -o $@ $^ $(LIBS_core) $(LIBS_base)

bmc-tools: $(O)/bmc/probe
-include $(O)/tests/bmc/probe.d
.PHONY: bmc-tools
