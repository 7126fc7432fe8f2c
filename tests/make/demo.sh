#!/bin/sh
# From nothing to a highly available cluster: five bare hosts on this machine, and `kokctl apply` over SSH.
# shellcheck source=common.sh
. "$(dirname -- "$0")/common.sh"

name=demo
demo=$cache/demo
cluster=$demo/cluster.yaml
in_lab() { "$programs/lab" run --name "$name" -- "$@"; }

# The folder's programs are links, so that `. env` finds exactly what the demo used.
bundle() {
    mkdir -p "$demo/bin"
    build_bundle
    kubectl=$(find "$bundle/files" -name kubectl -path '*/linux/*' | sort -V | tail -n 1)
    [ -n "$kubectl" ] || fail 'the bundle has no kubectl' "$bundle" '' 'build it again: make bundle'
    ln -sfn "$kubectl" "$demo/bin/kubectl"
    ln -sfn "$programs/kokctl" "$demo/bin/kokctl"
    ln -sfn "$programs/lab" "$demo/bin/lab"
    cat >"$demo/env" <<END
export PATH="$demo/bin:\$PATH" KUBECONFIG="$demo/kubeconfig" KOKCTL_BUNDLE="$bundle" CLUSTER="$cluster"
END
    export KOKCTL_BUNDLE="$bundle"
}

# An up that was killed, or a machine that was restarted, leaves something that has to be taken down first.
hosts() {
    states=$("$programs/lab" ps | awk -v name="$name" '$1 == name { print $2, $NF }')
    running='cp1 on
cp2 on
cp3 on
worker1 on
worker2 on'
    case $states in
        '') "$programs/lab" up --name "$name" --hosts 5 --control-planes 3 ;;
        "$running") say "the lab $name is up already: using it as it is" ;;
        *) fail "the lab $name is there, but not all of its hosts run" "$(echo "$states" | paste -sd, -)" '' \
            'run "make demo-down", then "make demo" again' ;;
    esac
    "$programs/lab" inventory --name "$name" >"$cluster"
    say "the cluster's file: $cluster"
}

apply() { in_lab "$programs/kokctl" apply -f "$cluster"; }

# A pod of the user's own, asked through the API server.
answer() {
    (umask 077 && in_lab "$programs/kokctl" kubeconfig -f "$cluster" >"$demo/kubeconfig")
    export KUBECONFIG="$demo/kubeconfig"
    in_lab "$demo/bin/kubectl" apply -f - <<END
apiVersion: v1
kind: Pod
metadata: {name: echo}
spec:
  containers:
  - name: echo
    image: $(sed -n 's/.*"reference": "\(.*\/echo:[^"]*\)".*/\1/p' "$KOKCTL_BUNDLE/bundle.json" | head -n 1)
    args: [serve, --listen, ":8080"]
    env:
    - {name: NODE_NAME, valueFrom: {fieldRef: {fieldPath: spec.nodeName}}}
    - {name: POD_IP, valueFrom: {fieldRef: {fieldPath: status.podIP}}}
    readinessProbe: {httpGet: {path: /healthz, port: 8080}, periodSeconds: 1}
END
    in_lab "$demo/bin/kubectl" wait --for=condition=Ready --timeout=60s pod/echo
    printf '\n$ kubectl get --raw /api/v1/namespaces/default/pods/echo:8080/proxy/\n'
    in_lab "$demo/bin/kubectl" get --raw /api/v1/namespaces/default/pods/echo:8080/proxy/
}

look() {
    for what in 'get nodes -o wide' 'get pods -A -o wide'; do
        printf '\n$ kubectl %s\n' "$what"
        # shellcheck disable=SC2086 # words
        in_lab "$demo/bin/kubectl" $what
    done
}

part 'packages and tools' sh tests/make/setup.sh demo
part 'kokctl, lab and release' compile
part 'bundle' bundle
part 'five bare hosts' hosts
part 'kokctl apply' apply
part 'a pod that answers' answer
part 'nodes and pods' look
print_times
cat <<END

Look around:
  . $demo/env                                # kokctl, kubectl and lab in PATH
  lab run --name $name -- kubectl get pods -A -o wide     # a command in the lab's network; \`-- bash\` for a shell there
  lab run --name $name -- kokctl status -f \$CLUSTER
  lab run --name $name -- kokctl plan -f \$CLUSTER         # "nothing to do"; change a file on a host and look again
  lab ssh --name $name cp1                                # log in to a host
  lab logs --name $name worker1 -u kubelet                # a host's journal
Take it down:
  make demo-down
END
