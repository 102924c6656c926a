// SPDX-License-Identifier: GPL-2.0
/*
 * vdev.c: disk names to numbers and back. The numbers are those of Xen's
 * public interface (docs/man/xen-vbd-interface): old Linux major and minor for
 * the first disks, a wide form with 20 bits of disk and 8 of partition for the
 * others. Pure; called from the parsers and the formatter.
 */
#include <stdio.h>
#include <string.h>

#include "text.h"
#include "vdev.h"

#define VDEV_WIDE	(1u << 28)
#define WIDE_DISKS	(1u << 20)
#define WIDE_PARTS	256

/* One run of numbers: @first is the disk whose number is @base. */
struct family {
	const char *prefix;
	unsigned int base;
	unsigned int first;
	unsigned int disks;
	unsigned int part_bits;
};

static const struct family families[] = {
	{ "xvd", 202 << 8, 0, 16, 4 },
	{ "sd", 8 << 8, 0, 16, 4 },
	{ "hd", 3 << 8, 0, 2, 6 },
	{ "hd", 22 << 8, 2, 2, 6 },
};

#define NR_FAMILIES (sizeof(families) / sizeof(*families))

/* "a" is 0, "z" 25, "aa" 26; steps *@s over the letters. */
static bool letters(const char **s, unsigned int *disk)
{
	unsigned int n = 0;

	if (**s < 'a' || **s > 'z')
		return false;
	for (; **s >= 'a' && **s <= 'z'; (*s)++) {
		n = n * 26 + (**s - 'a') + 1;
		if (n > WIDE_DISKS)
			return false;
	}
	*disk = n - 1;
	return true;
}

/* Nothing is the whole disk, 0. "xvda0" and "xvda01" are no names. */
static bool partition(const char *s, unsigned int *part)
{
	*part = 0;
	if (!*s)
		return true;
	return *s != '0' && text_u32(s, WIDE_PARTS - 1, part);
}

static bool encode(const char *prefix, unsigned int disk, unsigned int part, uint32_t *number)
{
	size_t i;

	for (i = 0; i < NR_FAMILIES; i++) {
		const struct family *f = &families[i];

		if (strcmp(prefix, f->prefix) || disk < f->first ||
		    disk - f->first >= f->disks || part >> f->part_bits)
			continue;
		*number = f->base | (disk - f->first) << f->part_bits | part;
		return true;
	}
	if (strcmp(prefix, "xvd"))
		return false;
	*number = VDEV_WIDE | disk << 8 | part;
	return true;
}

bool vdev_number(const char *name, uint32_t *number)
{
	unsigned int disk, part;
	const char *s;
	size_t i;

	if (text_u32(name, INT32_MAX, number))
		return true;
	for (i = 0; i < NR_FAMILIES; i++) {
		const char *prefix = families[i].prefix;

		if (strncmp(name, prefix, strlen(prefix)))
			continue;
		s = name + strlen(prefix);
		return letters(&s, &disk) && partition(s, &part) &&
			encode(prefix, disk, part, number);
	}
	return false;
}

static void print_name(char *name, unsigned int size, const char *prefix,
		       unsigned int disk, unsigned int part)
{
	char text[8];
	char *p = text + sizeof(text) - 1;
	unsigned int n;

	*p = '\0';
	for (n = disk + 1; n; n = (n - 1) / 26)
		*--p = 'a' + (n - 1) % 26;
	if (part)
		snprintf(name, size, "%s%s%u", prefix, p, part);
	else
		snprintf(name, size, "%s%s", prefix, p);
}

void vdev_name(uint32_t number, char *name, unsigned int size)
{
	size_t i;

	if (number >> 28 == 1) {
		print_name(name, size, "xvd", (number & (VDEV_WIDE - 1)) >> 8, number & 0xff);
		return;
	}
	for (i = 0; i < NR_FAMILIES; i++) {
		const struct family *f = &families[i];
		unsigned int off = number - f->base;

		if (number < f->base || off >> f->part_bits >= f->disks)
			continue;
		print_name(name, size, f->prefix, f->first + (off >> f->part_bits),
			   off & ((1u << f->part_bits) - 1));
		return;
	}
	snprintf(name, size, "%u", number);
}
