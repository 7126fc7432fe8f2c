//! Whether there is room for what is to be fetched.

use std::path::Path;

use super::disk_failure;
use crate::failure::{Failure, Kind};

/// What is left free besides: a full disk harms others.
const REST: u64 = 256 << 20;

/// Makes the folder, and asks how much room there is.
pub(super) fn check(folder: &Path, bytes: u64) -> Result<(), Failure> {
    std::fs::create_dir_all(folder).map_err(|error| disk_failure(folder, &error))?;
    if bytes == 0 {
        return Ok(());
    }
    let room = rustix::fs::statvfs(folder).map_err(|error| disk_failure(folder, &error.into()))?;
    let free = room.f_bavail * room.f_frsize;
    if free >= bytes + REST {
        return Ok(());
    }
    let megabytes = |bytes: u64| bytes / 1_000_000;
    Err(Failure::new(Kind::Input, "there is no room for the bundle")
        .at(folder.display().to_string())
        .because(format!("it takes {} MB while it is fetched, and {} MB are free", megabytes(bytes + REST), megabytes(free)))
        .hint("make room, or give another folder; nothing was fetched"))
}
