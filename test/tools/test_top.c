// SPDX-License-Identifier: GPL-2.0
/*
 * test_top.c: counters of both kinds of driver in common words, rates, graphs,
 * and the text that Prometheus reads.
 */
#include <stdlib.h>
#include <string.h>

#include "fake.h"
#include "top.h"
#include "unit.h"

static void samples(void)
{
	struct counter net[] = { { "tx_bytes", 10 }, { "rx_bytes", 20 }, { "tx_packets", 1 },
				 { "rx_packets", 2 }, { "tx_batches", 3 },
				 { "rx_events_sent", 4 } };
	struct counter ours[] = { { "read_sectors", 1 }, { "write_sectors", 2 }, { "reads", 3 },
				  { "flushes", 4 }, { "batches", 5 }, { "notifies", 6 } };
	struct counter stock[] = { { "rd_sect", 1 }, { "wr_sect", 2 }, { "rd_req", 3 } };
	struct device d = { .id.kind = backend_kind_find("vif"), .counters = net,
			    .nr_counters = 6 };
	struct sample s = sample_of(&d);

	CHECK_INT(s.out_bytes, 10);
	CHECK_INT(s.in_bytes, 20);
	CHECK_INT(s.ops, 3);
	CHECK_INT(s.batches, 3);
	CHECK_INT(s.events, 4);
	d.id.kind = backend_kind_find("vbd");
	d.counters = ours;
	s = sample_of(&d);
	CHECK_INT(s.in_bytes, 512);
	CHECK_INT(s.out_bytes, 1024);
	CHECK_INT(s.ops, 7);
	CHECK_INT(s.batches, 5);
	CHECK_INT(s.events, 6);
	d.counters = stock;
	d.nr_counters = 3;
	s = sample_of(&d);
	CHECK_INT(s.in_bytes, 512);
	CHECK_INT(s.out_bytes, 1024);
	CHECK_INT(s.ops, 3);
}

static void rates(void)
{
	struct top_row a = { .id = { .kind = backend_kind_find("vif"), .front = 1 },
			     .now = { .out_bytes = 1000, .ops = 50 } };
	struct top_row b[2] = { a, a };
	struct top before = { .rows = &a, .n = 1, .taken_ms = 1000 };
	struct top now = { .rows = b, .n = 2, .taken_ms = 3000 };

	a.history[TOP_HISTORY - 1] = 7;
	b[0].now = (struct sample){ .out_bytes = 5000, .in_bytes = 2000, .ops = 40 };
	b[1].id.devid = 1;
	top_merge(&before, &now);
	CHECK_INT(b[0].rate.out_bytes, 2000);
	CHECK_INT(b[0].rate.in_bytes, 1000);
	/* A counter that went back. */
	CHECK_INT(b[0].rate.ops, 0);
	CHECK_INT(b[0].history[TOP_HISTORY - 2], 7);
	CHECK_INT(b[0].history[TOP_HISTORY - 1], 3000);
	/* A device that was not there before. */
	CHECK_INT(b[1].rate.out_bytes, 0);
	/* No time between the looks. */
	now.taken_ms = 1000;
	top_merge(&before, &now);
	CHECK_INT(b[0].rate.out_bytes, 0);
}

static void check_short(uint64_t value, const char *want)
{
	char text[16];

	short_number(value, text, sizeof(text));
	CHECK_TEXT(text, want);
}

static void check_spark(const uint64_t *v, size_t n, bool utf8, const char *want)
{
	char *line = sparkline(v, n, utf8);

	CHECK_TEXT(line, want);
	free(line);
}

static void words(void)
{
	static const uint64_t v[] = { 0, 1, 50, 100 }, zero[] = { 0, 0 };

	check_short(0, "0");
	check_short(999, "999");
	check_short(1000, "1.0k");
	check_short(34567, "35k");
	check_short(999999, "1.0M");
	check_short(UINT64_MAX, "18E");
	check_spark(v, 4, false, " .=#");
	check_spark(v, 4, true, " ▁▄█");
	check_spark(zero, 2, false, "  ");
	check_spark(zero, 0, true, "");
}

static void put_vif(void)
{
	fake_put("/local/domain/0/domid", "0");
	fake_put("/local/domain/1/name", "g\"1\\");
	fake_put("/local/domain/1/device/vif/0/state", "4");
	fake_put("/local/domain/1/device/vif/0/backend", "/local/domain/0/backend/vif/1/0");
	fake_put("/local/domain/0/backend/vif/1/0/state", "4");
	fake_host.driver = "vif";
	fake_host.module = "xpv_netback";
}

static void once(void)
{
	struct capture cap;

	put_vif();
	capture_start(&cap);
	cap.c.opt.once = true;
	cap.c.opt.interval_ms = 1000;
	CHECK_INT(run(&cap, cmd_top, NULL), XPV_OK);
	CHECK_HAS(cap.out, "DOM NAME ");
	CHECK_HAS(cap.out, "vif 0    up         0       0       0      -       0\n");
	CHECK_INT(fake_host.now_ms, 1000);
	capture_free(&cap);
	capture_start(&cap);
	cap.c.opt.once = true;
	cap.c.opt.json = true;
	CHECK_INT(run(&cap, cmd_top, NULL), XPV_OK);
	CHECK_HAS(cap.out, "\"out-bytes\":0");
	capture_free(&cap);
	capture_start(&cap);
	CHECK_INT(run(&cap, cmd_top, NULL), XPV_FAILED);
	CHECK_HAS(cap.err, "use --once");
	capture_free(&cap);
}

/* The stock backend counts no bytes of its own; the interface does, reversed. */
static void bytes_of_any_vif(void)
{
	static const char *const files[] = {
		"/sys/class/net/vif1.0/statistics/rx_bytes", "77",
		"/sys/class/net/vif1.0/statistics/tx_packets", "5", NULL,
	};
	struct capture cap;

	put_vif();
	fake_host.files = files;
	capture_start(&cap);
	CHECK_INT(run(&cap, cmd_export, NULL), XPV_OK);
	CHECK_HAS(cap.out, ",counter=\"tx_bytes\"} 77\n");
	CHECK_HAS(cap.out, ",counter=\"rx_packets\"} 5\n");
	capture_free(&cap);
}

static void prometheus(void)
{
	struct capture cap;

	put_vif();
	capture_start(&cap);
	CHECK_INT(run(&cap, cmd_export, NULL), XPV_OK);
	/* A backslash was escaped once for the terminal, and again here. */
	CHECK_HAS(cap.out, "xpv_device_connected{domid=\"1\",domain=\"g\\\"1\\\\\\\\\",class=");
	CHECK_HAS(cap.out, ",class=\"vif\",device=\"vif 0\",driver=\"ours\"} 1\n");
	CHECK_HAS(cap.out, ",end=\"back\"} 4\n");
	CHECK_HAS(cap.out, "# TYPE xpv_device_counter_total counter\n");
	CHECK_HAS(cap.out, ",counter=\"tx_copied\"} 42\n");
	capture_free(&cap);
}

const struct unit_case top_cases[] = {
	{ "samples", samples },
	{ "rates", rates },
	{ "words", words },
	{ "once", once },
	{ "bytes_of_any_vif", bytes_of_any_vif },
	{ "prometheus", prometheus },
	{ }
};
