//! Which versions run where.

use std::collections::BTreeMap;

use kok_tasks::observe::Installed;
use kok_tasks::versions::{HostVersions, Versions};
use serde::Serialize;

/// Versions of one program on one host.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ProgramVersions {
    /// Of the process that runs.
    pub running: Option<String>,
    /// Of what its next start would run.
    pub next: Option<String>,
    /// The minor version that it is told to work as, as `1.36`, where that is an older one than its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub emulates: Option<String>,
}

impl ProgramVersions {
    fn new(installed: &Installed) -> Self {
        let text = |version: &Option<semver::Version>| version.as_ref().map(ToString::to_string);
        let emulates = installed.emulates.map(|(major, minor)| format!("{major}.{minor}"));
        Self { running: text(&installed.running), next: text(&installed.next), emulates }
    }
}

/// Versions on a host by the names of programs.
pub(super) fn of_host(versions: &Versions, host: &str) -> BTreeMap<String, ProgramVersions> {
    let programs = versions.0.iter().find(|it| it.host == host).map(|HostVersions { programs, .. }| programs);
    programs.into_iter().flatten().map(|(name, installed)| (name.clone(), ProgramVersions::new(installed))).collect()
}

#[cfg(test)]
mod tests {
    use kok_tasks::observe::{KUBELET, version_of};

    use super::*;

    #[test]
    fn what_runs_is_told_beside_what_would_run_next() {
        let installed = Installed { running: version_of("v1.36.3"), next: version_of("v1.37.1"), ..Installed::default() };
        let programs = [(KUBELET.to_owned(), installed)].into();
        let versions = Versions(vec![HostVersions { host: "worker1".to_owned(), is_control_plane: false, is_asked: true, programs }]);
        let document = serde_json::to_value(of_host(&versions, "worker1")).unwrap_or_default();
        assert_eq!(document, serde_json::json!({KUBELET: {"running": "1.36.3", "next": "1.37.1"}}));
        assert!(of_host(&versions, "worker2").is_empty());
    }
}
