#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
#
# scripts/check.sh [CHECK...]: the gate that needs no kernel build. Each check
# is a function check_NAME below: it prints what is wrong, one line a finding,
# and nothing if all is well. Whatever git would track is checked, committed or
# not.
set -euo pipefail
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
cd "$TOP"

passed=0 failed=0 skipped=0

# --- which files -------------------------------------------------------------

all_files() {
	local f

	{
		git ls-files -co --exclude-standard 2>/dev/null ||
			find . -path ./build -prune -o -type f -printf '%P\n'
	} | sort -u | while read -r f; do
		[ ! -f "$f" ] || printf '%s\n' "$f"
	done
}

# files REGEX: the tree's files with a matching path, one a line.
files() {
	grep -E "$1" <<<"$tree" || true
}

c_files() {
	files '\.[ch]$'
}

kernel_files() {
	files '^(drivers|include|test/kunit|test/peer)/.*\.[ch]$'
}

# Scripts are known by their first line, or by their name where they are read
# by another one.
shell_files() {
	local f

	while read -r f; do
		case $f in
		*.sh) printf '%s\n' "$f" ;;
		*) ! head -n 1 "$f" | grep -qaE '^#!.*\b(bash|sh)\b' || printf '%s\n' "$f" ;;
		esac
	done <<<"$tree"
}

# on FILES COMMAND...: run the command with the files as arguments, if any.
on() {
	local list=$1

	shift
	[ -n "$list" ] || return 0
	xargs -r -d '\n' "$@" <<<"$list"
}

# code FILES: "file:line:text" of the files without comments.
code() {
	on "$1" awk -f scripts/strip-comments.awk
}

# --- style -------------------------------------------------------------------

# Types that checkpatch complains about for reasons that do not hold here:
#  FILE_PATH_CHANGES, MAINTAINERS  are about patches to the kernel's own tree
#  PREFER_ETHTOOL_PUTS  there is no ethtool_puts() in 6.1
#  MINMAX               it guesses types; the compiler checks those of min()
# in compat.h, the place for them:
#  LINUX_VERSION_CODE, CONSTANT_COMPARISON, MACRO_ARG_UNUSED,
#  MACRO_WITH_FLOW_CONTROL
# in programs, where the kernel's helpers do not exist:
#  PREFER_KERNEL_TYPES, CAMELCASE (PRIx64), BIT_MACRO, USE_NEGATIVE_ERRNO,
#  PREFER_DEFINED_ATTRIBUTE_MACRO, STRCPY, VOLATILE (sig_atomic_t)
#  EMBEDDED_FUNCTION_NAME  "usage: ..." in usage() is meant so
ignore_always=FILE_PATH_CHANGES,MAINTAINERS,PREFER_ETHTOOL_PUTS,MINMAX
ignore_compat=LINUX_VERSION_CODE,CONSTANT_COMPARISON,MACRO_ARG_UNUSED
ignore_compat+=,MACRO_WITH_FLOW_CONTROL
ignore_programs=PREFER_KERNEL_TYPES,CAMELCASE,BIT_MACRO,USE_NEGATIVE_ERRNO
ignore_programs+=,PREFER_DEFINED_ATTRIBUTE_MACRO,STRCPY,VOLATILE,EMBEDDED_FUNCTION_NAME

# A copy of checkpatch that knows our words: __peer is a mark like __iomem
# (without that, "__peer *" looks like a product), XPV_EXPORT and KUnit's tables
# follow their function without a blank line as EXPORT_SYMBOL does.
our_checkpatch() {
	local ours=$linux/scripts/checkpatch-xpv.pl

	sed -e 's/^\(\s*\)__iomem|/&\n\1__peer|/' \
		-e 's/(?:EXPORT_SYMBOL|early_param/(?:EXPORT_SYMBOL|XPV_EXPORT|KUNIT_|early_param/' \
		-e 's/EXPORT_SYMBOL\.\*/(?:EXPORT_SYMBOL|XPV_EXPORT).*/' \
		"$linux/scripts/checkpatch.pl" >"$ours.$$"
	mv "$ours.$$" "$ours"
	printf '%s\n' "$ours"
}

# checkpatch FILES IGNORE: names that Xen's headers give us stay as they are.
checkpatch() {
	on "$1" perl "$(our_checkpatch)" --no-tree --strict --terse --quiet --no-summary \
		--ignore "$ignore_always${2:+,$2}" -f 2>&1 |
		grep -vE '^fatal: your current branch|Avoid CamelCase: <(Xenbus|XenbusState[A-Za-z]*)>' ||
		true
}

check_checkpatch() {
	checkpatch "$(kernel_files | grep -vxF include/xpv/compat.h)"
	checkpatch include/xpv/compat.h "$ignore_compat"
	checkpatch "$(c_files | grep -vxF -f <(kernel_files))" "$ignore_programs"
	rm -f .checkpatch-camelcase.*
}

check_whitespace() {
	local f

	on "$(files '.')" grep -nIE '[[:blank:]]+$' /dev/null
	while read -r f; do
		[ ! -s "$f" ] || [ -z "$(tail -c 1 "$f" | tr -d '\n\0')" ] ||
			printf '%s: no newline at the end\n' "$f"
	done <<<"$tree"
}

check_sizes() {
	on "scripts/size-exceptions
$(c_files)
$(shell_files)" awk -f scripts/sizes.awk
}

check_spdx() {
	local f

	while read -r f; do
		case $f in
		*.c) head -n 1 "$f" | grep -qx '// SPDX-License-Identifier: GPL-2.0' ;;
		*.h) head -n 1 "$f" | grep -qxF '/* SPDX-License-Identifier: GPL-2.0 */' ;;
		*) head -n 3 "$f" | grep -qE '^# SPDX-License-Identifier: GPL-2.0$' ;;
		esac || printf '%s: no SPDX line where it belongs\n' "$f"
	done < <(c_files; shell_files; files '(^|/)(Makefile|Kbuild|Kconfig|kunitconfig)$|\.awk$')
}

# Comments of the shared headers must match what they describe. A parameter
# that its name explains needs no line of its own.
check_kernel_doc() {
	on "$(files '^include/xpv/.*\.h$')" perl "$linux/scripts/kernel-doc" -none 2>&1 |
		grep -vE ' not described in |^[0-9]+ (warnings|errors)' || true
}

check_codespell() {
	on "$(files '\.(c|h|sh|md|8|awk)$|^(Makefile|Kbuild|Kconfig)$')" \
		codespell -q 3 -I scripts/codespell-words
}

# --- architecture ------------------------------------------------------------

# Only the seam speaks to Xen; only it compiles on x86 alone.
check_seam() {
	on "$(kernel_files | grep -vE '^drivers/core/hyp_xen[a-z_]*\.[ch]$')" \
		grep -nE '#include <xen/(grant_table|events|page|xenbus|balloon|features)\.h>' /dev/null
	code "$(kernel_files | grep -vE '^drivers/core/hyp_xen[a-z_]*\.[ch]$|/compat\.h$')" |
		grep -E '[^a-z_](gnttab|xenbus|HYPERVISOR)_[a-z_]+ *\(' || true
}

# Shared memory is read in one audited header; elsewhere no cast of a pointer
# may take the __peer mark off.
check_peer_memory() {
	code "$(kernel_files | grep -vxF include/xpv/ring.h)" |
		grep -E '\(__force[^)]*\*' || true
}

# A peer must not be able to stop or taint the machine.
check_no_bug() {
	code "$(files '^(drivers|include)/.*\.[ch]$')" |
		grep -E '[^A-Za-z_](BUG|BUG_ON|WARN|WARN_ON|WARN_ONCE|WARN_ON_ONCE|panic|BUILD_BUG) *\(' |
		grep -vE 'BUILD_BUG' || true
}

check_compat() {
	code "$(kernel_files | grep -vxF include/xpv/compat.h)" |
		grep -E 'LINUX_VERSION_CODE|KERNEL_VERSION *\(|linux/version\.h' || true
}

check_exports() {
	code "$(kernel_files | grep -vxF include/xpv/compat.h)" |
		grep -E '[^A-Z_](EXPORT_SYMBOL[A-Z_]*|MODULE_IMPORT_NS) *\(' || true
}

# Kbuild is the one list of objects: a driver file it does not name is never
# built. (It takes the suites in test/kunit as they are.)
check_kbuild() {
	local f

	for f in $(files '^drivers/.*\.c$'); do
		grep -qE "(^|[[:space:]])${f%.c}\.o([[:space:]]|$)" Kbuild ||
			printf '%s: not named in Kbuild\n' "$f"
	done
	grep -oE '[a-z_/]+/[a-z_/0-9]+\.o' Kbuild | sort -u | while read -r f; do
		[ -e "${f%.o}.c" ] || printf 'Kbuild: %s has no source\n' "$f"
	done
}

# One release number: the file VERSION; dkms.conf cannot read it.
check_version() {
	grep -qxF "PACKAGE_VERSION=\"$(cat VERSION)\"" packaging/dkms.conf ||
		printf 'packaging/dkms.conf: PACKAGE_VERSION is not %s\n' "$(cat VERSION)"
}

# --- words -------------------------------------------------------------------

# The words are put together here so that this line does not find itself.
check_marks() {
	on "$(files '.' | grep -v '^LICENSE')" grep -nIwE "TO""DO|FIX""ME|XX""X|HA""CK" /dev/null || true
}

# Hosts that packages come from are the business of the machine: they are read
# from its configuration, so none has to be named here.
registry_hosts() {
	{
		grep -rhoE 'https?://[^/ ]+' /etc/apt/sources.list /etc/apt/sources.list.d \
			2>/dev/null || true
		npm config get registry 2>/dev/null || true
	} | sed -E 's,https?://,,; s,/.*,,; s,\.,\\.,g' | grep -F . | sort -u | paste -sd '|'
}

check_hosts() {
	local hosts

	hosts=$(registry_hosts)
	[ -z "$hosts" ] || on "$tree" grep -nIE "$hosts" /dev/null || true
}

# A path of one machine: where this checkout lies, or somebody's home. A folder
# of every machine, such as that of temporary files, says nothing.
check_machine_paths() {
	local parent

	parent=$(dirname "$TOP")
	on "$tree" grep -nIE '/home/[a-z]+/' /dev/null | grep -v '^scripts/check.sh:' || true
	case $parent in
	/ | /tmp | /var/tmp | /root | /src | /usr/src | /mnt | /opt | /srv) ;;
	*) on "$tree" grep -nIF "$parent/" /dev/null || true ;;
	esac
}

# --- scripts and documents ---------------------------------------------------

# A part that others source (no #! line) uses and sets variables of theirs.
check_shellcheck() {
	local f parts='' programs=''

	while read -r f; do
		if head -c 2 "$f" | grep -qa '^#!'; then
			programs+=$f$'\n'
		else
			parts+=$f$'\n'
		fi
	done < <(shell_files)
	on "${programs%$'\n'}" shellcheck -x -f gcc
	on "${parts%$'\n'}" shellcheck -x -f gcc -s bash -e SC2154,SC2034
}

check_executable() {
	local f

	while read -r f; do
		if head -c 2 "$f" | grep -qa '^#!'; then
			[ -x "$f" ] || printf '%s: has #! but is not executable\n' "$f"
		elif [ -x "$f" ]; then
			printf '%s: executable without #!\n' "$f"
		fi
	done <<<"$tree"
}

check_man() {
	on "$(files '\.[1-8]$')" mandoc -Tlint -W style
}

# Every relative link of a document leads to a file of the tree.
check_links() {
	local doc line target

	for doc in $(files '\.md$'); do
		grep -noE '\]\([^)#: ]+[)#]' "$doc" | while IFS= read -r line; do
			target=${line##*](}
			target=${target%[)#]}
			[ -e "$(dirname "$doc")/$target" ] ||
				printf '%s:%s: no such file: %s\n' "$doc" "${line%%:*}" "$target"
		done
	done
}

# Every path in back quotes that looks like one of ours exists.
check_doc_paths() {
	local doc path

	for doc in $(files '\.md$'); do
		# shellcheck disable=SC2016
		grep -oE '`(drivers|include|test|tools|scripts|packaging|docs)/[A-Za-z0-9_./-]+`' "$doc" |
			tr -d '\140' | sort -u | while read -r path; do
			[ -e "$path" ] || printf '%s: no such file: %s\n' "$doc" "$path"
		done
	done
}

# What a document tells people to type: targets of the Makefile, and programs.
# In prose only what stands in back quotes counts, in a block every line.
commands_of() {
	awk '/^(    |\t)/ { print; next } { while (match($0, /`[^`]+`/)) {
		print substr($0, RSTART + 1, RLENGTH - 2)
		$0 = substr($0, RSTART + RLENGTH) } }' "$1"
}

check_doc_targets() {
	local doc word

	for doc in README.md $(files '^docs/.*\.md$'); do
		commands_of "$doc" | grep -oE '(^|[ (])make +[a-z][a-z-]*' | sed 's/.* //' | sort -u |
			while read -r word; do
				grep -q "^$word:" Makefile || printf '%s: no target: make %s\n' "$doc" "$word"
			done
		commands_of "$doc" | grep -oE '(^|[ (])(scripts|test)/[A-Za-z0-9_./-]+' | tr -d ' (' |
			sort -u | while read -r word; do
			[ -e "$word" ] || printf '%s: no such file: %s\n' "$doc" "$word"
		done
	done
}

# --- running them ------------------------------------------------------------

order=(checkpatch whitespace sizes spdx kernel_doc codespell seam peer_memory
	no_bug compat exports kbuild version marks hosts machine_paths shellcheck
	executable man links doc_paths doc_targets)

# needs CHECK: what the check lacks on this machine, or nothing.
lacks() {
	case $1 in
	checkpatch | kernel_doc)
		[ -n "$linux" ] || printf 'no kernel source (make kunit brings it)'
		;;
	esac
}

run_check() {
	local name=$1 out why

	why=$(lacks "$name")
	if [ -n "$why" ]; then
		skipped=$((skipped + 1))
		printf 'skip %s: %s\n' "$name" "$why"
		return 0
	fi
	out=$("check_$name" 2>&1) || true
	if [ -z "$out" ]; then
		passed=$((passed + 1))
		printf 'ok   %s\n' "$name"
	else
		failed=$((failed + 1))
		printf 'FAIL %s: %d findings\n' "$name" "$(wc -l <<<"$out")"
		head -n 200 <<<"$out" | sed 's/^/    | /'
	fi
}

"$TOP/scripts/need.sh" git perl shellcheck codespell mandoc mawk
tree=$(all_files)
linux=$("$TOP/scripts/linux-source.sh") || linux=
[ $# -gt 0 ] || set -- "${order[@]}"
for name in "$@"; do
	declare -F "check_$name" >/dev/null || die "no check is called $name: ${order[*]}"
	run_check "$name"
done
close_level "$passed" "$failed" "$skipped"
