# SPDX-License-Identifier: GPL-2.0
#
# Prints "file:line:text" of C files with comments blanked and the inside of
# strings removed, so that a search finds code only. Not a compiler: good
# enough for kernel style.

FNR == 1 { inside = 0 }

{
	text = $0
	gsub(/\\"/, "", text)
	gsub(/"[^"]*"/, "\"\"", text)
	out = ""
	while (text != "") {
		if (inside) {
			end = index(text, "*/")
			if (!end)
				break
			text = substr(text, end + 2)
			inside = 0
			continue
		}
		line_comment = index(text, "//")
		start = index(text, "/*")
		if (line_comment && (!start || line_comment < start)) {
			out = out substr(text, 1, line_comment - 1)
			break
		}
		if (!start) {
			out = out text
			break
		}
		out = out substr(text, 1, start - 1) " "
		text = substr(text, start + 2)
		inside = 1
	}
	if (out ~ /[^ \t]/)
		printf "%s:%d: %s\n", FILENAME, FNR, out
}
