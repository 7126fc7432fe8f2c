//! The parts of the test.

pub mod component_settings;
pub mod edited;
pub mod endpoint;
pub mod etcd;
pub mod killed;
pub mod lost;
pub mod member;
pub mod rolling;
pub mod rotated;
pub mod units;
pub mod wiped;

use kok_tests::lab::Lab;
use std::hash::{BuildHasher as _, Hasher as _};

/// One of several, another one in each run.
pub fn any<T>(mut of: Vec<T>) -> T {
    let random = std::collections::hash_map::RandomState::new().build_hasher().finish();
    let index = usize::try_from(random % of.len() as u64).unwrap();
    of.swap_remove(index)
}

/// The names of the control planes that a lab has.
pub fn control_planes(lab: &Lab) -> Vec<String> {
    crate::cluster_support::cluster::control_planes(lab).iter().map(|host| host.name().to_owned()).collect()
}
