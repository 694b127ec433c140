# The daemon answers over HTTP, and receives records.
$(O)/unit/test_statsdb_daemon: LIBS_statsdb += $(LIBS_httpd) $(call PKG,zlib)
$(O)/unit/test_statsdb_receiver: LIBS_statsdb += $(LIBS_httpd) $(call PKG,zlib)
