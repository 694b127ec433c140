# The engines behind the store: all SQL goes through this room.
store_SRC := $(wildcard store/*.c)
$(O)/libstore.a: $(call obj,$(store_SRC))
-include $(patsubst %.o,%.d,$(call obj,$(store_SRC)))
