//! Builds the bundle that kokctl installs from, from source modules: `tests/release/<component>/<version>/` says what, this
//! module how.
//!
//! The same inputs give the same bytes. A component is built once for each [`key`] and kept in the cache; the bundle is put
//! together from there, its index last.

pub mod archive;
pub mod assemble;
pub mod build;
pub mod cache;
pub mod debian;
pub mod digest;
pub mod elf;
pub mod error;
pub mod golang;
pub mod host;
pub mod key;
pub mod kubeadm;
pub mod make;
pub mod mirror;
pub mod oci;
pub mod operator_image;
pub mod paths;
pub mod progress;
pub mod recipe;
pub mod rootfs;
pub mod source;
mod toolchain;
pub mod verify;

#[cfg(test)]
mod tests;

/// Version of the way in which components are built and packed. It is part of every component's key: raise it whenever a change
/// of this module changes bytes, so that nobody goes on using what was made the old way.
pub const RECIPE_VERSION: u32 = 1;
