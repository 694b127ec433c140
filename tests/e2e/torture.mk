# Programs in which an allocation fails on request, for torture.py.
comma := ,
TORTURE := $(addprefix $(O)/torture/,batchjob_exporter batchjob_snmp $(if $(HAVE_COLLECTD),plugin))
ifdef HAVE_SQLITE
TORTURE += $(addprefix $(O)/torture/,batchjob_stats_db batchjob_stats_server batchjob_acct)
endif
TORTURE_OBJ := $(O)/tests/e2e/torture.o $(O)/tests/unit/lib/fail.o

$(O)/torture/batchjob_exporter: LIBS_torture = $(LIBS_exporter)
$(O)/torture/batchjob_exporter: $(call obj,$(exporter_SRC)) $(O)/libcore.a $(O)/libcarbon.a $(O)/libsched.a $(O)/libbase.a
$(O)/torture/batchjob_snmp: LIBS_torture = $(LIBS_snmp)
$(O)/torture/batchjob_snmp: $(O)/snmp-agent/main.o $(SNMP_LIBS)
# The memory of the simulated collectd does not fail: torture_plugin.c.
$(O)/torture/plugin: LIBS_torture = $(LIBS_core) $(LIBS_base) $(addprefix -Wl$(comma)--wrap=,plugin_dispatch_values meta_data_create \
	meta_data_add_string plugin_register_data_set)
$(O)/torture/plugin: $(O)/tests/e2e/torture_plugin.o $(O)/tests/unit/lib/fakecollectd.o $(call obj,$(plugin_SRC)) \
	$(O)/libcore.a $(O)/libcarbon.a $(O)/libsched.a $(O)/libbase.a
$(O)/torture/batchjob_stats_db: LIBS_torture = $(LIBS_api)
$(O)/torture/batchjob_stats_db: $(O)/statsdb/daemon/main.o $(STATSDB_LIBS)
$(O)/torture/batchjob_stats_server: LIBS_torture = $(LIBS_api)
$(O)/torture/batchjob_stats_server: $(O)/apiserver/server/main.o $(API_LIBS)
$(O)/torture/batchjob_acct: LIBS_torture = $(LIBS_api)
$(O)/torture/batchjob_acct: $(O)/acct/main.o $(O)/libacct.a $(STATSDB_LIBS)
$(TORTURE): $(TORTURE_OBJ)
	@mkdir -p $(@D)
	$(call Q,LD)$(CC) $(BJ_LDFLAGS) $(LDFLAGS) -o $@ $^ $(LIBS_torture) -lcmocka

torture: $(TORTURE)
-include $(TORTURE_OBJ:.o=.d) $(O)/tests/e2e/torture_plugin.d
.PHONY: torture
