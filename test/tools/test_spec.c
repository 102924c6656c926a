// SPDX-License-Identifier: GPL-2.0
/*
 * test_spec.c: the words of "attach", the words of "show", and what of them
 * is refused.
 */
#include <stdlib.h>

#include "spec.h"
#include "unit.h"

#define COUNT(a) (sizeof(a) / sizeof(*(a)))

static char *parse(struct spec *s, enum dev_class class, const char *word)
{
	char *words[3] = { (char *)word, "params=/dev/x", "vdev=xvdb" };

	spec_init(s, class);
	return spec_parse(s, class == CLASS_VBD ? 3 : 1, words);
}

static void refused(void)
{
	static const struct {
		enum dev_class class;
		const char *word, *says;
	} rows[] = {
		{ CLASS_VIF, "mac", "key=value" },
		{ CLASS_VIF, "colour=red", "unknown key \"colour\"" },
		{ CLASS_VIF, "vdev=xvda", "unknown key \"vdev\"" },
		{ CLASS_VIF, "mac=01:00:5e:00:00:01", "not multicast" },
		{ CLASS_VIF, "mtu=67", "mtu = \"67\": 68 to 65517" },
		{ CLASS_VIF, "mtu=65518", "68 to 65517" },
		{ CLASS_VIF, "mtu=", "68 to 65517" },
		{ CLASS_VIF, "devid=-1", "0 to 2147483647" },
		{ CLASS_VIF, "devid=2147483648", "0 to 2147483647" },
		{ CLASS_VIF, "bridge=", "interface name" },
		{ CLASS_VIF, "bridge=../../x", "interface name" },
		{ CLASS_VIF, "bridge=sixteen_bytes_xx", "interface name" },
		{ CLASS_VIF, "trusted=yes", "0 or 1" },
		{ CLASS_VIF, "rate=fast", "rate = \"fast\"" },
		{ CLASS_VIF, "script=a\nb", "a path" },
		{ CLASS_VBD, "vdev=floppy", "xvda.., sda.." },
		{ CLASS_VBD, "mode=rw", "r or w" },
		{ CLASS_VBD, "type=tape", "disk or cdrom" },
		{ CLASS_VBD, "discard=2", "0 or 1" },
		{ CLASS_VBD, "mac=00:16:3e:00:00:01", "unknown key" },
		{ CLASS_VBD, "params=", "a path" },
	};
	struct spec s;
	size_t i;

	for (i = 0; i < COUNT(rows); i++) {
		char *error = parse(&s, rows[i].class, rows[i].word);

		CHECK_HAS(error, rows[i].says);
		free(error);
		spec_free(&s);
	}
}

static void vbd_needs(void)
{
	static char *const words[] = { "params=/dev/x", "vdev=xvdb", "type=cdrom", "mode=w" };
	struct spec s;
	char *error;

	spec_init(&s, CLASS_VBD);
	error = spec_parse(&s, 1, words);
	CHECK_HAS(error, "needs vdev=");
	free(error);
	spec_free(&s);
	spec_init(&s, CLASS_VBD);
	error = spec_parse(&s, 1, words + 1);
	CHECK_HAS(error, "needs params=");
	free(error);
	spec_free(&s);
	spec_init(&s, CLASS_VBD);
	error = spec_parse(&s, 4, words);
	CHECK_HAS(error, "read only");
	free(error);
	spec_free(&s);
}

static void defaults(void)
{
	static char *const words[] = { "params=/dev/x", "vdev=51728", "type=cdrom" };
	struct spec s;

	spec_init(&s, CLASS_VBD);
	CHECK(!spec_parse(&s, 2, words));
	CHECK_INT(s.mode, 'w');
	CHECK_TEXT(s.vdev, "xvdb");
	CHECK_INT(s.devid, 51728);
	CHECK_TEXT(s.script, "/etc/xen/scripts/block");
	spec_free(&s);
	spec_init(&s, CLASS_VBD);
	CHECK(!spec_parse(&s, 3, words));
	CHECK_INT(s.mode, 'r');
	spec_free(&s);
}

static void scripts(void)
{
	static const struct {
		const char *word, *path;
	} rows[] = {
		{ "script=vif-route", "/etc/xen/scripts/vif-route" },
		{ "script=/opt/my", "/opt/my" },
	};
	struct spec s;
	size_t i;

	for (i = 0; i < COUNT(rows); i++) {
		CHECK(!parse(&s, CLASS_VIF, rows[i].word));
		CHECK_TEXT(s.script, rows[i].path);
		spec_free(&s);
	}
}

/* A key given twice counts once and frees the first. */
static void last_wins(void)
{
	static char *const words[] = { "bridge=a", "bridge=b", "rate=1MB/s", "rate=2MB/s" };
	struct spec s;

	spec_init(&s, CLASS_VIF);
	CHECK(!spec_parse(&s, 4, words));
	CHECK_TEXT(s.bridge, "b");
	CHECK_TEXT(s.rate, "100000,50000");
	spec_free(&s);
}

static void device_words(void)
{
	static const struct {
		const char *word, *domain;
		enum dev_class class;
		unsigned int devid;
	} rows[] = {
		{ "vif1.0", "1", CLASS_VIF, 0 },
		{ "vif-12-3", "12", CLASS_VIF, 3 },
		{ "vbd-1-51712", "1", CLASS_VBD, 51712 },
		{ "1/vif/2", "1", CLASS_VIF, 2 },
		{ "guest/vbd/51712", "guest", CLASS_VBD, 51712 },
		{ "guest/xvdb", "guest", CLASS_VBD, 51728 },
	};
	static const char *const bad[] = {
		"", "vif", "vif1", "vif1.", "vif1.0x", "vifa.0", "vbd1.0", "guest/", "/xvda",
		"guest/vif/", "guest/vif/x", "guest/tpm/0", "guest/51712", "guest/vif/0/1",
		"vif-1-0-", "vif_1_0", "eth0",
	};
	enum dev_class class;
	unsigned int devid;
	char *domain;
	size_t i;

	for (i = 0; i < COUNT(rows); i++) {
		domain = NULL;
		CHECK(device_parse(rows[i].word, &domain, &class, &devid));
		CHECK_TEXT(domain, rows[i].domain);
		CHECK_INT(class, rows[i].class);
		CHECK_INT(devid, rows[i].devid);
		free(domain);
	}
	for (i = 0; i < COUNT(bad); i++)
		unit_check(!device_parse(bad[i], &domain, &class, &devid), __FILE__, __LINE__,
			   "\"%s\" taken as a device", bad[i]);
}

const struct unit_case spec_cases[] = {
	{ "refused", refused },
	{ "vbd_needs", vbd_needs },
	{ "defaults", defaults },
	{ "scripts", scripts },
	{ "last_wins", last_wins },
	{ "device_words", device_words },
	{ }
};
