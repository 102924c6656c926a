// SPDX-License-Identifier: GPL-2.0
/*
 * test_text.c: escaping, strict numbers, MAC addresses and rates.
 */
#include <stdlib.h>
#include <string.h>

#include "names.h"
#include "text.h"
#include "unit.h"

#define COUNT(a) (sizeof(a) / sizeof(*(a)))

static void escape(void)
{
	static const struct {
		const char *raw, *want;
	} rows[] = {
		{ "", "" },
		{ "plain text", "plain text" },
		{ "a\\b", "a\\\\b" },
		{ "\x1b[2J\x1b]0;x\a", "\\x1b[2J\\x1b]0;x\\x07" },
		{ "line\nnext\r\t", "line\\x0anext\\x0d\\x09" },
		{ "\x7f\x80\xff\xc3\xa9", "\\x7f\\x80\\xff\\xc3\\xa9" },
		{ "\"quoted\"", "\"quoted\"" },
	};
	size_t i;

	for (i = 0; i < COUNT(rows); i++) {
		char *got = text_escape(rows[i].raw, TEXT_SHOWN);

		CHECK_TEXT(got, rows[i].want);
		free(got);
	}
	CHECK(!text_escape(NULL, TEXT_SHOWN));
}

static void escape_every_byte(void)
{
	unsigned int c;

	for (c = 1; c < 256; c++) {
		char raw[2] = { (char)c }, *got = text_escape(raw, 8), *p;

		for (p = got; *p; p++)
			CHECK(*p >= 0x20 && *p < 0x7f);
		free(got);
	}
}

static void escape_cuts(void)
{
	char *got = text_escape("\n\n\n\n\n", 3);

	CHECK_TEXT(got, "\\x0a\\x0a\\x0a...");
	free(got);
	got = text_escape("abc", 3);
	CHECK_TEXT(got, "abc");
	free(got);
}

static void numbers(void)
{
	static const struct {
		const char *s;
		uint64_t max;
		bool ok;
		uint64_t v;
	} rows[] = {
		{ "0", 1, true, 0 }, { "1", 1, true, 1 }, { "2", 1, false },
		{ "9", 5, false }, { "19", 5, false }, { "00", 5, true, 0 }, { "005", 5, true, 5 },
		{ "65535", 65535, true, 65535 }, { "65536", 65535, false },
		{ "18446744073709551615", UINT64_MAX, true, UINT64_MAX },
		{ "18446744073709551616", UINT64_MAX, false },
		{ "99999999999999999999999", UINT64_MAX, false },
		{ "", 9, false }, { " 1", 9, false }, { "1 ", 9, false }, { "-1", 9, false },
		{ "+1", 9, false }, { "0x1", 9, false }, { "1\n", 9, false }, { NULL, 9, false },
	};
	size_t i;

	for (i = 0; i < COUNT(rows); i++) {
		uint64_t v = 0;

		CHECK_INT(text_u64(rows[i].s, rows[i].max, &v), rows[i].ok);
		if (rows[i].ok)
			CHECK(v == rows[i].v);
	}
}

static void mac(void)
{
	static const char *const bad[] = {
		"", "00:16:3e:00:00", "00:16:3e:00:00:01:02", "01:00:5e:00:00:01",
		"ff:ff:ff:ff:ff:ff", "00:00:00:00:00:00", "00-16-3e-00-00-01", "g0:16:3e:0:0:1",
		"00:16:3e:00:00:01 ", " 0:16:3e:00:00:01", "00:16:3e:000:0:01",
	};
	char out[18];
	size_t i;

	CHECK(text_mac("00:16:3E:aB:cd:EF", out));
	CHECK_TEXT(out, "00:16:3e:ab:cd:ef");
	for (i = 0; i < COUNT(bad); i++)
		CHECK(!text_mac(bad[i], out));
}

static void rate(void)
{
	static const struct {
		const char *s, *want;
	} rows[] = {
		{ "10MB/s", "500000,50000" },
		{ "10Mb/s@20ms", "25000,20000" },
		{ "1GB/s@1s", "1000000000,1000000" },
		{ "250KB/s", "12500,50000" },
		{ "100B/s@1s", "100,1000000" },
		{ "100B/s@10us", NULL }, { "", NULL }, { "10", NULL }, { "MB/s", NULL },
		{ "10MB", NULL }, { "10TB/s", NULL }, { "10MB/s@", NULL }, { "10MB/s@5", NULL },
		{ "10MB/s@0ms", NULL }, { "10MB/sx", NULL }, { "4294967295GB/s@4294s", NULL },
		{ "99999999999MB/s", NULL }, { "-1MB/s", NULL },
	};
	size_t i;

	for (i = 0; i < COUNT(rows); i++) {
		char *got = text_rate(rows[i].s);

		CHECK_TEXT(got, rows[i].want);
		free(got);
	}
}

static void state_names(void)
{
	CHECK_TEXT(state_name(0), "Unknown");
	CHECK_TEXT(state_name(2), "InitWait");
	CHECK_TEXT(state_name(4), "Connected");
	CHECK_TEXT(state_name(8), "Reconfigured");
	CHECK_TEXT(state_name(9), "invalid");
}

static void drivers(void)
{
	CHECK_INT(driver_kind_of(NULL, NULL), DRIVER_NONE);
	CHECK_INT(driver_kind_of("vif", "xpv_netback"), DRIVER_OURS);
	CHECK_INT(driver_kind_of("xpv-blkback", NULL), DRIVER_OURS);
	CHECK_INT(driver_kind_of("vif", "xen_netback"), DRIVER_STOCK);
	CHECK_INT(driver_kind_of("vbd", "xen_blkback"), DRIVER_STOCK);
	CHECK_INT(driver_kind_of("vbd", NULL), DRIVER_STOCK);
	CHECK_INT(driver_kind_of("vif", "some_netback"), DRIVER_OTHER);
	CHECK_INT(driver_kind_of("scsi", NULL), DRIVER_OTHER);
}

const struct unit_case text_cases[] = {
	{ "escape", escape },
	{ "escape_every_byte", escape_every_byte },
	{ "escape_cuts", escape_cuts },
	{ "numbers", numbers },
	{ "mac", mac },
	{ "rate", rate },
	{ "state_names", state_names },
	{ "drivers", drivers },
	{ }
};
