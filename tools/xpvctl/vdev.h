/* SPDX-License-Identifier: GPL-2.0 */
/*
 * vdev.h: names of virtual disks ("xvda", "sdb2", "hdc") and the numbers that
 * stand for them in xenstore. Pure.
 */
#ifndef XPVCTL_VDEV_H
#define XPVCTL_VDEV_H

#include <stdbool.h>
#include <stdint.h>

/*
 * The number of a disk or partition by name, or of a decimal number itself.
 * False when the name is no disk, or is one that has no number.
 */
bool vdev_number(const char *name, uint32_t *number);

/* The shortest name for @number; its decimal digits when there is no name. */
void vdev_name(uint32_t number, char *name, unsigned int size);

#endif
