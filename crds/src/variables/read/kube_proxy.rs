//! Variables of kube-proxy.

use crate::Problem;
use crate::decode::{Decoder, Field};
use crate::model::{KubeProxyMode, Settings};

pub(crate) fn mode(decoder: &mut Decoder, field: &Field<'_>, settings: &mut Settings) {
    if field.is_text("ipvs") {
        // Kubespray's default, so that it deserves more than a list of words.
        let problem = Problem::new("`kube_proxy_mode` cannot be `ipvs`").at(field.position());
        return decoder.report(
            problem
                .because("Kubernetes has deprecated it in 1.35, and kokctl does not set it up")
                .hint("write `nftables`, or leave it out"),
        );
    }
    let modes = [KubeProxyMode::Nftables, KubeProxyMode::Iptables].map(|mode| (mode.as_str(), mode));
    settings.kube_proxy_mode = decoder.choice(field, &modes).unwrap_or(settings.kube_proxy_mode);
}

pub(crate) fn conntrack_max_per_core(decoder: &mut Decoder, field: &Field<'_>, settings: &mut Settings) {
    let value = decoder.integer(field, 0..=i64::from(i32::MAX));
    settings.kube_proxy_conntrack_max_per_core = value.and_then(|value| u32::try_from(value).ok());
}
