#!/bin/sh
# Writes what each minor version of Kubernetes knows (crds/src/check/known/MINOR.txt): options with their types, feature gates, admission
# plugins, ciphers, fields of configurations. The programs' own code is asked, in the Go modules that the bundle is built from, with the
# flags of that build: what it has compiled is not compiled again.
#
#   sh tests/make/tables.sh [FOLDER [VERSION…]]     FOLDER: where the tables go, crds/src/check/known without it; of these versions, or of all
set -eu
cd "$(dirname "$0")/../.."
root=$PWD
to=${1:-$root/crds/src/check/known}
versions=${2:+ $* }
cache=${XDG_CACHE_HOME:-$HOME/.cache}/kok
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export GOCACHE="$cache/go-build" GOFLAGS= GOTOOLCHAIN=local GOWORK=off CGO_ENABLED=0
PATH=/usr/local/go/bin:$PATH

ask() {
    (cd "$1" && go run -mod=readonly -trimpath -buildvcs=false -tags selinux,notest,grpcnotrace \
        "$root/tests/src/tables/common.go" "$root/tests/src/tables/$2.go")
}

# A gate stands once, with all programs that have it as it is there.
join_programs() {
    awk '$1 == "gate" { key = $1 " " $2 " " $3 " " $4 " " $5 " " $6; if (key in of) of[key] = of[key] "," $7; else of[key] = $7; next } { print }
        END { for (key in of) print key " " of[key] }'
}

for folder in "$root"/tests/release/kubernetes/*; do
    version=$(basename "$folder")
    case ${versions:- $version } in *" $version "*) ;; *) continue ;; esac
    minor=${version%.*}
    for program in kube_apiserver kube_controller_manager kube_scheduler kube_proxy kubelet kubeadm; do
        ask "$folder" "$program"
    done >"$work/all"
    {
        echo "# What Kubernetes $version knows, by tests/make/tables.sh."
        join_programs <"$work/all" | LC_ALL=C sort -u
    } >"$work/table"
    mkdir -p "$to"
    mv "$work/table" "$to/$minor.txt"
    echo "$to/$minor.txt"
done
