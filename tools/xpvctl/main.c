// SPDX-License-Identifier: GPL-2.0
/*
 * main.c: the command line. One table of commands, one of options; a new
 * command is a row and a function. Knows nothing of devices.
 */
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "ctx.h"
#include "device.h"
#include "spec.h"
#include "text.h"
#include "version.h"

#define DEFAULT_TIMEOUT_S 10
#define MAX_TIMEOUT_S 3600

enum option_bit {
	OPT_JSON = 1 << 0,
	OPT_VERBOSE = 1 << 1,
	OPT_TIMEOUT = 1 << 2,
	OPT_NO_WAIT = 1 << 3,
	OPT_NO_SCRIPT = 1 << 4,
	OPT_FORCE = 1 << 5,
	OPT_HELP = 1 << 6,
	OPT_REPAIR = 1 << 7,
	OPT_ONCE = 1 << 8,
	OPT_INTERVAL = 1 << 9,
};

struct option_row {
	enum option_bit bit;
	char letter;		/* 0: only the long form */
	const char *name;
	const char *value;	/* NULL: takes none */
	const char *help;
};

static const struct option_row option_rows[] = {
	{ OPT_JSON, 'j', "json", NULL, "JSON instead of text" },
	{ OPT_VERBOSE, 'v', "verbose", NULL, "counters and malformed keys too" },
	{ OPT_TIMEOUT, 't', "timeout", "SECONDS", "limit of each wait, 1 to 3600 (10)" },
	{ OPT_NO_WAIT, 0, "no-wait", NULL, "do not wait for Connected" },
	{ OPT_NO_SCRIPT, 0, "no-script", NULL, "run no hotplug script" },
	{ OPT_FORCE, 'f', "force", NULL, "frontend first, and go on after time-outs" },
	{ OPT_REPAIR, 'r', "repair", NULL, "remove what can be removed" },
	{ OPT_ONCE, '1', "once", NULL, "one look at the rates, then end" },
	{ OPT_INTERVAL, 'i', "interval", "SECONDS", "between two looks, 1 to 3600 (1)" },
	{ OPT_HELP, 'h', "help", NULL, "this text" },
};

#define NR_OPTIONS (sizeof(option_rows) / sizeof(*option_rows))

struct command {
	const char *name;
	int (*run)(struct ctx *c, int argc, char **argv);
	unsigned int options;
	bool needs_store;
	const char *usage;
	const char *summary;
	void (*more_help)(FILE *out);
};

static int cmd_help(struct ctx *c, int argc, char **argv);

static int cmd_version(struct ctx *c, int argc, char **argv)
{
	(void)argv;
	if (argc)
		return XPV_USAGE;
	if (c->opt.json)
		fprintf(c->out, "{\"version\": \"%s\"}\n", XPV_VERSION);
	else
		fprintf(c->out, "xpvctl %s\n", XPV_VERSION);
	return XPV_OK;
}

static void attach_help(FILE *out)
{
	fputs("\nKeys of a vif (default in brackets):\n", out);
	spec_help(out, CLASS_VIF);
	fputs("\nKeys of a vbd:\n", out);
	spec_help(out, CLASS_VBD);
}

static const struct command commands[] = {
	{ "list", cmd_list, OPT_JSON | OPT_VERBOSE, true, "[DOM]",
	  "every vif and vbd: states, features, counters", NULL },
	{ "show", cmd_show, OPT_JSON, true, "DOM/vif/N | DOM/VDEV | vifD.N | vbd-D-N",
	  "one device, everything about it", NULL },
	{ "explain", cmd_explain, OPT_JSON, true, "DOM/vif/N | DOM/VDEV | vifD.N | vbd-D-N",
	  "why a device is not connected, and what to do", NULL },
	{ "check", cmd_check, OPT_JSON | OPT_REPAIR, true, "",
	  "what is left of devices and domains that are gone", NULL },
	{ "budget", cmd_budget, OPT_JSON, false, "CONFIG",
	  "what the vif and disk lines of an xl configuration need, against limits", NULL },
	{ "top", cmd_top, OPT_JSON | OPT_ONCE | OPT_INTERVAL, true, "",
	  "rates of every device, live", NULL },
	{ "watch", cmd_watch, OPT_JSON | OPT_TIMEOUT, true, "",
	  "changes of states, script results and errors as they come", NULL },
	{ "export", cmd_export, 0, true, "",
	  "states and counters of every device as Prometheus text", NULL },
	{ "set", cmd_set, 0, true, "DOM/vif/N | vifD.N KEY=VALUE...",
	  "change a running device", set_help },
	{ "attach", cmd_attach, OPT_JSON | OPT_TIMEOUT | OPT_NO_WAIT | OPT_NO_SCRIPT, true,
	  "vif DOM [KEY=VALUE...] | vbd DOM params=PATH vdev=NAME [KEY=VALUE...]",
	  "make a device and wait until it is connected", attach_help },
	{ "detach", cmd_detach, OPT_TIMEOUT | OPT_NO_SCRIPT | OPT_FORCE, true,
	  "vif DOM N | vbd DOM VDEV", "take a device out, also one made by xl", NULL },
	{ "version", cmd_version, OPT_JSON, false, "", "the version", NULL },
	{ "help", cmd_help, 0, false, "[COMMAND]", "this text, or that of a command", NULL },
};

#define NR_COMMANDS (sizeof(commands) / sizeof(*commands))

static const struct command *find_command(const char *name)
{
	size_t i;

	for (i = 0; i < NR_COMMANDS; i++)
		if (!strcmp(commands[i].name, name))
			return &commands[i];
	return NULL;
}

static void command_help(FILE *out, const struct command *cmd)
{
	unsigned int options = cmd->options | OPT_HELP;
	char *name;
	size_t i;

	fprintf(out, "usage: xpvctl %s [OPTIONS] %s\n%s\n\nOptions:\n", cmd->name, cmd->usage,
		cmd->summary);
	for (i = 0; i < NR_OPTIONS; i++) {
		const struct option_row *o = &option_rows[i];

		if (!(options & o->bit))
			continue;
		name = xasprintf("--%s %s", o->name, o->value ? o->value : "");
		fprintf(out, "  %c%c%c %-18s %s\n", o->letter ? '-' : ' ',
			o->letter ? o->letter : ' ', o->letter ? ',' : ' ', name, o->help);
		free(name);
	}
	if (cmd->more_help)
		cmd->more_help(out);
}

static void overview(FILE *out)
{
	size_t i;

	fputs("usage: xpvctl COMMAND [OPTIONS] [WORDS]\n\nCommands:\n", out);
	for (i = 0; i < NR_COMMANDS; i++)
		fprintf(out, "  %-8s %s\n", commands[i].name, commands[i].summary);
	fputs("\n\"xpvctl COMMAND --help\" tells the options of a command.\n"
	      "Exit status: 0 ok, 1 failed, 2 wrong usage, 3 not found, 4 timed out,\n"
	      "5 no permission or no Xen.\n", out);
}

static int cmd_help(struct ctx *c, int argc, char **argv)
{
	const struct command *cmd;

	if (!argc) {
		overview(c->out);
		return XPV_OK;
	}
	cmd = find_command(argv[0]);
	if (!cmd || argc > 1) {
		complain(c, "no command \"%s\"", argv[argc - 1]);
		return XPV_USAGE;
	}
	command_help(c->out, cmd);
	return XPV_OK;
}

static bool parse_seconds(struct ctx *c, const char *name, const char *value, unsigned int *ms)
{
	unsigned int seconds;

	if (!text_u32(value, MAX_TIMEOUT_S, &seconds) || !seconds) {
		complain(c, "--%s = \"%s\": 1 to %u expected", name, value, MAX_TIMEOUT_S);
		return false;
	}
	*ms = seconds * 1000;
	return true;
}

static bool set_option(struct ctx *c, enum option_bit bit, const char *value)
{
	switch (bit) {
	case OPT_JSON:
		c->opt.json = true;
		break;
	case OPT_VERBOSE:
		c->opt.verbose = true;
		break;
	case OPT_TIMEOUT:
		c->opt.timeout_given = true;
		return parse_seconds(c, "timeout", value, &c->opt.timeout_ms);
	case OPT_INTERVAL:
		return parse_seconds(c, "interval", value, &c->opt.interval_ms);
	case OPT_ONCE:
		c->opt.once = true;
		break;
	case OPT_NO_WAIT:
		c->opt.no_wait = true;
		break;
	case OPT_NO_SCRIPT:
		c->opt.no_script = true;
		break;
	case OPT_FORCE:
		c->opt.force = true;
		break;
	case OPT_REPAIR:
		c->opt.repair = true;
		break;
	case OPT_HELP:
		c->opt.help = true;
		break;
	}
	return true;
}

/* getopt's two tables, of the options that @cmd takes. */
static void getopt_tables(const struct command *cmd, struct option *longs, char *shorts)
{
	unsigned int options = cmd->options | OPT_HELP;
	size_t i;

	for (i = 0; i < NR_OPTIONS; i++) {
		const struct option_row *o = &option_rows[i];

		if (!(options & o->bit))
			continue;
		*longs++ = (struct option){ o->name, o->value ? required_argument : no_argument,
					    NULL, 256 + (int)i };
		if (!o->letter)
			continue;
		*shorts++ = o->letter;
		if (o->value)
			*shorts++ = ':';
	}
	*longs = (struct option){ 0 };
	*shorts = '\0';
}

static const struct option_row *row_of(int value)
{
	size_t i;

	if (value >= 256)
		return &option_rows[value - 256];
	for (i = 0; i < NR_OPTIONS; i++)
		if (option_rows[i].letter == value)
			return &option_rows[i];
	return NULL;
}

static bool parse_options(struct ctx *c, const struct command *cmd, int argc, char **argv)
{
	struct option longs[NR_OPTIONS + 1];
	char shorts[2 * NR_OPTIONS + 1];
	const struct option_row *row;
	int value;

	getopt_tables(cmd, longs, shorts);
	while ((value = getopt_long(argc, argv, shorts, longs, NULL)) != -1) {
		row = row_of(value);
		if (!row || !set_option(c, row->bit, optarg))
			return false;
	}
	return true;
}

static int run_command(struct ctx *c, const struct command *cmd, int argc, char **argv)
{
	int rc = XPV_OK;

	if (!parse_options(c, cmd, argc, argv))
		return XPV_USAGE;
	if (c->opt.help) {
		command_help(c->out, cmd);
		return XPV_OK;
	}
	if (cmd->needs_store)
		rc = ctx_open(c);
	if (!rc)
		rc = cmd->run(c, argc - optind, argv + optind);
	if (cmd->needs_store)
		ctx_close(c);
	return rc;
}

int main(int argc, char **argv)
{
	struct ctx c = {
		.out = stdout,
		.err = stderr,
		.opt.timeout_ms = DEFAULT_TIMEOUT_S * 1000,
		.opt.interval_ms = 1000,
	};
	const struct command *cmd;

	if (argc < 2) {
		overview(stderr);
		return XPV_USAGE;
	}
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h")) {
		overview(stdout);
		return XPV_OK;
	}
	cmd = find_command(strcmp(argv[1], "--version") ? argv[1] : "version");
	if (!cmd) {
		complain(&c, "no command \"%s\"; \"xpvctl help\" lists them", argv[1]);
		return XPV_USAGE;
	}
	return run_command(&c, cmd, argc - 1, argv + 1);
}
