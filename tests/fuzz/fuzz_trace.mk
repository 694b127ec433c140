$(O)/fuzz/libfuzz.a: $(O)/fuzz/obj/standalone/trace.o $(O)/fuzz/obj/standalone/html.o
