# Mails about jobs: above the report, below the program that sends them.
mail_SRC := $(wildcard mail/*.c)
$(O)/libmail.a: $(call obj,$(mail_SRC))
-include $(patsubst %.o,%.d,$(call obj,$(mail_SRC)))
