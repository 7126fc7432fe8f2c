//! Finding the row of a name.

use std::collections::HashMap;
use std::sync::LazyLock;

use strsim::damerau_levenshtein;

use super::row::Variable;
use super::table::{ANY_DOWNLOAD, DOWNLOAD_ENDS, SUBJECTS};
use crate::decode::Wording;
use crate::words::nearest;

/// Rows by the names that they have, those that stand for many names, the longest beginning first, and names by the words in them.
struct Index {
    rows: HashMap<&'static str, &'static Variable>,
    families: Vec<(&'static str, &'static Variable)>,
    by_words: HashMap<Vec<&'static str>, &'static str>,
}

static INDEX: LazyLock<Index> = LazyLock::new(|| {
    let (families, rows): (Vec<_>, Vec<_>) = variables().partition(|row| row.is_family());
    let mut families: Vec<_> = families.into_iter().map(|row| (row.name.trim_end_matches('*'), row)).collect();
    families.sort_by_key(|(beginning, _)| std::cmp::Reverse(beginning.len()));
    Index {
        by_words: rows.iter().map(|row| (words(row.name), row.name)).collect(),
        rows: rows.into_iter().map(|row| (row.name, row)).collect(),
        families,
    }
});

/// All rows, by subject.
pub fn variables() -> impl Iterator<Item = &'static Variable> {
    SUBJECTS.iter().flat_map(|subject| subject.rows)
}

/// The row of a name, or the one that stands for all names of its kind. A family does not take in what is a row's name, misspelled.
#[must_use]
pub fn variable(name: &str) -> Option<&'static Variable> {
    if let Some(row) = INDEX.rows.get(name) {
        return Some(row);
    }
    if let Some((_, row)) = family(name) {
        return misspelled_member(name).is_none().then_some(row);
    }
    DOWNLOAD_ENDS.iter().any(|end| name.ends_with(end)).then_some(&ANY_DOWNLOAD)
}

/// The row that stands for all names with the beginning that this one has, and that beginning.
fn family(name: &str) -> Option<(&'static str, &'static Variable)> {
    INDEX.families.iter().find(|(beginning, _)| name.starts_with(beginning)).copied()
}

/// The row that was meant by a name of a family without a row of its own: the same words in another order, or some letters of what comes
/// after the family's beginning are wrong.
fn misspelled_member(name: &str) -> Option<&'static str> {
    let (beginning, _) = family(name)?;
    if let Some(same) = INDEX.by_words.get(&words(name)) {
        return Some(same);
    }
    let rest = name.strip_prefix(beginning)?;
    // Of names as alike as `port` and `host` both may exist; Kubespray's that are more alike have rows, which a test sees to.
    let most = (rest.chars().count() / 4).clamp(1, 2);
    let rests = names().filter_map(|known| Some((known, known.strip_prefix(beginning)?)));
    let near = rests.filter(|(_, known)| known.len().abs_diff(rest.len()) <= most);
    let edits = near.map(|(known, other)| (damerau_levenshtein(rest, other), known));
    edits.filter(|(edits, _)| *edits <= most).min().map(|(_, known)| known)
}

/// The words of a name, in an order that does not hang on the name's.
fn words(name: &str) -> Vec<&str> {
    let mut words: Vec<&str> = name.split('_').collect();
    words.sort_unstable();
    words
}

/// The variable that a field of a Cluster is in an inventory: the first of several, which is the one of today.
pub(crate) fn variable_of_field(path: &str) -> Option<&'static str> {
    variables().find(|row| row.field().is_some_and(|field| is_same(field, path))).map(|row| row.name)
}

/// What a field of a Cluster is called in the file that a user wrote.
pub(crate) fn field_called(words: Wording, path: &str) -> &str {
    match words {
        Wording::Cluster => path,
        Wording::Inventory => variable_of_field(path).unwrap_or(path),
    }
}

/// Whether a path is that of a row, in which lists have no numbers.
fn is_same(field: &str, path: &str) -> bool {
    let mut parts = path.split('.');
    field.split('.').all(|part| {
        parts.next().is_some_and(|own| own == part || own.split_once('[').zip(part.split_once('[')).is_some_and(|(a, b)| a.0 == b.0))
    }) && parts.next().is_none()
}

/// All names that rows have of their own.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    INDEX.rows.keys().copied()
}

/// The known name that is nearest to one that is not known.
pub(crate) fn nearest_variable(name: &str) -> Option<&'static str> {
    if let Some(meant) = INDEX.by_words.get(&words(name)).copied().or_else(|| misspelled_member(name)) {
        return Some(meant);
    }
    // Names of other lengths are not near, and comparing hundreds of words with hundreds takes its time.
    let near = name.len().div_ceil(3);
    let mut candidates: Vec<&'static str> = names().filter(|known| known.len().abs_diff(name.len()) <= near).collect();
    candidates.sort_unstable();
    nearest(name, &candidates)
}

/// Whether a name that is not known is most likely that of a secret, misspelled.
pub(super) fn is_near_secret(name: &str) -> bool {
    if family(name).is_some_and(|(_, row)| row.is_secret()) {
        return true;
    }
    // Most names are near none of the few, which is quickly seen.
    let secrets: Vec<&'static str> = variables().filter(|row| row.is_secret() && !row.is_family()).map(|row| row.name).collect();
    nearest(name, &secrets).is_some() && nearest_variable(name).and_then(variable).is_some_and(Variable::is_secret)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::collections::BTreeSet;

    use super::{nearest_variable, variable, variable_of_field, variables};

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
    fn fields_are_variables_of_inventories() {
        for (path, expected) in [
            ("spec.network.podCIDR", Some("kube_pods_subnet")),
            ("spec.network.nodePrefix", Some("kube_network_node_prefix")),
            ("spec.hosts[12].ssh.port", Some("ansible_port")),
            ("spec.hosts[0].address", Some("ip")),
            ("spec.hosts[0].roles", None),
        ] {
            assert_eq!(variable_of_field(path), expected, "{path}");
        }
    }

    #[test]
    fn misspellings_are_recognized() {
        assert_eq!(nearest_variable("kube_proxi_mode"), Some("kube_proxy_mode"));
        assert_eq!(nearest_variable("kubeproxymode"), Some("kube_proxy_mode"));
        assert_eq!(nearest_variable("company_rack"), None);
        assert_eq!(nearest_variable("kube_vers"), Some("kube_version"), "the beginning counts more than edits");
    }

    #[test]
    fn a_family_takes_no_misspellings_of_rows_in() {
        for (name, meant) in [
            ("audit_log_maxag", "audit_log_maxage"),
            ("kube_reserved_cpu", "kube_cpu_reserved"),
            ("system_reserved_memory", "system_memory_reserved"),
            ("loadbalancer_apiserver_prot", "loadbalancer_apiserver_port"),
            ("loadbalancer_apiserver_localhots", "loadbalancer_apiserver_localhost"),
            ("kubelet_image_gc_high_treshold", "kubelet_image_gc_high_threshold"),
            ("etcd_events_cluster_enable", "etcd_events_cluster_enabled"),
        ] {
            assert!(variable(name).is_none(), "{name}");
            assert_eq!(nearest_variable(name), Some(meant), "{name}");
        }
        for (name, family) in [
            ("audit_log_name", "audit_*"),
            ("kube_reserved_cgroups", "kube_reserved_*"),
            ("registry_port", "registry_*"),
            ("haproxy_config_dir", "haproxy_*"),
        ] {
            assert_eq!(variable(name).map(|row| row.name), Some(family), "{name}");
        }
    }
}
