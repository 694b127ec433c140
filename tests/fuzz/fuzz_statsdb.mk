# What is put into the accounting store, with the store behind it.
ifeq ($(HAVE_SQLITE),yes)
FUZZ_STATSDB := $(filter fuzz_statsdb_%,$(FUZZ))
$(O)/fuzz/libfuzz.a: $(call fuzz_obj,$(statsdb_SRC))
$(addprefix $(O)/fuzz/,$(FUZZ_STATSDB)): LIBS_exporter += $(call PKG,sqlite3)
-include $(patsubst %.o,%.d,$(call fuzz_obj,$(statsdb_SRC)))
endif
