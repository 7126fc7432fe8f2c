//! Variables of etcd.

use crate::Problem;
use crate::decode::{Decoder, Field};
use crate::model::{EtcdDeployment, Settings};

pub(crate) fn deployment_type(decoder: &mut Decoder, field: &Field<'_>, settings: &mut Settings) {
    if field.is_text("docker") {
        // A word of Kubespray's, so that it deserves more than a list of words.
        let problem = Problem::new(format!("`{}` cannot be `docker`", field.name())).at(field.position());
        return decoder.report(
            problem
                .because("kokctl brings containerd, and etcd does without either")
                .hint("write `host` for a unit of systemd, or `kubeadm` for a pod beside each API server"),
        );
    }
    let types = [EtcdDeployment::Kubeadm, EtcdDeployment::Host].map(|kind| (kind.as_str(), kind));
    settings.etcd_deployment_type = decoder.choice(field, &types).or(settings.etcd_deployment_type);
}
