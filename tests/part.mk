# Unit tests: tests/unit/test_NAME.c is a program; test_plugin_NAME.c is linked
# with the plugin's objects and the double of collectd.
UNIT_SRC := $(wildcard tests/unit/test_*.c)
UNIT := $(patsubst tests/unit/%.c,$(O)/unit/%,$(UNIT_SRC))
UNIT_HELP := $(patsubst %.c,$(O)/%.o,$(wildcard tests/unit/lib/*.c))

$(O)/tests/%.o: X_CFLAGS = -DHAVE_CONFIG_H -isystem $(COLLECTD_INCLUDE)

$(O)/unit/test_plugin_%: $(O)/tests/unit/test_plugin_%.o $(UNIT_HELP) \
		$(call obj,$(wildcard collectd-plugin/*.c)) $(O)/libcore.a $(O)/libbase.a
	@mkdir -p $(@D)
	$(CC) $(BJ_LDFLAGS) $(LDFLAGS) -o $@ $^ -lcmocka $(LIBS_exporter)

$(O)/unit/test_%: $(O)/tests/unit/test_%.o $(UNIT_HELP) \
		$(filter-out %/main.o,$(call obj,$(exporter_SRC))) $(O)/libcore.a $(O)/libbase.a
	@mkdir -p $(@D)
	$(CC) $(BJ_LDFLAGS) $(LDFLAGS) -o $@ $^ -lcmocka $(LIBS_exporter)

unit: $(UNIT)
-include $(patsubst tests/unit/%.c,$(O)/tests/unit/%.d,$(UNIT_SRC))
.PHONY: unit
