#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
#
# scripts/matrix.sh [KERNEL...]: build the five modules for each supported
# kernel (default: all) in the root folder of that kernel, with W=1 and sparse.
# Any warning about our files is a failure. The sources are copied to
# build/matrix/KERNEL/src first and built whole, so that every warning shows
# each time and no object lands in the tree. The modules stay there.
set -euo pipefail
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

modules="xpv-core xpv-netfront xpv-netback xpv-blkfront xpv-blkback"
passed=0 failed=0

# KBUILD_CHECKSRC=2 is what C=2 sets. Debian's 7.3 headers lack the script that
# C=2 asks whether sparse is new enough, and go on without sparse.
#
# Sparse runs over kernel headers that are not always clean themselves, so
# instead of -Wsparse-error the messages are read here.
sparse_flags="-Wbitwise -Wcontext -Waddress-space"

# messages LOG: what the compiler, sparse or modpost said about our files. The
# kernel's own headers are named by their absolute path.
messages() {
	grep -E '(warning|error|WARNING|ERROR): ' "$1" |
		grep -vE '^/usr/(src|lib)/|note: in included file|Skipping BTF' |
		sort -u
}

# unchecked LOG: how many of our files were compiled without sparse.
unchecked() {
	local built checked

	built=$(grep -cE '^  CC \[M\]  .*drivers/' "$1") || true
	checked=$(grep -cE '^  CHECK +.*drivers/' "$1") || true
	[ "$built" -eq "$checked" ] ||
		printf 'sparse looked at %d of %d files\n' "$checked" "$built"
	# After an error, also in a header, sparse keeps its warnings to itself.
	grep -E '^/usr/[^ ]*: error: ' "$1" | sort -u | head -n 20 || true
}

# missing_modules DIR: each module that the build should have left and did not.
missing_modules() {
	local m

	for m in $modules; do
		[ -e "$1/$m.ko" ] || printf 'no %s.ko\n' "$m"
	done
}

build_for() {
	local kernel=$1 dir log version status=0

	dir=$BUILD/matrix/$kernel
	log=$dir/build.log
	version=$("$TOP/scripts/root.sh" kernel "$kernel") || return 1
	root_needs "$kernel" make:make gcc:gcc sparse:sparse
	rm -rf "$dir/src"
	copy_sources "$dir/src"
	cp "$TOP/scripts/sparse.h" "$dir/"
	logged "$log" "Linux $kernel" in_root "$kernel" \
		make -C "/lib/modules/$version/build" \
		M="/src/build/matrix/$kernel/src" XPV_VERSION="$("$TOP/scripts/version.sh")" \
		W=1 KBUILD_CHECKSRC=2 \
		CF="$sparse_flags -include /src/build/matrix/$kernel/sparse.h" -j"$(nproc)" modules || status=$?
	{
		messages "$log" || true
		unchecked "$log"
		missing_modules "$dir/src"
		[ "$status" -eq 0 ] || printf 'make: status %d\n' "$status"
	} >"$dir/problems"
	printf '%s' "$version" >"$dir/version"
}

report() {
	local kernel=$1 took=$2 dir

	dir=$BUILD/matrix/$kernel
	if [ -s "$dir/problems" ]; then
		failed=$((failed + 1))
		printf 'FAIL Linux %-5s %s, %d s, log build/matrix/%s/build.log\n' \
			"$kernel" "$(cat "$dir/version")" "$took" "$kernel"
		head -n 60 "$dir/problems" | sed 's/^/    | /'
	else
		passed=$((passed + 1))
		printf 'ok   Linux %-5s %s, %d s, five modules, no warning\n' \
			"$kernel" "$(cat "$dir/version")" "$took"
	fi
}

[ $# -gt 0 ] || set -- 6.1 6.12 7.3
for kernel in "$@"; do
	t0=$SECONDS
	rm -f "$BUILD/matrix/$kernel/problems"
	if ! (build_for "$kernel"); then
		mkdir -p "$BUILD/matrix/$kernel"
		printf 'cannot build: see above\n' >"$BUILD/matrix/$kernel/problems"
		[ -e "$BUILD/matrix/$kernel/version" ] || : >"$BUILD/matrix/$kernel/version"
	fi
	report "$kernel" $((SECONDS - t0))
done
close_level "$passed" "$failed" 0
