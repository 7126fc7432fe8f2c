//! What kubeadm's phases do in the model, and kubelets.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kok_tasks::change::Change;
use kok_tasks::identity;
use kok_tasks::observe::{ETCD, STATIC_PODS};
use kok_tasks::operations::{Component, FOUNDERS_LINK, Join, KubeletStart, MEMBER_DATA, Preflight, SIGNING_CERTIFICATE, StaticPods};
use kok_tasks::secret_name::SecretName;

use super::api;
use super::encryption::plugin_folder;
use super::host::{Host, kubeconfig_authorities};
use super::world::World;

pub(super) const CLIENT_CERTIFICATE: &str = "/var/lib/kubelet/pki/kubelet-client-current.pem";
const KUBELET_FILES: [&str; 2] = ["/var/lib/kubelet/config.yaml", "/var/lib/kubelet/kubeadm-flags.env"];

impl World {
    pub(super) fn preflight(&mut self, host: &str, preflight: &Preflight) {
        self.uses_configuration(host, &preflight.configuration, &preflight.source);
        let host = self.host(host);
        assert!(host.is_active("containerd.service"), "kubeadm checks a runtime that does not run");
        assert!(!host.is_active("kubelet.service"), "kubeadm finds a kubelet that runs");
        assert!(!host.has("/etc/kubernetes/manifests/etcd.yaml"), "kubeadm finds a manifest");
        assert_eq!(host.sysctls["net.ipv4.ip_forward"], "1");
        ["/usr/local/bin/kubelet", "/etc/systemd/system/kubelet.service"].iter().for_each(|path| host.uses(path));
        host.folder("/var/lib/kokctl/made", 0o700);
        host.write("/var/lib/kokctl/made/preflight", 0o600, &format!("{}\n", preflight.source));
    }

    pub(super) fn static_pods(&mut self, host: &str, pods: &StaticPods) {
        self.uses_configuration(host, &pods.configuration, &pods.source);
        let founds_nothing = |path: &String| !self.hosts[host].text(path).contains("name: initial-cluster\n");
        assert!(pods.of_member.iter().all(founds_nothing), "a member that was started founds nothing");
        let units = self.api.etcd_units;
        assert!(!units || api::has_quorum(&self.api, &self.hosts), "an API server gives up without etcd");
        let host = self.host(host);
        assert!(host.has("/var/lib/kokctl/made/preflight"), "manifests come before kubeadm's checks");
        let etcd = if units { "pki/etcd/ca.crt" } else { "pki/etcd/peer.crt" };
        ["pki/ca.crt", "pki/sa.key", "pki/apiserver.crt", etcd, "controller-manager.conf", "scheduler.conf"]
            .iter()
            .for_each(|path| host.uses(&format!("/etc/kubernetes/{path}")));
        let (record, names): (_, &[&str]) = match pods.component {
            Component::Etcd => ("etcd", &["etcd"]),
            Component::ControlPlane => ("control-plane", &["kube-apiserver", "kube-controller-manager", "kube-scheduler"]),
        };
        if pods.component == Component::Etcd {
            assert_eq!(host.paths["/var/lib/etcd"].mode, 0o700, "etcd refuses a folder that others may enter");
        }
        host.folder("/etc/kubernetes/manifests", 0o700);
        for name in names {
            let options = if pods.of_member.is_some() { etcd_options(host, pods) } else { String::new() };
            let signs = if host.has(SIGNING_CERTIFICATE) { SIGNING_CERTIFICATE } else { "/etc/kubernetes/pki/ca.crt" };
            let signs =
                if *name == "kube-controller-manager" { format!("    - --cluster-signing-cert-file={signs}\n") } else { String::new() };
            let is_read = *name == "kube-apiserver" && host.text(&pods.configuration).contains("encryption-provider-config");
            let reads = if is_read { "    - --encryption-provider-config-automatic-reload=true\n" } else { "" };
            let folder = plugin_folder(host.text(&pods.configuration)).filter(|_| *name == "kube-apiserver");
            let shown = folder.map(|folder| format!("    - mountPath: {folder}\n      name: kokctl-kms\n")).unwrap_or_default();
            let text = format!("{name} from {}\n{options}{signs}{reads}{shown}", pods.source);
            host.write(&format!("/etc/kubernetes/manifests/{name}.yaml"), 0o600, &text);
        }
        let now = host.now;
        host.programs.extend(names.iter().filter(|name| **name != ETCD).map(|name| ((*name).to_owned(), now)));
        let paths: Vec<String> = names.iter().map(|name| format!("/etc/kubernetes/manifests/{name}.yaml")).collect();
        let name = host.name.clone();
        self.keep(&name, record, &pods.source, &paths);
    }

    /// The record of what kubeadm wrote.
    fn keep(&mut self, host: &str, record: &str, source: &str, paths: &[String]) {
        let host = self.host(host);
        let lines: String = paths.iter().map(|path| format!("{}  {path}\n", host.paths[path].sum)).collect();
        host.folder("/var/lib/kokctl/made", 0o700);
        host.write(&format!("/var/lib/kokctl/made/{record}"), 0o600, &format!("{source}  configuration\n{lines}"));
    }

    pub(super) fn start_kubelet(&mut self, host: &str, kubelet: &KubeletStart) {
        self.uses_configuration(host, &kubelet.configuration, &kubelet.source);
        // The API server comes when the member has its vote.
        let learns = self.api.learners.iter().any(|learner| learner == host);
        for name in api::manifests(&self.api).iter().take(if learns { 1 } else { usize::MAX }) {
            self.hosts[host].uses(&format!("/etc/kubernetes/manifests/{name}.yaml"));
        }
        self.hosts[host].uses("/etc/kubernetes/kubelet.conf");
        self.configure_kubelet(host, &kubelet.source, &kubelet.reads);
        // What has ended runs again.
        let host = self.host(host);
        for name in STATIC_PODS.into_iter().filter(|name| *name != ETCD) {
            if host.has(&format!("/etc/kubernetes/manifests/{name}.yaml")) {
                host.programs.entry(name.to_owned()).or_insert(host.now);
            }
        }
    }

    fn configure_kubelet(&mut self, host: &str, source: &str, reads: &[String]) {
        let it = self.host(host);
        assert!(it.is_active("containerd.service"), "{host}: the kubelet starts before its runtime");
        assert!(it.modules.contains("br_netfilter"), "{host}: the kubelet starts before its modules are loaded");
        reads.iter().for_each(|path| it.uses(path));
        it.folder("/var/lib/kubelet", 0o700);
        KUBELET_FILES.iter().for_each(|path| it.write(path, 0o644, &format!("{path} from {source}")));
        it.start("kubelet.service");
        self.keep(host, "kubelet", source, &KUBELET_FILES.map(str::to_owned));
    }

    pub(super) fn finalize(&mut self, host: &str, configuration: &str) {
        assert!(api::answers(&self.api, &self.hosts[host], &self.hosts), "the kubelet is restarted before the API server is there");
        let it = self.host(host);
        [configuration, CLIENT_CERTIFICATE].iter().for_each(|path| it.uses(path));
        let authorities = kubeconfig_authorities(it.text("/etc/kubernetes/kubelet.conf"));
        let data = authorities.map(|text| format!("\ncertificate-authority-data: {}", STANDARD.encode(text))).unwrap_or_default();
        it.write("/etc/kubernetes/kubelet.conf", 0o600, &format!("client-certificate: kubelet-client-current.pem{data}"));
        let sum = it.paths["/etc/kubernetes/kubelet.conf"].sum.clone();
        it.write("/var/lib/kokctl/made/kubelet-finalized", 0o600, &format!("{sum}\n"));
        it.start("kubelet.service");
    }

    pub(super) fn join(&mut self, host: &str, join: &Join, change: &Change) {
        if join.by_issued {
            let it = self.host(host);
            ["/usr/local/bin/kubeadm", "/etc/kubernetes/pki/ca.crt", "/etc/kubernetes/kubelet.conf"].iter().for_each(|path| it.uses(path));
            return self.configure_kubelet(host, &join.source, &join.reads);
        }
        let left = self.api.tokens.get(&format!("bootstrap-token-{}", self.token_id)).copied().unwrap_or_default();
        assert!(!Join::needs_token(change) || left >= 600, "{host} joins with a token that ends in {left} s");
        assert!(
            api::any_answers(&self.api, &self.hosts) && self.api.has("ConfigMap/kube-system/kubelet-config"),
            "{host} joins before it can"
        );
        let authority = self.secret(&SecretName::ControlPlaneFile { host: "cp1".into(), path: "pki/ca.crt".into() });
        let server = identity::endpoint_url(&self.cluster);
        let it = self.host(host);
        ["/usr/local/bin/kubeadm", "/etc/kubernetes"].iter().for_each(|path| it.uses(path));
        assert!(it.images.keys().any(|image| image.contains("/pause:")), "{host}: no pod can start without the pause image");
        it.folder("/etc/kubernetes/pki", 0o755);
        it.write("/etc/kubernetes/pki/ca.crt", 0o644, &authority);
        let data = STANDARD.encode(&authority);
        let conf = format!("server: {server}\ncertificate-authority-data: {data}\nclient-certificate: kubelet-client-current.pem");
        it.write("/etc/kubernetes/kubelet.conf", 0o600, &conf);
        self.configure_kubelet(host, &join.source, &join.reads);
    }
}

/// What kubeadm makes of etcd's options; where the member was never started, what has to lie with its data comes with it.
fn etcd_options(host: &mut Host, pods: &StaticPods) -> String {
    let of_member = pods.of_member.as_ref().filter(|_| host.has(MEMBER_DATA));
    let text = host.text(of_member.unwrap_or(&pods.configuration)).to_owned();
    if of_member.is_none() {
        host.folder("/var/lib/etcd/member", 0o700);
        host.write(FOUNDERS_LINK, 0o777, "");
    }
    let lines: Vec<&str> = text.split_once("\netcd:\n").unwrap().1.lines().take_while(|line| *line != "---").map(str::trim).collect();
    let options = lines.iter().zip(lines.iter().skip(1)).filter_map(|(name, value)| {
        Some(format!("    - --{}={}\n", name.strip_prefix("- name: ")?.trim_matches('"'), value.strip_prefix("value: ")?.trim_matches('"')))
    });
    options.collect()
}
