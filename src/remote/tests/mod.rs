//! Against a real OpenSSH server on loopback. The server runs in mount and PID namespaces of its own, with users, sudo rules and
//! login shells of its own, so these tests need root and change nothing on the machine.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod attended;
mod bastions;
mod dead_links;
pub(crate) mod harness;
mod hostile;
mod keys;
mod logged;
mod login;
mod new_hosts;
mod passwords;
mod scripts;
mod streams;
