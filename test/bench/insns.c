// SPDX-License-Identifier: GPL-2.0
/*
 * A QEMU plugin that counts executed instructions by processor and address,
 * between two marks that a program in the machine executes.
 *
 * With -icount an instruction is a nanosecond, so this is an exact profile of
 * everything in the machine: dom0, guests and Xen.  test/bench/window.sh loads
 * it and gives the addresses names.
 *
 * A mark is a long no-op with a number in it (test/rig/tools/window.c).  The
 * first kind sets all counters to zero and starts, the second stops and writes
 * "CPU ADDRESS INSTRUCTIONS RUNS" for each block of code that ran to the file
 * of argument out=, which is complete when it has its name.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "mark.h"
#include "qemu.h"

#define CPUS	8
#define BUCKETS	(1u << 18)

struct block {
	struct block *next;
	uint64_t addr;
	uint64_t insns;
	uint64_t runs[CPUS];
};

int qemu_plugin_version = 1;
static struct block *bucket[BUCKETS];
static char out[4096];
static bool counting;

static struct block **find_bucket(uint64_t addr)
{
	return &bucket[(addr * 0x9e3779b97f4a7c15ull) >> 46];
}

/* One vCPU thread runs and translates, so nothing here needs a lock. */
static void ran(unsigned int cpu, void *data)
{
	struct block *b = data;

	if (counting)
		b->runs[cpu % CPUS]++;
}

static void start(unsigned int cpu, void *data)
{
	struct block *b;
	size_t i;

	(void)cpu;
	(void)data;
	for (i = 0; i < BUCKETS; i++)
		for (b = bucket[i]; b; b = b->next)
			memset(b->runs, 0, sizeof(b->runs));
	counting = true;
}

static void dump_block(FILE *f, const struct block *b)
{
	size_t cpu;

	for (cpu = 0; cpu < CPUS; cpu++)
		if (b->runs[cpu])
			fprintf(f, "%zu %016llx %llu %llu\n", cpu,
				(unsigned long long)b->addr,
				(unsigned long long)(b->runs[cpu] * b->insns),
				(unsigned long long)b->runs[cpu]);
}

static void stop(unsigned int cpu, void *data)
{
	char part[sizeof(out) + 8];
	struct block *b;
	size_t i;
	FILE *f;

	(void)cpu;
	(void)data;
	if (!counting)
		return;
	counting = false;
	snprintf(part, sizeof(part), "%s.part", out);
	f = fopen(part, "w");
	if (!f)
		return;
	for (i = 0; i < BUCKETS; i++)
		for (b = bucket[i]; b; b = b->next)
			dump_block(f, b);
	if (!fclose(f))
		rename(part, out);
}

/* Return: the number of a mark; 0 for every other instruction. */
static uint32_t mark_of(const struct qemu_plugin_insn *insn)
{
	static const char nop[] = MARK_NOP;
	const size_t len = sizeof(nop) - 1;
	uint8_t bytes[sizeof(nop) - 1 + sizeof(uint32_t)];
	uint32_t number;

	if (qemu_plugin_insn_size(insn) != sizeof(bytes))
		return 0;
	memcpy(bytes, qemu_plugin_insn_data(insn), sizeof(bytes));
	memcpy(&number, bytes + len, sizeof(number));
	return memcmp(bytes, nop, len) ? 0 : number;
}

static void look_for_marks(struct qemu_plugin_tb *tb)
{
	size_t i, n = qemu_plugin_tb_n_insns(tb);

	for (i = 0; i < n; i++) {
		struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);

		switch (mark_of(insn)) {
		case MARK_START:
			qemu_plugin_register_vcpu_insn_exec_cb(insn, start, 0, NULL);
			break;
		case MARK_STOP:
			qemu_plugin_register_vcpu_insn_exec_cb(insn, stop, 0, NULL);
			break;
		}
	}
}

static void translated(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
	uint64_t addr = qemu_plugin_tb_vaddr(tb);
	uint64_t insns = qemu_plugin_tb_n_insns(tb);
	struct block **head = find_bucket(addr);
	struct block *b;

	(void)id;
	look_for_marks(tb);
	for (b = *head; b; b = b->next)
		if (b->addr == addr && b->insns == insns)
			break;
	if (!b) {
		b = calloc(1, sizeof(*b));
		if (!b)
			return;
		b->addr = addr;
		b->insns = insns;
		b->next = *head;
		*head = b;
	}
	qemu_plugin_register_vcpu_tb_exec_cb(tb, ran, 0, b);
}

int qemu_plugin_install(qemu_plugin_id_t id, const void *info, int argc,
			char **argv)
{
	int i;

	(void)info;
	for (i = 0; i < argc; i++)
		if (!strncmp(argv[i], "out=", 4))
			snprintf(out, sizeof(out), "%s", argv[i] + 4);
	if (!out[0])
		return -1;
	qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
	return 0;
}
