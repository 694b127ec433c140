$(O)/fuzz/libfuzz.a: $(O)/fuzz/obj/standalone/trace.o
