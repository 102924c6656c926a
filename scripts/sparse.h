/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Read by sparse before each file (make matrix), never by a compiler.
 *
 * Debian's sparse is older than Linux 7.3. What the headers of that kernel use
 * and sparse does not know would be an error in every file, and after an error
 * sparse prints no warning.
 */

/* Without qualifiers: no difference to any check of ours. */
#define __typeof_unqual__	__typeof__

/* MODULE_INFO() asserts that its string holds no NUL; gcc checks that. */
#define __builtin_strlen(s)	(sizeof(s) - 1)
