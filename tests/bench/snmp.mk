# Measure walks of batchjob_snmp: tests/bench/snmp.py.
$(O)/bench/snmp_floor: $(O)/tests/bench/snmp_floor.o
	@mkdir -p $(@D)
	$(call Q,LD)$(CC) $(BJ_LDFLAGS) $(LDFLAGS) -o $@ $^

bench-snmp: $(O)/batchjob_snmp $(O)/bench/snmp_floor
	O=$(O) python3 tests/bench/snmp.py

bench: bench-snmp
.PHONY: bench-snmp
