# A program that only parses PromQL, for gate_parser.py.
e2e-tools: $(O)/e2e/gate_print
$(O)/e2e/gate_print: $(O)/tests/e2e/gate_print.o $(O)/libpromql.a $(O)/libbase.a
	@mkdir -p $(@D)
	$(call Q,LD)$(CC) $(BJ_LDFLAGS) $(LDFLAGS) -o $@ $^ $(LIBS_base) -lm
-include $(O)/tests/e2e/gate_print.d
