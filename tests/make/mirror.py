"""Brings a folder to the state of a checkout and leaves alone what is the same there, with its times: cargo then compiles only what has changed.

usage: mirror.py CHECKOUT FOLDER
"""

import filecmp
import os
import shutil
import sys

# What no command reads, and what cargo makes, in the checkout's own folder.
NOT_MIRRORED = {".git", "target"}


def kind(path):
    """What a path is: a link with where it leads, a folder, a file with whether it may be run, or nothing."""
    if os.path.islink(path):
        return ("link", os.readlink(path))
    if os.path.isdir(path):
        return ("folder",)
    if os.path.isfile(path):
        return ("file", os.stat(path).st_mode & 0o100)
    return None


def remove(path):
    if os.path.isdir(path) and not os.path.islink(path):
        shutil.rmtree(path)
    else:
        os.unlink(path)


def mirror(source, target, but=frozenset()):
    names = set(os.listdir(source)) - but
    for name in set(os.listdir(target)) - names:
        remove(os.path.join(target, name))
    for name in names:
        one, other = os.path.join(source, name), os.path.join(target, name)
        wanted, found = kind(one), kind(other)
        if found not in (None, wanted):
            remove(other)
            found = None
        if wanted is None:
            continue
        if wanted[0] == "folder":
            os.makedirs(other, exist_ok=True)
            mirror(one, other)
        elif wanted[0] == "link" and found is None:
            os.symlink(wanted[1], other)
        elif wanted[0] == "file" and (found is None or not filecmp.cmp(one, other, shallow=False)):
            # A new file with the time of now, which is after that of everything that was made from the one before.
            shutil.copyfile(one, other)
            shutil.copymode(one, other)


if __name__ == "__main__":
    os.makedirs(sys.argv[2], exist_ok=True)
    mirror(sys.argv[1], sys.argv[2], NOT_MIRRORED)
