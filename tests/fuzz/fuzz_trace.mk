# These are its own: functions of the API's pages have the same names.
$(O)/fuzz/fuzz_trace: $(addprefix $(O)/fuzz/obj/standalone/,trace.o html.o page.o)
$(O)/fuzz/fuzz_trace: LIBS_exporter := $(O)/fuzz/libfuzz.a $(LIBS_exporter)
