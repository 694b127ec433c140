# Its walks have no time at all.
$(O)/unit/test_api_walk: BJ_LDFLAGS += -Wl,--wrap=bj_reader_walk
