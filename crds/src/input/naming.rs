//! The name of a cluster that has none of its own.

use crate::syntax::name::dns_label;
use crate::words::quote;
use crate::{Notice, Position};

/// What a cluster is called that nobody has named.
const UNNAMED: &str = "kubernetes";

/// The name of an inventory's cluster: that of its folder, as far as it can be one.
pub(super) fn cluster_name(written: Option<&str>, start: &Position, notices: &mut Vec<Notice>) -> String {
    let written = written.unwrap_or(UNNAMED);
    let plain = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
    let mapped: String = written.chars().map(plain).take(63).collect();
    let name = mapped.trim_matches('-');
    let name = if dns_label(name).is_none() { name } else { UNNAMED };
    if name != written {
        let notice = Notice::new(format!("the cluster is called {}", quote(name))).at(start);
        notices.push(notice.because(format!("an inventory has no name but its folder's, and {} is no DNS label", quote(written))));
    }
    name.to_owned()
}
