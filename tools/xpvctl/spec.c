// SPDX-License-Identifier: GPL-2.0
/*
 * spec.c: the words of "attach", by a table of keys. Decides which values are
 * acceptable; does not look at the machine or the store. Pure.
 */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "spec.h"
#include "text.h"
#include "vdev.h"

#define SCRIPT_DIR "/etc/xen/scripts"
#define DEFAULT_MTU 1500
#define MAX_MTU 65517

typedef bool (*value_parser)(struct spec *s, const char *value, size_t offset);

struct key {
	const char *name;
	value_parser parse;
	size_t offset;
	const char *expected;
	const char *help;
};

static void *field(struct spec *s, size_t offset)
{
	return (char *)s + offset;
}

static void replace(char **to, char *value)
{
	free(*to);
	*to = value;
}

static bool parse_word(struct spec *s, const char *value, size_t offset)
{
	if (!text_is_plain(value))
		return false;
	replace(field(s, offset), xstrdup(value));
	return true;
}

/* A kernel interface name: 15 bytes, no slash and no blank. */
static bool parse_ifname(struct spec *s, const char *value, size_t offset)
{
	if (strlen(value) > 15 || strpbrk(value, "/ :"))
		return false;
	return parse_word(s, value, offset);
}

static bool parse_script(struct spec *s, const char *value, size_t offset)
{
	if (!text_is_plain(value))
		return false;
	replace(field(s, offset), *value == '/' ? xstrdup(value) :
		xasprintf(SCRIPT_DIR "/%s", value));
	return true;
}

static bool parse_bool(struct spec *s, const char *value, size_t offset)
{
	uint32_t v;

	if (!text_u32(value, 1, &v))
		return false;
	*(bool *)field(s, offset) = v;
	return true;
}

static bool parse_discard(struct spec *s, const char *value, size_t offset)
{
	uint32_t v;

	if (!text_u32(value, 1, &v))
		return false;
	*(int *)field(s, offset) = v;
	return true;
}

static bool parse_devid(struct spec *s, const char *value, size_t offset)
{
	s->has_devid = true;
	return text_u32(value, MAX_DEVID, field(s, offset));
}

static bool parse_mtu(struct spec *s, const char *value, size_t offset)
{
	uint32_t *mtu = field(s, offset);

	return text_u32(value, MAX_MTU, mtu) && *mtu >= 68;
}

static bool parse_mac(struct spec *s, const char *value, size_t offset)
{
	return text_mac(value, field(s, offset));
}

static bool parse_rate(struct spec *s, const char *value, size_t offset)
{
	char *rate = text_rate(value);

	if (!rate)
		return false;
	replace(field(s, offset), rate);
	return true;
}

static bool parse_vdev(struct spec *s, const char *value, size_t offset)
{
	char name[16];

	if (!vdev_number(value, &s->devid))
		return false;
	/* The backend's "dev" node wants the name, also for a number. */
	vdev_name(s->devid, name, sizeof(name));
	replace(field(s, offset), xstrdup(name));
	s->has_devid = true;
	return true;
}

static bool parse_mode(struct spec *s, const char *value, size_t offset)
{
	if (strcmp(value, "r") && strcmp(value, "w"))
		return false;
	*(char *)field(s, offset) = *value;
	return true;
}

static bool parse_type(struct spec *s, const char *value, size_t offset)
{
	if (strcmp(value, "disk") && strcmp(value, "cdrom"))
		return false;
	*(bool *)field(s, offset) = !strcmp(value, "cdrom");
	return true;
}

#define KEY(name, parser, member, expected, help) \
	{ name, parser, offsetof(struct spec, member), expected, help }

static const struct key vif_keys[] = {
	KEY("mac", parse_mac, mac, "six octets, not multicast",
	    "Ethernet address; a random one of 00:16:3e when not given"),
	KEY("bridge", parse_ifname, bridge, "an interface name", "bridge to join (xenbr0)"),
	KEY("mtu", parse_mtu, mtu, "68 to 65517", "largest packet, told to both ends (1500)"),
	KEY("rate", parse_rate, rate, "N[KMG](b|B)/s[@N(us|ms|s)]",
	    "limit of what the guest transmits, as in xl.cfg"),
	KEY("devid", parse_devid, devid, "0 to 2147483647", "number; the lowest free one"),
	KEY("vifname", parse_ifname, vifname, "an interface name", "name in the backend domain"),
	KEY("ip", parse_word, ip, "plain text", "addresses for the script's filter rules"),
	KEY("backend", parse_word, backend, "a domain", "backend domain (this one)"),
	KEY("script", parse_script, script, "a path", "hotplug script (vif-bridge)"),
	KEY("trusted", parse_bool, trusted, "0 or 1", "0: the guest distrusts its backend (1)"),
	{ }
};

static const struct key vbd_keys[] = {
	KEY("params", parse_word, params, "a path", "block device or file; needed"),
	KEY("vdev", parse_vdev, vdev, "xvda.., sda.., hda.. or a number",
	    "name in the guest; needed"),
	KEY("mode", parse_mode, mode, "r or w", "read only, or writable (w; r for a cdrom)"),
	KEY("type", parse_type, cdrom, "disk or cdrom", "kind of disk (disk)"),
	KEY("discard", parse_discard, discard, "0 or 1", "offer discard (1 when writable)"),
	KEY("backend", parse_word, backend, "a domain", "backend domain (this one)"),
	KEY("script", parse_script, script, "a path", "hotplug script (block)"),
	KEY("trusted", parse_bool, trusted, "0 or 1", "0: the guest distrusts its backend (1)"),
	{ }
};

static const struct key *keys_of(enum dev_class class)
{
	return class == CLASS_VIF ? vif_keys : vbd_keys;
}

void spec_init(struct spec *s, enum dev_class class)
{
	memset(s, 0, sizeof(*s));
	s->class = class;
	s->trusted = true;
	s->mtu = DEFAULT_MTU;
	s->discard = -1;
	if (class == CLASS_VIF)
		s->bridge = xstrdup("xenbr0");
	s->script = xstrdup(class == CLASS_VIF ? SCRIPT_DIR "/vif-bridge" : SCRIPT_DIR "/block");
}

void spec_free(struct spec *s)
{
	free(s->domain);
	free(s->backend);
	free(s->script);
	free(s->bridge);
	free(s->rate);
	free(s->vifname);
	free(s->ip);
	free(s->params);
	free(s->vdev);
	memset(s, 0, sizeof(*s));
}

/* "mac=..." splits at the first '='; the rest belongs to the value. */
static char *parse_one(struct spec *s, const char *word)
{
	const char *eq = strchr(word, '=');
	const struct key *k;
	size_t len;

	if (!eq)
		return xasprintf("\"%s\": key=value expected", word);
	len = eq - word;
	for (k = keys_of(s->class); k->name; k++)
		if (strlen(k->name) == len && !strncmp(k->name, word, len))
			break;
	if (!k->name)
		return xasprintf("unknown key \"%.*s\" for a %s", (int)len, word,
				 class_name(s->class));
	if (!k->parse(s, eq + 1, k->offset))
		return xasprintf("%s = \"%s\": %s expected", k->name, eq + 1, k->expected);
	return NULL;
}

char *spec_parse(struct spec *s, int argc, char *const *argv)
{
	char *error;
	int i;

	for (i = 0; i < argc; i++) {
		error = parse_one(s, argv[i]);
		if (error)
			return error;
	}
	if (s->class == CLASS_VIF)
		return NULL;
	if (!s->params || !s->vdev)
		return xasprintf("a vbd needs %s=", s->params ? "vdev" : "params");
	if (s->cdrom && s->mode == 'w')
		return xasprintf("mode = \"w\": a cdrom is read only");
	if (!s->mode)
		s->mode = s->cdrom ? 'r' : 'w';
	return NULL;
}

void spec_help(FILE *out, enum dev_class class)
{
	const struct key *k;

	for (k = keys_of(class); k->name; k++)
		fprintf(out, "  %-9s %s\n", k->name, k->help);
}
