/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copying packet data between pages of two domains.
 *
 * The kernel's memcpy() moves 32 bytes a turn of its loop on processors
 * without fast short string moves.  Runs of a quarter page and more are what
 * "rep movsq" is good at on all of them, as copy_page() knows; but that one
 * copies whole aligned pages only.
 */
#ifndef XPV_BULK_H
#define XPV_BULK_H

#include <linux/string.h>
#include <asm/barrier.h>

/* Sanitizers must see each copy, so they get memcpy(). */
#if defined(CONFIG_X86_64) && !defined(CONFIG_UML) && !defined(CONFIG_KASAN) && \
	!defined(CONFIG_KCSAN) && !defined(CONFIG_KMSAN)
#include <asm/cpufeature.h>
#define XPV_BULK_MOVS	boot_cpu_has(X86_FEATURE_REP_GOOD)
#else
#define XPV_BULK_MOVS	false
#endif

/* Below this, memcpy() is as good. */
#define XPV_BULK_MIN	256

/**
 * xpv_bulk_copy() - memcpy() for packet data
 * @dst: private or mapped memory
 * @src: the same; when the peer can write to it, only @dst may be looked at
 * @len: bytes
 */
static inline void xpv_bulk_copy(void *dst, const void *src, size_t len)
{
	if (XPV_BULK_MOVS && len >= XPV_BULK_MIN) {
		size_t words = len / 8;

		asm volatile("rep movsq"
			     : "+c" (words), "+D" (dst), "+S" (src)
			     : : "memory");
		len &= 7;
	}
	memcpy(dst, src, len);
	/* Nobody goes back to the source afterwards. */
	barrier();
}

#endif /* XPV_BULK_H */
