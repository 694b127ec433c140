# The API server as a whole; with FUZZ_SAN=thread under that sanitizer.
ifeq ($(HAVE_SQLITE),yes)
$(O)/fuzz/libfuzz.a: $(call fuzz_obj,$(api_SRC))
$(addprefix $(O)/fuzz/,$(filter fuzz_api%,$(FUZZ))): LIBS_exporter += $(LIBS_api)
-include $(patsubst %.o,%.d,$(call fuzz_obj,$(api_SRC)))
endif
