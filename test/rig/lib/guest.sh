# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2034,SC2154,SC2016
#
# Drivers and guests, as a case sees them.  Sourced after machine.sh.
#
# backend ours|stock [net='P=V ...'] [blk='P=V ...']
#	loads the back ends of one kind, with module parameters, and makes sure
#	those of the other kind are not there
# guest_start NAME front=ours|stock [type=pv|pvh|hvm] [kernel=6.12] [vcpus=1]
#	[mem=256] [net='P=V ...'] [blk='P=V ...'] [ip=N] [extra='WORDS']
#	[vif='bridge=xenbr0']... [disk='phy:/dev/loop0,xvda,w']... [config='LINE']...
# guest [-t SECONDS] [-i] NAME CMD...
# guest_stop NAME		a clean shutdown
# guest_destroy NAME	xl destroy

declare -A guest_kernel=() guest_ip=()
guest_names=()		# running ones
guest_all=()		# all the case ever started, for their logs
guest_next_ip=11

kernel_release() { dom0 uname -r; }

# Ours may need modules of the kernel, which modprobe knows and insmod not.
# Parameters are words of the shell in dom0.
backend() {
	local kind=$1 arg net='' blk=''
	shift
	for arg; do
		case $arg in
		net=*) net=${arg#*=} ;;
		blk=*) blk=${arg#*=} ;;
		*) die "backend: what is '$arg'?" ;;
		esac
	done
	case $kind in
	stock)
		dom0 "rmmod xpv_netback xpv_blkback xpv_netfront xpv_blkfront xpv_core 2>/dev/null
			rmmod xen-netback xen-blkback 2>/dev/null
			! lsmod | grep -q '^xpv_' || exit 1
			modprobe xen-netback $net && modprobe xen-blkback $blk"
		;;
	ours)
		dom0 "rmmod xpv_netback xpv_blkback xpv_netfront xpv_blkfront xpv_core 2>/dev/null
			rmmod xen-netback xen-blkback 2>/dev/null
			! lsmod | grep -qE '^xen_(netback|blkback)' || exit 1
			cd /payload/modules/$RIG_DOM0 || exit 1
			for m in xpv-core xpv-netback xpv-blkback; do
				[ -f \$m.ko ] || continue
				for d in \$(modinfo -F depends \$m.ko | tr ,- ' _'); do
					[ \$d = xpv_core ] || modprobe \$d || exit 1
				done
				case \$m in
				*netback) insmod \$m.ko $net ;;
				*blkback) insmod \$m.ko $blk ;;
				*) insmod \$m.ko ;;
				esac || exit 1
			done"
		;;
	*)
		die "backend: 'ours' or 'stock', not '$kind'"
		;;
	esac || error "backend $kind could not be loaded"
}

# Prints the configuration given by guest_start's words; sets the globals
# g_kernel and g_ip of the guest in passing.
guest_config() {
	local name=$1 arg front=stock type=pv vcpus=1 mem=256 net='' blk='' extra=''
	local -a vif=() disk=() lines=()
	g_kernel=6.12
	g_ip=
	shift
	for arg; do
		case $arg in
		front=*) front=${arg#*=} ;;
		type=*) type=${arg#*=} ;;
		kernel=*) g_kernel=${arg#*=} ;;
		vcpus=*) vcpus=${arg#*=} ;;
		mem=*) mem=${arg#*=} ;;
		net=*) net=${arg#*=} ;;
		blk=*) blk=${arg#*=} ;;
		ip=*) g_ip=${arg#*=} ;;
		extra=*) extra=${arg#*=} ;;
		vif=*) vif+=("'${arg#*=}'") ;;
		disk=*) disk+=("'${arg#*=}'") ;;
		config=*) lines+=("${arg#*=}") ;;
		*) die "guest_start: what is '$arg'?" ;;
		esac
	done
	if [[ -n ${vif[*]} && -z $g_ip ]]; then
		g_ip=$guest_next_ip
	fi
	[[ -z $net ]] || extra+=" rig.net=${net// /,}"
	[[ -z $blk ]] || extra+=" rig.blk=${blk// /,}"
	[[ -z $g_ip ]] || extra+=" rig.ip=$g_ip"
	config="name = '$name'
type = '$type'
kernel = '/payload/guest/$g_kernel/vmlinuz'
ramdisk = '/payload/guest/$g_kernel/initramfs'
cmdline = 'console=hvc0 loglevel=4 rig.front=$front$extra'
memory = $mem
vcpus = $vcpus
on_poweroff = 'destroy'
on_reboot = 'destroy'
on_crash = 'destroy'
vif = [ $(IFS=,; echo "${vif[*]}") ]
disk = [ $(IFS=,; echo "${disk[*]}") ]"
	# The device model is there for the boot only: no screen, no sound.
	[[ $type != hvm ]] || config+="
vga = 'none'
vnc = 0
usb = 0
xen_platform_pci = 1"
	config+=$(printf '\n%s' "${lines[@]}")
}

guest_start() {
	local name=$1 limit=240 config g_kernel g_ip
	guest_config "$@"
	log_text "config of $name" "$config"
	[[ -f $out/leak.before ]] || leak_snapshot
	[[ -z $g_ip ]] || guest_next_ip=$((guest_next_ip + 1))
	guest_names+=("$name")
	guest_all+=("$name")
	guest_kernel[$name]=$g_kernel
	guest_ip[$name]=$g_ip
	[[ $config != *"type = 'hvm'"* ]] || limit=500
	local start=$SECONDS rc=0
	dom0 -t "$limit" -i "guest-up '$name' $((limit * $(patience)))" <<<"$config" || rc=$?
	case $rc in
	0) echo "ok   guest $name is up ($((SECONDS - start)) s)" ;;
	125) crash "guest $name does not answer after its start" ;;
	*) error "guest $name did not start" ;;
	esac
}

guest() {
	local seconds=60 input='' stretch
	stretch=$(patience)
	while [[ ${1:-} == -* ]]; do
		case $1 in
		-t) seconds=$2; shift 2 ;;
		-i) input=-i; shift ;;
		*) die "guest: unknown option $1" ;;
		esac
	done
	local name=$1 cmd
	shift
	# The shell in dom0 must see one word.
	cmd=${*//\'/\'\\\'\'}
	dom0 -t $((seconds + 60)) $input "guest-run $input '$name' $((seconds * stretch)) '$cmd'"
}

guest_forget() {
	local name list=()
	for name in "${guest_names[@]}"; do
		[[ $name == "$1" ]] || list+=("$name")
	done
	guest_names=("${list[@]}")
}

domain_gone() { dom0 -t 90 "domain-gone '$1'"; }

guest_stop() {
	guest "$1" 'sync; (sleep 0.3; poweroff -f) >/dev/null 2>&1 &' || true
	guest_forget "$1"
	check "$1 has ended" domain_gone "$1"
}

guest_destroy() {
	guest_forget "$1"
	dom0 -t 90 xl destroy "$1" || fail "xl destroy $1"
	check "$1 is no zombie" domain_gone "$1"
}
