# Notifications: beside mails, below the program that sends them.
notify_SRC := $(wildcard notify/*.c)
$(O)/libnotify.a: $(call obj,$(notify_SRC))
-include $(patsubst %.o,%.d,$(call obj,$(notify_SRC)))
