//! Variables of Calico.

use crate::Problem;
use crate::decode::{Decoder, Field};
use crate::given::Given;
use crate::model::{Calico, CalicoBackend, KubeProxyMode, LEAST_MTU, MOST_MTU, Settings, Tunnel};
use crate::variables::Switch;

use super::security::at;
use super::values;

/// Its variables count where it is the network plugin.
pub(crate) const ON: Switch = ("kube_network_plugin: calico", |settings| settings.calico.is_wanted);

/// Why they count for nothing elsewhere.
pub(crate) const OFF: &str = "it is read with kube_network_plugin: calico only";

pub(crate) fn backend(decoder: &mut Decoder, field: &Field<'_>, settings: &mut Settings) {
    if field.is_text("none") && !settings.calico.is_wanted {
        return;
    }
    let backends = [CalicoBackend::Vxlan, CalicoBackend::Bird].map(|backend| (backend.as_str(), backend));
    settings.calico.backend = decoder.choice(field, &backends).unwrap_or(settings.calico.backend);
}

pub(crate) fn tunnel(decoder: &mut Decoder, field: &Field<'_>, to: &mut Tunnel) {
    *to = decoder.choice(field, &Tunnel::ALL.map(|tunnel| (tunnel.as_str(), tunnel))).unwrap_or(*to);
}

/// Two variables say it, of which Kubespray takes the one of the pods' interfaces.
pub(crate) fn mtu(decoder: &mut Decoder, field: &Field<'_>, settings: &mut Settings) {
    let mtu = values::integer(decoder, field, i64::from(LEAST_MTU)..=i64::from(MOST_MTU)).and_then(|mtu| u16::try_from(mtu).ok());
    let counts = field.name().ends_with("calico_veth_mtu") || settings.calico.mtu.is_none();
    settings.calico.mtu = mtu.filter(|_| counts).or(settings.calico.mtu);
}

/// A number that fits what it is put into.
pub(crate) fn number<T: TryFrom<i64>>(decoder: &mut Decoder, field: &Field<'_>, range: std::ops::RangeInclusive<i64>, to: &mut T) {
    if let Some(number) = values::integer(decoder, field, range).and_then(|number| T::try_from(number).ok()) {
        *to = number;
    }
}

pub(crate) fn flag(decoder: &mut Decoder, field: &Field<'_>, to: &mut bool) {
    *to = decoder.boolean(field).unwrap_or(*to);
}

pub(crate) fn iptables_backend(decoder: &mut Decoder, field: &Field<'_>, settings: &mut Settings) {
    let words = ["Auto", "Legacy", "NFT"].map(|word| (word, word));
    settings.calico.iptables_backend = decoder.choice(field, &words).unwrap_or(settings.calico.iptables_backend);
}

pub(crate) fn nftables(decoder: &mut Decoder, field: &Field<'_>, settings: &mut Settings) {
    let modes = [("Enabled", true), ("Disabled", false)];
    settings.calico.nftables = decoder.choice(field, &modes).or(settings.calico.nftables);
}

/// Text of one word.
pub(crate) fn word(decoder: &mut Decoder, field: &Field<'_>, to: &mut Option<String>) {
    if let Some(text) = values::scalar(decoder, field).filter(|text| !text.is_empty()) {
        *to = Some(text);
    }
}

/// A setting of the daemon on each node.
pub(crate) fn environment(decoder: &mut Decoder, field: &Field<'_>, settings: &mut Settings, name: &str) {
    if let Some(text) = values::scalar(decoder, field).filter(|text| !text.is_empty()) {
        settings.calico.environment.insert(name.to_owned(), text);
    }
}

/// What can't be together. Of a cluster with another network nothing of it counts, but for what that does in any case.
pub(crate) fn check(decoder: &mut Decoder, given: &[Given], settings: &mut Settings) {
    if !settings.calico.is_wanted {
        always_translates(decoder, given, &settings.calico);
        settings.calico = Calico::default();
        return;
    }
    let calico = &settings.calico;
    if let Some((name, problem)) = tunnels(calico) {
        decoder.report(at(given, name, problem));
    }
    if let Some((name, problem)) = dataplanes(settings) {
        decoder.report(at(given, name, problem));
    }
}

fn always_translates(decoder: &mut Decoder, given: &[Given], calico: &Calico) {
    if !calico.nat_outgoing {
        let problem = Problem::new("`nat_outgoing` cannot be `false`");
        let because = "packets of pods always leave the cluster with the node's address here; with Calico they need not";
        decoder.report(at(given, "nat_outgoing", problem).because(because).hint("leave it out"));
    }
}

fn tunnels(calico: &Calico) -> Option<(&'static str, Problem)> {
    let (name, problem, because, hint) = match (calico.backend, calico.vxlan, calico.ipip) {
        (_, vxlan, ipip) if vxlan != Tunnel::Never && ipip != Tunnel::Never => (
            "calico_ipip_mode",
            format!("packets of pods can't go by VXLAN ({}) and in IP packets ({}) at once", vxlan.as_str(), ipip.as_str()),
            "a range of pods has one kind of tunnel",
            "write `calico_vxlan_mode: Never` beside it, or leave it out",
        ),
        (CalicoBackend::Vxlan, Tunnel::Never, _) => (
            "calico_vxlan_mode",
            "nothing would carry the packets of pods".to_owned(),
            "the backend vxlan carries them by VXLAN alone; without VXLAN hosts learn of each other's pods by BGP",
            "write `calico_network_backend: bird`, or another calico_vxlan_mode",
        ),
        _ => return None,
    };
    Some((name, Problem::new(problem).because(because).hint(hint)))
}

/// What kube-proxy has changed in a packet by nftables, chains of iptables see as it was before, and the other way round (Calico, "Enable
/// nftables"; Kubernetes, "Migrating from iptables mode to nftables").
fn dataplanes(settings: &Settings) -> Option<(&'static str, Problem)> {
    let mode = settings.kube_proxy_mode;
    let wanted = settings.calico.nftables.filter(|wanted| *wanted != (mode == KubeProxyMode::Nftables))?;
    let (is, other, proxy) = if wanted { ("nftables", "`Disabled`", "nftables") } else { ("iptables", "`Enabled`", "iptables") };
    let problem = Problem::new(format!("Calico's dataplane {is} and kube-proxy's mode {} don't go together", mode.as_str()))
        .because("each would see packets that the other has not changed yet")
        .hint(format!("write `kube_proxy_mode: {proxy}`, or leave calico_nftable_mode out, which then is {other}"));
    Some(("calico_nftable_mode", problem))
}
