// SPDX-License-Identifier: GPL-2.0
/*
 * A QEMU plugin that counts executed instructions by processor and address.
 *
 * With -icount an instruction is a nanosecond, so this is an exact profile of
 * everything in the machine: dom0, guests and Xen.  test/bench/profile loads
 * it and gives the addresses names.
 *
 * Argument ctl=FIFO.  A line "start" on it sets all counters to zero, a line
 * "dump FILE" writes "CPU ADDRESS INSTRUCTIONS" for each block of code that ran
 * and then the word "end".
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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
static char fifo[4096];

static struct block **find_bucket(uint64_t addr)
{
	return &bucket[(addr * 0x9e3779b97f4a7c15ull) >> 46];
}

/* One vCPU thread runs and translates, so nothing here needs a lock. */
static void ran(unsigned int cpu, void *data)
{
	struct block *b = data;

	b->runs[cpu % CPUS]++;
}

static void translated(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
	uint64_t addr = qemu_plugin_tb_vaddr(tb);
	uint64_t insns = qemu_plugin_tb_n_insns(tb);
	struct block **head = find_bucket(addr);
	struct block *b;

	(void)id;
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

static void start(void)
{
	struct block *b;
	size_t i;

	for (i = 0; i < BUCKETS; i++)
		for (b = bucket[i]; b; b = b->next)
			memset(b->runs, 0, sizeof(b->runs));
}

static void dump(const char *path)
{
	FILE *f = fopen(path, "w");
	struct block *b;
	size_t i, cpu;

	if (!f)
		return;
	for (i = 0; i < BUCKETS; i++)
		for (b = bucket[i]; b; b = b->next)
			for (cpu = 0; cpu < CPUS; cpu++)
				if (b->runs[cpu])
					fprintf(f, "%zu %016llx %llu\n", cpu,
						(unsigned long long)b->addr,
						(unsigned long long)(b->runs[cpu] * b->insns));
	fputs("end\n", f);
	fclose(f);
}

static void *listen_fifo(void *arg)
{
	char line[4200];
	FILE *f;

	(void)arg;
	while ((f = fopen(fifo, "r"))) {
		while (fgets(line, sizeof(line), f)) {
			line[strcspn(line, "\n")] = '\0';
			if (!strcmp(line, "start"))
				start();
			else if (!strncmp(line, "dump ", 5))
				dump(line + 5);
		}
		fclose(f);
	}
	return NULL;
}

int qemu_plugin_install(qemu_plugin_id_t id, const void *info, int argc,
			char **argv)
{
	pthread_t thread;
	int i;

	(void)info;
	for (i = 0; i < argc; i++)
		if (!strncmp(argv[i], "ctl=", 4))
			snprintf(fifo, sizeof(fifo), "%s", argv[i] + 4);
	if (!fifo[0] || pthread_create(&thread, NULL, listen_fifo, NULL))
		return -1;
	qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
	return 0;
}
