# Unit tests: each tests/unit/ROOM/test_NAME.c is a program; test_plugin_NAME.c is
# linked with the plugin's objects and a simulated collectd.
UNIT_SRC := $(wildcard tests/unit/*/test_*.c)
ifndef HAVE_SQLITE
UNIT_SRC := $(filter-out tests/unit/statsdb/% tests/unit/apiserver/%,$(UNIT_SRC))
endif
UNIT := $(patsubst %.c,$(O)/unit/%,$(notdir $(UNIT_SRC)))
UNIT_HELP := $(patsubst %.c,$(O)/%.o,$(wildcard tests/unit/lib/*.c))

# Archives, so that a test program holds only the objects that it needs and
# links fast.
$(O)/unit/libhelp.a: $(UNIT_HELP)
$(O)/unit/libexporter.a: $(filter-out %/main.o,$(call obj,$(exporter_SRC)))
$(O)/unit/%.a:
	@mkdir -p $(@D)
	@rm -f $@
	$(call Q,AR)$(AR) rcs $@ $^

$(O)/tests/%.o: X_CFLAGS = -DHAVE_CONFIG_H -isystem $(COLLECTD_INCLUDE)

# Programs and objects have no room in their names: $(O)/unit/test_NAME.
vpath test_%.c $(sort $(dir $(UNIT_SRC)))
$(O)/unit/test_%.o: X_CFLAGS = -DHAVE_CONFIG_H -isystem $(COLLECTD_INCLUDE)
$(O)/unit/test_%.o: test_%.c | needed
	@mkdir -p $(@D)
	$(call Q,CC)$(CC) $(BJ_CFLAGS) $(CPPFLAGS) $(CFLAGS) $(X_CFLAGS) -c -o $@ $<

# A library comes after the objects that use it.
UNIT_LIBS = $(O)/libsnmp.a $(O)/libpromql.a $(O)/libcore.a $(O)/libcarbon.a $(O)/libsched.a $(O)/libbase.a

# Static patterns: otherwise make removes the object files as intermediate ones.
UNIT_PLUGIN := $(filter $(O)/unit/test_plugin_%,$(UNIT))
UNIT_STATSDB := $(filter $(O)/unit/test_statsdb_%,$(UNIT))
UNIT_API := $(filter $(O)/unit/test_api_%,$(UNIT))

$(UNIT_PLUGIN): $(O)/unit/%: $(O)/unit/%.o \
		$(call obj,tests/unit/lib/fakecollectd.c $(plugin_SRC)) $(O)/unit/libhelp.a $(UNIT_LIBS)
	@mkdir -p $(@D)
	$(call Q,LD)$(CC) $(BJ_LDFLAGS) $(LDFLAGS) -o $@ $^ -lcmocka $(LIBS_exporter)

# The daemon starts the notifications, which read the store: a group.
$(UNIT_STATSDB): $(O)/unit/%: $(O)/unit/%.o \
		$(call obj,tests/unit/lib/await.c tests/unit/lib/httpstub.c tests/unit/lib/pgserver.c tests/unit/lib/testclock.c) $(O)/libacct.a $(STATSDB_LIBS)
	@mkdir -p $(@D)
	$(call Q,LD)$(CC) $(BJ_LDFLAGS) $(LDFLAGS) -o $@ -Wl,--start-group $^ -Wl,--end-group -lcmocka $(LIBS_statsdb)

$(UNIT_API): $(O)/unit/%: $(O)/unit/%.o \
		$(call obj,tests/unit/lib/fail.c tests/unit/lib/testclock.c) $(API_LIBS)
	@mkdir -p $(@D)
	$(call Q,LD)$(CC) $(BJ_LDFLAGS) $(LDFLAGS) -o $@ $^ -lcmocka $(LIBS_api)

$(filter-out $(UNIT_PLUGIN) $(UNIT_STATSDB) $(UNIT_API),$(UNIT)): $(O)/unit/%: $(O)/unit/%.o $(O)/unit/libhelp.a \
		$(O)/unit/libexporter.a $(UNIT_LIBS)
	@mkdir -p $(@D)
	$(call Q,LD)$(CC) $(BJ_LDFLAGS) $(LDFLAGS) -o $@ $^ -lcmocka $(LIBS_exporter)

unit: $(UNIT)
-include $(UNIT:=.d)
-include $(UNIT_HELP:.o=.d)

# The program of sample jobs in end-to-end tests and demos, and the sampler of their
# control groups; static, so that they run in any root directory.
e2e-tools: $(O)/e2e/work $(O)/e2e/sampler
$(O)/e2e/work $(O)/e2e/sampler: $(O)/e2e/%: tests/e2e/%.c
	@mkdir -p $(@D)
	$(call Q,LD)$(CC) -std=c11 -D_GNU_SOURCE $(WARN) -O2 -static -pthread -o $@ $<

# tests/deps installs missing packages first; a new make then finds them.
test:
	@tests/deps test browser slurm
	@O=$(O) MAKE="$(MAKE)" tests/run

check-long:
	@tests/deps test browser slurm packages
	@O=$(O) MAKE="$(MAKE)" tests/run --long

coverage:
	@O=$(O) MAKE="$(MAKE)" BJ_WRITE=1 tests/run coverage

lint:
	@tests/lint

# On all processors, unless make has a -j option.
PARALLEL = $(if $(findstring -j,$(MAKEFLAGS)),,-j$(shell nproc))

demo:
	@tests/deps demo
	@$(MAKE) --no-print-directory $(PARALLEL) all e2e-tools
	@O=$(O) tests/demo

demo-slurm:
	@tests/deps demo slurm
	@$(MAKE) --no-print-directory $(PARALLEL) all e2e-tools
	@O=$(O) tests/demo slurm

include $(sort $(wildcard tests/*/*.mk))
.PHONY: unit e2e-tools
