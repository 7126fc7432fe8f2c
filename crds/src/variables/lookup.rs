//! Finding the row of a name.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::row::Variable;
use super::table::{ANY_DOWNLOAD, DOWNLOAD_ENDS, SUBJECTS};
use crate::words::nearest;

/// Rows by the names that they have, and those that stand for many names, the longest beginning first.
struct Index {
    rows: HashMap<&'static str, &'static Variable>,
    families: Vec<(&'static str, &'static Variable)>,
}

static INDEX: LazyLock<Index> = LazyLock::new(|| {
    let (families, rows): (Vec<_>, Vec<_>) = variables().partition(|row| row.is_family());
    let mut families: Vec<_> = families.into_iter().map(|row| (row.name.trim_end_matches('*'), row)).collect();
    families.sort_by_key(|(beginning, _)| std::cmp::Reverse(beginning.len()));
    Index { rows: rows.into_iter().map(|row| (row.name, row)).collect(), families }
});

/// All rows, by subject.
pub fn variables() -> impl Iterator<Item = &'static Variable> {
    SUBJECTS.iter().flat_map(|subject| subject.rows)
}

/// The row of a name, or the one that stands for all names of its kind.
#[must_use]
pub fn variable(name: &str) -> Option<&'static Variable> {
    let family = || INDEX.families.iter().find(|(beginning, _)| name.starts_with(beginning)).map(|(_, row)| *row);
    let download = || DOWNLOAD_ENDS.iter().any(|end| name.ends_with(end)).then_some(&ANY_DOWNLOAD);
    INDEX.rows.get(name).copied().or_else(family).or_else(download)
}

/// All names that rows have of their own.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    INDEX.rows.keys().copied()
}

/// The known name that is nearest to one that is not known.
pub(crate) fn nearest_variable(name: &str) -> Option<&'static str> {
    // Names of other lengths are not near, and comparing hundreds of words with hundreds takes its time.
    let near = name.len().div_ceil(3);
    let mut candidates: Vec<&'static str> = names().filter(|known| known.len().abs_diff(name.len()) <= near).collect();
    candidates.sort_unstable();
    nearest(name, &candidates)
}

/// Whether a name that is not known is most likely that of a secret, misspelled.
pub(super) fn is_near_secret(name: &str) -> bool {
    // Most names are near none of the few, which is quickly seen.
    let secrets: Vec<&'static str> = variables().filter(|row| row.is_secret() && !row.is_family()).map(|row| row.name).collect();
    nearest(name, &secrets).is_some() && nearest_variable(name).and_then(variable).is_some_and(Variable::is_secret)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::collections::BTreeSet;

    use super::{nearest_variable, variable, variables};

    #[test]
    fn a_name_has_one_row() {
        let mut seen = BTreeSet::new();
        for row in variables() {
            assert!(seen.insert(row.name), "{} has two rows", row.name);
            assert!(row.about.ends_with('.'), "{}: {}", row.name, row.about);
            assert!(!row.kind.is_empty() && !row.default.is_empty(), "{}", row.name);
        }
        assert!(seen.len() > 450, "{}", seen.len());
    }

    #[test]
    fn own_rows_win_over_families_and_long_ones_over_short_ones() {
        let name = |name: &str| variable(name).map(|row| row.name);
        assert_eq!(name("calico_mtu"), Some("calico_mtu"));
        assert_eq!(name("calico_something"), Some("calico_*"));
        assert_eq!(name("upgrade_node_post_upgrade_confirm"), Some("upgrade_node_post_upgrade_*"));
        assert_eq!(name("coredns_image_repo"), Some("*_download_url"));
        assert_eq!(name("kube_proxy_mod"), None, "a misspelling of what is honoured");
        assert_eq!(name("crun_download_url"), Some("*_download_url"));
        assert_eq!(name("my_own"), None);
    }

    #[test]
    fn misspellings_are_recognized() {
        assert_eq!(nearest_variable("kube_proxi_mode"), Some("kube_proxy_mode"));
        assert_eq!(nearest_variable("kubeproxymode"), Some("kube_proxy_mode"));
        assert_eq!(nearest_variable("company_rack"), None);
    }
}
