# Tools of store_sql.py: record the programs' SQL, and rewrite it for PostgreSQL.
ifdef HAVE_SQLITE
e2e-tools: $(O)/e2e/sql_record.so $(O)/e2e/sql_rewrite
endif
$(O)/e2e/sql_record.so: tests/e2e/sql_record.c
	@mkdir -p $(@D)
	$(call Q,LD)$(CC) -shared -fPIC -O1 -Wall -o $@ $< -ldl
$(O)/e2e/sql_rewrite: $(O)/tests/e2e/sql_rewrite.o $(filter $(O)/store/%,$(call obj,$(wildcard store/*.c))) $(O)/libbase.a
	@mkdir -p $(@D)
	$(call Q,LD)$(CC) $(BJ_LDFLAGS) $(LDFLAGS) -o $@ $^ $(LIBS_statsdb)
-include $(O)/tests/e2e/sql_rewrite.d
