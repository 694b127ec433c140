# The API server as a whole; with FUZZ_SAN=thread under that sanitizer.
ifeq ($(HAVE_SQLITE),yes)
$(O)/fuzz/libfuzz.a: $(call fuzz_obj,$(api_SRC))
$(O)/fuzz/fuzz_api: LIBS_exporter += $(LIBS_api)
-include $(patsubst %.o,%.d,$(call fuzz_obj,$(api_SRC)))
endif
