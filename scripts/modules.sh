#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
#
# scripts/modules.sh KDIR           build the five modules against these headers
# scripts/modules.sh KDIR install   install them (INSTALL_MOD_PATH=$DESTDIR)
# scripts/modules.sh KDIR uninstall remove what that has installed
# scripts/modules.sh clean          remove objects that a build with M= left here
#
# The build works on a copy of the sources in build/modules/: an object file
# beside the sources would be picked up by a grafted kernel (make kunit).
set -euo pipefail
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

copy=$BUILD/modules

no_headers() {
	cat >&2 <<-END
	No kernel headers at $1.
	  for the running kernel:   apt-get install linux-headers-$(uname -r)
	  for another kernel:       make KDIR=/path/to/headers
	  for all supported ones:   make matrix (brings its own headers)
	END
	exit 2
}

clean_tree() {
	find "$TOP/drivers" "$TOP/test" "$TOP"/*.o "$TOP"/*.ko "$TOP"/*.mod* "$TOP"/.*.cmd \
		\( -name '*.o' -o -name '*.ko' -o -name '*.mod' -o -name '*.mod.c' -o \
		-name '.*.cmd' \) -delete 2>/dev/null || true
	rm -f "$TOP/Module.symvers" "$TOP/modules.order"
}

case ${1:-} in
'') die "usage: scripts/modules.sh KDIR [install|uninstall] | clean" ;;
clean)
	clean_tree
	exit 0
	;;
esac

kdir=$1
[ -e "$kdir/Makefile" ] || no_headers "$kdir"
"$TOP/scripts/need.sh" gcc bc

release=$(make -s -C "$kdir" kernelrelease)
dir=$copy/$release
if [ "${2:-}" = install ]; then
	# No signature: the key of the distribution is not ours to have. And
	# depmod by hand: the kernel's rule skips it with a headers package.
	make -C "$kdir" M="$dir" INSTALL_MOD_PATH="${DESTDIR:-}" CONFIG_MODULE_SIG_ALL= \
		modules_install 2>&1 | grep -v 'Skipping depmod'
	depmod -b "${DESTDIR:-/}" "$release"
	exit 0
fi
if [ "${2:-}" = uninstall ]; then
	rm -f "${DESTDIR:-}/lib/modules/$release/updates"/xpv-*.ko*
	depmod -b "${DESTDIR:-/}" "$release"
	exit 0
fi
copy_sources "$dir"
make -C "$kdir" M="$dir" XPV_VERSION="${XPV_VERSION:-$("$TOP/scripts/version.sh")}" \
	-j"$(nproc)" modules
printf 'modules for %s: %s\n' "$release" "${dir#"$TOP"/}"
