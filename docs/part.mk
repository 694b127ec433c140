# What is generated from the metric tables.  The files are committed; they are
# written here only when they change.
GENERATED = types.db docs/metrics.md examples/rules-collectd.yml \
            examples/prometheus-collectd.yml docs/man/collectd-batchjob.5
gen_types.db := types.db
gen_metrics.md := metrics
gen_rules-collectd.yml := rules
gen_prometheus-collectd.yml := scrape
gen_collectd-batchjob.5 := man

$(O)/gen: $(call obj,$(wildcard docs/*.c)) $(O)/libcore.a $(O)/libcarbon.a $(O)/libsched.a $(O)/libbase.a
	$(call Q,LD)$(CC) $(BJ_LDFLAGS) $(LDFLAGS) -o $@ $^ $(LIBS_core) $(LIBS_base)

$(addprefix $(O)/new/,$(GENERATED)): $(O)/new/%: $(O)/gen
	@mkdir -p $(@D)
	$(call Q,GEN)$(O)/gen $(gen_$(@F)) >$@

$(GENERATED): %: $(O)/new/%
	@mkdir -p $(@D); cmp -s $< $@ || cp $< $@

# Stale when what git would commit is; without git, when the file is.
check-generated: $(addprefix $(O)/new/,$(GENERATED))
	@for f in $(GENERATED); do \
	    if git cat-file -e :$$f 2>/dev/null; then git show :$$f; else cat $$f; fi | \
	    cmp -s - $(O)/new/$$f || { echo "$$f is stale: make $$f, and commit it"; exit 1; }; \
	done

all: $(GENERATED)
-include $(patsubst %.o,%.d,$(call obj,$(wildcard docs/*.c)))
.PHONY: check-generated
