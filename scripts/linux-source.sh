#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
#
# scripts/linux-source.sh: make sure that build/kunit/linux holds the Linux
# 6.12 source of the matching root folder, with this tree grafted in, and print
# its path. Used by make kunit (to build it) and make lint (checkpatch,
# kernel-doc). Progress goes to stderr.
set -euo pipefail
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

linux=$BUILD/kunit/linux
stamp=$BUILD/kunit/linux.stamp

mkdir -p "$BUILD/kunit"
exec 9>"$BUILD/kunit/linux.lock"
flock 9

root=$("$TOP/scripts/root.sh" 6.12)
tarball=$(find "$root/usr/src" -maxdepth 1 -name 'linux-source-*.tar.xz' | sort -V | tail -n 1)
[ -n "$tarball" ] || die "no linux-source tarball below $root/usr/src"
# shellcheck disable=SC2012
id=$(stat -c '%s %Y' "$tarball")

if [ "$(cat "$stamp" 2>/dev/null)" != "$id" ]; then
	say "unpacking ${tarball##*/}" >&2
	rm -rf "$linux" "$stamp" "$BUILD/kunit/out"
	mkdir -p "$linux"
	# Kconfig reads files all over the tree; of the big parts that UML never
	# compiles, only the sources are left out.
	tar -xJf "$tarball" -C "$linux" --strip-components=1 \
		--exclude='*/Documentation/*.rst' --exclude='*/Documentation/*.yaml' \
		--exclude='*/Documentation/*.txt' --exclude='*/drivers/gpu/*.[ch]' \
		--exclude='*/sound/*.[ch]' --exclude='*/tools/perf'
	printf '%s\n' "$id" >"$stamp"
fi
"$TOP/scripts/graft.sh" "$linux"
printf '%s\n' "$linux"
