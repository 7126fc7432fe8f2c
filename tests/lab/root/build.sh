#!/bin/sh
# Builds the Debian root that every host of the lab boots from.
#
# usage: build.sh SUITE PASSWORD TARGET FILES [MIRROR]
#   SUITE     Debian's name of the release
#   PASSWORD  of the user opspw
#   TARGET    folder to make; must not exist
#   FILES     folder whose tree is laid over the finished root
#   MIRROR    Debian archive; without it debootstrap's own default
#
# Run by `lab` in mount and process namespaces of its own, so that nothing mounted or started here outlives it.
set -eu
umask 022

suite=$1 password=$2 target=$3 files=$4 mirror=${5:-}

# What a server of a user has, and no more: no Python, nothing of Kubernetes or containerd.
packages=systemd,systemd-sysv,dbus,openssh-server,sudo,chrony,ca-certificates,curl
packages=$packages,iproute2,iputils-ping,iptables,nftables,ebtables,conntrack,ethtool,socat
packages=$packages,kmod,procps,libseccomp2,tcsh

# shellcheck disable=SC2086 # without a mirror there must be no argument
debootstrap --variant=minbase --include="$packages" "$suite" "$target" $mirror

in_root() { chroot "$target" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 "$@"; }

# fish, which some have as login shell. Its package wants Python, the shell itself does not: so only the files are taken.
for setting in /etc/resolv.conf /etc/apt/apt.conf; do
    if [ -e "$setting" ]; then cp -L "$setting" "$target$setting"; fi
done
for setting in /etc/apt/apt.conf.d/*roxy*; do
    if [ -e "$setting" ]; then cp -L "$setting" "$target$setting"; fi
done
# shellcheck disable=SC2016 # the shell in the root is meant
in_root ${http_proxy:+http_proxy="$http_proxy"} sh -ec '
    cd /tmp
    apt-get -q update
    apt-get -q download fish fish-common libpcre2-32-0
    for package in *.deb; do dpkg-deb --extract "$package" /; done
    rm -- *.deb
    echo /usr/bin/fish >> /etc/shells
    fish --no-config --command "exit 0"'
rm -f "$target"/etc/apt/apt.conf "$target"/etc/apt/apt.conf.d/*roxy*

# Each host gets its own of these; a host that came up with a common one would hide errors of ours.
rm -f "$target"/etc/ssh/ssh_host_* "$target"/etc/machine-id "$target"/var/lib/dbus/machine-id \
      "$target"/etc/hostname "$target"/etc/resolv.conf

# The root's password stays locked ("*"): logins are by key. `ops` is what a careful user gives kokctl, `opspw` what a more
# careful one does: sudo asks for the password.
in_root useradd --create-home --shell /bin/bash ops
in_root useradd --create-home --shell /bin/bash opspw
printf 'opspw:%s\n' "$password" | in_root chpasswd
cp -R "$files"/. "$target"/
chown -R root:root "$target"/etc "$target"/usr/local
chmod 0440 "$target"/etc/sudoers.d/ops "$target"/etc/sudoers.d/opspw

# A user manager's cgroup sometimes survives its session here and then blocks the next login for 80 s.
in_root sh -c 'if [ -e /usr/share/pam-configs/systemd ]; then pam-auth-update --remove systemd; fi'

in_root systemctl enable systemd-networkd.service lab-cgroups.service
# Masked: what waits for a clock that cannot be set, for modules that the kernel has built in, for terminals that are not
# there, or what would reach for the network or load two cores at random times.
in_root systemctl mask chrony-wait.service systemd-networkd-wait-online.service systemd-modules-load.service \
    getty@tty1.service console-getty.service systemd-pstore.service e2scrub_reap.service e2scrub_all.timer \
    fstrim.timer apt-daily.timer apt-daily-upgrade.timer dpkg-db-backup.timer

# The first start of a host would otherwise do these, once per host.
in_root ldconfig
in_root systemd-sysusers
in_root journalctl --update-catalog
touch "$target"/etc/default/locale # pam_env complains at each login without it
mkdir -p "$target"/var/log/journal "$target"/var/lib/containerd "$target"/var/lib/kubelet "$target"/var/lib/etcd

rm -rf "$target"/var/cache/apt/* "$target"/var/lib/apt/lists/* "$target"/usr/share/doc/* "$target"/usr/share/man/* \
       "$target"/usr/share/locale/* "$target"/var/log/*.log

for absent in python3 python containerd runc kubelet kubeadm; do
    if in_root sh -c "command -v $absent" >/dev/null; then
        echo "the root must not have $absent, but a package brought it in" >&2
        exit 1
    fi
done
