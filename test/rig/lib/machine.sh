# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2034,SC2154,SC2016
#
# The machine: Xen and dom0 in QEMU's software emulation.  It is booted once;
# its memory is kept in a file that every later machine maps privately, so
# that a start costs about a second and two machines share what they do not
# change.  Sourced after common.sh.
#
# machine_start DIR   starts a machine whose sockets, logs and disk are in DIR
# dom0 [-t S] CMD...  runs a command in dom0 of $machine
# machine_stop        ends it

machine=			# folder of the running machine
machine_pid=

# Everything the saved state depends on; the two lists must be the same when
# it is saved and when it is loaded.
#
# Flags that matter: no "-cpu max", Xen's dom0 dies of it at its first page
# fault; rdrand, or dom0's random pool keeps everyone waiting for 90 s; svm
# and npt for PVH and HVM guests; iommu_platform on every virtio device,
# because a PV dom0 has no machine addresses to give to a legacy one.
machine_args() {
	local dir=$1 disk=$2 payload=$3 share=$4 ram=$5
	local virtio=disable-legacy=on,iommu_platform=on
	# shellcheck disable=SC2054  # commas are QEMU's
	qemu_args=(-nodefaults -no-user-config -display none -no-reboot
		-name "rig-$(tag)" -m 4096 -smp 2 -cpu 'qemu64,+rdrand,+svm,+npt'
		-object "memory-backend-file,id=ram,size=4096M,mem-path=$ram,share=$share"
		-machine pc,memory-backend=ram
		-serial "file:$dir/xen.log"
		-monitor "unix:$dir/monitor,server=on,wait=off"
		-drive "file=$disk,if=none,id=root,format=qcow2,cache=unsafe"
		-device "virtio-blk-pci,drive=root,$virtio"
		-drive "file=$payload,if=none,id=payload,format=raw,readonly=on"
		-device "virtio-blk-pci,drive=payload,$virtio"
		-device "virtio-serial-pci,$virtio"
		-chardev "socket,id=rig,path=$dir/dom0,server=on,wait=off"
		-device "virtserialport,chardev=rig,name=xpv.rig")
	[[ $RIG_ICOUNT != 0 ]] || return 0
	# One nanosecond an instruction.  The filter on an unused card is a
	# timer in virtual time that cuts the slices of the vCPUs to 20 us;
	# without it they run for milliseconds and batches form by themselves.
	qemu_args+=(-icount 'shift=0,sleep=off'
		-netdev 'user,id=slice,restrict=y'
		-object 'filter-buffer,id=slicer,netdev=slice,interval=20'
		-device "virtio-net-pci,netdev=slice,$virtio")
}

# Room for the payload: its disk must have this size in every machine, the
# state knows it.
PAYLOAD_SIZE=1G

# One thread of the host for both processors of the machine: with one each, a
# processor that waits for the other burns a core, and when the host is busy
# and takes that core away, two of a guest take five times as long to boot.
# RIG_THREADS=multi runs them truly at once, which finds other races.
machine_accel() {
	local threads=${THREADS:-${RIG_THREADS:-single}}
	[[ $RIG_ICOUNT == 0 ]] || threads=single
	echo "tcg,thread=$threads"
}

monitor() { "$agent" monitor "$machine/monitor" "$1" "$2"; }

machine_run() {
	[[ ${#machine} -lt 96 ]] || die "the path $machine is too long for a socket"
	# Compilers can wait; what waits inside the machine has time limits.
	setsid nice -n "$([[ $EUID == 0 ]] && echo -10 || echo 0)" \
		qemu-system-x86_64 -accel "$(machine_accel)" "${qemu_args[@]}" "$@" >"$machine/qemu.log" 2>&1 </dev/null &
	machine_pid=$!
	echo "$machine_pid" >"$machine/pid"
}

machine_alive() { [[ -n $machine_pid ]] && kill -0 "$machine_pid" 2>/dev/null; }

machine_stop() {
	if machine_alive; then
		kill "$machine_pid" 2>/dev/null || true
		wait "$machine_pid" 2>/dev/null || true
	fi
	machine_pid=
}

# All time limits are meant for an idle host; on a busy one they stretch.
patience() {
	local load
	read -r load _ </proc/loadavg
	echo $((1 + ${load%.*} / $(nproc)))
}

dom0() {
	local seconds=60 input=
	while [[ ${1:-} == -* ]]; do
		case $1 in
		-t) seconds=$2; shift 2 ;;
		-i) input=-i; shift ;;
		*) die "dom0: unknown option $1" ;;
		esac
	done
	RIG_SLOWER=$([[ $RIG_ICOUNT == 0 ]] && echo 1 || echo 25) \
		"$agent" call $input "$machine/dom0" $((seconds * $(patience))) "$*"
}

# Waits until dom0 answers; SECONDS is the host's clock, not the machine's.
machine_wait() {
	local until=$((SECONDS + $1 * $(patience)))
	while ((SECONDS < until)); do
		machine_alive || return 1
		[[ -S $machine/dom0 ]] && "$agent" call "$machine/dom0" 2 true 2>/dev/null && return
		sleep 0.2
	done
	return 1
}

machine_boot_args() {
	local dir
	dir=$(dom0_dir)
	boot_args=(-kernel "$dir/xen"
		-append "console=com1 com1=115200 dom0_mem=2048M,max:2048M dom0_max_vcpus=1 noreboot conring_size=1M loglvl=info guest_loglvl=info/all"
		-initrd "$dir/vmlinuz console=hvc0 loglevel=4 panic=0,$dir/initrd.cpio")
}

# Boots from nothing and saves "dom0 ready".  Not called under the runner's
# time limits: with -icount it takes a minute or two.
machine_save() {
	local state=$1 start=$SECONDS
	machine=$state
	note "booting Xen and dom0 ($(tag)) to save the state of the machine"
	# All a start needs is in this one folder, for machine_prepare's links.
	ln "$(dom0_dir)/root.ext4" "$state/root.ext4"
	qemu-img create -q -f qcow2 -F raw -b root.ext4 "$state/disk.qcow2"
	truncate -s "$PAYLOAD_SIZE" "$state/nothing"
	machine_args "$state" "$state/disk.qcow2" "$state/nothing" on "$state/ram"
	machine_boot_args
	machine_run "${boot_args[@]}"
	if ! machine_wait 600 || ! dom0 'sync; xl list' >&2; then
		tail -n 30 "$state/xen.log" "$state/qemu.log" >&2
		machine_stop
		die "dom0 did not come up, see $state/xen.log"
	fi
	note "dom0 is up after $((SECONDS - start)) s"
	monitor 10 'migrate_set_capability x-ignore-shared on'
	monitor 120 "migrate \"exec:cat >$state/vm\""
	monitor 10 quit || true
	wait "$machine_pid" 2>/dev/null || true
	machine_pid=
	[[ -s $state/vm ]] || die "the state was not saved, see $state/qemu.log"
	rm -f "$state/nothing"
}

# Makes sure the image and the saved state are there and up to date.  With
# RIG_STATES, a folder, hard links to the state go there, and machines start
# from these: a state built later by somebody else does not disturb them.
machine_prepare() (
	state=$build/state/$(tag)
	"$rig/image.sh" "$RIG_DOM0"
	lock_for "$build/.state.lock"
	sum=$(checksum "$(dom0_dir)/stamp" "$(declare -f machine_args machine_boot_args machine_save)" \
		"$(qemu-system-x86_64 --version | head -n 1)" "$RIG_ICOUNT")
	if ! is_stamped "$state/stamp" "$sum"; then
		rm -rf "$state"
		mkdir -p "$state"
		machine_save "$state"
		echo "$sum" >"$state/stamp"
	fi
	if [[ -n ${RIG_STATES:-} ]]; then
		mkdir -p "$RIG_STATES"
		rm -rf "${RIG_STATES:?}/$(tag)"
		cp -al "$state" "$RIG_STATES/"
	fi
)

# Waits for one of the places for machines on this host, RIG_MACHINES (2): more
# than there are cores only makes all of them miss their time limits.  The
# place is held by an open file, which QEMU inherits, so it ends with QEMU.
machine_slot() {
	local i said=''
	mkdir -p "$build/slots"
	while :; do
		for ((i = 1; i <= ${RIG_MACHINES:-2}; i++)); do
			exec {slot_lock}>"$build/slots/$i"
			flock -n "$slot_lock" && return
			exec {slot_lock}>&-
		done
		[[ -n $said ]] || note 'waiting: other machines are running on this host'
		said=1
		sleep 1
	done
}

# machine_start DIR PAYLOAD: a machine of its own from the saved state.
machine_start() {
	local state
	state=$(state_dir)
	machine=$1
	mkdir -p "$machine"
	rm -f "$machine"/{dom0,monitor,disk.qcow2}
	qemu-img create -q -f qcow2 -F qcow2 -b "$state/disk.qcow2" "$machine/disk.qcow2"
	machine_args "$machine" "$machine/disk.qcow2" "$2" off "$state/ram"
	machine_run -incoming defer
	until [[ -S $machine/monitor ]] || ! machine_alive; do sleep 0.05; done
	monitor 10 'migrate_set_capability x-ignore-shared on' &&
		monitor 60 "migrate_incoming \"exec:cat $state/vm\"" &&
		machine_wait 60
}
