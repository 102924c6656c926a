# SPDX-License-Identifier: GPL-2.0
# Prints the targets of the Makefile: "##@ Group" and "target: deps ## text".
BEGIN {
	print "make TARGET"
}
/^##@ / {
	printf "\n%s\n", substr($0, 5)
}
/^[a-z-]+:.*## / {
	target = $1
	sub(/:.*/, "", target)
	text = $0
	sub(/^.*## /, "", text)
	printf "  %-11s %s\n", target, text
}
END {
	print "\nEach target can run alone. How long each takes and how to add tests: docs/testing.md"
}
