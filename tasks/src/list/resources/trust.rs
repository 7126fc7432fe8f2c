//! Certificates of authorities that a user declares.

use kok_crds::model::{Content, HostResource, Wish};

use super::HostPlace;
use super::steps::{Steps, read};
use crate::distribution::Distribution;
use crate::operations::{Operation, TrustStore};
use crate::plan::{Draft, Reason, Refusal};
use crate::preconditions::unknown_distribution;
use crate::resources::{File, Gone, Resource};

/// Where the store of a host has a certificate of this name.
pub(super) fn file_of(place: &HostPlace<'_>, name: &str) -> Option<String> {
    place.facts.distribution().map(|distribution| path(distribution, name))
}

fn path(distribution: &Distribution, name: &str) -> String {
    // Only what ends so is read on Debian (update-ca-certificates(8)).
    format!("{}/{name}.crt", distribution.trust.folder)
}

/// The file, and what programs read made of it: done when that has the certificate.
pub(super) fn ca_certificate(
    place: &HostPlace<'_>,
    entry: &HostResource,
    draft: &mut Draft<'_>,
    (name, content): (&str, Option<&Content>),
) -> Result<Steps, Refusal> {
    let distribution = place.facts.distribution().ok_or_else(|| unknown_distribution(place.facts).at(entry.origin.to_string()))?;
    let path = path(distribution, name);
    let store = TrustStore::for_distribution(distribution);
    let (file, store) = match content {
        Some(content) => {
            can_trust(place, entry, distribution)?;
            let pem = match content {
                Content::Text(text) => text,
                Content::Source(file) | Content::Template(file) => read(entry, file)?,
            };
            let pem = pem.expose().to_owned();
            (Resource::File(File::text(path.clone(), pem.clone())), store.trusting(path, pem))
        }
        None => (Resource::Gone(Gone { path, recursive: false }), store.thinned()),
    };
    let first = draft.add(&format!("{}/file", entry.name), file);
    let last = draft.add(&entry.name, Operation::TrustStore(store));
    draft.follows(&last, &first, Reason::Reads);
    Ok(Steps { first, last })
}

/// Refuses a host that has no store of trusted certificates, and is to get none. In a cluster that is a condition of its own.
fn can_trust(place: &HostPlace<'_>, entry: &HostResource, distribution: &Distribution) -> Result<(), Refusal> {
    let program = distribution.trust.program;
    let package = (distribution.package_of)(program);
    let comes = |other: &HostResource| matches!(&other.wish, Wish::Package { names } if names.iter().any(|name| name == package));
    let is_there = place.facts.commands.contains(program.name) || place.cluster.resources.of_host(&place.host.name).any(comes);
    if !place.is_known || place.cluster.fleet.is_none() || is_there {
        return Ok(());
    }
    let what = format!("{} has no store of trusted certificates for `{}`", place.host.name, entry.name.escape_debug());
    let refusal = Refusal::new(what).at(entry.origin.to_string()).because(format!("it lacks the command {}", program.name));
    Err(refusal.hint(format!("declare the package that has it: `package: {{names: [{package}]}}`")))
}
