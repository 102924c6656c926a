/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Marks that a program in the machine gives to the plugin outside: a no-op of
 * x86 with 32 bits of displacement, which hold a number.
 */
#ifndef XPV_BENCH_MARK_H
#define XPV_BENCH_MARK_H

/* nopl number(%rax), without the number */
#define MARK_NOP	"\x0f\x1f\x80"

#define MARK_START	0x58505601
#define MARK_STOP	0x58505602

#endif /* XPV_BENCH_MARK_H */
