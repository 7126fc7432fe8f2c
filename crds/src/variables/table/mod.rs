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
pub struct TablePart {
    /// What the rows are about.
    pub title: &'static str,
    /// Its rows.
    pub rows: &'static [Variable],
}

/// The whole table, by subject.
pub static SUBJECTS: &[TablePart] = &[
    TablePart { title: "Kubernetes", rows: kubernetes::ROWS },
    TablePart { title: "Hosts: what they are", rows: hosts::ROWS },
    TablePart { title: "Hosts: how they are reached", rows: connection::ROWS },
    TablePart { title: "Hosts: packages", rows: packages::ROWS },
    TablePart { title: "Time", rows: time::ROWS },
    TablePart { title: "Proxies", rows: proxy::ROWS },
    TablePart { title: "Network", rows: network::ROWS },
    TablePart { title: "DNS", rows: dns::ROWS },
    TablePart { title: "Calico", rows: calico::ROWS },
    TablePart { title: "Cilium", rows: cilium::ROWS },
    TablePart { title: "Other network plugins", rows: plugins::ROWS },
    TablePart { title: "containerd", rows: containerd::ROWS },
    TablePart { title: "Other runtimes", rows: runtimes::ROWS },
    TablePart { title: "etcd", rows: etcd::ROWS },
    TablePart { title: "API server, controller manager, scheduler", rows: control_plane::ROWS },
    TablePart { title: "The way to the API server", rows: load_balancing::ROWS },
    TablePart { title: "Security of the API", rows: security::ROWS },
    TablePart { title: "Certificates", rows: certificates::ROWS },
    TablePart { title: "Backups", rows: backup::ROWS },
    TablePart { title: "kubelet", rows: kubelet::ROWS },
    TablePart { title: "Downloads", rows: downloads::ROWS },
    TablePart { title: "Addons", rows: addons::ROWS },
    TablePart { title: "Clouds", rows: cloud::ROWS },
    TablePart { title: "Operations", rows: operations::ROWS },
    TablePart { title: "Upgrades", rows: upgrade::ROWS },
    TablePart { title: "Kubespray's own", rows: internals::ROWS },
    TablePart { title: "What Kubespray once had", rows: former::ROWS },
];
