#!/usr/bin/env python3
"""The 30 steps of a benchmark of peers as input of `kokctl converge`.

fleet.py BENCH COUNT NET FOLDER

BENCH is the benchmark's folder, laid out and with its hosts; COUNT its hosts; NET the second number of their addresses (81, or that of a proxy
with latency). Writes FOLDER/fleet.yaml, and its templates beside it. The definition is the benchmark's own (`work/workspec.py`): nothing of it
stands here.
"""
import json
import os
import sys


def main() -> None:
    bench, count, net, folder = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
    sys.path.insert(0, os.path.join(bench, "work"))
    import workspec as spec

    os.makedirs(os.path.join(folder, "templates"), exist_ok=True)
    names = [*spec.VARS, "node_name", "node_ip"]
    # A variable of a file is `vars.NAME` here.
    head = "".join(f"{{% set {name} = vars.{name} %}}\n" for name in names)
    for template, _, _ in spec.TEMPLATES:
        with open(os.path.join(spec.W, "templates", template)) as source, open(os.path.join(folder, "templates", template), "w") as copy:
            copy.write(head + source.read())
    hosts = [
        {
            "name": f"node{i}",
            "address": f"10.0.{i >> 8}.{i & 255}",
            # A host is not at the loopback of whoever asks; its SSH server is.
            "ssh": {"address": f"127.{net}.{i >> 8}.{i & 255}"},
            "vars": {"node_name": f"node{i}", "node_ip": f"10.0.{i >> 8}.{i & 255}"},
        }
        for i in range(1, count + 1)
    ]
    fleet = {
        "apiVersion": "kubeonkube.clay.io/v1alpha1",
        "kind": "Fleet",
        "metadata": {"name": "peers"},
        "spec": {
            "ssh": {"user": "root", "port": 2222, "privateKeyFile": f"{bench}/run/id_ed25519", "knownHostsFile": f"{bench}/run/known_hosts"},
            "vars": spec.VARS,
            "hosts": hosts,
            "hostResources": resources(spec),
            "hooks": [
                {"name": name, "at": "afterPreparation", "script": f"{command} >/var/lib/prep/{name}.done\n", "creates": f"/var/lib/prep/{name}.done", "timeout": "30s"}
                for name, command in spec.COMMANDS
            ],
        },
    }
    with open(os.path.join(folder, "fleet.yaml"), "w") as file:
        # JSON is YAML.
        json.dump(fleet, file, indent=1)


def resources(spec) -> list:
    (group, gid), (user, uid, of, home, shell) = spec.GROUP, spec.USER
    made = [{"group": {"name": group, "gid": gid, "system": True}}]
    made.append({"user": {"name": user, "uid": uid, "group": of, "home": home, "shell": shell, "system": True}})
    for path, mode in spec.DIRS:
        owner = {"owner": user, "group": group} if path == home else {}
        made.append({"dir": {"path": path, "mode": mode, **owner}})
    for template, path, mode in spec.TEMPLATES:
        made.append({"file": {"path": path, "mode": mode, "template": f"templates/{template}"}})
    for path, line in spec.LINES:
        made.append({"line": {"path": path, "line": line}})
    made.append({"line": {"path": "/etc/fstab", "line": "# /dev/sda2 none swap sw 0 0", "startsWith": "/dev/sda2 none swap"}})
    for name, path, mode in spec.COPIES:
        made.append({"binary": {"path": path, "mode": mode, "source": f"{spec.W}/files/{name}"}})
    for path, target in spec.LINKS:
        made.append({"symlink": {"path": path, "target": target}})
    return made


main()
