# Build packages of the committed source: make deb (needs debhelper), make rpm (needs
# rpmbuild; RPMFLAGS=--nodeps on a distribution without rpm packages).
# PACKAGER="Name <address>" names the packager; the default is from packaging/packager.
PACKAGE_VERSION = $(shell packaging/version $(VERSION))
PACKAGE  = batchjob-monitoring-$(PACKAGE_VERSION)
PACKED   = $(abspath $(O))/packages
# The package's own make sets its variables.
CLEAN_ENV = env -u O -u CFLAGS -u MAKEFLAGS -u MFLAGS

deb:
	rm -rf $(PACKED)/deb
	mkdir -p $(PACKED)/deb
	git archive --prefix=$(PACKAGE)/ HEAD | tar -x -C $(PACKED)/deb
	cp -r packaging/debian $(PACKED)/deb/$(PACKAGE)/
	by="$$(packaging/packager)" && date="$$(git log -1 --format=%cD)" && \
	    cd $(PACKED)/deb/$(PACKAGE)/debian && BY="$$by" AT="$$date" VERSION=$(PACKAGE_VERSION) \
	    perl -pi -e 's/\@PACKAGER\@/$$ENV{BY}/; s/\@VERSION\@/$$ENV{VERSION}/; s/\@DATE\@/$$ENV{AT}/' control changelog
	cd $(PACKED)/deb/$(PACKAGE) && $(CLEAN_ENV) dpkg-buildpackage -b -us -uc
	@ls $(PACKED)/deb/*.deb

rpm:
	rm -rf $(PACKED)/rpm
	mkdir -p $(PACKED)/rpm
	git archive --prefix=$(PACKAGE)/ -o $(PACKED)/rpm/$(PACKAGE).tar.gz HEAD
	by="$$(packaging/packager)" && $(CLEAN_ENV) \
	    rpmbuild -bb $(RPMFLAGS) --define "packager $$by" --define '_sourcedir $(PACKED)/rpm' \
	    --define '_topdir $(PACKED)/rpm' \
	    --define '_package_version $(PACKAGE_VERSION)' packaging/batchjob-monitoring.spec
	@find $(PACKED)/rpm -name '*.rpm'

# Completions for shells, from the option tables: build/completions/PROGRAM.bash, ...
with_options = $(filter-out %.so,$(PROGRAMS))
completions: all
	@mkdir -p $(O)/completions
	@for p in $(notdir $(with_options)); do for s in bash zsh fish; do \
	    $(O)/$$p --help=all | awk -v program=$$p -v shell=$$s -f packaging/completions.awk \
	    >$(O)/completions/$$p.$$s || exit 1; done; done

install: install-completions
install-completions: completions
	for p in $(notdir $(with_options)); do \
	    $(INSTALL) -D -m 644 $(O)/completions/$$p.bash $(DESTDIR)$(bashdir)/$$p && \
	    $(INSTALL) -D -m 644 $(O)/completions/$$p.zsh $(DESTDIR)$(zshdir)/_$$p && \
	    $(INSTALL) -D -m 644 $(O)/completions/$$p.fish $(DESTDIR)$(fishdir)/$$p.fish || exit 1; done

.PHONY: deb rpm completions install-completions
