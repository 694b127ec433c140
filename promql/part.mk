# PromQL: parser and printer, below the API server.  bison writes the parser
# from the grammar into the build folder.
BISON ?= bison
promql_SRC := $(wildcard promql/*.c)
$(O)/promql/%.o: X_CFLAGS = -I$(O)

$(O)/promql/grammar.c: promql/grammar.y
	@mkdir -p $(@D)
	$(call Q,YY)$(BISON) -Werror --no-lines -o $@ --defines=$(O)/promql/grammar.h $<
$(O)/promql/grammar.h: $(O)/promql/grammar.c

# bison counts errors, which no action reads: clang 15 and later warn.
$(O)/promql/grammar.o: $(O)/promql/grammar.c
	$(call Q,CC)$(CC) $(BJ_CFLAGS) $(CPPFLAGS) $(CFLAGS) $(X_CFLAGS) -Wno-unused-but-set-variable -c -o $@ $<
$(call obj,promql/lex.c promql/parse.c): $(O)/promql/grammar.h

$(O)/libpromql.a: $(call obj,$(promql_SRC)) $(O)/promql/grammar.o
-include $(patsubst %.o,%.d,$(call obj,$(promql_SRC)) $(O)/promql/grammar.o)
