$(O)/fuzz/libfuzz.a: $(O)/fuzz/obj/standalone/accept.o
