# A simulated BMC, preloaded by energy_false.sh.
e2e-tools: $(O)/e2e/dcmi.so
$(O)/e2e/dcmi.so: tests/e2e/dcmi.c
	@mkdir -p $(@D)
	$(call Q,LD)$(CC) -std=c11 -D_GNU_SOURCE $(WARN) -O2 -fPIC -shared -o $@ $<
