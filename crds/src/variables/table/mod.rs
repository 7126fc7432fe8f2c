//! The rows of the table, one file per subject.

mod addons;
mod backup;
mod calico;
mod certificates;
mod cilium;
mod cloud;
mod connection;
mod containerd;
mod control_plane;
mod dns;
mod downloads;
mod etcd;
mod former;
mod hosts;
mod internals;
mod kubelet;
mod kubernetes;
mod load_balancing;
mod network;
mod operations;
mod packages;
mod plugins;
mod proxy;
mod runtimes;
mod security;
mod time;
mod upgrade;

use super::row::Variable;

pub(super) use downloads::{ANY as ANY_DOWNLOAD, ENDS as DOWNLOAD_ENDS};

/// A part of the table.
pub struct Subject {
    /// What the rows are about.
    pub title: &'static str,
    /// Its rows.
    pub rows: &'static [Variable],
}

/// The whole table, by subject.
pub static SUBJECTS: &[Subject] = &[
    Subject { title: "Kubernetes", rows: kubernetes::ROWS },
    Subject { title: "Hosts: what they are", rows: hosts::ROWS },
    Subject { title: "Hosts: how they are reached", rows: connection::ROWS },
    Subject { title: "Hosts: packages", rows: packages::ROWS },
    Subject { title: "Time", rows: time::ROWS },
    Subject { title: "Proxies", rows: proxy::ROWS },
    Subject { title: "Network", rows: network::ROWS },
    Subject { title: "DNS", rows: dns::ROWS },
    Subject { title: "Calico", rows: calico::ROWS },
    Subject { title: "Cilium", rows: cilium::ROWS },
    Subject { title: "Other network plugins", rows: plugins::ROWS },
    Subject { title: "containerd", rows: containerd::ROWS },
    Subject { title: "Other runtimes", rows: runtimes::ROWS },
    Subject { title: "etcd", rows: etcd::ROWS },
    Subject { title: "API server, controller manager, scheduler", rows: control_plane::ROWS },
    Subject { title: "The way to the API server", rows: load_balancing::ROWS },
    Subject { title: "Security of the API", rows: security::ROWS },
    Subject { title: "Certificates", rows: certificates::ROWS },
    Subject { title: "Backups", rows: backup::ROWS },
    Subject { title: "kubelet", rows: kubelet::ROWS },
    Subject { title: "Downloads", rows: downloads::ROWS },
    Subject { title: "Addons", rows: addons::ROWS },
    Subject { title: "Clouds", rows: cloud::ROWS },
    Subject { title: "Operations", rows: operations::ROWS },
    Subject { title: "Upgrades", rows: upgrade::ROWS },
    Subject { title: "Kubespray's own", rows: internals::ROWS },
    Subject { title: "What Kubespray once had", rows: former::ROWS },
];
