//! What etcd holds can be read only with the key and in the way that it was written with.

use kok_crds::model::Cluster;

use super::Findings;
use crate::api_files::{ENCRYPTION, ENCRYPTION_SUMMARY};
use crate::list::api_server::has_key;
use crate::plan::{Refusal, Seen};

pub(super) fn check(cluster: &Cluster, seen: &Seen, found: &mut Findings) {
    let wanted = &cluster.settings.security.encryption;
    for host in cluster.control_planes().filter(|host| has_key(seen.observations(&host.name))) {
        let observed = seen.observations(&host.name);
        let at = format!("host {} ({})", host.name, host.address);
        if !wanted.enabled {
            found.refuse(
                Refusal::new("the cluster encrypts what etcd holds, and the file does not ask for it")
                    .at(at)
                    .because(format!("without {ENCRYPTION} the API servers could not read what is encrypted"))
                    .hint("write `kube_encrypt_secret_data: true`; to end it, all that is encrypted has to be written anew first"),
            );
            return;
        }
        let said = observed.contents.get(ENCRYPTION_SUMMARY).map(|text| String::from_utf8_lossy(text).into_owned());
        let algorithm = said.as_deref().and_then(|text| text.split_whitespace().next());
        if let Some(is) = algorithm.filter(|is| *is != wanted.algorithm.as_str()) {
            let refusal = Refusal::new(format!("the cluster encrypts with {is}, the file asks for {}", wanted.algorithm.as_str()));
            let refusal = refusal.at(at).because("what is encrypted could not be read any more");
            found.refuse(refusal.hint(format!("write `kube_encryption_algorithm: {is}`")));
            return;
        }
        let encrypted = said.as_deref().and_then(|text| text.split_whitespace().nth(1)).unwrap_or_default().split(',');
        if let Some(left_out) = encrypted.filter(|name| !name.is_empty()).find(|name| !wanted.resources.iter().any(|kept| kept == name)) {
            let refusal = Refusal::new(format!("the cluster encrypts {left_out}, and the file does not ask for it")).at(at);
            let refusal = refusal.because("those that are encrypted could not be read any more");
            found.refuse(refusal.hint(format!("add {left_out} to `kube_encryption_resources`")));
            return;
        }
    }
}
