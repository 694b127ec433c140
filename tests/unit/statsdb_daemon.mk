# The daemon answers over HTTP, too.
$(O)/unit/test_statsdb_daemon: LIBS_statsdb += $(LIBS_httpd) $(call PKG,zlib)
