# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0
#
# Layers above a root folder, for what it does not have itself: Debian's build
# tools, or a machine to install packages on. To be sourced after lib.sh.

layers=$BUILD/layers

# layer_needs DIR KERNEL PACKAGE...: make DIR a layer above that root that has
# these packages, unless it is one. What was downloaded is not kept.
layer_needs() {
	local dir=$1 kernel=$2 root sum

	shift 2
	root=$("$TOP/scripts/root.sh" "$kernel")
	sum=$(cat "$root.stamp" "$root/var/lib/dpkg/status" - <<<"$*" | sha256sum | cut -c1-16)
	[ "$(cat "$dir/stamp" 2>/dev/null)" != "$sum" ] || return 0
	say "installing above the $kernel root: $*"
	rm -rf "$dir"
	# shellcheck disable=SC2016  # expanded by the inner shell
	logged "$dir/log" apt in_layers "$dir" "$kernel" sh -ec '
		apt-get -qq update
		DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends "$@"
		apt-get clean' sh "$@" || die "cannot install; see ${dir#"$TOP"/}/log"
	printf '%s\n' "$sum" >"$dir/stamp"
}

# in_layers DIR[:BELOW...] KERNEL CMD...: like in_root, but what CMD writes goes
# to the layer DIR.
in_layers() {
	local dirs=$1

	shift
	XPV_OVERLAY=$dirs in_root "$@"
}
