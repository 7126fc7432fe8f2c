#!/usr/bin/env python3
"""kokctl in the table of a benchmark of peers: 30 steps on hosts, of which none or all are to be done.

run.py BENCH KOKCTL [--n 1,20] [--rtt 0] [--cases first,noop] [--reps 3] [--peers NAME,NAME]

BENCH is the benchmark's folder, laid out and set up as its README says. KOKCTL is the program, built for release. Beside kokctl these run: the peers
that are named, and floors: `russh-batched-stat` does the least that can be done where nothing is to be done, `floor-verified` where all is: it sends the same
steps as one script, flushes what was written, compares its digest, and looks a second time. Each end state is compared with the definition. Prints
a table with the ratios of each run to these floors.
"""
import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("bench")
    parser.add_argument("kokctl")
    parser.add_argument("--n", default="1,20")
    parser.add_argument("--rtt", default="0")
    parser.add_argument("--cases", default="first,noop")
    parser.add_argument("--reps", type=int, default=3)
    parser.add_argument("--peers", default="")
    return parser.parse_args()


def own_state(folder: str) -> list:
    """A run that nobody sees: journals and what is known of files stay in the folder."""
    return ["env", "-u", "SSH_AUTH_SOCK", f"XDG_STATE_HOME={folder}/state", f"XDG_CACHE_HOME={folder}/cache"]


def kokctl(bench: str, program: str):
    def command(n: int, net: int, case: str) -> list:
        folder = f"{bench}/run/kokctl/{net}-{n}"
        if not os.path.exists(f"{folder}/fleet.yaml"):
            subprocess.run([sys.executable, f"{HERE}/fleet.py", bench, str(n), str(net), folder], check=True)
        return [*own_state(folder), program, "converge", "-f", f"{folder}/fleet.yaml"]

    return command


def verified(bench: str, hosts: int, spec) -> None:
    """Scripts of the floor that verify what they have written."""
    scripts = f"{bench}/run/scripts"
    for i in range(1, hosts + 1):
        first = f"{scripts}/steps.first.sha256.{i}.sh"
        if not os.path.exists(f"{first}.plain"):
            shutil.copy(first, f"{first}.plain")
        text = open(f"{first}.plain").read()
        look = open(f"{scripts}/batched.noop.sha256.{i}.sh").read()
        written = " ".join([path for _, path, _ in spec.TEMPLATES] + [path for _, path, _ in spec.COPIES])
        with open(f"{first}.verified", "w") as out:
            out.write(text.replace("echo DONE\n", "") + f"sync {written}\n" + look.replace("set -e\n", "", 1))


def use(bench: str, hosts: int, form: str) -> None:
    for i in range(1, hosts + 1):
        first = f"{bench}/run/scripts/steps.first.sha256.{i}.sh"
        shutil.copy(f"{first}.{form}", first)


def made(suite, options: argparse.Namespace, peer: str, at: tuple, state: dict) -> None:
    """Where nothing is to be done, each finds what it has made itself: the floor knows files by times that it has set, and kokctl by its records."""
    by = "kokctl" if peer == "kokctl" else "floor"
    if state.get("made") == by:
        return
    state.clear()
    if by == "kokctl":
        suite.fleet.up(at[0])
        subprocess.run(suite.PEERS["kokctl"](*at, "first"), check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        state.update(n=at[0], conv=True)
    state["made"] = by


def main() -> None:
    options = parse()
    bench = os.path.abspath(options.bench)
    sys.path.insert(0, bench)
    import suite_peers as suite

    sys.path.insert(0, bench + "/work")
    import workspec as spec

    numbers = [int(n) for n in options.n.split(",")]
    verified(bench, max(numbers), spec)
    suite.PEERS["kokctl"] = kokctl(bench, os.path.abspath(options.kokctl))
    suite.PEERS["floor-verified"] = suite.floor("blind", "cipher=aes128gcm")
    wanted = {"first": ["russh-auto-stat", "floor-verified", "kokctl"], "noop": ["russh-batched-stat", "kokctl"]}
    results = []
    for n in numbers:
        for rtt in map(int, options.rtt.split(",")):
            state: dict = {}
            for case in options.cases.split(","):
                for peer in wanted[case] + [peer for peer in options.peers.split(",") if peer]:
                    use(bench, n, "verified" if peer == "floor-verified" else "plain")
                    if case == "noop":
                        made(suite, options, peer, (n, suite.NET[rtt]), state)
                    for line in suite.cell(peer, n, rtt, case, options.reps, state):
                        said = open(bench + "/results/last.log", errors="replace").read()
                        if peer == "kokctl" and case == "noop" and "nothing to do" not in said:
                            line["err"] = line["err"] or "it changed something"
                        results.append(line)
            use(bench, n, "plain")
    table(results)
    if any(line["err"] for line in results):
        sys.exit(1)


def median(results: list, key: str, **of) -> float:
    found = [line[key] for line in results if all(line[name] == value for name, value in of.items())]
    return statistics.median(found) if found else float("nan")


def table(results: list) -> None:
    print(f"{'case':6s} {'hosts':>5s} {'rtt':>4s} {'peer':22s} {'wall s':>8s} {'floor':>6s} {'CPU ms/host':>12s} {'peak MB':>8s}")
    cells = {(line["case"], line["n"], line["rtt"]): None for line in results}
    for case, n, rtt in cells:
        floor = "floor-verified" if case == "first" else "russh-batched-stat"
        of = {"case": case, "n": n, "rtt": rtt}
        least = median(results, "wall", peer=floor, **of)
        peers = {line["peer"]: None for line in results if all(line[name] == value for name, value in of.items())}
        for peer in peers:
            wall, processor, peak = (median(results, key, peer=peer, **of) for key in ("wall", "ctl_cpu", "rss_mb"))
            print(f"{case:6s} {n:5d} {rtt:4d} {peer:22s} {wall:8.2f} {wall / least:6.2f} {processor / n * 1e3:12.2f} {peak:8.0f}")
    print(json.dumps({"runs": len(results)}))


main()
