#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
#
# scripts/graft.sh LINUX-SOURCE: make this tree a part of a kernel source, as
# drivers/xpv. One symlink, one line in drivers/Kconfig, one line in
# drivers/Makefile; objects go to the kernel's build folder, none come here.
# Running it again changes nothing.
set -euo pipefail

top=$(cd "$(dirname "$0")/.." && pwd)
linux=$(cd "${1:?usage: scripts/graft.sh LINUX-SOURCE}" && pwd)

# Relative, so that the link holds as well where the tree is mounted elsewhere.
ln -sfn "$(realpath --relative-to="$linux/drivers" "$top")" "$linux/drivers/xpv"

grep -q '^source "drivers/xpv/Kconfig"$' "$linux/drivers/Kconfig" ||
	sed -i 's|^endmenu$|source "drivers/xpv/Kconfig"\n\nendmenu|' \
		"$linux/drivers/Kconfig"

grep -q '^obj-y[[:space:]]*+= xpv/$' "$linux/drivers/Makefile" ||
	printf 'obj-y += xpv/\n' >>"$linux/drivers/Makefile"
