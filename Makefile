# SPDX-License-Identifier: GPL-2.0
#
# What people type. The kernel's own build reads Kbuild instead of this file;
# there stands which object belongs to which module.
#
# Everything generated goes below build/. Each target installs what it lacks
# (Debian packages, as root) or says what to install.

.DELETE_ON_ERROR:
.DEFAULT_GOAL := modules
MAKEFLAGS += --no-print-directory

# Which kernel `make modules` and `make install` are for.
KDIR ?= /lib/modules/$(shell uname -r)/build

PREFIX ?= /usr
DESTDIR ?=

XPV_VERSION := $(shell scripts/version.sh)
export XPV_VERSION

##@ Build

.PHONY: modules
modules: ## the five modules for the running kernel, or KDIR=/path/to/headers
	scripts/modules.sh '$(KDIR)'

.PHONY: tools
tools: ## xpvctl, into build/tools
	@scripts/need.sh gcc libxen-dev libjansson-dev libncurses-dev pkgconf
	$(MAKE) -C tools/xpvctl

.PHONY: install
install: modules tools ## modules, modprobe.d file, xpvctl and man page (DESTDIR=, PREFIX=)
	DESTDIR='$(DESTDIR)' scripts/modules.sh '$(KDIR)' install
	install -D -m 644 packaging/xpv.conf '$(DESTDIR)/etc/modprobe.d/xpv.conf'
	install -D -m 755 packaging/initramfs-hook '$(DESTDIR)/etc/initramfs-tools/hooks/xpv'
	$(MAKE) -C tools/xpvctl install DESTDIR='$(DESTDIR)' PREFIX='$(PREFIX)'

.PHONY: dkms-tree
dkms-tree: ## the sources to /usr/src/xpv-VERSION, for dkms install
	scripts/dkms-tree.sh '$(DESTDIR)'

.PHONY: uninstall
uninstall: ## what make install has put there, away again (DESTDIR=, PREFIX=)
	DESTDIR='$(DESTDIR)' scripts/modules.sh '$(KDIR)' uninstall
	rm -f '$(DESTDIR)/etc/modprobe.d/xpv.conf' '$(DESTDIR)/etc/initramfs-tools/hooks/xpv'
	$(MAKE) -C tools/xpvctl uninstall DESTDIR='$(DESTDIR)' PREFIX='$(PREFIX)'

.PHONY: deb
deb: ## Debian packages xpv-dkms and xpv-tools, into build/deb (SUITE=bookworm|trixie)
	scripts/deb.sh $(SUITE)

##@ See it

.PHONY: demo
demo: ## real Xen, a guest on our four drivers, network and disk traffic (GUEST=pv|pvh|hvm)
	GUEST='$(or $(GUEST),pv)' test/rig/demo.sh

.PHONY: bench
bench: ## our pair against the stock pair, table and build/bench/results.json (QUICK=1, BENCH=counts|batching)
	test/bench/$(or $(BENCH),run)

.PHONY: profile
profile: ## instructions of one row by function, dom0, guest and Xen (ROW=, PAIR=ours/ours)
	test/bench/profile $(or $(ROW),blk_randread_4k_qd1) $(PAIR)

##@ Check it

.PHONY: check
check: ## lint, tool tests, kunit, matrix and the quick rig cases; the sum is the last line
	scripts/levels.sh lint tools-check kunit matrix rig-quick

.PHONY: check-all
check-all: ## the same with every rig case, and the Debian packages
	scripts/levels.sh lint tools-check kunit matrix deb-check rig

.PHONY: lint
lint: ## style, sizes, includes, documents, scripts (L=name: one check)
	scripts/check.sh $(L)

.PHONY: tools-check
tools-check: ## xpvctl against a store in memory, under ASAN and UBSAN
	@scripts/need.sh gcc libxen-dev libjansson-dev libncurses-dev pkgconf
	$(MAKE) -s -C tools/xpvctl check

.PHONY: kunit
kunit: ## logic under KASAN, UBSAN and lockdep, on a fake Xen (K='suite.case': some)
	test/kunit/run $(if $(K),'$(K)')

.PHONY: matrix
matrix: ## build on Linux 6.1, 6.12 and 7.3 with W=1 and sparse (KERNELS='6.1 7.3': some)
	scripts/matrix.sh $(KERNELS)

.PHONY: deb-check
deb-check: ## install and remove the packages on Linux 6.1, 6.12 and 7.3 (KERNELS='6.1 7.3': some)
	scripts/deb-check.sh $(KERNELS)

.PHONY: rig
rig: ## every case on real Xen (C='case or folder ...': some)
	test/rig/run $(or $(C),--all)

.PHONY: rig-quick
rig-quick: ## the cases that make check runs
	test/rig/run -j 2

##@ Tidy up

.PHONY: clean
clean: ## what was built, but not the root folders, their layers, kernel sources and images
	rm -rf build/modules build/matrix build/tools build/check build/deb build/deb-check
	rm -rf build/kunit/out/drivers/xpv
	scripts/modules.sh clean

.PHONY: distclean
distclean: clean ## everything generated
	rm -rf build

.PHONY: help
help: ## this list
	@awk -f scripts/help.awk $(MAKEFILE_LIST)
