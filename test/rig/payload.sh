#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Builds what changes with the code and packs it into a disk that dom0 reads
# after the saved state was loaded: our modules for dom0 and guests, xpvctl,
# helper programs, and the guests' kernels and initramfs.  A change of
# one source file costs seconds.
#
# usage: test/rig/payload.sh [--stock] [--to FILE] [KERNEL...]
#
# KERNEL names the guests' kernels (6.12 is always there).  --stock leaves our
# modules out, for cases that do not need them.  RIG_MODULES="xpv-core ..."
# builds only these.  Prints the path of the disk, or makes FILE a name of it
# that later builds leave alone.
set -euo pipefail
# shellcheck source=lib/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib/common.sh"
# shellcheck source=lib/machine.sh
. "$rig/lib/machine.sh"

tools='fio iperf3 netperf netserver socat ethtool ip ping mke2fs blkdiscard losetup'
stubs='libnfs.so.14 libgfapi.so.0 libnbd.so.0 librdmacm.so.1 libibverbs.so.1
	librados.so.2 librbd.so.1 libpmem.so.1'
guest_modules='crc32c_generic crc32c-cryptoapi ext4 xen-evtchn xen-gntdev xen-gntalloc xenfs loop'

# A program and its libraries, copied to where it finds them.
copy_tools() {
	local dir=$1 tool path
	local -a files
	# shellcheck disable=SC2016,SC2086  # expanded by the inner shell; a list of words
	mapfile -t files < <(root run 6.12 bash -c '
		for t; do command -v "$t"; ldd "$(command -v "$t")"; done |
			grep -o "/[^ )]*" | sort -u' bash $tools)
	for path in "${files[@]}"; do
		for tool in $stubs librados librbd libceph libglusterfs; do
			[[ $path != */"$tool"* ]] || continue 2
		done
		mkdir -p "$dir$(dirname "$path")"
		cp -L "$(root_of 6.12)$path" "$dir$path"
	done
}

# Base of the guests of one kernel: everything but our modules.
guest_base() {
	local name=$1 out=$build/guest/$1 dir sum
	sum=$(checksum "$rig/payload.sh" "$rig/guest" "$rig/agent" "$build/helpers.stamp" \
		"$(root stamp "$name")" "$(root stamp 6.12)")
	is_stamped "$out/stamp" "$sum" && return
	note "building the guest of Linux $(kernel_of "$name")"
	rm -rf "$out"
	dir=$out/base
	mkdir -p "$dir"/{bin,etc,usr/bin,usr/sbin,usr/lib,usr/lib64,modules}
	ln -s usr/lib "$dir/lib"
	ln -s usr/lib64 "$dir/lib64"
	cp "$(root_of 6.12)/usr/bin/busybox" "$dir/bin/"
	cp "$agent" "$build"/helpers/* "$dir/usr/bin/"
	install -m 755 "$rig/guest/init" "$dir/init"
	copy_tools "$dir"
	# shellcheck disable=SC2086  # lists of words
	root run 6.12 test/rig/guest/stub-libs /usr/bin/fio \
		"${dir#"$top/"}/usr/lib/x86_64-linux-gnu" $stubs
	ln -s mke2fs "$dir/usr/sbin/mkfs.ext4"
	echo 'root:x:0:0:root:/:/bin/sh' >"$dir/etc/passwd"
	# shellcheck disable=SC2086  # lists of words
	copy_modules "$name" "$dir/modules/common" $guest_modules >"$out/common"
	mv "$out/common" "$dir/modules/common/list"
	copy_modules "$name" "$dir/modules/stock" xen-netfront xen-blkfront >"$out/list"
	mv "$out/list" "$dir/modules/stock/list"
	make_cpio "$dir" "$out/base.cpio"
	rm -rf "$dir"
	cp "$(root_of "$name")/boot/vmlinuz-$(kernel_of "$name")" "$out/vmlinuz"
	echo "$sum" >"$out/stamp"
}

# Our own small programs for dom0 and guests, each one file.
build_helpers() {
	local sum file
	sum=$(checksum "$rig/tools" "$top/test/bench/mark.h" "$(root stamp 6.12)")
	is_stamped "$build/helpers.stamp" "$sum" && return
	rm -rf "$build/helpers"
	mkdir -p "$build/helpers"
	for file in "$rig"/tools/*.c; do
		file=${file##*/}
		root run 6.12 gcc -std=gnu11 -O2 -Wall -Wextra -Werror -static \
			-o "$rel/helpers/${file%.c}" "test/rig/tools/$file" >&2 ||
			die "$file does not build"
	done
	echo "$sum" >"$build/helpers.stamp"
}

# A copy of the sources for each kernel, so that objects of several kernels
# do not meet; only what changed is copied, so that make stays quick.
sync_sources() {
	local to=$1 file
	mkdir -p "$to"
	(cd "$top" && find Kbuild Kconfig VERSION Makefile include drivers tools -type f \
		\( -name '*.[chS]' -o -name Kbuild -o -name Kconfig -o -name VERSION -o \
		-name Makefile -o -name '*.8' -o -name '*.1' \) 2>/dev/null | sort) >"$to.list"
	(cd "$to" && find . -type f \( -name '*.[ch]' ! -name '*.mod.c' \) | sed 's,^\./,,') |
		grep -vxFf "$to.list" | while read -r file; do rm -f "$to/$file"; done || true
	(cd "$top" && xargs cp -pu --parents -t "$to" <"$to.list")
}

# Builds our modules for one kernel into build/rig/modules/KERNEL.
our_modules() {
	local name=$1 out=$build/modules/$1 src=$build/src/$1 log=$build/src/$1.log
	local version m
	version=$(kernel_of "$name")
	sync_sources "$src"
	[[ -z ${RIG_MODULES:-} ]] ||
		sed -i "s/^obj-m += .*/obj-m += ${RIG_MODULES// /.o }.o/" "$src/Kbuild"
	if ! root run "$name" make -j2 -C "/lib/modules/$version/build" \
		M="/src/${src#"$top/"}" modules >"$log" 2>&1; then
		grep -E 'error|Error|undefined' "$log" | head -n 20 >&2
		die "our modules do not build for $name, see $log"
	fi
	grep -E 'warning' "$log" >&2 || true
	rm -rf "$out"
	mkdir -p "$out"
	for m in ${RIG_MODULES:-xpv-core xpv-netfront xpv-blkfront xpv-netback xpv-blkback}; do
		cp "$src/$m.ko" "$out/" || die "$m was not built, see $log"
	done
}

needed_by() { root run "$1" modinfo -F depends "${2#"$top/"}" | tr ',-' ' _'; }

# The part of the initramfs with our front ends, and what they depend on.
guest_ours() {
	local name=$1 out=$build/guest/$1 dir=$build/guest/$1/ours m deps=
	rm -rf "$dir" "$out/ours.cpio"
	mkdir -p "$dir/modules/ours"
	for m in xpv-core xpv-netfront xpv-blkfront; do
		[[ -f $build/modules/$name/$m.ko ]] || continue
		deps+=" $(needed_by "$name" "$build/modules/$name/$m.ko")"
	done
	# shellcheck disable=SC2086  # lists of words
	copy_modules "$name" "$dir/modules/ours" ${deps//xpv_core/} >"$out/list"
	for m in xpv-core xpv-netfront xpv-blkfront; do
		[[ -f $build/modules/$name/$m.ko ]] || continue
		cp "$build/modules/$name/$m.ko" "$dir/modules/ours/"
		echo "$m.ko" >>"$out/list"
	done
	mv "$out/list" "$dir/modules/ours/list"
	make_cpio "$dir" "$out/ours.cpio"
	rm -rf "$dir"
}

our_tools() {
	[[ -f $top/Makefile ]] && grep -q '^tools:' "$top/Makefile" || return 0
	sync_sources "$build/src/tools"
	root run 6.12 make -C "$rel/src/tools/tools/xpvctl" >"$build/src/tools.log" 2>&1 ||
		die "xpvctl does not build, see $build/src/tools.log"
}

pack() {
	local dir=$build/payload name
	rm -rf "$dir"
	mkdir -p "$dir/bin" "$dir/modules"
	cp "$rig"/dom0/bin/* "$agent" "$build"/helpers/* "$dir/bin/"
	chmod +x "$dir"/bin/*
	find "$build/src/tools" -name xpvctl -type f -perm -1 -exec cp {} "$dir/bin/" \; 2>/dev/null || true
	for name in "${kernels[@]}"; do
		mkdir -p "$dir/guest/$name"
		ln "$build/guest/$name/vmlinuz" "$dir/guest/$name/vmlinuz"
		if [[ -n $stock ]]; then
			ln "$build/guest/$name/base.cpio" "$dir/guest/$name/initramfs"
		else
			cat "$build/guest/$name"/{base,ours}.cpio >"$dir/guest/$name/initramfs"
			cp -r "$build/modules/$name" "$dir/modules/"
		fi
	done
	rm -f "$build/payload.new"
	truncate -s "$PAYLOAD_SIZE" "$build/payload.new"
	mke2fs -q -t ext4 -O ^has_journal -d "$dir" "$build/payload.new" ||
		die "the payload does not fit in $PAYLOAD_SIZE"
	rm -rf "$dir"
	# Running machines keep the old file.
	mv "$build/payload.new" "$build/payload.img"
}

main() {
	local name sum to=
	stock=
	while [[ ${1:-} == --* ]]; do
		case $1 in
		--stock) stock=1 ;;
		--to) to=$2; shift ;;
		*) die "payload.sh: unknown option $1" ;;
		esac
		shift
	done
	mapfile -t kernels < <(printf '%s\n' 6.12 "$RIG_DOM0" "$@" | sort -u)
	need_qemu
	mkdir -p "$build/src"
	lock_for "$build/.payload.lock"
	build_agent
	build_helpers
	for name in "${kernels[@]}"; do
		guest_base "$name"
	done
	sum=$(checksum "$rig/dom0/bin" "$rig/payload.sh" "${kernels[*]}" "$stock" "${RIG_MODULES:-}" \
		"$build"/guest/*/stamp "$build/agent.stamp" "$build/helpers.stamp")
	if [[ -z $stock ]]; then
		[[ -f $top/Kbuild ]] || die "there is no Kbuild: only stock drivers can be tested"
		sum+=$(checksum "$top"/{Kbuild,include,drivers,tools,Makefile})
	fi
	if ! is_stamped "$build/payload.stamp" "$sum" || [[ ! -f $build/payload.img ]]; then
		if [[ -z $stock ]]; then
			for name in "${kernels[@]}"; do
				our_modules "$name"
				guest_ours "$name"
			done
			our_tools
		fi
		rm -f "$build/payload.stamp"
		pack
		echo "$sum" >"$build/payload.stamp"
	fi
	if [[ -n $to ]]; then
		ln -f "$build/payload.img" "$to"
	else
		echo "$build/payload.img"
	fi
}

main "$@"
