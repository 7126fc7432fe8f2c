//! How API servers encrypt what etcd holds: names of keys, and what is encrypted with which of them.

mod layout;
mod names;
mod provider;

pub use layout::{Entry, Layout, LayoutTarget, covers};
pub use names::{FIRST_ENCRYPTION_KEY, age, new_name};
pub use provider::Provider;
