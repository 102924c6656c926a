#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
#
# tools/xpvctl/examples.sh PROGRAM: what the program says of itself, its manual
# page and its completion agree: commands, options, exit statuses, and every
# example is a command line that the program understands. Needs no Xen.
set -euo pipefail

program=$(realpath "${1:?usage: examples.sh PROGRAM}")
cd "$(dirname "$0")"
page=xpvctl.8
status=0

wrong() {
	echo "examples.sh: $*"
	status=1
}

commands=$("$program" help | awk '/^Commands:/ { on = 1; next } !NF { on = 0 } on { print $1 }')

check_command() {
	local help option

	help=$("$program" "$1" --help) || wrong "$1 --help: exit status $?"
	[[ $help == "usage: xpvctl $1 "* ]] || wrong "$1 --help does not begin with its usage"
	grep -qx "\.Cm $1" "$page" || wrong "$1 is not in the synopsis of the manual page"
	case $1 in
	help | version) ;;
	*) grep -qx "\.Ss $1" "$page" || wrong "$1 has no section in the manual page" ;;
	esac
	while read -r option; do
		grep -qE "^\.It .*-${option#--}( |\$)|Fl -?${option#--}( |\$)" "$page" ||
			wrong "$1: $option is not in the manual page"
	done < <(grep -oE -e '--[a-z-]+ ' <<<"$help" | tr -d ' ' | sort -u)
}

# With --help at its end a command line is read to the end and nothing is done.
check_example() {
	local -a words

	read -ra words <<<"${1%%|*}"
	"$program" "${words[@]:1}" --help >/dev/null 2>&1 || wrong "the example is refused: $1"
}

check_exits() {
	local in_code in_page

	in_code=$(grep -oE 'XPV_[A-Z_]+ = [0-9]+' names.h | grep -oE '[0-9]+$')
	in_page=$(sed -n '/^\.Sh EXIT STATUS/,/^\.El/p' "$page" | grep -oE '^\.It [0-9]+' |
		grep -oE '[0-9]+')
	[[ $in_code == "$in_page" ]] || wrong "exit statuses differ in names.h and $page"
}

# completes WORDS...: what bash offers for the last word.
completes() (
	PATH=$(dirname "$program"):$PATH
	# shellcheck source=xpvctl.bash
	. ./xpvctl.bash
	compopt() { :; }
	COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
	_xpvctl
	printf '%s\n' "${COMPREPLY[@]}"
)

check_completion() {
	[[ $(completes xpvctl '' | sort) == "$(sort <<<"$commands")" ]] ||
		wrong 'completion does not offer the commands'
	completes xpvctl top --o | grep -qx -e --once || wrong 'completion does not offer options'
	completes xpvctl attach vif dom mt | grep -qx mtu= || wrong 'completion does not offer keys'
}

for command in $commands; do
	check_command "$command"
done
while read -r example; do
	check_example "$example"
done < <(sed -n 's/^\.Dl [$#] \(xpvctl .*\)/\1/p' "$page")
check_exits
check_completion

exit $status
