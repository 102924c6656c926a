#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
#
# scripts/version.sh: the version that modinfo and xpvctl show. The release in
# VERSION, and in a git checkout the commit, "+" for uncommitted changes.
set -euo pipefail

top=$(cd "$(dirname "$0")/.." && pwd)
release=$(cat "$top/VERSION")
commit=$(git -C "$top" describe --always --exclude '*' --dirty=+ 2>/dev/null) || commit=
printf '%s%s\n' "$release" "${commit:+-g$commit}"
