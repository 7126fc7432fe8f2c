//! What operations of the model would use, and whether it is there.

use kok_tasks::digest::sha256;

use super::api;
use super::world::World;

/// Options that count for the first start of etcd only, and what is said of them.
const OF_FOUNDING: [&str; 3] = ["initial-cluster", "initial-cluster-token", "peer-trusted-ca-file"];
const ABOUT_FOUNDING: [&str; 3] =
    ["# All members that found the cluster together", "# Members of an earlier cluster", "# A link to the usual certificate"];

impl World {
    pub(super) fn uses_api(&self, host: &str, as_administrator: bool) {
        let host = &self.hosts[host];
        host.uses("/usr/local/bin/kubectl");
        assert!(api::answers(&self.api, host, &self.hosts), "{}: the API server is asked before it answers", host.name);
        assert!(!as_administrator || self.api.has_administrators(), "{}: administrators have no rights yet", host.name);
    }

    /// What counts for the first start of etcd only is no part of what the sum is of. On the way to another version each part has a sum of its own.
    pub(super) fn uses_configuration(&self, host: &str, path: &str, source: &str) {
        let host = &self.hosts[host];
        host.uses("/usr/local/bin/kubeadm");
        if self.cluster.underway.is_some() {
            return host.uses(path);
        }
        let mut left = false;
        let counts = host.text(path).lines().filter(|line| {
            let is_option = line.trim().strip_prefix("- name: ").map(|name| OF_FOUNDING.contains(&name.trim_matches('"')));
            // The value stands in the line behind the name.
            let is_left = is_option == Some(true) || (left && line.trim().starts_with("value: "));
            left = is_option == Some(true);
            !is_left && !ABOUT_FOUNDING.iter().any(|comment| line.contains(comment))
        });
        // Whether the host founds or joins counts for that start, too.
        let as_founder = |text: String| text.replace("value: \"existing\"", "value: \"new\"");
        let counts = self.unmoved(&as_founder(counts.map(|line| format!("{line}\n")).collect()));
        assert_eq!(sha256(counts.as_bytes()), source, "{path} is not what the step was planned with");
    }

    /// What goes into the cluster says nothing of the host that it comes from.
    pub(super) fn uses_common(&self, host: &str, path: &str, source: &str) {
        if self.cluster.underway.is_some() {
            return self.hosts[host].uses(path);
        }
        assert_eq!(self.common(host, path), source, "{path} is not what the step was planned with");
    }

    /// An address that moves is in certificates, and in nothing else that is made from it.
    fn unmoved(&self, text: &str) -> String {
        let moving = self.cluster.virtual_address().map(|address| format!("\"{address}\""));
        moving.map_or_else(|| text.to_owned(), |name| text.replace(&format!(", {name}"), "").replace(&format!(",{name}"), ""))
    }

    fn common(&self, host: &str, path: &str) -> String {
        sha256(self.counting(host, path).as_bytes())
    }

    fn counting<'a>(&'a self, host: &str, path: &str) -> &'a str {
        let host = &self.hosts[host];
        host.uses("/usr/local/bin/kubeadm");
        let whole = host.text(path);
        if self.cluster.is_highly_available() { whole.split_once("---\n").unwrap().1 } else { whole }
    }

    /// CoreDNS is made from its patches too, which lie in the folder that the configuration names.
    pub(super) fn uses_patched(&self, host: &str, path: &str, source: &str) {
        if self.cluster.underway.is_some() {
            return self.hosts[host].uses(path);
        }
        let common = sha256(self.unmoved(self.counting(host, path)).as_bytes());
        let host = &self.hosts[host];
        let folder = host.text(path).lines().find_map(|line| line.trim().strip_prefix("directory: "));
        let beginning = folder.map(|folder| format!("{}/", folder.trim_matches('"')));
        let name = |path: &str| path.strip_prefix(beginning.as_deref()?).filter(|name| name.starts_with("coredns")).map(str::to_owned);
        let patches: String = host.paths.iter().filter_map(|(path, file)| Some(format!("{}\n{}", name(path)?, file.content))).collect();
        let made = if patches.is_empty() { common } else { sha256(format!("{common}\n{patches}").as_bytes()) };
        assert_eq!(made, source, "{path} and its patches are not what the step was planned with");
    }
}
