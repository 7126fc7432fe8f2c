//! Which versions of the API somebody has asked an API server for that later versions of Kubernetes have no more.
//!
//! An API server counts them itself, since its start (`apiserver_requested_deprecated_apis`, stable since 1.29).

use std::fmt;

use semver::Version;

/// One that was asked for.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct DeprecatedApi {
    /// Its group; empty for the core group.
    pub group: String,
    /// Its version, such as `v1beta3`.
    pub version: String,
    /// What it is called, such as `flowschemas`.
    pub resource: String,
    /// The first version of Kubernetes that does not have it.
    pub removed_in: Version,
}

impl fmt::Display for DeprecatedApi {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { group, version, resource, .. } = self;
        if group.is_empty() { write!(f, "{version} {resource}") } else { write!(f, "{group}/{version} {resource}") }
    }
}

/// After the question whether the API server is ready.
pub(super) const SCRIPT: &str = r#"mark kube-deprecated
if [ -n "$api_server" ]; then kube get --raw /metrics 2>/dev/null | grep '^apiserver_requested_deprecated_apis{' | head -n 500; fi
"#;

/// Those that are removed at some time; what has no such version says nothing of an upgrade.
pub(super) fn read(body: &str) -> Vec<DeprecatedApi> {
    body.lines().filter_map(of_line).collect()
}

fn of_line(line: &str) -> Option<DeprecatedApi> {
    let (labels, value) = line.strip_prefix("apiserver_requested_deprecated_apis{")?.rsplit_once('}')?;
    if value.trim() == "0" {
        return None;
    }
    let label = |name: &str| {
        let value = labels.split(',').find_map(|label| label.strip_prefix(name)?.strip_prefix("=\"")?.strip_suffix('"'));
        value.map(str::to_owned)
    };
    let removed_in: Version = format!("{}.0", label("removed_release").filter(|text| !text.is_empty())?).parse().ok()?;
    Some(DeprecatedApi { group: label("group")?, version: label("version")?, resource: label("resource")?, removed_in })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing)]

    use super::*;

    #[test]
    fn only_what_is_removed_some_time_counts() {
        let body = "apiserver_requested_deprecated_apis{group=\"flowcontrol.apiserver.k8s.io\",removed_release=\"1.37\",resource=\"flowschemas\",\
                    subresource=\"\",version=\"v1beta3\"} 1\n\
                    apiserver_requested_deprecated_apis{group=\"\",removed_release=\"\",resource=\"componentstatuses\",subresource=\"\",version=\"v1\"} 1\n\
                    apiserver_requested_deprecated_apis{group=\"a\",removed_release=\"1.36\",resource=\"b\",subresource=\"\",version=\"v1\"} 0\nnonsense\n";
        let read = read(body);
        assert_eq!(read.len(), 1);
        assert_eq!(
            (read[0].to_string(), read[0].removed_in.to_string()),
            ("flowcontrol.apiserver.k8s.io/v1beta3 flowschemas".to_owned(), "1.37.0".to_owned())
        );
    }
}
