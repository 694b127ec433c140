# Files generated from the metric and option tables.  They are committed, and
# written here only when they change.
GENERATED = types.db docs/metrics.md examples/rules-collectd.yml \
            examples/prometheus-collectd.yml docs/man/collectd-batchjob.5 \
            docs/man/batchjob_exporter.8
gen_types.db := types.db
gen_metrics.md := metrics
gen_rules-collectd.yml := rules
gen_prometheus-collectd.yml := scrape
gen_collectd-batchjob.5 := man5
gen_batchjob_exporter.8 := man8

$(O)/gen: $(call obj,$(wildcard docs/*.c) $(filter-out %/main.c,$(exporter_SRC))) $(O)/libcore.a $(O)/libcarbon.a $(O)/libsched.a $(O)/libbase.a
	$(call Q,LD)$(CC) $(BJ_LDFLAGS) $(LDFLAGS) -o $@ $^ $(LIBS_exporter)

$(addprefix $(O)/new/,$(GENERATED)): $(O)/new/%: $(O)/gen $(wildcard docs/man/*.in)
	@mkdir -p $(@D)
	$(call Q,GEN)$(O)/gen $(gen_$(@F)) >$@

$(GENERATED): %: $(O)/new/%
	@mkdir -p $(@D); cmp -s $< $@ || cp $< $@

# Stale means different from the committed file; without git, from the file.
check-generated: $(addprefix $(O)/new/,$(GENERATED))
	@for f in $(GENERATED); do \
	    if git cat-file -e :$$f 2>/dev/null; then git show :$$f; else cat $$f; fi | \
	    cmp -s - $(O)/new/$$f || { echo "$$f is stale: make $$f, and commit it"; exit 1; }; \
	done

all: $(GENERATED)
-include $(patsubst %.o,%.d,$(call obj,$(wildcard docs/*.c)))
.PHONY: check-generated
