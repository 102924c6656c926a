/* SPDX-License-Identifier: GPL-2.0 */
/*
 * holders.h: what in this domain may still have pages of another mapped.
 */
#ifndef XPVCTL_HOLDERS_H
#define XPVCTL_HOLDERS_H

/* One line of words that the caller frees; NULL when nothing is known. */
char *holders_text(unsigned int domid);

#endif
