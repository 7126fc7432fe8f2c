#!/usr/bin/env python3
"""What a thousand hosts cost the controller: some real sshds, and the rest simulated (`simulated.py`).

many.py BENCH KOKCTL [REAL [COUNT …]]

Brings up REAL hosts (200) of the benchmark, has kokctl do the 30 steps on them, and then looks at 100, at REAL and at COUNT (1000) hosts with nothing to do. Prints wall time,
and processor time and memory for each host.
"""
import json
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))


def main() -> None:
    bench, program = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
    real = int(sys.argv[3]) if len(sys.argv) > 3 else 200
    counts = [int(count) for count in sys.argv[4:]] or [1000]
    sys.path.insert(0, bench)
    import suite_peers as suite

    folder = f"{bench}/run/kokctl/many"
    subprocess.run([sys.executable, f"{HERE}/fleet.py", bench, str(real), "81", folder], check=True)
    fleet = json.load(open(f"{folder}/fleet.yaml"))
    first = fleet["spec"]["hosts"][0]["vars"]
    command = ["env", "-u", "SSH_AUTH_SOCK", f"XDG_STATE_HOME={folder}/state", program, "converge", "-f"]
    suite.fleet.up(real)
    simulated = subprocess.Popen([f"{bench}/venv/bin/python", f"{HERE}/simulated.py", bench, str(real + 1), str(max(counts))], stdout=subprocess.PIPE)
    try:
        assert simulated.stdout.readline() == b"ready\n"
        subprocess.run([*command, f"{folder}/fleet.yaml"], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for count in sorted({min(100, real), real, *counts}):
            more = [
                {
                    "name": f"node{i}",
                    "address": f"10.0.{i >> 8}.{i & 255}",
                    "ssh": {"address": f"127.90.{i >> 8}.{i & 255}", "port": 2223},
                    "vars": first,
                }
                for i in range(real + 1, count + 1)
            ]
            hosts = fleet["spec"]["hosts"][:count] + more
            with open(f"{folder}/of-{count}.yaml", "w") as file:
                json.dump({**fleet, "spec": {**fleet["spec"], "hosts": hosts}}, file)
            run = suite.m.run([*command, f"{folder}/of-{count}.yaml", "--check"], tag="many", save=False, timeout=600, n=count)
            said = open(bench + "/results/last.log", errors="replace").read()
            assert run["rc"] == 0 and "nothing to do" in said, said[-2000:]
            per = run["ctl_cpu"] / count * 1e3
            print(
                f"{count:5d} hosts ({count - min(count, real)} simulated): {run['wall']:6.2f} s, controller {run['ctl_cpu']:6.2f} s of CPU, "
                f"{per:5.2f} ms a host, {run['rss_mb']:5.0f} MB",
                flush=True,
            )
    finally:
        simulated.kill()
        simulated.wait()
        suite.fleet.down()


main()
