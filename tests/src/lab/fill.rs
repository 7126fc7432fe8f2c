//! A folder on a disk without space.

use kok_tasks::shell::quote;

use super::{Host, LabError};

/// Lays a full file system of its own over the folder: what is in it can be read as before, and every write fails with "No space
/// left on device". The disk itself is this machine's and must not be filled.
const FILL: &str = r#"set -eu
[ -d "$path" ] || { echo "it is no folder"; exit 1; }
if findmnt --noheadings --raw --output TARGET | grep -q -F "$path/"; then
    echo "something is mounted below it: name folders without mounts"; exit 1
fi
if findmnt --noheadings --output SOURCE --mountpoint "$path" | grep -q "^lab-full$"; then echo "it is full already"; exit 1; fi
disk=$(mktemp -d /run/lab-full.XXXXXX)
mount -t tmpfs -o size=64k lab-full "$disk"
mkdir "$disk/upper" "$disk/work"
mount -t overlay -o "lowerdir=$path,upperdir=$disk/upper,workdir=$disk/work" lab-full "$path"
cat /dev/zero >"$disk/full" 2>/dev/null || :
umount --lazy "$disk"
rmdir "$disk""#;

/// What was on the folder before is there again; a change that needed no space is gone.
const FREE: &str = r#"set -eu
findmnt --noheadings --output SOURCE --mountpoint "$path" | grep -q "^lab-full$" || { echo "it is not full"; exit 1; }
umount --lazy "$path""#;

pub(crate) fn fill(host: &Host, path: &str) -> Result<(), LabError> {
    carry_out(host, path, FILL, "filling")
}

pub(crate) fn free(host: &Host, path: &str) -> Result<(), LabError> {
    carry_out(host, path, FREE, "freeing")
}

fn carry_out(host: &Host, path: &str, script: &str, what: &str) -> Result<(), LabError> {
    let path = path.trim_end_matches('/');
    let output = host.ssh(&["sh", "-c", &format!("path={}\n{script}", quote(path))])?;
    if output.success() {
        return Ok(());
    }
    let why = format!("{}{}", output.stdout, output.stderr).trim().to_owned();
    Err(LabError::Fault { what: format!("{what} {path} on {}", host.name()), why })
}
