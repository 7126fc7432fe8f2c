//! Who this controller is: the folder that has the locks, on this machine, of this user.

use std::fs;
use std::io;
use std::path::Path;

use aws_lc_rs::digest;
use kok_tasks::holder::Manager;

use super::StateFolder;
use crate::failure::{Failure, Kind};
use crate::randomness::random_bytes;

/// A controller, as it stands in the holder records of hosts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Controller {
    /// Two runs with the same value use the same locks, so the one that has a cluster's lock knows that the other has ended.
    pub id: String,
    /// `user@machine`, for people.
    pub name: String,
    /// Set where it keeps hosts as they are described, between its runs too: what its runs leave on them.
    pub manages: Option<Manager>,
}

impl StateFolder {
    /// The controller that has its locks here, by this name. Its identity is a random number in the folder of the locks, made once, together with
    /// the machine's id: a copy of a home directory on another machine is another controller, for locks don't reach there.
    ///
    /// # Errors
    /// [`Failure`] if the folder can't be written.
    pub fn controller(&self, name: String) -> Result<Controller, Failure> {
        let folder = self.path();
        let path = folder.join("controller");
        let failure = |error: io::Error| unwritable(&path, &error);
        fs::create_dir_all(folder).map_err(failure)?;
        let number = number_of(&path)?;
        let read = |path: &str| fs::read_to_string(path).map(|text| text.trim().to_owned()).unwrap_or_default();
        let machine = read("/proc/sys/kernel/hostname");
        let identity = format!("{}\n{}\n{machine}", number, read("/etc/machine-id"));
        let sum = digest::digest(&digest::SHA256, identity.as_bytes());
        let id = hex::encode(sum.as_ref().get(..16).unwrap_or_default());
        Ok(Controller { id, name, manages: None })
    }
}

impl Controller {
    /// Who can't say who it is: nobody's earlier run, and nobody that writes.
    #[must_use]
    pub fn nobody() -> Self {
        Self { id: String::new(), name: String::new(), manages: None }
    }
}

fn unwritable(path: &Path, error: &io::Error) -> Failure {
    let failure = Failure::new(Kind::Internal, format!("{} can't be written", path.display())).because(error.to_string());
    failure.hint("let that folder be yours and writable; XDG_STATE_HOME names another place")
}

/// The number that stands in this file, made if there is none.
fn number_of(path: &Path) -> Result<String, Failure> {
    let failure = |error: io::Error| unwritable(path, &error);
    let number = match fs::read_to_string(path) {
        Ok(number) => number,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            make(path, &hex::encode(random_bytes::<NUMBER_BYTES>()?)).map_err(failure)?;
            fs::read_to_string(path).map_err(failure)?
        }
        Err(error) => return Err(failure(error)),
    };
    // Every machine that has lost its number would be the same controller, and take over what others hold.
    let is_number = |number: &str| number.len() == 2 * NUMBER_BYTES && number.bytes().all(|byte| byte.is_ascii_hexdigit());
    if !is_number(number.trim()) {
        return Err(Failure::new(Kind::Internal, format!("{} does not hold the number of a controller", path.display()))
            .because("it tells this machine's runs from those of others, and nothing else has it")
            .hint("remove the file if no run of this machine is at work: a new number is made, and hosts that an interrupted run still holds need `--take-over` once"));
    }
    Ok(number.trim().to_owned())
}

/// Enough that no two controllers are the same by chance.
const NUMBER_BYTES: usize = 16;

/// Whole or not at all, and never over one that another process made meanwhile.
fn make(path: &Path, number: &str) -> io::Result<()> {
    let temporary = path.with_extension(format!("{}.new", std::process::id()));
    fs::write(&temporary, number)?;
    let linked = fs::hard_link(&temporary, path);
    fs::remove_file(&temporary)?;
    match linked {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod number_tests {
    #![allow(clippy::unwrap_used, reason = "these are tests")]

    use super::*;

    #[test]
    fn a_number_is_made_once_and_nothing_else_is_taken_for_one() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("controller");
        let number = number_of(&path).unwrap();
        assert_eq!((number.len(), number_of(&path).unwrap()), (2 * NUMBER_BYTES, number.clone()));
        for lost in ["", "\n", "0123", &"x".repeat(2 * NUMBER_BYTES), &format!("{number}0")] {
            fs::write(&path, lost).unwrap();
            let failure = number_of(&path).unwrap_err();
            assert!(failure.what.contains("does not hold the number") && failure.hint.unwrap().contains("--take-over"), "{lost:?}");
        }
    }
}
