#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
#
# scripts/deb-check.sh [KERNEL...]: install the Debian packages with apt on a
# machine with that kernel (default: all) and remove them again: a root folder
# under a layer of its own. Looks at what modprobe would load for each device
# and name, at the initramfs, and at what is left. No module is loaded.
#
# The packages are built first; those for 7.3 are trixie's.
set -euo pipefail
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=layers.sh
. "$(dirname "$0")/layers.sh"

modules="xpv-core xpv-netfront xpv-netback xpv-blkfront xpv-blkback"
version=$(cat "$TOP/VERSION")
passed=0 failed=0

# machine CMD...: on the machine under test; its packages are in /src.
machine() {
	XPV_SRC=$debs in_layers "$work/layer:$base" "$kernel" "$@"
}

# check TEXT CMD...: one line; what CMD says is shown when it fails.
check() {
	local text=$1 t0=$SECONDS status

	shift
	# Not with "||": the steps of CMD must each succeed.
	set +e
	(set -e; "$@") >"$work/out" 2>&1 </dev/null
	status=$?
	set -e
	{
		printf '==== %s\n' "$text"
		cat "$work/out"
	} >>"$work/log"
	if [ "$status" -eq 0 ]; then
		passed=$((passed + 1))
		printf 'ok   Linux %-5s %s, %d s\n' "$kernel" "$text" $((SECONDS - t0))
	else
		failed=$((failed + 1))
		printf 'FAIL Linux %-5s %s, %d s, log build/deb-check/%s/log\n' \
			"$kernel" "$text" $((SECONDS - t0)) "$kernel"
		tail -n 20 "$work/out" | sed 's/^/    | /'
	fi
}

# --- what modprobe would load -------------------------------------------------

# A program for the machine: loads FOLDER NAME prints the modules that modprobe
# would load for NAME in that folder. The commands of "install" lines run as well,
# without loading anything (and not quiet, or it would not say what it would do).
# shellcheck disable=SC2016  # expanded on the machine
loads='
	dir=$1 real=/sbin/modprobe
	configs="-C $dir/etc/modprobe.d -C $dir/usr/lib/modprobe.d"
	dry="$real -n -v -S $KERNEL -d $dir/ $configs"
	walk() {
		while read -r word rest; do
			case $word in
			insmod) rest=${rest%% *} rest=${rest##*/}; echo "${rest%%.ko*}" ;;
			install) eval "$(echo "$rest" | sed "s,$real\( --quiet\)*,\$dry,g")" 2>/dev/null | walk ;;
			esac
		done
	}
	$dry "$2" | walk | tr _ - | grep -xE "xpv-.*|xen-(net|blk)(front|back)" |
		sort -u | paste -s -d " " -
'

# no_lines TEXT: show it; it must be empty.
no_lines() {
	[ -z "$1" ] || { printf '%s\n' "$1"; return 1; }
}

# same GOT WANT
same() {
	[ "$1" = "$2" ] || { printf '"%s" instead of "%s"\n' "$1" "$2"; return 1; }
}

# expect FOLDER NAME MODULES: what does not hold is printed.
expect() {
	local got

	got=$(machine env KERNEL="$release" sh -c "$loads" sh "$1" "$2")
	[ "$got" = "$3" ] || printf '%s loads "%s" instead of "%s"\n' "$2" "$got" "$3"
}

# all_load ours|stock: by the alias of each kind of device, and by stock name.
all_load() {
	local pair stock want bad

	bad=$(for pair in xen:vif=netfront xen:vbd=blkfront xen-backend:vif=netback \
		xen-backend:vbd=blkback; do
		stock=xen-${pair#*=}
		want=$stock
		[ "$1" = stock ] || want=$(printf '%s\n' xpv-core "xpv-${pair#*=}" | sort | paste -s -d ' ')
		expect '' "${pair%=*}" "$want"
		expect '' "$stock" "$want"
	done)
	no_lines "$bad"
}

# --- the steps ------------------------------------------------------------------

# Manuals and documents are left out in root folders; ours are looked for.
apt_install() {
	# shellcheck disable=SC2016  # expanded on the machine
	machine sh -ec '
		printf "path-include=/usr/share/%s/*\n" man doc >/etc/dpkg/dpkg.cfg.d/zz-all
		export DEBIAN_FRONTEND=noninteractive
		exec apt-get install -y --no-install-recommends ./xpv-dkms_*.deb ./xpv-tools_*.deb'
}

apt_away() {
	machine env DEBIAN_FRONTEND=noninteractive apt-get "$1" -y xpv-dkms xpv-tools
}

built_by_dkms() {
	local m

	for m in $modules; do
		same "$(machine modinfo -k "$release" -F version "$m")" "$version"
		machine modinfo -k "$release" -F filename "$m" | grep -F /updates/dkms/
		machine modinfo -k "$release" -F vermagic "$m" | grep "^$release "
	done
}

tools_work() {
	same "$(machine xpvctl --version)" "xpvctl $version"
	machine zgrep -F .SH /usr/share/man/man8/xpvctl.8.gz
	machine bash -ec '. /usr/share/bash-completion/completions/xpvctl; complete -p xpvctl'
	machine ls /usr/share/doc/xpv-dkms/install.md
}

list_initramfs() {
	machine lsinitramfs "/boot/initrd.img-$release"
}

unpack_initramfs() {
	machine sh -ec "rm -rf /tmp/i; unmkinitramfs /boot/initrd.img-$release /tmp/i
		[ ! -d /tmp/i/main ] || mv /tmp/i/main /tmp/i.new
		[ ! -d /tmp/i.new ] || { rm -rf /tmp/i; mv /tmp/i.new /tmp/i; }"
}

initramfs_ours() {
	local file list bad

	list=$(list_initramfs)
	for file in xpv-core.ko xpv-blkfront.ko xpv-netfront.ko modprobe.d/xpv.conf; do
		grep -F "/$file" <<<"$list"
	done
	unpack_initramfs
	bad=$(expect /tmp/i xen:vbd 'xpv-blkfront xpv-core'
		expect /tmp/i xen-netfront 'xpv-core xpv-netfront')
	no_lines "$bad"
}

initramfs_stock() {
	local list bad

	list=$(list_initramfs)
	[ -n "$list" ]
	no_lines "$(grep xpv <<<"$list")"
	unpack_initramfs
	bad=$(expect /tmp/i xen:vbd xen-blkfront)
	no_lines "$bad"
}

# A kernel that DKMS has not built for, as after an upgrade without headers.
stock_without_build() {
	machine dkms uninstall "xpv/$version" -k "$release"
	all_load stock
	machine dkms install "xpv/$version" -k "$release"
	all_load ours
}

# What packaging/xpv.conf says about going back for a while.
stock_when_masked() {
	sed -n 's/^#\t\(blacklist \)/\1/p' "$TOP/packaging/xpv.conf" >"$work/layer/masked"
	same "$(wc -l <"$work/layer/masked")" 4
	machine sh -c 'mkdir -p /etc/modprobe.d; cat >/etc/modprobe.d/xpv.conf' \
		<"$work/layer/masked"
	all_load stock
	machine rm /etc/modprobe.d/xpv.conf
}

nothing_left() {
	local left

	# /tmp holds what this script unpacked.
	left=$(machine find / -xdev -path /tmp -prune -o -iname '*xpv*' -print
		machine sh -c 'grep -rlI xpv /etc /usr/lib/modprobe.d /lib/modules/*/modules.*' || true)
	no_lines "$left"
}

# A machine with DKMS and an initramfs, before our packages.
make_machine() {
	release=$("$TOP/scripts/root.sh" kernel "$kernel")
	layer_needs "$base" "$kernel" dkms initramfs-tools
	if [ ! -e "$base/upper/boot/initrd.img-$release" ]; then
		logged "$work/initramfs.log" initramfs in_layers "$base" "$kernel" \
			update-initramfs -c -k "$release"
	fi
}

check_kernel() {
	check 'stock before' all_load stock
	check 'apt-get install' apt_install
	check 'five modules by DKMS' built_by_dkms
	check 'ours by alias and by name' all_load ours
	check 'ours in the initramfs' initramfs_ours
	check 'stock where DKMS has not built' stock_without_build
	check 'stock when masked' stock_when_masked
	check 'xpvctl, manual page, completion' tools_work
	check 'apt-get remove' apt_away remove
	check 'stock by alias and by name' all_load stock
	check 'stock in the initramfs' initramfs_stock
	check 'apt-get purge' apt_away purge
	check 'nothing left' nothing_left
}

# packages SUITE: built once for all kernels of this run.
packages() {
	debs=$BUILD/deb/$1
	[[ " $built " != *" $1 "* ]] || return 0
	"$TOP/scripts/deb.sh" "$1" || return 1
	built+=" $1"
}

built=
[ $# -gt 0 ] || set -- 6.1 6.12 7.3
for kernel in "$@"; do
	suite=trixie
	[ "$kernel" != 6.1 ] || suite=bookworm
	work=$BUILD/deb-check/$kernel base=$layers/machine-$kernel
	rm -rf "$work"
	mkdir -p "$work" "$layers"
	if packages "$suite" && (make_machine); then
		release=$("$TOP/scripts/root.sh" kernel "$kernel")
		check_kernel
		rm -rf "$work/layer"
	else
		failed=$((failed + 1))
		printf 'FAIL Linux %-5s no packages or no machine, see above\n' "$kernel"
	fi
done
close_level "$passed" "$failed" 0
