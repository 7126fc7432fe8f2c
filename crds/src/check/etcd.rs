//! Where etcd runs, and what can be said of it there.

use super::DEPLOYMENT;
use crate::decode::Decoder;
use crate::model::{EtcdDeployment, EtcdOption, Settings};
use crate::read::ReadHost;
use crate::words::quote;
use crate::{Position, Problem};

/// Where further options of etcd may be written.
const OPTIONS: [&str; 2] = ["spec.vars.etcd_extra_vars", "spec.etcd.extraArgs"];

/// kubeadm's etcd is a pod beside each API server, and nowhere else; a unit of systemd is none of kubeadm's.
pub(crate) fn etcd_deployment(decoder: &mut Decoder, settings: &Settings, hosts: &[ReadHost<'_>], spec: &Position) {
    let apart = hosts.iter().filter(|host| host.roles.as_ref().is_some_and(|(roles, _)| roles.etcd != roles.control_plane));
    let apart: Vec<String> = apart.filter_map(|host| host.name.as_ref()).map(|(name, _)| quote(name)).collect();
    match settings.etcd_deployment_type {
        Some(EtcdDeployment::Kubeadm) if apart.is_empty() => {}
        None if apart.is_empty() => {}
        Some(EtcdDeployment::Kubeadm) => {
            let written = DEPLOYMENT.iter().find_map(|path| decoder.position(path)).unwrap_or(spec).clone();
            decoder.report(
                Problem::new("etcd cannot run as `kubeadm` runs it")
                    .at(&written)
                    .because(format!(
                        "that is a pod beside each API server, and of {} only one of the two is to run there",
                        apart.join(", ")
                    ))
                    .hint("write `etcd_deployment_type: host`, or leave it out; or let the control planes and no others have etcd"),
            );
        }
        Some(EtcdDeployment::Host) | None => {
            patches_of_units(decoder, settings, spec);
            options_of_units(decoder, settings, spec);
        }
    }
}

fn patches_of_units(decoder: &mut Decoder, settings: &Settings, spec: &Position) {
    let of_etcd = settings.components.patches.iter().enumerate().filter(|(_, patch)| patch.target == "etcd");
    for (index, _) in of_etcd {
        let written = decoder.position(&format!("spec.vars.kubeadm_patches[{index}].target")).unwrap_or(spec).clone();
        decoder.report(
            Problem::new("`kubeadm_patches` cannot have the target `etcd`")
                .at(&written)
                .because("etcd runs as a unit of systemd here, and kubeadm patches only the pods that it makes")
                .hint("write what etcd is to be told into `etcd_extra_vars`"),
        );
    }
}

fn options_of_units(decoder: &mut Decoder, settings: &Settings, spec: &Position) {
    let only_said = |name: &&String| EtcdOption::by_name(name).is_some_and(|option| option.place().is_none());
    for name in settings.components.etcd.keys().filter(only_said) {
        let as_variable = format!("ETCD_{}", name.to_ascii_uppercase().replace('-', "_"));
        let paths = OPTIONS.iter().flat_map(|path| [format!("{path}.{name}"), format!("{path}.{as_variable}")]);
        let written = paths.filter_map(|path| decoder.position(&path).cloned()).next().unwrap_or_else(|| spec.clone());
        decoder.report(
            Problem::new(format!("etcd cannot be told {}", quote(name)))
                .at(&written)
                .because("it runs as a unit of systemd here, with a file of configuration, and no such file has that option")
                .hint("leave it out"),
        );
    }
}
