//! Where upstream's files and images are fetched instead, and who fetches what is installed on a host.

use super::host::url;
use crate::Problem;
use crate::decode::{Decoder, Field};
use crate::model::{Delivery, Settings};
use crate::words::quote;

/// Kubespray's variables, and the server of upstream's that each of them stands in for.
const SERVERS: [(&str, &str); 7] = [
    ("dl_k8s_io_url", "dl.k8s.io"),
    ("github_url", "github.com"),
    ("kube_image_repo", "registry.k8s.io"),
    ("docker_image_repo", "docker.io"),
    ("gcr_image_repo", "gcr.io"),
    ("quay_image_repo", "quay.io"),
    ("github_image_repo", "ghcr.io"),
];

fn put(field: &Field<'_>, settings: &mut Settings, address: String) {
    let server = SERVERS.iter().find(|(name, _)| *name == field.name()).map(|(_, server)| *server);
    // Whoever writes Kubespray's own default has no mirror.
    if let Some(server) = server.filter(|server| address.trim_end_matches('/') != format!("https://{server}")) {
        settings.upstream_mirrors.insert(server.to_owned(), address.trim_end_matches('/').to_owned());
    }
}

/// Whether kokctl sends what is installed, or hosts fetch it.
pub(crate) fn delivery(decoder: &mut Decoder, field: &Field<'_>, settings: &mut Settings) {
    let words = Delivery::ALL.map(|delivery| (delivery.as_str(), delivery));
    settings.delivery = decoder.choice(field, &words).unwrap_or(settings.delivery);
}

/// The address of a file server.
pub(crate) fn files(decoder: &mut Decoder, field: &Field<'_>, settings: &mut Settings) {
    if field.is_text("") {
        return;
    }
    if let Some(address) = url(decoder, field, "file server") {
        put(field, settings, address);
    }
}

/// A registry, perhaps with a folder in it, as it stands before an image's name: `registry.example:5000/k8s`.
pub(crate) fn images(decoder: &mut Decoder, field: &Field<'_>, settings: &mut Settings) {
    let Some(text) = decoder.text(field).filter(|text| !text.is_empty()) else { return };
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_' | ':' | '/' | '[' | ']');
    let is_registry = !text.contains("//") && !text.starts_with(['/', ':', '.']) && text.chars().all(allowed);
    if is_registry {
        return put(field, settings, format!("https://{text}"));
    }
    let problem = Problem::new(format!("{} is no registry", quote(text))).at(field.position());
    decoder.report(
        problem
            .because("a registry is a name or an address, perhaps with a port and a folder, and nothing before it")
            .hint("write it like `registry.example.org:5000/k8s`"),
    );
}
