# The daemon answers over HTTP, and receives records; summaries of jobstats are
# compressed and base64.
UNIT_HTTPD := $(addprefix $(O)/unit/test_statsdb_,daemon receiver gather_sources forms)
$(UNIT_HTTPD): LIBS_statsdb += $(LIBS_httpd) $(call PKG,zlib)
