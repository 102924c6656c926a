/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Multicast control: the backend is told which groups the guest wants.
 *
 * What is decided is in mclist.h; mcast.c says how it gets to the backend.
 */
#ifndef XPV_NETFRONT_MCAST_H
#define XPV_NETFRONT_MCAST_H

#include <linux/workqueue.h>
#include "mclist.h"

struct net_device;
struct xnf;
struct xnf_queue;

/**
 * struct xnf_mcast - multicast control of a device
 * @list: both lists; Tx lock of queue 0
 * @asked: the store says that we want control; written by @work, Tx lock
 * @work: tells the store
 */
struct xnf_mcast {
	struct xnf_mclist list;
	bool asked;
	struct delayed_work work;
};

void xnf_mcast_init(struct xnf *x);

/** xnf_mcast_start() - a backend with an empty list; queue 0 is up. */
void xnf_mcast_start(struct xnf *x);

/** xnf_mcast_halt() - the store is left alone from now on; queues are down. */
void xnf_mcast_halt(struct xnf *x);

/** xnf_set_rx_mode() - ndo_set_rx_mode: address lock held, BH disabled. */
void xnf_set_rx_mode(struct net_device *dev);

/** xnf_mcast_send() - changes go to the ring of queue 0, unpublished. Tx lock. */
void xnf_mcast_send(struct xnf_queue *q);

/** xnf_mcast_answer() - response to one of them. Tx lock. */
void xnf_mcast_answer(struct xnf_queue *q, u16 id, s16 status);

#endif /* XPV_NETFRONT_MCAST_H */
