# SPDX-License-Identifier: GPL-2.0
#
# Reads the console log of the kernel that ran the suites (KTAP between kernel
# messages) and prints one line a suite, each failed case with all it said,
# each report of the kernel itself, and the closing line. Status 1 if anything
# failed.
#
# A case counts once, also if it ran with many parameters. A kernel report
# fails the run even if KUnit saw nothing wrong. A suite or case that never
# said how it ended counts as failed.
#
# -v timeout=N: the run was stopped after N seconds.

function keep(line) {
	if (held < 400)
		hold[++held] = line
}

function dump() {
	dump_last(held)
}

function dump_last(count,    i) {
	for (i = held > count ? held - count + 1 : 1; i <= held; i++)
		print "    | " hold[i]
}

function forget() {
	held = 0
}

# The name after "ok N " or "not ok N ", which some kernels mark with "- ".
function result_name(line) {
	sub(/^ *(not )?ok [0-9]+ (- )?/, "", line)
	sub(/ *#.*$/, "", line)
	return line
}

function open_suite(name) {
	suite = name
	plan = -1
	ok_cases = bad_cases = skip_cases = 0
	forget()
}

function close_suite(    seen, word) {
	seen = ok_cases + bad_cases + skip_cases
	if ($1 == "not" && bad_cases == 0) {
		bad_cases++
		printf "FAIL %s: the suite itself\n", suite
		dump()
	}
	if (plan >= 0 && seen < plan && $0 !~ /# SKIP/) {
		bad_cases += plan - seen
		printf "FAIL %s: %d of %d cases said nothing\n", suite, plan - seen, plan
	}
	word = bad_cases ? "FAIL" : (ok_cases ? "ok  " : "skip")
	printf "%s %-28s %3d passed", word, suite, ok_cases
	if (bad_cases)
		printf ", %d failed", bad_cases
	if (skip_cases)
		printf ", %d skipped", skip_cases
	printf "\n"
	add_up()
}

function add_up() {
	passed += ok_cases
	failed += bad_cases
	skipped += skip_cases
	suites++
	suite = ""
	forget()
}

function case_result() {
	name = last_case = result_name($0)
	if ($1 == "not") {
		bad_cases++
		printf "FAIL %s.%s\n", suite, name
		dump()
	} else if ($0 ~ /# SKIP/) {
		skip_cases++
		why = $0
		sub(/^.*# SKIP */, "", why)
		printf "skip %s.%s: %s\n", suite, name, why
	} else {
		ok_cases++
	}
	forget()
}

# What the kernel prints when it caught something: each starts one report.
function is_report(line) {
	return line ~ /(^|[^a-zA-Z])(BUG|WARNING|UBSAN|KASAN|ODEBUG|INFO|Oops): / ||
		line ~ /^RIP: |kernel BUG at|Kernel panic|refcount_t: |DEAD callback|workqueue lockup/ ||
		line ~ /^(list_(add|del)|slab|kmem_cache|Slab) .*(corruption|leak|objects remaining)/ ||
		line ~ /possible (recursive|circular) locking|inconsistent lock state/ ||
		line ~ /rcu: .*(stall|self-detected)/
}

# Frames that every report has, and raw stack words: they hide the few that
# matter.
function is_noise(line) {
	return line ~ /^ +[0-9a-f]+ [0-9a-f]+ [0-9a-f]+ [0-9a-f]+$/ ||
		line ~ />\] \? (__asan_|__kasan|_printk|dump_|show_stack|trace_hardirqs|um_set_signals|vprintk|__wake_up_klogd|do_raw_spin|_raw_spin|ktime_get|kthread|__kthread|kunit_|new_thread_handler|panic|print_report|kasan_report|__warn|os_nsecs|lockdep_hard|lock_release|arch_local_save|current_thread_info|warn_slowpath|timer_read|__down_trylock|is_printk|__read_once_word|check_panic_on_warn|ubsan_epilogue|os_dump_core)/ ||
		line ~ /^(Tainted: |Stack:|CPU: )/ || line == ""
}

function new_report() {
	reports++
	report_lines = 40
	where = suite == "" ? "outside of any suite" : suite (last_case == "" ? "" : ", after case " last_case)
	printf "FAIL kernel report (%s):\n", where
}

{ sub(/\r$/, "") }

/^1\.\.[0-9]+$/ { planned = substr($0, 4) + 0; next }

/^    # Subtest: / { open_suite($3); last_case = ""; next }
/^    1\.\.[0-9]+$/ { plan = substr($0, 8) + 0; next }
/^    (not )?ok [0-9]+ / { case_result(); report_lines = 0; next }
/^(not )?ok [0-9]+ / {
	if (suite == "")
		open_suite(result_name($0))
	close_suite()
	report_lines = 0
	next
}

/^ *# (Totals|[a-z0-9_]+: pass:)/ || /^ *KTAP version/ || /^    # module: / { next }

{
	if (is_report($0) && report_lines <= 0 && !died)
		new_report()
	if (report_lines > 0 && !is_noise($0)) {
		print "    | " $0
		report_lines--
	}
	# The panic that a report leads to says nothing new.
	if ($0 ~ /panic_on_warn set|kasan.fault=panic set/)
		report_lines = died = 1
	keep($0)
}

END {
	if (suite != "") {
		printf "FAIL %s: ended after case \"%s\"%s\n", suite, last_case,
			timeout ? ", stopped after " timeout " s" : ""
		if (!reports)
			dump()
		bad_cases++
		add_up()
	}
	if (planned == 0 && suites == 0) {
		print "FAIL no suite ran (does the glob name one?)"
		if (!reports)
			dump_last(15)
		failed++
	}
	if (suites < planned) {
		printf "FAIL %d of %d suites never ended\n", planned - suites, planned
		failed += planned - suites
	}
	if (timeout && suites >= planned && planned > 0) {
		printf "FAIL the kernel did not halt within %d s\n", timeout
		failed++
	}
	failed += reports
	printf "%d passed, %d failed, %d skipped\n", passed, failed, skipped
	exit failed > 0
}
