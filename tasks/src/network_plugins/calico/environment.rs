//! What Calico's programs are told, in variables of their environment.

use std::collections::BTreeMap;

use kok_crds::model::{CalicoBackend, Cluster, KubeProxyMode, Tunnel};
use serde_json::{Value, json};

use crate::identity::endpoint;
use crate::network_plugins::mtu_of_pods;
use crate::plan::Refusal;

/// What those need that have the network of their host.
pub(super) struct Environment<'a> {
    cluster: &'a Cluster,
    nftables: bool,
    /// The way to the API servers: they need no Service for it, which carries packets only once kube-proxy runs.
    api: [(&'static str, String); 2],
}

fn flag(value: bool) -> String {
    value.to_string()
}

/// As a container has them. Fields of its pod come first, for others may use them.
fn listed(pairs: impl IntoIterator<Item = (String, String)>) -> Value {
    let field = |name: &str| json!({"name": name, "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}});
    let pairs = pairs.into_iter().map(|(name, value)| json!({"name": name, "value": value}));
    [field("NODENAME"), field("KUBERNETES_NODE_NAME")].into_iter().chain(pairs).collect()
}

impl<'a> Environment<'a> {
    pub(super) fn new(cluster: &'a Cluster, nftables: bool) -> Result<Self, Refusal> {
        let api = endpoint(cluster)
            .ok_or_else(|| Refusal::new("the cluster has no control plane").hint("give a host `roles: [control-plane]`"))?;
        let api = [("KUBERNETES_SERVICE_HOST", api.host), ("KUBERNETES_SERVICE_PORT", api.port.to_string())];
        Ok(Self { cluster, nftables, api })
    }

    fn with_api(&self, pairs: impl IntoIterator<Item = (&'static str, String)>) -> BTreeMap<String, String> {
        self.api.iter().cloned().chain(pairs).map(|(name, value)| (name.to_owned(), value)).collect()
    }

    /// Of the container that installs the CNI plugins.
    pub(super) fn install(&self) -> Value {
        let pairs = [
            ("CNI_CONF_NAME", "10-calico.conflist".to_owned()),
            ("CNI_NETWORK_CONFIG", super::conflist(self.cluster).to_string()),
            ("CALICO_NETWORKING_BACKEND", self.cluster.settings.calico.backend.as_str().to_owned()),
            ("SLEEP", flag(false)),
        ];
        listed(self.with_api(pairs))
    }

    /// Of the controllers. They have an address of their own, where names of `/etc/hosts` and load balancers of hosts do not reach: they ask by the
    /// Service, as any pod.
    pub(super) fn controllers(&self, enabled: &str) -> Value {
        let pairs = [("DATASTORE_TYPE", "kubernetes"), ("ENABLED_CONTROLLERS", enabled)];
        listed(pairs.map(|(name, value)| (name.to_owned(), value.to_owned())))
    }

    /// Of typha.
    pub(super) fn typha(&self) -> Value {
        let pairs = [
            ("TYPHA_DATASTORETYPE", "kubernetes".to_owned()),
            ("TYPHA_LOGSEVERITYSCREEN", "info".to_owned()),
            ("TYPHA_LOGFILEPATH", "none".to_owned()),
            ("TYPHA_LOGSEVERITYSYS", "none".to_owned()),
            ("TYPHA_CONNECTIONREBALANCINGMODE", "kubernetes".to_owned()),
            ("TYPHA_HEALTHENABLED", flag(true)),
            ("TYPHA_SHUTDOWNTIMEOUTSECS", "300".to_owned()),
        ];
        listed(self.with_api(pairs))
    }

    /// Of the daemon. What a user says counts before what stands here.
    pub(super) fn node(&self) -> Value {
        let calico = &self.cluster.settings.calico;
        let method = |setting: &Option<String>| setting.clone().unwrap_or_else(|| "kubernetes-internal-ip".to_owned());
        let bgp = calico.backend == CalicoBackend::Bird;
        let mut pairs = vec![
            ("DATASTORE_TYPE", "kubernetes".to_owned()),
            ("WAIT_FOR_DATASTORE", flag(true)),
            ("CALICO_NETWORKING_BACKEND", calico.backend.as_str().to_owned()),
            ("CLUSTER_TYPE", if bgp { "k8s,bgp" } else { "k8s" }.to_owned()),
            ("CALICO_DISABLE_FILE_LOGGING", flag(true)),
            ("CALICO_MANAGE_CNI", flag(true)),
            ("IP", "autodetect".to_owned()),
            ("IP_AUTODETECTION_METHOD", method(&calico.ip_method)),
            ("FELIX_HEALTHENABLED", flag(true)),
            ("FELIX_LOGSEVERITYSCREEN", "info".to_owned()),
            ("FELIX_DEFAULTENDPOINTTOHOSTACTION", "RETURN".to_owned()),
            ("FELIX_USAGEREPORTINGENABLED", flag(false)),
            ("FELIX_IPV6SUPPORT", flag(self.cluster.network.is_dual_stack())),
            ("FELIX_IPTABLESBACKEND", calico.iptables_backend.to_owned()),
        ];
        pairs.extend(self.pools());
        pairs.extend(self.packets());
        if self.nftables {
            pairs.push(("FELIX_NFTABLESMODE", "Enabled".to_owned()));
        }
        if self.cluster.network.is_dual_stack() {
            pairs.extend([("IP6", "autodetect".to_owned()), ("IP6_AUTODETECTION_METHOD", method(&calico.ip6_method))]);
        }
        if calico.typha_enabled {
            pairs.push(("FELIX_TYPHAK8SSERVICENAME", "calico-typha".to_owned()));
        }
        if self.cluster.settings.kube_proxy_mode == KubeProxyMode::Ipvs {
            // With IPVS node ports are known by their range (Calico, "Use IPVS kube-proxy mode").
            pairs.push(("FELIX_KUBENODEPORTRANGES", self.node_ports()));
        }
        let mut pairs = self.with_api(pairs);
        pairs.extend(calico.environment.clone());
        listed(pairs)
    }

    fn node_ports(&self) -> String {
        let range = self.cluster.settings.components.api_server.options.get("service-node-port-range").and_then(Value::as_str);
        range.unwrap_or("30000-32767").replace('-', ":")
    }

    /// The pools, which the first daemon makes.
    fn pools(&self) -> Vec<(&'static str, String)> {
        let (calico, network) = (&self.cluster.settings.calico, &self.cluster.network);
        let mut pairs = vec![
            ("CALICO_IPV4POOL_CIDR", network.pod_cidr.to_string()),
            ("CALICO_IPV4POOL_BLOCK_SIZE", calico.block_size.to_string()),
            ("CALICO_IPV4POOL_IPIP", calico.ipip.as_str().to_owned()),
            ("CALICO_IPV4POOL_VXLAN", calico.vxlan.as_str().to_owned()),
            ("CALICO_IPV4POOL_NAT_OUTGOING", flag(calico.nat_outgoing)),
        ];
        if let Some(ipv6) = network.ipv6 {
            pairs.extend([
                ("CALICO_IPV6POOL_CIDR", ipv6.pod_cidr.to_string()),
                ("CALICO_IPV6POOL_BLOCK_SIZE", calico.block_size_ipv6.to_string()),
                ("CALICO_IPV6POOL_VXLAN", calico.vxlan.as_str().to_owned()),
                ("CALICO_IPV6POOL_NAT_OUTGOING", flag(ipv6.masquerade)),
            ]);
        }
        pairs
    }

    /// How large packets are, and how they are told from others.
    fn packets(&self) -> Vec<(&'static str, String)> {
        let calico = &self.cluster.settings.calico;
        let mut pairs = Vec::new();
        if calico.vxlan != Tunnel::Never {
            pairs.extend([("FELIX_VXLANPORT", calico.vxlan_port.to_string()), ("FELIX_VXLANVNI", calico.vxlan_vni.to_string())]);
        }
        if let Some(mtu) = mtu_of_pods(self.cluster) {
            let names =
                if calico.vxlan == Tunnel::Never { ["FELIX_IPINIPMTU"].as_slice() } else { &["FELIX_VXLANMTU", "FELIX_VXLANMTUV6"] };
            pairs.extend(names.iter().map(|name| (*name, mtu.to_string())));
        }
        pairs
    }
}
