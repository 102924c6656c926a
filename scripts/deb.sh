#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
#
# scripts/deb.sh [SUITE]: the Debian packages xpv-dkms and xpv-tools, and their
# source, for bookworm or trixie (default), into build/deb/SUITE. Debian's own
# tools make them in a layer above the root folder of that suite; any finding of
# lintian is a failure.
set -euo pipefail
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=layers.sh
. "$(dirname "$0")/layers.sh"

build_tools="build-essential debhelper dh-dkms fakeroot libjansson-dev libncurses-dev
	libxen-dev lintian pkgconf"

# The number of a suite makes an upgrade of Debian an upgrade of the package.
suite=${1:-trixie}
case $suite in
bookworm) kernel=6.1 number=12 ;;
trixie) kernel=6.12 number=13 ;;
*) die "no suite is called '$suite': bookworm, trixie" ;;
esac
version=$(cat "$TOP/VERSION")
out=$BUILD/deb/$suite
tree=$out/xpv-$version

in_tools() {
	XPV_SRC=$out in_layers "$layers/deb-$suite" "$kernel" "$@"
}

copy_tree() {
	mkdir -p "$tree"
	{
		git -C "$TOP" ls-files -co --exclude-standard 2>/dev/null ||
			(cd "$TOP" && find . -path ./build -prune -o -type f -print)
	} | tar -C "$TOP" --ignore-failed-read -cf - -T - 2>/dev/null | tar -C "$tree" -xf -
	mv "$tree/packaging/debian" "$tree/debian"
}

# The date of the last commit is that of everything in the packages.
write_changelog() {
	local date commit

	date=$(git -C "$TOP" log -1 --format=%ct 2>/dev/null) || date=$(stat -c %Y "$TOP/VERSION")
	commit=$("$TOP/scripts/version.sh")
	cat >"$tree/debian/changelog" <<-END
	xpv ($version+deb$number) $suite; urgency=medium

	  * Release $version, from the sources of $commit.

	 -- $(sed -n 's/^Maintainer: //p' "$tree/debian/control")  $(date -R -u -d "@$date")
	END
}

# Any finding counts, whatever its weight. The packages follow the policy of the
# older suite, which the newer one calls out of date.
check_packages() {
	local log=$out/lintian.log status=0

	in_tools sh -c 'lintian --allow-root --pedantic -I \
		--suppress-tags out-of-date-standards-version ./*.changes' >"$log" 2>&1 || status=$?
	if grep -E '^[EWIPX]: ' "$log" >&2; then
		die "lintian is not content"
	fi
	[ "$status" -eq 0 ] || die "lintian broke; see build/deb/$suite/lintian.log"
}

rm -rf "$out"
mkdir -p "$out" "$layers"
# shellcheck disable=SC2086
layer_needs "$layers/deb-$suite" "$kernel" $build_tools
copy_tree
write_changelog
logged "$out/build.log" "packages for $suite" in_tools sh -c \
	"cd xpv-$version && dpkg-buildpackage -us -uc" || {
	tail -n 30 "$out/build.log" >&2
	die "cannot build; see build/deb/$suite/build.log"
}
rm -rf "$tree"
check_packages
(cd "$TOP" && ls "build/deb/$suite"/*.deb)
