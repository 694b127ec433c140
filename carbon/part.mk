# The yearly table is compiled in, for nodes without network.
$(O)/carbon/factors.inc: carbon/factors.csv carbon/factors.awk
	@mkdir -p $(@D)
	$(call Q,GEN)LC_ALL=C awk -f carbon/factors.awk carbon/factors.csv >$@

$(O)/carbon/table.o: $(O)/carbon/factors.inc
$(O)/carbon/table.o: X_CFLAGS = -I$(O)
