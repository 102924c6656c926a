#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Builds the Debian root file systems everything else starts from: the place
# where modules for one kernel are compiled, and the source of the rig's dom0
# and guest images.  A root is rebuilt only when its recipe below changes.
set -euo pipefail

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
roots=${XPV_ROOTS:-$top/build/roots}

usage() {
	cat <<-END
	usage: scripts/root.sh NAME             build the root if needed, print its path
	       scripts/root.sh run NAME CMD...  run CMD inside it, this tree at /src
	       scripts/root.sh kernel NAME      print the version of its kernel
	       scripts/root.sh stamp NAME       print a checksum of its recipe
	       scripts/root.sh --help

	NAME   6.1    Debian 12
	       6.12   Debian 13, also dom0 of the rig: Xen 4.20 and its tools
	       7.3    Debian 13 with kernel and headers from backports

	Each root has a kernel image, its headers, and the compiler they were made
	for.  Roots live in build/roots (or \$XPV_ROOTS) and may be deleted at any
	time.  "run" needs root: it uses a mount namespace of its own and leaves no
	mounts behind.  The working directory of CMD is /src.

	XPV_OVERLAY=DIR[:BELOW...]  "run" changes DIR instead of the root: what CMD
	writes goes to DIR/upper; BELOW are such folders of earlier runs, under it.
	END
}

say() { echo "root: $*" >&2; }
die() { say "$*"; exit 1; }

# What it takes to build out-of-tree modules, and what the rig's agents need.
build_packages='gcc make bc libc6-dev libelf-dev pahole kmod sparse'
build_packages+=' busybox-static util-linux xz-utils zstd'

# Xen, its tools, and everything a test case may call in dom0 or a guest.
rig_packages='xen-system-amd64 xen-utils-4.20 libxen-dev qemu-system-xen seabios ipxe-qemu
	libjansson-dev libncurses-dev linux-source-6.12 pkgconf
	iproute2 bridge-utils iptables ethtool iperf3 netperf fio socat tcpdump
	iputils-ping e2fsprogs xfsprogs udev procps psmisc python3-minimal strace'

# Sets suite, kernel (packages), packages, backports for the root NAME.
recipe() {
	backports=
	case $1 in
	6.1)
		suite=bookworm
		packages=$build_packages
		;;
	6.12)
		suite=trixie
		packages="$build_packages $rig_packages"
		;;
	7.3)
		suite=trixie
		backports=trixie-backports
		packages=$build_packages
		;;
	*)
		usage >&2
		die "no root is called '$1'"
		;;
	esac
	kernel="linux-image-amd64${backports:+/$backports} linux-headers-amd64${backports:+/$backports}"
}

stamp() {
	recipe "$1"
	echo "3 $suite $backports $kernel $packages" | tr -s ' \t\n' ' ' | sha256sum | cut -c1-16
}

fresh() {
	[[ -d $roots/$1 && $(cat "$roots/$1.stamp" 2>/dev/null) == "$(stamp "$1")" ]]
}

need_tools() {
	command -v mmdebstrap >/dev/null && return
	say "installing mmdebstrap"
	apt-get -qq update >&2 || true
	DEBIAN_FRONTEND=noninteractive apt-get -qq -y install mmdebstrap >/dev/null 2>&1 || die "needs the package mmdebstrap"
}

# Runs under the lock.  Nobody boots these kernels by their own initrd, so
# the hook that would build one (20 s each) is left out, as are manuals.
build() {
	local name=$1 include tmp start
	tmp=$roots/$name.tmp
	start=$SECONDS

	need_tools
	recipe "$name"
	say "building $name ($suite${backports:+ + $backports}), a few minutes"
	rm -rf "$tmp" "$roots/$name.stamp"
	include=$(tr -s ' \t\n' ',' <<<"$kernel $packages")
	local -a hooks=()
	if [[ -n $backports ]]; then
		# shellcheck disable=SC2016  # expanded by the hook's shell
		hooks=("--setup-hook=sed -n \"s/ $suite / $backports /p\" \"\$1/etc/apt/sources.list\" >\"\$1/etc/apt/sources.list.d/backports.list\"")
	fi
	mmdebstrap --mode=root --variant=minbase --components=main,non-free,non-free-firmware \
		--include="${include%,}" "${hooks[@]}" \
		--dpkgopt='path-exclude=/etc/kernel/postinst.d/initramfs-tools' \
		--dpkgopt='path-exclude=/usr/share/man/*' \
		--dpkgopt='path-exclude=/usr/share/doc/*' \
		--dpkgopt='path-exclude=/usr/share/locale/*' \
		--dpkgopt='force-unsafe-io' \
		"$suite" "$tmp" >&2 || die "mmdebstrap failed for $name"
	mkdir -p "$tmp/src"
	rm -rf "${roots:?}/$name"
	mv "$tmp" "$roots/$name"
	stamp "$name" >"$roots/$name.stamp"
	say "$name ready after $((SECONDS - start)) s, $(du -sm "$roots/$name" | cut -f1) MB"
}

# One lock for all roots: two mmdebstrap at once only share the network, and
# two callers of the same root must not build it twice.
ensure() {
	recipe "$1"
	mkdir -p "$roots"
	if fresh "$1"; then
		return
	fi
	[[ $EUID -eq 0 ]] || die "building a root needs root rights"
	exec {lock}>"$roots/.lock"
	if ! flock -n "$lock"; then
		say "waiting for another build to end"
		flock "$lock"
	fi
	fresh "$1" || build "$1"
	exec {lock}>&-
}

kernel_of() {
	local -a found
	found=("$roots/$1"/lib/modules/*-amd64)
	[[ -d ${found[0]} ]] || die "no kernel in $roots/$1"
	basename "${found[-1]}"
}

# The options of the overlay that XPV_OVERLAY asks for above the folder $1.
overlay_options() {
	local -a dirs
	local dir below=
	IFS=: read -ra dirs <<<"$XPV_OVERLAY"
	for dir in "${dirs[@]:1}"; do
		below+=$dir/upper:
	done
	mkdir -p "${dirs[0]}/upper" "${dirs[0]}/work"
	echo "lowerdir=$below$1,upperdir=${dirs[0]}/upper,workdir=${dirs[0]}/work"
}

run_in() {
	local root=$roots/$1 overlay=
	shift
	[[ $# -gt 0 ]] || die "run: which command?"
	[[ -z ${XPV_OVERLAY:-} ]] || overlay=$(overlay_options "$root")
	# shellcheck disable=SC2016  # expanded by the inner shell
	exec unshare --mount --propagation private -- bash -euc '
		root=$1 src=$2 overlay=$3
		shift 3
		[[ -z $overlay ]] || mount -t overlay overlay -o "$overlay" "$root"
		mount --bind "$src" "$root/src"
		mount -t proc proc "$root/proc"
		mount --rbind /dev "$root/dev"
		exec chroot "$root" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin \
			HOME=/root LC_ALL=C.UTF-8 TERM="${TERM:-dumb}" \
			/bin/sh -c '\''cd /src && exec "$@"'\'' sh "$@"
	' bash "$root" "${XPV_SRC:-$top}" "$overlay" "$@"
}

case ${1:-} in
-h | --help | '')
	usage
	[[ -n ${1:-} ]] || exit 2
	;;
run)
	[[ $# -ge 3 ]] || { usage >&2; exit 2; }
	ensure "$2"
	run_in "${@:2}"
	;;
kernel)
	ensure "${2:?}"
	kernel_of "$2"
	;;
stamp)
	stamp "${2:?}"
	;;
*)
	ensure "$1"
	echo "$roots/$1"
	;;
esac
