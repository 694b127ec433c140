$(O)/fuzz/libfuzz.a: $(addprefix $(O)/fuzz/obj/standalone/,trace.o html.o page.o)
