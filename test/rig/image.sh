#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Builds what dom0 boots from: its disk, Xen, kernel and initrd, below
# build/rig/dom0/KERNEL.  Nothing of the drivers under test goes in, so a
# change of the code does not cost a new image.
#
# usage: test/rig/image.sh [KERNEL]      KERNEL of dom0: 6.12 (default), 6.1, 7.3
set -euo pipefail
# shellcheck source=lib/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib/common.sh"

RIG_DOM0=${1:-$RIG_DOM0}

# What the rig never uses, by size.
unused='usr/src usr/include usr/lib/gcc usr/libexec/gcc usr/share/locale usr/share/perl
	usr/share/info usr/lib/x86_64-linux-gnu/perl var/cache/apt var/lib/apt boot src'
unused_modules='drivers/gpu drivers/media drivers/net/wireless drivers/net/ethernet
	drivers/infiniband drivers/usb drivers/staging drivers/scsi drivers/iio
	drivers/hid drivers/input drivers/mmc drivers/mtd drivers/target sound
	fs/ocfs2 fs/btrfs fs/nfs fs/nfsd fs/smb fs/ceph fs/f2fs fs/gfs2'

# A farm of hard links costs nothing; files are removed or replaced in it,
# never written in place.
stage_root() {
	local stage=$1 version path
	version=$(kernel_of "$RIG_DOM0")
	rm -rf "$stage"
	cp -al "$(root_of 6.12)" "$stage"
	for path in $unused; do
		rm -rf "${stage:?}/$path"
	done
	find "$stage/usr/lib" -name '*.a' -delete
	if [[ $RIG_DOM0 != 6.12 ]]; then
		rm -rf "$stage"/usr/lib/modules/*
		cp -al "$(root_of "$RIG_DOM0")/lib/modules/$version" "$stage/usr/lib/modules/"
	fi
	for path in $unused_modules; do
		rm -rf "$stage/usr/lib/modules/$version/kernel/$path"
	done
	rm -f "$stage/usr/lib/modules/$version"/{build,source}
	mkdir -p "$stage/rig"
	cp "$agent" "$stage/rig/agent"
	cp "$rig/dom0/init" "$stage/rig/init"
	chmod +x "$stage/rig/init" "$stage/rig/agent"
	# Hotplug scripts ask iptables on every vif; its first answer loads a
	# dozen modules, and no case filters packets.
	rm -f "$stage"/usr/sbin/iptables "$stage"/usr/sbin/ip6tables
	rm -f "$stage/etc/xen/xl.conf"
	printf 'autoballoon="off"\nvif.default.script="vif-bridge"\n' >"$stage/etc/xen/xl.conf"
}

build_disk() {
	local stage=$1 out=$2
	rm -f "$out"
	truncate -s 3G "$out"
	mke2fs -q -t ext4 -O ^has_journal -E lazy_itable_init=1 -d "$stage" "$out"
}

build_initrd() {
	local dir=$1 out=$2
	rm -rf "$dir"
	mkdir -p "$dir/bin"
	cp "$(root_of 6.12)/usr/bin/busybox" "$dir/bin/busybox"
	install -m 755 "$rig/dom0/initrd-init" "$dir/init"
	copy_modules "$RIG_DOM0" "$dir/modules" virtio_pci virtio_blk crc32c_generic \
		crc32c-cryptoapi crc32c_intel ext4 >"$build/modules.list"
	mv "$build/modules.list" "$dir/modules/list"
	make_cpio "$dir" "$out"
}

main() {
	local out sum start=$SECONDS root12
	out=$(dom0_dir)
	need_qemu
	mkdir -p "$build"
	lock_for "$build/.image.lock"
	build_agent
	sum=$(checksum "$rig/image.sh" "$rig"/dom0/*init "$rig/agent" "$(root stamp 6.12)" \
		"$(root stamp "$RIG_DOM0")" "$(kernel_of "$RIG_DOM0")")
	is_stamped "$out/stamp" "$sum" && return
	note "building the disk of dom0, Linux $(kernel_of "$RIG_DOM0")"
	root12=$(root_of 6.12)
	rm -rf "$out"
	mkdir -p "$out"
	stage_root "$out/stage"
	build_disk "$out/stage" "$out/root.ext4"
	rm -rf "$out/stage"
	build_initrd "$out/initrd" "$out/initrd.cpio"
	rm -rf "$out/initrd"
	# QEMU loads Xen by multiboot, which knows ELF files, not gzip.
	gzip -dc "$root12"/boot/xen-4.20-amd64.gz >"$out/xen"
	cp "$(root_of "$RIG_DOM0")/boot/vmlinuz-$(kernel_of "$RIG_DOM0")" "$out/vmlinuz"
	echo "$sum" >"$out/stamp"
	note "disk of dom0 ready after $((SECONDS - start)) s"
}

main
