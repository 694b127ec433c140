# Files generated from the tables of the programs.  They are committed, and
# written here only when they change.
GENERATED = types.db docs/metrics.md examples/rules-collectd.yml \
            examples/prometheus-collectd.yml snmp-agent/BATCHJOB-MIB.txt
gen_types.db := types.db
gen_metrics.md := metrics
gen_rules-collectd.yml := rules
gen_prometheus-collectd.yml := scrape
gen_BATCHJOB-MIB.txt := mib snmp-agent/BATCHJOB-MIB.txt
# Documents with generated parts.
FILLED = docs/derived.md docs/energy.md $(wildcard docs/man/*.[158])

$(O)/gen: $(call obj,$(wildcard docs/*.c) $(filter-out %/main.c,$(exporter_SRC))) \
		$(addprefix $(O)/,libsnmp.a libcore.a libacct.a libnotify.a libmail.a) $(API_LIBS)
	$(call Q,LD)$(CC) $(BJ_LDFLAGS) $(LDFLAGS) -o $@ $^ $(LIBS_api) $(LIBS_exporter)

$(addprefix $(O)/new/,$(GENERATED)): $(O)/new/%: $(O)/gen
	@mkdir -p $(@D)
	$(call Q,GEN)$(O)/gen $(gen_$(@F)) >$@

$(GENERATED): %: $(O)/new/%
	@mkdir -p $(@D); cmp -s $< $@ || cp $< $@

$(O)/new/filled: $(O)/gen $(FILLED)
	$(call Q,GEN)for f in $(FILLED); do \
	    $(O)/gen fill $$f >$@ || exit 1; \
	    cmp -s $@ $$f || cp $@ $$f; \
	done; touch $@

# Stale means different from the committed file; without git, from the file.
check-generated: $(addprefix $(O)/new/,$(GENERATED)) $(O)/gen
	@committed() { if git cat-file -e :$$1 2>/dev/null; then git show :$$1; else cat $$1; fi; }; \
	stale() { echo "$$1 is stale: make, and commit it"; exit 1; }; \
	for f in $(GENERATED); do committed $$f | cmp -s - $(O)/new/$$f || stale $$f; done; \
	for f in $(FILLED); do \
	    committed $$f >$(O)/new/committed && $(O)/gen fill $(O)/new/committed | \
	        cmp -s - $(O)/new/committed || stale $$f; \
	done

ifeq ($(HAVE_SQLITE),yes)
all: $(GENERATED) $(O)/new/filled
endif
-include $(patsubst %.o,%.d,$(call obj,$(wildcard docs/*.c)))
.PHONY: check-generated
