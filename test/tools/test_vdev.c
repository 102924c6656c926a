// SPDX-License-Identifier: GPL-2.0
/*
 * test_vdev.c: disk names and numbers: known pairs, limits, and every number
 * of the wide form there and back.
 */
#include <stdint.h>
#include <stdio.h>

#include "unit.h"
#include "vdev.h"

#define COUNT(a) (sizeof(a) / sizeof(*(a)))
#define WIDE(disk, part) (1u << 28 | (disk) << 8 | (part))

static const struct {
	const char *name;
	uint32_t number;
} pairs[] = {
	{ "xvda", 51712 }, { "xvda1", 51713 }, { "xvda15", 51727 }, { "xvdb", 51728 },
	{ "xvdp", 51952 }, { "xvdp15", 51967 },
	{ "xvda16", WIDE(0, 16) }, { "xvda255", WIDE(0, 255) },
	{ "xvdq", WIDE(16, 0) }, { "xvdz", WIDE(25, 0) }, { "xvdaa", WIDE(26, 0) },
	{ "xvdaz3", WIDE(51, 3) }, { "xvdba", WIDE(52, 0) }, { "xvdzz", WIDE(701, 0) },
	{ "xvdaaa", WIDE(702, 0) },
	{ "sda", 2048 }, { "sda1", 2049 }, { "sdp15", 2303 },
	{ "hda", 768 }, { "hdb", 832 }, { "hdb63", 895 }, { "hdc", 5632 }, { "hdd", 5696 },
};

static void known(void)
{
	char name[16];
	uint32_t number;
	size_t i;

	for (i = 0; i < COUNT(pairs); i++) {
		number = 0;
		CHECK(vdev_number(pairs[i].name, &number));
		CHECK_INT(number, pairs[i].number);
		vdev_name(pairs[i].number, name, sizeof(name));
		CHECK_TEXT(name, pairs[i].name);
	}
}

static void not_names(void)
{
	static const char *const bad[] = {
		"", "xvd", "xvda0", "xvda01", "xvda256", "xvda1a", "xvdA", "xvd1", "xvda-1",
		"xvda ", " xvda", "sdq", "sda16", "hde", "hda64", "vda", "nvme0n1", "-1",
		"4294967296", "xvdzzzzzzzz", "x", "0x10",
	};
	uint32_t number;
	size_t i;

	for (i = 0; i < COUNT(bad); i++)
		unit_check(!vdev_number(bad[i], &number), __FILE__, __LINE__,
			   "\"%s\" taken as a disk", bad[i]);
}

static void plain_number(void)
{
	uint32_t number;
	char name[16];

	CHECK(vdev_number("51712", &number));
	CHECK_INT(number, 51712);
	vdev_name(5, name, sizeof(name));
	CHECK_TEXT(name, "5");
	vdev_name(2048 + 256, name, sizeof(name));
	CHECK_TEXT(name, "2304");
}

/* Every disk of the wide form and the narrow ones, with three partitions. */
static void round_trip(void)
{
	static const unsigned int parts[] = { 0, 1, 15, 16, 255 };
	uint32_t number, again, bad = 0;
	unsigned int disk, i;
	char name[16];

	for (disk = 0; disk < 1u << 20; disk++) {
		for (i = 0; i < COUNT(parts); i++) {
			if (disk < 16 && parts[i] < 16)
				number = 202 << 8 | disk << 4 | parts[i];
			else
				number = WIDE(disk, parts[i]);
			vdev_name(number, name, sizeof(name));
			if (!vdev_number(name, &again) || again != number)
				bad++;
		}
	}
	CHECK_INT(bad, 0);
}

static void last_disk(void)
{
	uint32_t number = 0;
	char name[16];

	vdev_name(WIDE((1u << 20) - 1, 255), name, sizeof(name));
	CHECK_TEXT(name, "xvdbgqcv255");
	CHECK(vdev_number("xvdbgqcv", &number));
	CHECK_INT(number, WIDE((1u << 20) - 1, 0));
	CHECK(!vdev_number("xvdbgqcw", &number));
}

const struct unit_case vdev_cases[] = {
	{ "known", known },
	{ "not_names", not_names },
	{ "plain_number", plain_number },
	{ "round_trip", round_trip },
	{ "last_disk", last_disk },
	{ }
};
