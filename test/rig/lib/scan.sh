# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2034,SC2154,SC2016
#
# Collects the logs of Xen, dom0 and the guests and looks for reports in
# them.  A case may allow lines it provokes with LOG_ALLOW, an extended
# regular expression.  Sourced by run-case.sh.

reports='BUG:|kernel BUG|WARNING:|KASAN|KFENCE|UBSAN|KCSAN|Oops|Kernel panic|Call Trace'
reports+='|general protection|unable to handle|possible circular|possible recursive'
reports+='|INFO: (possible|task|rcu)|rcu_.*(stall|self-detected)|soft lockup|hard LOCKUP'
reports+='|blocked for more than|page allocation failure|Bad page|list_(add|del) corruption'
reports+='|refcount_t:|ODEBUG|nobody cared|scheduling while atomic|sleeping function called'
reports+='|leaking g\.e\.|g\.e\. .*still (pending|in use)|deferring g\.e\.|grant still in use'
reports+='|segfault|DEBUG_LOCKS_WARN|suspicious RCU'
xen_reports='Xen BUG|FATAL|Panic on CPU|Assertion|Unhandled|grant_table\.c|crashed|domain_crash'
xen_reports+='|event_fifo\.c|mm\.c:'

# Only what dom0 said since the case began, and no lines of the agent.
collect_logs() {
	local name
	if ! machine_alive || ! dom0 -t 20 dmesg >"$out/dom0.all" 2>/dev/null; then
		# dom0's own console goes to Xen's log, so a dying word is there.
		echo "dom0 no longer answers: see xen.log" >"$out/dom0.log"
		rm -f "$out/dom0.all"
		return
	fi
	awk '/rig: .* begins/ { on = 1 } on' "$out/dom0.all" >"$out/dom0.log"
	rm -f "$out/dom0.all"
	for name in $(dom0 -t 30 'cd /var/log/xen/console 2>/dev/null && ls' 2>/dev/null); do
		dom0 -t 30 "cat '/var/log/xen/console/$name'" 2>/dev/null |
			tr -d '\r' | grep -av '~rig[<>]' | grep -av '^$' >"$out/$name"
	done
	dom0 -t 30 'cat /var/log/xen/xl-*.log /var/log/xen/qemu-dm-*.log 2>/dev/null' >"$out/xl.log" 2>/dev/null
}

# Prints the first report, with the name of its log.
scan_logs() {
	local allow=${LOG_ALLOW:-^$}
	{
		(cd "$out" && grep -aHE "$reports" dom0.log guest-*.log 2>/dev/null)
		(cd "$out" && grep -aHE "$reports|$xen_reports" xen.log 2>/dev/null)
	} | grep -avE "$allow" | head -n 1 | tr -d '\r'
}
