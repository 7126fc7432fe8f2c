//! The file that keeps the cluster's keys on this machine: what stands in it is known before any host is asked.

use kok_crds::model::{Cluster, OwnAuthority};
use kok_crds::{Input, Problem, Secret};
use kok_pki::inspect_certificate;
use kok_tasks::preconditions::authority_kind;

use super::files::Files;
use crate::state::Kept;

/// Reads it, if the user has one. With anything wrong there is no cluster left, only what is wrong.
pub(super) fn load(input: &mut Input, files: &dyn Files) {
    let Some(cluster) = &mut input.cluster else { return };
    let Some(file) = &cluster.settings.certificates.escrow else { return };
    let problems = match files.kept(&cluster.name, file) {
        Ok(None) => return,
        Ok(Some(kept)) => {
            let problems = others(cluster, &kept);
            let text = Secret::new(kept.text.expose());
            cluster.settings.certificates.escrow.iter_mut().for_each(|file| file.kept = Some(text.clone()));
            problems
        }
        Err(problem) => vec![problem],
    };
    if !problems.is_empty() {
        input.problems.extend(problems);
        input.cluster = None;
    }
}

/// Authorities that the user brings along are those that were kept.
fn others(cluster: &Cluster, kept: &Kept) -> Vec<Problem> {
    let own = cluster.settings.certificates.authorities.iter();
    own.filter_map(|own| differs(own, kept)).collect()
}

fn differs(own: &OwnAuthority, kept: &Kept) -> Option<Problem> {
    let is = &kept.escrow.authorities().get(authority_kind(own.name)).facts().sha256;
    let given = inspect_certificate(&own.pair.as_ref()?.certificate).ok()?.sha256;
    let problem = || Problem::new(format!("the authority `{}` is not the one that is kept", own.name.as_str())).at(&own.certificate.origin);
    let because = format!("its certificate has the SHA-256 {given}; that of `escrow` has {is}");
    (given != *is)
        .then(|| problem().because(because).hint("give the one that is kept; or another `escrow`, if there is no such cluster yet"))
}
