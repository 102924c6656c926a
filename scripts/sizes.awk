# SPDX-License-Identifier: GPL-2.0
#
# Finds functions over 60 lines, files over 600 and nesting over 3 levels, in C
# (kernel style: a body is between braces in column 0) and in shell. Run over
# all files at once; the first one is scripts/size-exceptions, whose lines are
#
#	NAME LIMIT REASON...
#
# with the name of a function or the path of a file. An exception that nothing
# needs any more is reported as well.

function limit_of(name, normal) {
	if (!(name in limit))
		return normal
	used[name] = 1
	return limit[name]
}

function complain(line, text) {
	printf "%s:%d: %s\n", file, line, text
}

function end_of_file() {
	if (lines > limit_default_file && lines > limit_of(file, limit_default_file))
		complain(lines, "file of " lines " lines, over " limit_of(file, limit_default_file))
}

function end_of_function(    size) {
	size = FNR - start + 1
	if (size > 60 && size > limit_of(name, 60))
		complain(start, "function " name " of " size " lines, over " limit_of(name, 60))
	start = 0
}

# The word before the first "(" of a line in column 0.
function name_in(text) {
	if (text !~ /^[A-Za-z_].*\(/)
		return ""
	sub(/ *\(.*$/, "", text)
	sub(/^.*[ *\t]/, "", text)
	return text
}

BEGIN { limit_default_file = 600 }

FNR == 1 && file != "" && file !~ /size-exceptions$/ { end_of_file() }
FNR == 1 { file = FILENAME; sub(/^\.\//, "", file); start = 0; candidate = "" }

file ~ /size-exceptions$/ {
	if ($0 !~ /^#/ && NF >= 3)
		limit[$1] = $2
	next
}

{ lines = FNR }

/^\{/ { start = FNR; name = candidate }
/^[A-Za-z_][A-Za-z_0-9]*\(\) *\{$/ { start = FNR; name = name_in($0) }
/^\}/ && start { end_of_function() }
!start && name_in($0) != "" { candidate = name_in($0) }

start && /^\t\t\t\t\t+(if|for|while|switch|do|return|goto|list_for_each_entry)[^a-z_]/ {
	complain(FNR, "nested more than three levels deep")
}

END {
	end_of_file()
	for (n in limit)
		if (!(n in used))
			printf "scripts/size-exceptions: nothing needs %s any more\n", n
}
