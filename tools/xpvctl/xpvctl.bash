# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0
#
# Bash completion of xpvctl: commands, options, domains, devices and keys.

_xpvctl_domains()
{
	xpvctl list 2>/dev/null | awk 'NR > 1 { print $1; if ($2 != "-") print $2 }' | sort -u
}

# The lines between "Commands:" and the next empty one.
_xpvctl_commands()
{
	xpvctl help 2>/dev/null | awk '/^Commands:/ { on = 1; next } !NF { on = 0 } on { print $1 }'
}

# Every device by the name its kernel gives it.
_xpvctl_names()
{
	xpvctl list 2>/dev/null | awk '
		NR > 1 && $3 == "vif" { print $1 "/vif/" $4 }
		NR > 1 && $3 != "vif" && $2 != "-" { print $2 "/" $3 }'
}

# The second column of the help's option lines, and the keys of its tables.
_xpvctl_options()
{
	xpvctl "$1" --help 2>/dev/null | grep -oE -e '--[a-z-]+' | sort -u
}

_xpvctl_devices()
{
	xpvctl list "$2" 2>/dev/null | awk -v kind="$1" '
		NR > 1 && kind == "vif" && $3 == "vif" { print $4 }
		NR > 1 && kind == "vbd" && $3 != "vif" { print $3 }'
}

_xpvctl_keys()
{
	case $1 in
	vif) echo mac= bridge= mtu= rate= devid= vifname= ip= backend= script= trusted= ;;
	vbd) echo params= vdev= mode= type= discard= backend= script= trusted= ;;
	esac
}

# The words of the command line that are no options, without the last.
_xpvctl_positional()
{
	local i

	for ((i = 2; i < COMP_CWORD; i++)); do
		case ${COMP_WORDS[i]} in
		-t | --timeout | -i | --interval) ((i++)) ;;
		-*) ;;
		*) echo "${COMP_WORDS[i]}" ;;
		esac
	done
}

_xpvctl_words()
{
	local command=$1 words

	mapfile -t words < <(_xpvctl_positional)
	case $command:${#words[@]} in
	help:0) _xpvctl_commands ;;
	show:0 | explain:0 | set:0) _xpvctl_names ;;
	set:*) echo rate= ;;
	budget:0) compgen -f -- "$2" ;;
	list:0) _xpvctl_domains ;;
	attach:0 | detach:0) echo vif vbd ;;
	attach:1 | detach:1) _xpvctl_domains ;;
	detach:2) _xpvctl_devices "${words[0]}" "${words[1]}" ;;
	attach:*) _xpvctl_keys "${words[0]}" ;;
	esac
}

_xpvctl()
{
	local current=${COMP_WORDS[COMP_CWORD]} candidates

	if ((COMP_CWORD == 1)); then
		candidates=$(_xpvctl_commands)
	elif [[ $current == -* ]]; then
		candidates=$(_xpvctl_options "${COMP_WORDS[1]}")
	else
		candidates=$(_xpvctl_words "${COMP_WORDS[1]}" "$current")
	fi
	mapfile -t COMPREPLY < <(compgen -W "$candidates" -- "$current")
	if [[ ${COMPREPLY[0]-} == *= ]]; then
		compopt -o nospace
	fi
}

complete -F _xpvctl xpvctl
