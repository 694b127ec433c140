# batchjob_snmp: a library, which tests and generators link as well, and the
# program.
snmp_SRC := $(filter-out snmp-agent/main.c,$(wildcard snmp-agent/*.c))
LIBS_snmp = $(call PKG,yaml-0.1) $(LIBS_core) $(LIBS_base)
SNMP_LIBS = $(addprefix $(O)/,libsnmp.a libcore.a libcarbon.a libsched.a libbase.a)
snmpmibdir = $(prefix)/share/snmp/mibs

$(O)/libsnmp.a: $(call obj,$(snmp_SRC))
-include $(patsubst %.o,%.d,$(call obj,$(wildcard snmp-agent/*.c)))

$(O)/batchjob_snmp: $(O)/snmp-agent/main.o $(SNMP_LIBS)
	$(call Q,LD)$(CC) $(BJ_LDFLAGS) $(LDFLAGS) -pie -o $@ $^ $(LIBS_snmp)

PROGRAMS += $(O)/batchjob_snmp
all: $(O)/batchjob_snmp
install: install-snmp

install-snmp: $(O)/batchjob_snmp
	$(INSTALL) -D -m 755 $< $(DESTDIR)$(bindir)/batchjob_snmp
	$(INSTALL) -D -m 644 snmp-agent/BATCHJOB-MIB.txt $(DESTDIR)$(snmpmibdir)/BATCHJOB-MIB.txt
.PHONY: install-snmp
