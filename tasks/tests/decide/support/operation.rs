//! What operations do in the model.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kok_tasks::change::Change;
use kok_tasks::drain::{Cordon, judge};
use kok_tasks::given::without_value;
use kok_tasks::observe::{NodeState, PodNetwork};
use kok_tasks::operations::{
    KeepOut, LetIn, NetworkCheck, NetworkCheckStage, Operation, TOKEN_VALIDITY, TokenKeysReader, VIRTUAL_ROUTER_CHECK_FILE,
    VIRTUAL_ROUTER_CHECK_UNIT, VIRTUAL_ROUTER_CONFIGURATION, VIRTUAL_ROUTER_FOLDER, VIRTUAL_ROUTER_READ, VIRTUAL_ROUTER_STATE,
    VIRTUAL_ROUTER_UNIT, VIRTUAL_ROUTER_UNIT_FILE,
};

use kok_tasks::secret_name::SecretName;

use super::api;
use super::host::Host;
use super::kubeadm::CLIENT_CERTIFICATE;
use super::world::World;

const STRANGERS: &str = "RoleBinding/kube-public/kubeadm:bootstrap-signer-clusterinfo";

impl World {
    pub(crate) fn operation(&mut self, host: &str, operation: &Operation, change: &Change) {
        match operation {
            Operation::Claim(claim) => self.claim(host, &claim.cluster, claim.id.as_deref()),
            Operation::PkiTree(tree) => self.pki_tree(host, &tree.files),
            Operation::Preflight(preflight) => self.preflight(host, preflight),
            Operation::StaticPods(pods) => self.static_pods(host, pods),
            Operation::KubeletStart(kubelet) => self.start_kubelet(host, kubelet),
            Operation::ClusterAdmins(_) => {
                self.uses_api(host, false);
                self.api.object("ClusterRoleBinding", "", "kubeadm:cluster-admins", "");
            }
            Operation::UploadConfiguration(upload) => {
                self.uses_common(host, &upload.configuration, &upload.source);
                self.uses_api(host, true);
                self.host(host).write("/var/lib/kokctl/made/founded", 0o600, &format!("1780000000\n{}\n", upload.control_planes.join(",")));
                self.api.object("ConfigMap", "kube-system", "kubeadm-config", &upload.source);
                let map = self.api.objects.get_mut("ConfigMap/kube-system/kubeadm-config").unwrap();
                map["metadata"]["annotations"]["kokctl.io/control-planes"] = upload.control_planes.join(",").into();
                let text = self.hosts[host].text(&upload.configuration);
                let configuration = text.split("---\n").find(|document| document.contains("kind: ClusterConfiguration")).unwrap();
                map["data"] = serde_json::json!({ "ClusterConfiguration": configuration });
                self.api.object("ConfigMap", "kube-system", "kubelet-config", "");
            }
            Operation::BootstrapToken(token) => {
                self.uses_api(host, true);
                if !self.api.has("ClusterRoleBinding//kubeadm:node-autoapprove-bootstrap")
                    || !self.api.has("ConfigMap/kube-public/cluster-info")
                {
                    self.api.object("RoleBinding", "kube-public", "kubeadm:bootstrap-signer-clusterinfo", "");
                    self.api.object("ClusterRoleBinding", "", "kubeadm:node-autoapprove-bootstrap", "");
                    self.api.object("ConfigMap", "kube-public", "cluster-info", "");
                }
                if token.kubelet_client {
                    self.api.object("ClusterRoleBinding", "", "kubeadm:apiserver-kubelet-client", "");
                }
                self.api.tokens.insert(format!("bootstrap-token-{}", token.id), TOKEN_VALIDITY.as_secs());
            }
            Operation::MarkNode(mark) => {
                self.uses_api(host, true);
                let node = self.api.nodes.get_mut(&mark.node).unwrap_or_else(|| panic!("{} is marked before it is a node", mark.node));
                node.labels.extend(mark.labels.clone());
                self.api.annotations.entry(mark.node.clone()).or_default().extend(mark.annotations.clone());
                let new: Vec<_> = mark.taints.iter().filter(|taint| !node.taints.contains(taint)).cloned().collect();
                node.taints.extend(new);
                node.taints.retain(|taint| !mark.back.taints.contains(&without_value(taint)));
                node.labels.retain(|key, _| !mark.back.labels.contains(key));
                node.given = mark.given.clone();
                let annotations = self.api.annotations.entry(mark.node.clone()).or_default();
                annotations.retain(|key, _| !mark.back.annotations.contains(key));
            }
            Operation::StaticPodsSettled(settled) => {
                let host = self.host(host);
                host.programs.extend(settled.with_etcd.then(|| ("etcd".to_owned(), 0)));
                host.programs.values_mut().for_each(|started| *started = host.now);
                // A program that ends at once has ended by then.
                host.now += 5;
                self.settle();
            }
            Operation::KubeletRegisters(_) => {
                self.host(host).start("kubelet.service");
                self.settle();
            }
            Operation::ReadKubeconfigs(_) => {
                let host = self.host(host);
                host.programs.values_mut().for_each(|started| *started = host.now);
            }
            Operation::ReadTokenKeys(read) => {
                let host = self.host(host);
                host.uses("/etc/kubernetes/pki/sa.key");
                host.uses("/etc/kubernetes/pki/sa.pub");
                let program = match read.reader {
                    TokenKeysReader::ApiServer => "kube-apiserver",
                    TokenKeysReader::ControllerManager => "kube-controller-manager",
                };
                host.programs.insert(program.to_owned(), host.now);
            }
            Operation::ReadAuthorities(read) => {
                let host = self.host(host);
                read.paths.iter().for_each(|path| host.uses(path));
                host.reads(read.program, &read.paths);
                host.programs.insert(read.program.to_owned(), host.now);
            }
            Operation::SigningCertificate(signs) => {
                let host = self.host(host);
                let (manifest, record) = ("/etc/kubernetes/manifests/kube-controller-manager.yaml", "/var/lib/kokctl/made/control-plane");
                let (was, lines) = (host.paths[manifest].sum.clone(), host.text(record).to_owned());
                let (is, becomes) = if signs.apart { ("/ca.crt", "/ca-signing.crt") } else { ("/ca-signing.crt", "/ca.crt") };
                let text = host.text(manifest).replace(is, becomes);
                host.write(manifest, 0o600, &text);
                let sum = host.paths[manifest].sum.clone();
                host.write(record, 0o600, &lines.replace(&was, &sum));
                host.programs.insert("kube-controller-manager".to_owned(), host.now);
            }
            Operation::KubeletTrust(trust) => {
                let (conf, record) = ("/etc/kubernetes/kubelet.conf", "/var/lib/kokctl/made/kubelet-finalized");
                let host = self.host(host);
                let (was, text) = (host.paths[conf].sum.clone(), host.text(conf).to_owned());
                let data = STANDARD.encode(&trust.authorities);
                let lines = text.lines().map(|line| match line.split_once("certificate-authority-data: ") {
                    Some((before, _)) => format!("{before}certificate-authority-data: {data}\n"),
                    None => format!("{line}\n"),
                });
                let text: String = lines.collect();
                host.write(conf, 0o600, &text);
                if host.paths.get(record).is_some_and(|entry| entry.content.trim() == was) {
                    let sum = host.paths[conf].sum.clone();
                    host.write(record, 0o600, &format!("{sum}\n"));
                }
            }
            Operation::PublishTrust(publish) => {
                self.uses_api(host, true);
                self.publish(publish);
            }
            Operation::KubeletFinalize(finalize) => self.finalize(host, &finalize.configuration),
            Operation::Addons(addons) => {
                self.uses_patched(host, &addons.configuration, &addons.source);
                self.uses_api(host, true);
                if addons.proxy {
                    self.api.object("DaemonSet", "kube-system", "kube-proxy", &addons.source);
                }
                self.api.object("Deployment", "kube-system", "coredns", &addons.source);
            }
            Operation::TrustStore(store) => {
                let host = self.host(host);
                store.anchors.iter().for_each(|path| host.uses(path));
                host.write("/etc/ssl/certs/ca-certificates.crt", 0o644, "all");
            }
            Operation::Join(join) => self.join(host, join, change),
            Operation::KubeletEndpoint(endpoint) => {
                let names = self.hosts[host].paths["/etc/hosts"].content.clone();
                assert!(names.contains("lb-apiserver"), "{host} does not know the name that its kubelet is to ask by");
                let it = self.host(host);
                let text = it.text("/etc/kubernetes/kubelet.conf").to_owned();
                let lines = text
                    .lines()
                    .map(|line| if line.starts_with("server: ") { format!("server: {}\n", endpoint.server) } else { format!("{line}\n") });
                let text: String = lines.collect();
                it.write("/etc/kubernetes/kubelet.conf", 0o600, &text);
                it.start("kubelet.service");
            }
            Operation::PrivateClusterInfo(_) => {
                self.uses_api(host, true);
                self.api.objects.remove(STRANGERS);
            }
            Operation::RemoveTokens(_) => {
                self.uses_api(host, true);
                self.api.tokens.clear();
            }
            Operation::ApplyManifest(manifest) => {
                self.uses_api(host, true);
                self.api.object("DaemonSet", manifest.namespace, manifest.name, &manifest.sum());
                for name in ["calico-kube-controllers", "calico-typha"].into_iter().filter(|name| manifest.text.contains(name)) {
                    self.api.object("Deployment", manifest.namespace, name, &manifest.sum());
                }
            }
            Operation::ApplyAddon(addon) => {
                self.uses_api(host, true);
                self.api.apply_addon(addon);
            }
            Operation::RemoveAddons(addons) => {
                self.uses_api(host, true);
                self.api.remove_addons(addons);
            }
            Operation::PodRoutes(routes) => {
                let host = self.host(host);
                host.uses(&routes.commands);
                host.uses(&routes.rules);
                let range = routes.routes.iter().map(|(to, via)| (*to, (*via, true)));
                host.pod_network = PodNetwork { routes: range.collect(), masquerades: routes.masquerades.clone() };
            }
            Operation::NodeDnsLink(link) => {
                let (path, unit) = (format!("/sys/class/net/{}", link.link), format!("/etc/systemd/system/{}", link.unit));
                let host = self.host(host);
                if link.wanted {
                    host.uses(&unit);
                    host.start(link.unit);
                    host.folder(&path, 0o755);
                } else {
                    host.units.remove(link.unit);
                    host.paths.retain(|there, _| *there != path && *there != unit);
                }
            }
            Operation::VirtualRouter(router) => {
                let host = self.host(host);
                host.uses(VIRTUAL_ROUTER_CONFIGURATION);
                host.folder("/run/kokctl-keepalived", 0o755);
                host.write(VIRTUAL_ROUTER_READ, 0o644, &router.configuration);
                host.write(VIRTUAL_ROUTER_STATE, 0o644, "0\n");
            }
            Operation::NoVirtualRouter(_) => {
                let host = self.host(host);
                [VIRTUAL_ROUTER_UNIT, VIRTUAL_ROUTER_CHECK_UNIT].iter().for_each(|unit| drop(host.units.remove(*unit)));
                host.paths.retain(|path, _| {
                    !path.starts_with(VIRTUAL_ROUTER_FOLDER)
                        && !path.starts_with("/run/kokctl-keepalived")
                        && path != VIRTUAL_ROUTER_UNIT_FILE
                        && path != VIRTUAL_ROUTER_CHECK_FILE
                });
            }
            Operation::RemoveNodeDns(dns) => {
                self.uses_api(host, true);
                self.api.objects.remove(&format!("DaemonSet/kube-system/{}", dns.name));
            }
            Operation::NodeShares(shares) => {
                self.uses_api(host, true);
                for (name, share) in &shares.shares {
                    self.api.nodes.get_mut(name).unwrap_or_else(|| panic!("{name} is no node yet")).pod_cidrs = share.clone();
                }
            }
            Operation::NetworkCheck(check) => self.network_check(host, check),
            // Nothing is done: what is waited for has to be true once everything is done that the step needs.
            Operation::ApiServerReady(_)
            | Operation::EndpointReady(_)
            | Operation::VirtualRouterReady(_)
            | Operation::EtcdMemberReady(_)
            | Operation::EtcdAnswers(_)
            | Operation::LoadBalancersReady(_)
            | Operation::CredentialReady(_)
            | Operation::WorkloadReady(_)
            | Operation::SubnetReady(_)
            | Operation::NodesReady(_)
            | Operation::KubeletStays(_)
            | Operation::ControllersRun(_)
            | Operation::TimeSynchronised(_) => {
                self.settle();
            }
            Operation::AnnounceMember(member) => self.announce(host, &member.host),
            Operation::PromoteMember(member) => self.promote(host, &member.host),
            Operation::EndApiServer(_) => self.end_api_server(host),
            Operation::PlaneRests(_) => self.rest_plane(host),
            Operation::MoveLeader(_) => self.move_leader(host),
            Operation::RemoveMember(member) => self.remove_member(host, &member.host),
            Operation::ReadsEncryption(_) => {
                let host = self.host(host);
                let manifest = host.text("/etc/kubernetes/manifests/kube-apiserver.yaml");
                assert!(manifest.contains("encryption-provider-config"), "its API server was started without such a file");
                assert!(host.reaches_plugins(), "its API server does not take a file with a plugin that it can't reach");
                host.keys_read = Some(host.encryption_keys());
            }
            Operation::RewriteEncrypted(rewrite) => {
                self.uses_api(host, true);
                self.rewrite(host, rewrite);
            }
            Operation::DefragmentMember(_) | Operation::DisarmAlarms(_) => panic!("members of the model have no files"),
            Operation::Reset(_) => self.leave(host),
            Operation::StandStill(_)
            | Operation::KeepData(_)
            | Operation::TakeSnapshot(_)
            | Operation::NewEtcd(_)
            | Operation::StartAnew(_)
            | Operation::ManifestsBack(_)
            | Operation::EndRecovery(_)
            | Operation::TakeBack(_) => self.recovering(host, operation),
            Operation::RemoveNode(node) => self.forget(host, &node.node),
            Operation::Reboot(_) => panic!("hosts of the model are not started anew"),
            Operation::KeepOut(KeepOut { node }) => self.keep_out(host, |names| names.push(node.clone())),
            Operation::LetIn(LetIn { node }) => self.keep_out(host, |names| names.retain(|name| name != node)),
            Operation::CordonNode(cordon) => {
                self.uses_api(host, true);
                if let Some(node) = self.api.nodes.get_mut(&cordon.node) {
                    node.cordon = Cordon::Ours(cordon.by);
                }
            }
            Operation::DrainNode(drain) => {
                self.uses_api(host, true);
                let node = self.api.nodes.get(&drain.node);
                assert!(node.is_none_or(|node| node.cordon != Cordon::None), "{} is drained while new pods come", drain.node);
                let pods = self.api.pods.remove(&drain.node).unwrap_or_default();
                let evicted = judge(&pods, &self.api.budgets, &drain.settings).evict;
                let left: Vec<_> = pods.into_iter().filter(|pod| !evicted.contains(&pod.path())).collect();
                self.api.pods.insert(drain.node.clone(), left);
            }
            Operation::UncordonNodes(lifted) => {
                self.uses_api(host, true);
                let nodes = self.api.nodes.iter_mut().filter(|(name, _)| lifted.nodes.contains(name));
                nodes.filter(|(_, node)| matches!(node.cordon, Cordon::Ours(_))).for_each(|(_, node)| node.cordon = Cordon::None);
            }
        }
        self.settle();
    }

    fn keep_out(&mut self, host: &str, change: impl FnOnce(&mut Vec<String>)) {
        self.uses_api(host, true);
        let record = self.api.objects.get("ConfigMap/kube-system/kokctl-cluster").and_then(|map| map["data"]["removed"].as_str());
        let mut names: Vec<String> = record.unwrap_or_default().split_whitespace().map(str::to_owned).collect();
        change(&mut names);
        self.api.object("ConfigMap", "kube-system", "kokctl-cluster", "");
        self.api.objects.get_mut("ConfigMap/kube-system/kokctl-cluster").unwrap()["data"] = serde_json::json!({"removed": names.join(" ")});
    }

    /// What comes about by itself: a kubelet that reaches the API server gets its certificate and registers its node, and flannel's
    /// daemon writes its subnet.
    pub(crate) fn settle(&mut self) {
        for host in self.hosts.values_mut().filter(|host| api::runs_etcd(host)) {
            host.folder("/var/lib/etcd/member/wal", 0o700);
            self.api.started.insert(host.name.clone());
        }
        // Time passes: what was started has got over its start.
        self.hosts.values_mut().for_each(|host| host.now += 5);
        let registers = |api: &api::Api, host: &Host| {
            let kubelet = host.is_active("kubelet.service") && host.has("/etc/kubernetes/kubelet.conf");
            kubelet && !(api.nodes.contains_key(&host.name) && host.has(CLIENT_CERTIFICATE))
        };
        let writes = |api: &api::Api, host: &Host| api::has_subnet(api, host) && !host.has("/run/flannel/subnet.env");
        // Whom the API server answers is asked of those alone for whom something comes about: this is done after each step.
        let asks = |host: &&Host| registers(&self.api, host) || writes(&self.api, host);
        let reaches = |host: &&Host| {
            // A control plane's kubelet talks to the API server beside it.
            let own = self.cluster.control_planes().any(|plane| plane.name == host.name);
            if own { api::answers(&self.api, host, &self.hosts) } else { api::any_answers(&self.api, &self.hosts) }
        };
        let reaching: Vec<String> = self.hosts.values().filter(asks).filter(reaches).map(|host| host.name.clone()).collect();
        for host in self.hosts.values_mut().filter(|host| reaching.contains(&host.name)) {
            if registers(&self.api, host) {
                host.folder("/var/lib/kubelet/pki", 0o700);
                host.write(CLIENT_CERTIFICATE, 0o600, "certificate and key");
                let kubelet_version = format!("v{}", self.cluster.kubernetes_version);
                let node = NodeState { uid: format!("uid of {}", host.name), kubelet_version, ..NodeState::default() };
                self.api.nodes.entry(host.name.clone()).or_insert(node);
            }
            if writes(&self.api, host) {
                host.folder("/run/flannel", 0o755);
                host.write("/run/flannel/subnet.env", 0o644, "FLANNEL_NETWORK=10.244.0.0/16\n");
            }
        }
    }

    fn claim(&mut self, host: &str, cluster: &str, id: Option<&str>) {
        let host = self.host(host);
        host.folder("/var/lib/kokctl", 0o700);
        host.write("/var/lib/kokctl/cluster", 0o600, &format!("{cluster}\n{}\n", id.unwrap_or_default()));
    }

    fn pki_tree(&mut self, host: &str, files: &[(String, u32)]) {
        let text = |path: &String| self.secret(&SecretName::ControlPlaneFile { host: host.to_owned(), path: path.clone() });
        let texts: Vec<_> = files.iter().map(|(path, mode)| (path, *mode, text(path))).collect();
        let host = self.host(host);
        assert!(host.is_folder("/etc/kubernetes"), "certificates come before their folder");
        host.folder("/etc/kubernetes/pki/etcd", 0o755);
        for (path, mode, text) in texts {
            host.write(&format!("/etc/kubernetes/{path}"), mode, &text);
        }
    }

    fn network_check(&mut self, host: &str, check: &NetworkCheck) {
        match &check.stage {
            NetworkCheckStage::Deploy(manifest) => {
                self.uses_api(host, true);
                self.api.object("DaemonSet", manifest.namespace, manifest.name, &manifest.sum());
            }
            NetworkCheckStage::Running(_) | NetworkCheckStage::Answer => {}
            NetworkCheckStage::Record => {
                self.uses_api(host, true);
                let proven: BTreeMap<&String, &String> = self.api.nodes.iter().map(|(name, node)| (name, &node.uid)).collect();
                let lines: String = proven.iter().map(|(name, uid)| format!("{name}={uid}\n")).collect();
                let text = format!("{lines}network={}", check.network);
                let object = serde_json::json!({"kind": "ConfigMap", "metadata": {"namespace": "kube-system", "name": "kokctl"}, "data": {"network-check": text}});
                self.api.objects.insert("ConfigMap/kube-system/kokctl".to_owned(), object);
                self.api.objects.remove("DaemonSet/kokctl-network-check/network-check");
            }
        }
    }
}
