$(O)/fuzz/libfuzz.a: $(call fuzz_obj,$(carbon_SRC))
-include $(patsubst %.o,%.d,$(call fuzz_obj,$(carbon_SRC)))
