/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Counters and peer faults.
 *
 * A counter is one u64 in a per-queue struct, written by the queue's owner
 * alone, and one row in a table.  The table feeds ethtool, sysfs, the tool and
 * the documentation, so that they cannot drift apart.  Counters survive a
 * reconnect: a queue that is torn down adds its values to the device's.
 *
 * A peer that breaks the rules is counted by reason and logged at a limited
 * rate; what happens next (drop, error response, disconnect) is the caller's.
 */
#ifndef XPV_STATS_H
#define XPV_STATS_H

#include <linux/ratelimit.h>
#include <linux/stddef.h>
#include <xpv/hyp.h>

/**
 * struct xpv_stat - one row of a counter table
 * @name: as shown to people, at most 31 characters
 * @offset: of the u64 in the per-queue struct
 * @help: one line for the documentation
 */
struct xpv_stat {
	const char *name;
	size_t offset;
	const char *help;
};

/** XPV_STAT() - row for field @f of struct @t. */
#define XPV_STAT(t, f, h)	{ .name = #f, .offset = offsetof(t, f), .help = (h) }

/** xpv_stat_get() - value of one counter of one queue; any context. */
static inline u64 xpv_stat_get(const void *stats, const struct xpv_stat *s)
{
	return READ_ONCE(*(const u64 *)((const char *)stats + s->offset));
}

/** xpv_stats_add() - add every counter of @from to @to. */
void xpv_stats_add(void *to, const void *from, const struct xpv_stat *tab,
		   unsigned int n);

/**
 * enum xpv_fault - ways in which a peer breaks the rules
 *
 * One line each in docs/protocol.md.
 */
enum xpv_fault {
	XPV_FAULT_INDEX,	/* producer index beyond the ring */
	XPV_FAULT_ID,		/* response id not in flight */
	XPV_FAULT_OP,		/* operation unknown or not the one asked for */
	XPV_FAULT_SLOTS,	/* too many slots or segments */
	XPV_FAULT_SIZE,		/* length or offset leaves its page or packet */
	XPV_FAULT_EXTRA,	/* extra info unknown, twice or cut off */
	XPV_FAULT_OFFLOAD,	/* checksum or segmentation data make no sense */
	XPV_FAULT_RANGE,	/* sectors beyond the disk, or misaligned */
	XPV_FAULT_ACCESS,	/* write to a read-only disk */
	XPV_FAULT_GRANT,	/* grant could not be used */
	XPV_FAULT_BUSY,		/* peer keeps a grant it should have let go */
	XPV_FAULT_KEY,		/* store key malformed or out of limits */
	XPV_FAULT_COUNT,
};

/** xpv_fault_name() - short word for counters and logs, e.g. "index". */
const char *xpv_fault_name(enum xpv_fault why);

/**
 * struct xpv_faults - faults of one device's peer
 * @count: by reason
 * @rs: limits the log
 */
struct xpv_faults {
	atomic64_t count[XPV_FAULT_COUNT];
	struct ratelimit_state rs;
};

/** xpv_faults_init() - all zero. */
void xpv_faults_init(struct xpv_faults *f);

/**
 * xpv_peer_fault() - count, and log within the limit
 * @d: device
 * @f: its faults
 * @why: reason
 * @detail: numbers only, formatted by us; never text from the peer
 *
 * Any context.
 */
__printf(4, 5)
void xpv_peer_fault(struct xpv_dev *d, struct xpv_faults *f,
		    enum xpv_fault why, const char *detail, ...);

/*
 * A folder "xpv" below a device with one file a counter, for devices without
 * ethtool.  Files hold one decimal and a newline.
 */
struct xpv_sysfs;

/** xpv_sysfs_add() - make the folder. Pointer or ERR_PTR. Process context. */
struct xpv_sysfs *xpv_sysfs_add(struct xpv_dev *d, const struct xpv_stat *tab,
				unsigned int n,
				u64 (*read)(struct xpv_dev *d,
					    const struct xpv_stat *s));

/** xpv_sysfs_remove() - remove it; no reader is left. NULL is fine. */
void xpv_sysfs_remove(struct xpv_sysfs *s);

#endif /* XPV_STATS_H */
