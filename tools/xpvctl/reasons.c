// SPDX-License-Identifier: GPL-2.0
/*
 * reasons.c: the codes of "explain" with their words. A code never changes its
 * meaning; the manual page and docs/operations.md list the same ones, which
 * codes.sh checks. Pure.
 */
#include "explain.h"

static const char *const steps[NR_STEPS] = {
	[STEP_DOMAINS] = "domains",
	[STEP_NODES] = "nodes in xenstore",
	[STEP_DRIVER] = "backend driver",
	[STEP_HOTPLUG] = "hotplug script",
	[STEP_FRONTEND] = "frontend driver",
	[STEP_CONNECT] = "connection",
	[STEP_NETWORK] = "network behind it",
};

const char *step_name(enum step step)
{
	return steps[step];
}

const struct reason_row reason_rows[NR_REASONS] = {
	[REASON_NONE] = {
		"OK", NR_STEPS, "connected", "nobody", "nothing",
	},
	[REASON_NO_DEVICE] = {
		"E-NO-DEVICE", STEP_NODES,
		"neither end has a directory in xenstore",
		"nobody: there is no such device",
		"make it: \"xpvctl attach\", or xl",
	},
	[REASON_NO_PERMISSION] = {
		"E-NO-PERMISSION", STEP_NODES,
		"xenstore does not let this domain read the device's nodes",
		"nothing can be said from here",
		"run this as root in dom0 or in the backend's domain",
	},
	[REASON_DOMAIN_GONE] = {
		"E-DOMAIN-GONE", STEP_DOMAINS,
		"the guest does not exist any more, its device is left over",
		"nobody",
		"\"xpvctl check --repair\", or \"xpvctl detach --force\" of this device",
	},
	[REASON_DOMAIN_ZOMBIE] = {
		"E-DOMAIN-ZOMBIE", STEP_DOMAINS,
		"the guest is dead but Xen cannot free it: somebody still maps its pages",
		"Xen waits for those pages",
		"end or detach what holds them; \"xpvctl check\" names it",
	},
	[REASON_BACKEND_DOMAIN_GONE] = {
		"E-BACKEND-DOMAIN-GONE", STEP_DOMAINS,
		"the backend's domain does not exist",
		"the frontend waits for a backend that will not come",
		"start the driver domain again and attach the device anew",
	},
	[REASON_NO_BACKEND_DIR] = {
		"E-NO-BACKEND-DIR", STEP_NODES,
		"the backend's directory is missing",
		"the frontend waits for a backend state",
		"\"xpvctl detach --force\", then attach the device again",
	},
	[REASON_NO_FRONTEND_DIR] = {
		"E-NO-FRONTEND-DIR", STEP_NODES,
		"the frontend's directory is missing",
		"the backend waits for a frontend state",
		"\"xpvctl detach --force\", then attach the device again",
	},
	[REASON_PAIRING] = {
		"E-PAIRING", STEP_NODES,
		"the two ends do not point at each other",
		"each end waits for somebody else",
		"\"xpvctl detach --force\", then attach the device again",
	},
	[REASON_NODE_PERMS] = {
		"E-NODE-PERMS", STEP_NODES,
		"an end may not read the other's nodes, or not write its own",
		"both ends wait for keys that cannot be read or written",
		"\"xpvctl detach --force\", then attach the device again",
	},
	[REASON_STATE] = {
		"E-STATE", STEP_NODES,
		"a state key is missing or no number from 0 to 8",
		"the other end waits for a state it understands",
		"detach and attach the device; what wrote the key is broken",
	},
	[REASON_NO_BACKEND_DRIVER] = {
		"E-NO-BACKEND-DRIVER", STEP_DRIVER,
		"no backend module is loaded in this domain",
		"the frontend waits for InitWait",
		"modprobe xpv-netback (vif) or xpv-blkback (vbd)",
	},
	[REASON_BACKEND_UNBOUND] = {
		"E-BACKEND-UNBOUND", STEP_DRIVER,
		"a backend module is loaded but does not serve this device",
		"the frontend waits for InitWait",
		"see dmesg for why it was refused; detach and attach again",
	},
	[REASON_NO_DEVICE_MODEL] = {
		"E-NO-DEVICE-MODEL", STEP_DRIVER,
		"this kind of disk is served by a program that has not come up",
		"the frontend waits for InitWait",
		"see /var/log/xen/qemu-dm-*.log; is the program running?",
	},
	[REASON_BACKEND_DOMAIN_SILENT] = {
		"E-BACKEND-DOMAIN-SILENT", STEP_DRIVER,
		"the backend's domain has not taken the device",
		"the frontend waits for InitWait",
		"load the backend module there, and run \"xl devd\" there",
	},
	[REASON_NO_DISK] = {
		"E-NO-DISK", STEP_HOTPLUG,
		"what the params key names is not there",
		"the backend waits for physical-device",
		"make the file or device, then detach and attach the disk",
	},
	[REASON_NO_SCRIPT] = {
		"E-NO-SCRIPT", STEP_HOTPLUG,
		"the hotplug script does not exist",
		"the backend waits for the script's result",
		"install it, or attach with another script=",
	},
	[REASON_HOTPLUG_FAILED] = {
		"E-HOTPLUG-FAILED", STEP_HOTPLUG,
		"the hotplug script failed",
		"the backend waits for hotplug-status = connected",
		"see hotplug-error here and /var/log/xen; mend, then detach and attach",
	},
	[REASON_NO_HOTPLUG] = {
		"E-NO-HOTPLUG", STEP_HOTPLUG,
		"the hotplug script has not run",
		"the backend waits for the script's result",
		"the toolstack runs it: xl create, \"xl devd\" or \"xpvctl attach\" died before; "
		"detach and attach",
	},
	[REASON_GUEST_PAUSED] = {
		"E-GUEST-PAUSED", STEP_FRONTEND,
		"the guest is paused",
		"the backend waits for the frontend",
		"xl unpause",
	},
	[REASON_LIMIT_GRANTS] = {
		"E-LIMIT-GRANTS", STEP_CONNECT,
		"a limit of grants or mappings is reached",
		"the device waits for nothing, it gave up",
		"raise max_grant_frames (guest) or max_maptrack_frames (backend's domain); "
		"\"xpvctl budget\" counts",
	},
	[REASON_LIMIT_EVENTS] = {
		"E-LIMIT-EVENTS", STEP_CONNECT,
		"no event channel or interrupt was left",
		"the device waits for nothing, it gave up",
		"raise event_channels of the guest, or use fewer queues; \"xpvctl budget\" counts",
	},
	[REASON_KEY_MISSING] = {
		"E-KEY-MISSING", STEP_CONNECT,
		"the frontend did not write a key that is needed",
		"the backend waits for it or has refused the device",
		"the frontend driver is broken or too old; see the guest's log",
	},
	[REASON_KEY_BAD] = {
		"E-KEY-BAD", STEP_CONNECT,
		"a key of the frontend is malformed or outside its limit",
		"the backend has refused the device",
		"lower the number in the guest, or raise the limit of the backend module",
	},
	[REASON_BACKEND_ERROR] = {
		"E-BACKEND-ERROR", STEP_CONNECT,
		"the backend driver reported an error",
		"the device waits for nothing, its backend gave up",
		"see the error here and dmesg of the backend's domain; detach and attach",
	},
	[REASON_FRONTEND_ERROR] = {
		"E-FRONTEND-ERROR", STEP_CONNECT,
		"the frontend driver reported an error",
		"the device waits for nothing, its frontend gave up",
		"see the error here and dmesg of the guest; detach and attach",
	},
	[REASON_DETACH_PENDING] = {
		"E-DETACH-PENDING", STEP_CONNECT,
		"the device is being detached and its frontend has not let go",
		"the backend waits for the frontend to close; a disk in use does not",
		"unmount it in the guest, or \"xpvctl detach --force\"",
	},
	[REASON_BACKEND_CLOSED] = {
		"E-BACKEND-CLOSED", STEP_CONNECT,
		"the backend has closed the device",
		"the frontend waits for a backend that comes back",
		"see dmesg of the backend's domain for the fault; detach and attach",
	},
	[REASON_FRONTEND_CLOSED] = {
		"E-FRONTEND-CLOSED", STEP_CONNECT,
		"the frontend has closed the device",
		"the backend waits for the frontend to come back",
		"load the driver in the guest again; see its dmesg for a fault",
	},
	[REASON_NO_FRONTEND_DRIVER] = {
		"E-NO-FRONTEND-DRIVER", STEP_FRONTEND,
		"the guest has not taken the device",
		"the backend waits for a frontend driver",
		"is the guest up, is xpv-netfront or xpv-blkfront loaded in it?",
	},
	[REASON_BACKEND_WAITS] = {
		"E-BACKEND-WAITS", STEP_CONNECT,
		"the frontend has written all that is needed, the backend does not go on",
		"the frontend waits for the backend's Connected",
		"see dmesg of the backend's domain",
	},
	[REASON_FRONTEND_WAITS] = {
		"E-FRONTEND-WAITS", STEP_CONNECT,
		"the backend is ready, the frontend does not go on",
		"the backend waits for the frontend's Connected",
		"see dmesg of the guest",
	},
	[REASON_VIF_DOWN] = {
		"E-VIF-DOWN", STEP_NETWORK,
		"connected, but the interface of the backend is down",
		"packets of the guest are dropped in the backend's domain",
		"ip link set dev VIF up",
	},
	[REASON_NO_BRIDGE] = {
		"E-NO-BRIDGE", STEP_NETWORK,
		"connected, but the interface is not a port of its bridge",
		"packets of the guest go nowhere",
		"ip link set dev VIF master BRIDGE",
	},
	[REASON_MTU] = {
		"E-MTU", STEP_NETWORK,
		"connected, but the MTUs along the way differ",
		"large packets get lost or are refused",
		"give vif, bridge, mtu key and guest the same MTU",
	},
};
