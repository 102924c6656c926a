#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
#
# scripts/dkms-tree.sh [DESTDIR]: copy what a module build needs to
# DESTDIR/usr/src/xpv-VERSION, with dkms.conf at its top.
set -euo pipefail
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

version=$(cat "$TOP/VERSION")
dir=${1:-}/usr/src/xpv-$version

rm -rf "$dir"
copy_sources "$dir"
install -m 644 "$TOP/packaging/dkms.conf" "$dir/dkms.conf"
printf 'sources in %s; now: dkms install xpv/%s\n' "$dir" "$version"
