/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Multicast control, the half that decides: which groups the guest wants, which
 * of them the backend has on its list, what to change next, and whether the list
 * can be relied on.
 *
 * Pure; mclist.c says more.  The caller serialises.
 */
#ifndef XPV_NETFRONT_MCLIST_H
#define XPV_NETFRONT_MCLIST_H

#include <linux/if_ether.h>
#include <linux/types.h>

/** XNF_MC_MAX - groups that a backend takes: no more is known of any. */
#define XNF_MC_MAX	64

/** enum xnf_mc_state - what the backend has been told of an address */
enum xnf_mc_state {
	XNF_MC_FREE,		/* the entry is not in use */
	XNF_MC_ADDING,		/* asked for, not answered yet */
	XNF_MC_LISTED,		/* on the backend's list */
	XNF_MC_DELETING,	/* being taken off it */
	XNF_MC_REFUSED,		/* the backend did not take it */
};

/**
 * struct xnf_mc_entry - one place of the backend's list
 * @addr: group
 * @id: of the request under way, in the states ADDING and DELETING
 * @state: enum xnf_mc_state
 */
struct xnf_mc_entry {
	u8 addr[ETH_ALEN];
	u16 id;
	u8 state;
};

/**
 * struct xnf_mclist - both lists
 * @want: groups that the guest wants
 * @nwant: how many
 * @all: it wants all there are, or more than the backend takes
 * @filling: since the backend was told to send all groups, not every one that
 *           is wanted was on its list yet
 * @entry: the backend's list
 */
struct xnf_mclist {
	u8 want[XNF_MC_MAX][ETH_ALEN];
	unsigned int nwant;
	bool all;
	bool filling;
	struct xnf_mc_entry entry[XNF_MC_MAX];
};

/** xnf_mc_forget() - a backend whose list is empty; what is wanted stays. */
void xnf_mc_forget(struct xnf_mclist *l);

/** xnf_mc_begin() - the guest says anew what it wants; @all: every group. */
void xnf_mc_begin(struct xnf_mclist *l, bool all);

/** xnf_mc_want() - it wants this one. */
void xnf_mc_want(struct xnf_mclist *l, const u8 *addr);

/**
 * xnf_mc_next() - the next change that the backend has to be told of
 *
 * Return: entry in state ADDING or DELETING, whose @id the caller sets; NULL
 * when there is none, or none before an answer has come.
 */
struct xnf_mc_entry *xnf_mc_next(struct xnf_mclist *l);

/** xnf_mc_answer() - response to request @id. Return: it was a refusal. */
bool xnf_mc_answer(struct xnf_mclist *l, u16 id, bool ok);

/** xnf_mc_busy() - are changes under way? */
bool xnf_mc_busy(const struct xnf_mclist *l);

/**
 * xnf_mc_filter() - may the backend keep back what is not on its list?
 *
 * Not before everything that is wanted is on it.  Then an address that comes
 * later does not end it: it is on its way, as to any network card.
 */
bool xnf_mc_filter(struct xnf_mclist *l);

#endif /* XPV_NETFRONT_MCLIST_H */
