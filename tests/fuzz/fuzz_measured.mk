# Rules and answers of Prometheus need nothing of SQLite.
FUZZ_MEASURED := statsdb/rule.c statsdb/rule_row.c statsdb/rule_file.c statsdb/rule_table.c \
    statsdb/prom_reply.c
$(O)/fuzz/libfuzz.a: $(call fuzz_obj,$(FUZZ_MEASURED))
-include $(patsubst %.o,%.d,$(call fuzz_obj,$(FUZZ_MEASURED)))
