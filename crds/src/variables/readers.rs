//! Which hosts read what a variable says.

use std::mem::take;

use super::row::Variable;
use super::spec::read_one;
use crate::Position;
use crate::decode::{Decoder, Field};
use crate::model::{Roles, Settings};
use crate::tree::Node;

/// Who reads a setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Readers {
    /// The whole cluster: it has one value.
    Cluster,
    /// Control planes alone, and all of them alike.
    ControlPlanes,
    /// Hosts of etcd alone, and all of them alike.
    Etcd,
    /// Nodes that are no control planes, and all of them alike.
    Workers,
    /// Each kubelet, which may be told something of its own.
    Kubelets,
    /// Each host, which may have a value of its own.
    Hosts,
}

impl Readers {
    /// Those who read these values, each with the place of its name.
    pub(crate) fn from_values<'a>(row: &'static Variable, values: impl Iterator<Item = (&'a Node, &'a Position)>) -> Self {
        let (mut found, mut is_wrong) = (None, false);
        for (node, at) in values {
            let (mut settings, mut decoder) = (Settings::default(), Decoder::default());
            read_one(&mut decoder, &Field { path: row.name.to_owned(), node }, (row.name, at), row, &mut settings);
            is_wrong |= !decoder.is_clean();
            match (Self::taken(&mut settings), found) {
                // It says what holds anyway.
                (None, _) => {}
                (readers, None) => found = readers,
                (Some(readers), Some(known)) if readers == known => {}
                _ => return Self::Cluster,
            }
        }
        // What is wrong is told of as that.
        found.unwrap_or(if is_wrong { Self::Kubelets } else { Self::Cluster })
    }

    /// Those who read what differs from the defaults; `None` if nothing does.
    fn taken(settings: &mut Settings) -> Option<Self> {
        let parts = [
            (Self::Kubelets, take_kubelets as fn(&mut Settings)),
            (Self::Workers, take_workers),
            (Self::ControlPlanes, take_control_planes),
            (Self::Etcd, take_etcd),
            (Self::Hosts, take_hosts),
        ];
        let mut found = None;
        for (readers, part) in parts {
            let before = settings.clone();
            part(settings);
            if *settings != before {
                found = Some(if found.is_none() { readers } else { Self::Cluster });
            }
        }
        if *settings == Settings::default() { found } else { Some(Self::Cluster) }
    }

    /// Whether a host with these roles is one of them.
    pub(crate) fn have(self, roles: Roles) -> bool {
        match self {
            Self::ControlPlanes => roles.control_plane,
            Self::Etcd => roles.etcd,
            Self::Workers => roles.is_node() && !roles.control_plane,
            Self::Cluster | Self::Kubelets | Self::Hosts => true,
        }
    }

    /// Whether one host may have another value than the next.
    pub(crate) fn differ(self) -> bool {
        matches!(self, Self::Kubelets | Self::Hosts)
    }

    /// Why a value of other hosts does nothing.
    pub(crate) fn others(self) -> &'static str {
        match self {
            Self::ControlPlanes => "control planes alone read it, and for none of them it counts",
            Self::Etcd => "hosts of etcd alone read it, and for none of them it counts",
            Self::Workers => "nodes that are no control planes alone read it, and for none of them it counts",
            Self::Cluster | Self::Kubelets | Self::Hosts => "it counts for no host of the cluster",
        }
    }
}

fn take_kubelets(settings: &mut Settings) {
    take(&mut settings.components.kubelet);
}

fn take_workers(settings: &mut Settings) {
    take(&mut settings.components.kubelet_of_workers);
}

fn take_control_planes(settings: &mut Settings) {
    let components = &mut settings.components;
    for component in [&mut components.api_server, &mut components.controller_manager, &mut components.scheduler] {
        take(component);
    }
    let gates = &mut components.feature_gates;
    for gates in [&mut gates.api_server, &mut gates.controller_manager, &mut gates.scheduler] {
        take(gates);
    }
    take(&mut components.scheduler_configuration);
    take(&mut components.kubelet_of_control_planes);
    take(&mut settings.security);
    take(&mut settings.api_endpoint.certificate_names);
    settings.node_shares = Settings::default().node_shares;
    settings.certificates.super_admin_kubeconfig = Settings::default().certificates.super_admin_kubeconfig;
}

/// Where etcd runs says how it runs, as Kubespray's former sample had it in `group_vars/etcd.yml`.
fn take_etcd(settings: &mut Settings) {
    take(&mut settings.components.etcd);
    take(&mut settings.certificates.etcd_names);
    settings.etcd_deployment_type = None;
}

fn take_hosts(settings: &mut Settings) {
    settings.take_own(&Settings::default());
}
