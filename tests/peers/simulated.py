#!/usr/bin/env python3
"""Hosts without a host: an SSH server that answers looks as a real host of the benchmark has answered them.

simulated.py BENCH FIRST LAST

Listens on port 2223 of the loopback addresses of these numbers, with the host key of the benchmark's hosts, and takes its key. The first time it hears a script
it has host 1 run it, and keeps what that said; from then on it says the same, with the word by which the asker knows the parts of an answer. So
a thousand hosts cost next to nothing, and a controller can't tell them from real ones as long as it changes nothing.
"""
import asyncio
import hashlib
import json
import re
import sys

import asyncssh

BENCH, FIRST, LAST = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
# The first line of each script: mark() { printf '\n%s %s\n' NONCE "$*"; }
MARK = re.compile(rb"^mark\(\) \{ printf '[^']*' (\S+) ", re.M)
known: dict = {}
turn = asyncio.Lock()


async def said(script: bytes) -> tuple:
    found = MARK.search(script)
    nonce = found.group(1) if found else b"none"
    key = hashlib.sha256(script.replace(nonce, b"")).digest()
    async with turn:
        if key not in known:
            host = json.load(open(BENCH + "/run/fleet.json"))["hosts"][0]
            run = await asyncio.create_subprocess_exec(
                "nsenter", "-t", str(host["init"]), "-m", "-u", "-i", "-p", "--", "/bin/sh", "-s",
                stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL,
            )
            output, _ = await run.communicate(script)
            known[key] = (output, nonce, run.returncode or 0)
    output, of, code = known[key]
    return output.replace(of, nonce), code


async def answer(process: asyncssh.SSHServerProcess) -> None:
    script = await process.stdin.read()
    output, code = await said(script)
    process.stdout.write(output)
    process.exit(code)


async def main() -> None:
    for i in range(FIRST, LAST + 1):
        await asyncssh.listen(
            f"127.90.{i >> 8}.{i & 255}", 2223, server_host_keys=[BENCH + "/run/base/etc/ssh/ssh_host_ed25519_key"],
            authorized_client_keys=BENCH + "/run/base/root/.ssh/authorized_keys", process_factory=answer, encoding=None,
            kex_algs=["curve25519-sha256"],
        )
    print("ready", flush=True)
    await asyncio.Event().wait()


asyncio.run(main())
