//! Variables of Cilium.

use crate::variables::row::{Variable, flag, text, value, word};

const CILIUM: &str = "it is of Cilium, which this version does not install";

pub(super) static ROWS: &[Variable] = &[
    text("cilium_version", "none", "Which Cilium.").moot(CILIUM),
    flag("cilium_kube_proxy_replacement", "none", "Whether Cilium does what kube-proxy does.").moot(CILIUM),
    word("cilium_tunnel_mode", "vxlan, geneve or disabled", "none", "How Cilium carries packets.").moot(CILIUM),
    word("cilium_ipam_mode", "word", "none", "How Cilium gives addresses.").moot(CILIUM),
    word("cilium_identity_allocation_mode", "crd or kvstore", "none", "Where Cilium keeps identities.").moot(CILIUM),
    flag("cilium_enable_hubble", "none", "Whether Cilium shows what flows.").moot(CILIUM),
    flag("cilium_enable_hubble_ui", "none", "Whether Cilium shows what flows on a page.").moot(CILIUM),
    flag("cilium_hubble_install", "none", "Whether Cilium shows what flows, on pages of its own.").moot(CILIUM),
    text("cilium_install_extra_flags", "none", "Options of Cilium's installer.").moot(CILIUM),
    value("cilium_extra_values", "map", "none", "Values of Cilium's chart.").moot(CILIUM),
    flag("cilium_deploy_additionally", "false", "Adds Cilium to another plugin.")
        .needed("the cluster would be without Cilium")
        .instead("leave it out, or write `false`: the network is flannel's alone"),
    text("cilium_ipsec_key", "none", "The key by which Cilium encrypts.").moot(CILIUM).hidden(),
    value("cilium_*", "none", "none", "A setting of Cilium.").moot(CILIUM),
];
