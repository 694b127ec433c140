# Its walks have no time.
$(O)/unit/test_api_walk: BJ_LDFLAGS += -Wl,--wrap=bj_reader_walk
