// SPDX-License-Identifier: GPL-2.0
/*
 * Module frame of xpv-core, the common part of the four drivers.
 *
 * It does nothing by itself and registers nothing: the drivers call in.
 */
#include <linux/module.h>
#include <xpv/compat.h>

MODULE_DESCRIPTION("Common part of the xpv network and block drivers for Xen");
MODULE_LICENSE("GPL");
#ifdef XPV_VERSION
MODULE_VERSION(XPV_VERSION);
#endif
