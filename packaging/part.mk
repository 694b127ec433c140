# Build packages of the committed source: make deb (needs debhelper), make rpm (needs
# rpmbuild; RPMFLAGS=--nodeps on a distribution without rpm packages).
# PACKAGER="Name <address>" names the packager; the default is from packaging/packager.
PACKAGE := batchjob-monitoring-$(VERSION)
PACKED   = $(abspath $(O))/packages
# The package's own make sets its variables.
CLEAN_ENV = env -u O -u CFLAGS -u MAKEFLAGS -u MFLAGS

deb:
	rm -rf $(PACKED)/deb
	mkdir -p $(PACKED)/deb
	git archive --prefix=$(PACKAGE)/ HEAD | tar -x -C $(PACKED)/deb
	cp -r packaging/debian $(PACKED)/deb/$(PACKAGE)/
	by="$$(packaging/packager)" && cd $(PACKED)/deb/$(PACKAGE)/debian && \
	    BY="$$by" perl -pi -e 's/\@PACKAGER\@/$$ENV{BY}/' control changelog
	cd $(PACKED)/deb/$(PACKAGE) && $(CLEAN_ENV) dpkg-buildpackage -b -us -uc
	@ls $(PACKED)/deb/*.deb

rpm:
	rm -rf $(PACKED)/rpm
	mkdir -p $(PACKED)/rpm
	git archive --prefix=$(PACKAGE)/ -o $(PACKED)/rpm/$(PACKAGE).tar.gz HEAD
	by="$$(packaging/packager)" && $(CLEAN_ENV) \
	    rpmbuild -bb $(RPMFLAGS) --define "packager $$by" --define '_sourcedir $(PACKED)/rpm' \
	    --define '_topdir $(PACKED)/rpm' \
	    --define '_package_version $(VERSION)' packaging/batchjob-monitoring.spec
	@find $(PACKED)/rpm -name '*.rpm'

.PHONY: deb rpm
