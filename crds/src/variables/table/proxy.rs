//! Variables of proxies.

use crate::variables::read::host;
use crate::variables::row::{Variable, flag, value, word};

pub(super) static ROWS: &[Variable] = &[
    word("http_proxy", "URL", "unset", "Proxy for HTTP of containerd, the kubelet and the package manager.")
        .reads(|decoder, field, settings| settings.host.http_proxy = host::proxy(decoder, field)),
    word("https_proxy", "URL", "unset", "Proxy for HTTPS of containerd, the kubelet and the package manager.")
        .reads(|decoder, field, settings| settings.host.https_proxy = host::proxy(decoder, field)),
    word(
        "no_proxy",
        "text with commas",
        "unset: the cluster's names, addresses and ranges",
        "Names, addresses and ranges that are reached without the proxy, instead of those of the cluster.",
    )
    .reads(|decoder, field, settings| settings.host.no_proxy = host::without_proxy(decoder, field)),
    word(
        "additional_no_proxy",
        "text with commas",
        "unset",
        "Names, addresses and ranges that are reached without the proxy, besides those of the cluster.",
    )
    .reads(|decoder, field, settings| settings.host.additional_no_proxy.extend(host::without_proxy(decoder, field).unwrap_or_default())),
    word("https_proxy_cert_file", "path", "none", "A certificate authority of the proxy.")
        .needed("the proxy would not be trusted")
        .instead("write its certificate under `trusted_certificates`"),
    flag("no_proxy_exclude_workers", "false", "Leaves workers out of no_proxy.")
        .moot("kokctl names every host there, which changes nothing for the others"),
    value("proxy_env*", "map", "none", "What Kubespray sets for programs.")
        .moot("kokctl works it out from `http_proxy`, `https_proxy` and `no_proxy`"),
    value("proxy_disable_env", "map", "none", "What Kubespray unsets for programs.")
        .moot("kokctl calls no programs through a proxy but the package manager"),
    value("additional_no_proxy_list", "list", "that of additional_no_proxy", "The same as a list.")
        .reads(|decoder, field, settings| settings.host.additional_no_proxy.extend(host::without_proxy_list(decoder, field))),
    flag("skip_http_proxy_on_os_packages", "false", "Keeps the package manager from using the proxy."),
];
