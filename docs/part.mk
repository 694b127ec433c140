# What is generated from the metric tables.  The files are committed; they are
# written here only when they change.
$(O)/gen: $(O)/docs/gen.o $(O)/libcore.a $(O)/libbase.a
	$(CC) $(BJ_LDFLAGS) $(LDFLAGS) -o $@ $^ $(LIBS_core)

$(O)/types.db $(O)/metrics.md: $(O)/gen
	$(O)/gen $(@F:.md=) >$@

types.db: $(O)/types.db
	@cmp -s $< $@ || cp $< $@

docs/metrics.md: $(O)/metrics.md
	@cmp -s $< $@ || cp $< $@

# Stale when what git would commit is; without git, when the file is.
check-generated: $(O)/types.db $(O)/metrics.md
	@for f in types.db docs/metrics.md; do \
	    if git cat-file -e :$$f 2>/dev/null; then git show :$$f; else cat $$f; fi | \
	    cmp -s - $(O)/$${f##*/} || { echo "$$f is stale: make $$f, and commit it"; exit 1; }; \
	done

-include $(O)/docs/gen.d
.PHONY: check-generated
