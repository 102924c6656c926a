# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2034,SC2154,SC2016
#
# Paths, names and small tools shared by every script of the rig.  Sourced.

rig=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
top=$(cd "$rig/../.." && pwd)
build=$top/build/rig
rel=build/rig				# the same, seen from inside a root
agent=$build/agent

# Kernel of dom0, and whether time is counted in instructions.
RIG_DOM0=${RIG_DOM0:-6.12}
RIG_ICOUNT=${RIG_ICOUNT:-0}

tag() { echo "$RIG_DOM0$([[ $RIG_ICOUNT == 0 ]] || echo -icount)"; }
dom0_dir() { echo "$build/dom0/$RIG_DOM0"; }
state_dir() { echo "${RIG_STATES:-$build/state}/$(tag)"; }

note() { echo "rig: $*" >&2; }
die() { note "$*"; exit 1; }

root() { "$top/scripts/root.sh" "$@"; }

# Roots are needed by path all the time; ask root.sh for each only once.
declare -A root_path root_kernel
root_of() {
	[[ -n ${root_path[$1]:-} ]] || root_path[$1]=$(root "$1" | tail -n 1)
	echo "${root_path[$1]}"
}
kernel_of() {
	[[ -n ${root_kernel[$1]:-} ]] || root_kernel[$1]=$(root kernel "$1")
	echo "${root_kernel[$1]}"
}

# One checksum over files, folders and words, for the stamps of what is built.
checksum() {
	local arg
	for arg; do
		if [[ -e $arg ]]; then
			find "$arg" -type f -print0 | sort -z | xargs -0r sha256sum | cut -c1-64
		else
			echo "$arg"
		fi
	done | sha256sum | cut -c1-16
}

is_stamped() { [[ $(cat "$1" 2>/dev/null) == "$2" ]]; }

need_qemu() {
	local packages='qemu-system-x86 qemu-utils e2fsprogs xz-utils'
	command -v qemu-system-x86_64 >/dev/null && command -v qemu-img >/dev/null &&
		command -v mke2fs >/dev/null && command -v xz >/dev/null && return
	note "installing $packages"
	apt-get -qq update >&2 || true
	# shellcheck disable=SC2086  # a list of words
	DEBIAN_FRONTEND=noninteractive apt-get -qq -y --no-install-recommends install $packages >/dev/null 2>&1 ||
		die "needs the packages $packages"
}

# Takes the lock FILE for as long as the calling shell (a subshell) lives.
lock_for() {
	mkdir -p "$(dirname "$1")"
	exec {rig_lock}>"$1"
	flock -n "$rig_lock" || { note "waiting for $(basename "$1")"; flock "$rig_lock"; }
}

build_agent() {
	local sum
	sum=$(checksum "$rig/agent" "$(root stamp 6.12)")
	is_stamped "$agent.stamp" "$sum" && [[ -x $agent ]] && return
	root run 6.12 gcc -std=gnu11 -O2 -Wall -Wextra -Werror -static -o "$rel/agent.new" \
		test/rig/agent/{main,run,serve,console,monitor}.c >&2 || die "the agent does not build"
	mv "$agent.new" "$agent"
	echo "$sum" >"$agent.stamp"
}

# make_cpio DIR FILE, both below the build folder: DIR becomes an initramfs.
make_cpio() {
	root run 6.12 sh -c "cd '${1#"$top/"}' && find . | busybox cpio -o -H newc 2>/dev/null >'/src/${2#"$top/"}'"
}

# modules_of KERNEL-NAME MODULE...: files of the modules and all they need,
# in the order in which insmod takes them.
modules_of() {
	local name=$1 version
	shift
	version=$(kernel_of "$name")
	# shellcheck disable=SC2016  # expanded by the inner shell
	root run "$name" sh -c '
		version=$1
		shift
		for m; do
			modprobe -S "$version" --show-depends "$m" 2>/dev/null || true
		done | awk "\$1 == \"insmod\" && !seen[\$2]++ { print \$2 }"
	' sh "$version" "$@"
}

# copy_modules KERNEL-NAME DIR MODULE...: unpacks them flat into DIR, prints
# their names in order.  busybox's insmod does not unpack by itself.
copy_modules() {
	local name=$1 dir=$2 path base root file
	shift 2
	root=$(root_of "$name")
	mkdir -p "$dir"
	for path in $(modules_of "$name" "$@"); do
		base=$(basename "$path")
		file=$root$path
		case $base in
		*.xz) xz -dc "$file" >"$dir/${base%.xz}" ;;
		*.zst) zstd -qdc "$file" >"$dir/${base%.zst}" ;;
		*) cp "$file" "$dir/$base" ;;
		esac
		base=${base%.xz}
		echo "${base%.zst}"
	done
}
