//! What a cluster's files name besides themselves: objects of addons, files for the hosts, the user's own authorities, what was issued elsewhere, the keys that are
//! kept. Where it comes from, its caller says by [`Files`].

mod authorities;
mod escrow;
mod fetch;
mod files;
mod issued;
mod local;
mod manifests;
mod resources;
mod unpacked;
mod vault;

use kok_crds::Input;

pub use files::{Contents, Files, Unread, UnreadCause};
pub use issued::ending;
pub use local::LocalFiles;
pub use vault::Passwords;

/// What was read of the files, with all that they name. Where any of it can't be had, or is wrong, there is no cluster left, only what is wrong.
#[must_use]
pub fn load(mut input: Input, files: &dyn Files) -> Input {
    manifests::load(&mut input, files);
    resources::load(&mut input, files);
    authorities::load(&mut input, files);
    issued::load(&mut input, files);
    escrow::load(&mut input, files);
    input
}

#[cfg(test)]
mod tests;
