# The report of a job: below the programs that show it.
report_SRC := $(wildcard report/*/*.c)
$(O)/libreport.a: $(call obj,$(report_SRC))
-include $(patsubst %.o,%.d,$(call obj,$(report_SRC)))
