//! Mounts that a user declares.

/// A mount.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Mount {
    /// Where it is.
    pub path: String,
    /// What is mounted there, as it stands in /etc/fstab; empty where nothing is to be.
    pub device: String,
    /// The type of the file system.
    pub fstype: String,
    /// Its options, with commas between.
    pub options: String,
    /// Whether dump(8) saves it.
    pub dump: u8,
    /// When fsck(8) looks at it; 0 is never.
    pub pass: u8,
    /// What is wanted of it.
    pub state: MountState,
}

/// What is wanted of a mount.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum MountState {
    /// Mounted now and at each start.
    Mounted,
    /// Mounted at each start; what is now is left alone.
    Present,
    /// Not mounted now; what is at the next start is left alone.
    Unmounted,
    /// Neither mounted now nor at a start.
    Absent,
}

impl Mount {
    /// Whether it shows a folder of the host at another place.
    #[must_use]
    pub fn is_bind(&self) -> bool {
        self.options.split(',').any(|option| matches!(option, "bind" | "rbind"))
    }
}
