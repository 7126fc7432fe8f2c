//! Observations out of any answer: a value or an error, never a panic; and what was seen is only what was asked for.
#![no_main]

use std::sync::LazyLock;

use kok_tasks::observe::{Look, Looks, Nonce, Piece, parse};
use libfuzzer_sys::fuzz_target;

static LOOKS: LazyLock<Looks> = LazyLock::new(|| {
    let text = |text: &str| text.to_owned();
    [
        Look::File { path: text("/etc/chrony/chrony.conf"), expected: Some("0".repeat(64)) },
        Look::Path(text("/etc/kubernetes")),
        Look::LargeFile(text("/usr/local/bin/kubelet")),
        Look::Content(text("/etc/kubernetes/pki/ca.crt")),
        Look::Unit(text("containerd.service")),
        Look::Sysctl(text("net.ipv4.ip_forward")),
        Look::KernelModule(text("overlay")),
        Look::Block(text("/etc/hosts")),
        Look::Piece(Piece::User(text("app"))),
        Look::Piece(Piece::Package(text("nginx"))),
        Look::Piece(Piece::Line { path: text("/etc/x"), line: text("a"), starts_with: None }),
        Look::Command(text("tar")),
        Look::Matching(text("/etc/containerd/certs.d/*/kokctl")),
        Look::Swap,
        Look::Firewall,
        Look::Images,
        Look::Versions,
        Look::Kubernetes,
        Look::NetworkCheck(vec!["cp1".to_owned()]),
        Look::Warnings,
        Look::LastWords,
        Look::Etcd,
        Look::LoadBalancers,
        Look::TimeTracking,
        Look::Ipv6,
        Look::Neighbour(std::net::Ipv4Addr::new(10, 0, 0, 9)),
    ]
    .into_iter()
    .collect()
});

fuzz_target!(|answer: &[u8]| {
    match parse(&Nonce::new([0x5a; 16]), &LOOKS, answer) {
        Ok(seen) => {
            assert!(seen.pieces.len() == 3 && seen.paths.len() <= 3 && seen.units.len() == 1 && seen.modules.len() == 1);
            // Of interfaces nobody knows the names before.
            assert!(seen.sysctls.keys().filter(|name| !name.ends_with(".accept_ra")).count() == 1);
        }
        Err(error) => assert!(!error.section.is_empty() && error.excerpt.chars().count() <= 80),
    }
});
