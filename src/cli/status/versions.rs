//! What is said of several versions of Kubernetes at once.

use kok_tasks::versions::Versions;

/// What is said where several versions of Kubernetes run; with the table of them, line by line.
pub(super) fn lines(versions: &Versions) -> Vec<String> {
    let several: Vec<String> = versions.of_kubernetes().into_iter().map(ToString::to_string).collect();
    if several.len() < 2 {
        return Vec::new();
    }
    let mut programs = versions.0.iter().flat_map(|host| host.programs.values());
    let word = match programs.any(|installed| installed.emulates.is_some()) {
        true => "control planes work as the version of before: `kokctl upgrade --finish` goes on, `kokctl upgrade --take-back` leads back",
        false => "an upgrade has not come to its end, which `kokctl upgrade` goes on with",
    };
    let summary = format!("versions: Kubernetes {} run side by side: {word}", several.join(" and "));
    [summary].into_iter().chain(versions.table().lines().map(|line| format!("  {line}"))).collect()
}

#[cfg(test)]
mod tests {
    use kok_tasks::observe::{Installed, KUBELET, version_of};
    use kok_tasks::versions::HostVersions;

    use super::*;

    fn host(name: &str, kubelet: &str) -> HostVersions {
        let installed = Installed { running: version_of(kubelet), next: version_of(kubelet), ..Installed::default() };
        HostVersions { host: name.to_owned(), is_control_plane: false, is_asked: true, programs: [(KUBELET.to_owned(), installed)].into() }
    }

    #[test]
    fn several_versions_are_told_by_host_and_one_is_not() {
        let versions = Versions(vec![host("cp1", "v1.37.1"), host("worker1", "v1.36.3"), host("worker2", "v1.36.3")]);
        let expected = [
            "versions: Kubernetes 1.36.3 and 1.37.1 run side by side: an upgrade has not come to its end, which `kokctl upgrade` goes on with",
            "  host              kubelet",
            "  cp1               1.37.1",
            "  worker1, worker2  1.36.3",
        ];
        assert_eq!(lines(&versions), expected);
        assert_eq!(lines(&Versions(vec![host("cp1", "v1.37.1"), host("worker1", "v1.37.1")])), Vec::<String>::new());
        let mut waits = versions;
        waits.0.iter_mut().flat_map(|host| host.programs.values_mut()).for_each(|installed| installed.emulates = Some((1, 36)));
        assert!(lines(&waits).first().is_some_and(|line| line.contains("--take-back")));
    }
}
