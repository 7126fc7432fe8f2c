//! A list of what a bundle consists of, in SPDX 2.3 (ISO/IEC 5962): component, version, licence, source and digest.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::bundle::{Bundle, BundleFile, BundleImage, BundlePackage, BundlePackages};
use crate::digest::sha256;

/// The file's name in a bundle's folder.
pub const SBOM: &str = "sbom.spdx.json";

/// SPDX's word for what nobody says.
const UNKNOWN: &str = "NOASSERTION";

/// The list of a bundle. `licences` are SPDX identifiers by the names of components; `created` is a time in RFC 3339, `tool` who makes it.
#[must_use]
pub fn spdx(bundle: &Bundle, licences: &BTreeMap<String, String>, created: &str, tool: &str) -> Value {
    let licence = |name: &str| licences.get(name).map_or(UNKNOWN, String::as_str);
    let files = bundle.files.iter().map(|file| file_package(file, licence(&file.name)));
    let images = bundle.images.iter().map(|image| image_package(image, licence(&image.name)));
    let debs = bundle.packages.iter().flat_map(debs);
    let packages: Vec<Value> = files.chain(images).chain(debs).collect();
    let describes = |package: &Value| json!({"spdxElementId": "SPDXRef-DOCUMENT", "relationshipType": "DESCRIBES", "relatedSpdxElement": package["SPDXID"]});
    let relationships: Vec<Value> = packages.iter().map(describes).collect();
    // Two lists of the same are one document.
    let namespace = sha256(Value::from(packages.clone()).to_string().as_bytes());
    json!({
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": "bundle",
        "documentNamespace": format!("https://github.com/kokctl/kokctl/spdx/{namespace}"),
        "creationInfo": {"created": created, "creators": [format!("Tool: {tool}")]},
        "packages": packages,
        "relationships": relationships,
    })
}

/// Identifiers have letters, digits, `.` and `-` only.
fn id(kind: &str, parts: &[&str]) -> String {
    let fit = |c: char| if c.is_ascii_alphanumeric() || c == '.' { c } else { '-' };
    format!("SPDXRef-{kind}-{}", parts.join("-").chars().map(fit).collect::<String>())
}

fn package(id: String, name: &str, version: &str, licence: &str) -> serde_json::Map<String, Value> {
    let mut package = serde_json::Map::new();
    for (key, value) in [
        ("SPDXID", id.as_str()),
        ("name", name),
        ("versionInfo", version),
        ("licenseConcluded", UNKNOWN),
        ("licenseDeclared", licence),
        ("copyrightText", UNKNOWN),
    ] {
        package.insert(key.to_owned(), value.into());
    }
    package.insert("filesAnalyzed".to_owned(), false.into());
    package
}

fn file_package(file: &BundleFile, licence: &str) -> Value {
    let mut package = package(id("file", &[&file.name, &file.version, &file.architecture]), &file.name, &file.version, licence);
    let address = file.path.strip_prefix("files/").map_or_else(|| UNKNOWN.to_owned(), |path| format!("https://{path}"));
    package.insert("downloadLocation".to_owned(), address.into());
    package.insert("checksums".to_owned(), json!([{"algorithm": "SHA256", "checksumValue": file.sha256}]));
    package.into()
}

fn image_package(image: &BundleImage, licence: &str) -> Value {
    let mut package = package(id("image", &[&image.reference, &image.architecture]), &image.name, &image.version, licence);
    package.insert("downloadLocation".to_owned(), UNKNOWN.into());
    let digest = image.manifest_digest.trim_start_matches("sha256:");
    package.insert("checksums".to_owned(), json!([{"algorithm": "SHA256", "checksumValue": digest}]));
    // Package URL of the type `oci` (purl-spec).
    let (repository, tag) = image.reference.rsplit_once(':').unwrap_or((&image.reference, "latest"));
    let name = repository.rsplit('/').next().unwrap_or(repository);
    let purl = format!("pkg:oci/{name}@sha256%3A{digest}?arch={}&repository_url={repository}&tag={tag}", image.architecture);
    package.insert(
        "externalRefs".to_owned(),
        json!([{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator": purl}]),
    );
    package.into()
}

/// The packages of a distribution; what stands in two archives is one.
fn debs(held: &BundlePackages) -> impl Iterator<Item = Value> {
    let unique: BTreeMap<(&str, &str), &BundlePackage> =
        held.packages.iter().map(|deb| ((deb.name.as_str(), deb.version.as_str()), deb)).collect();
    unique.into_values().map(|deb| deb_package(held, deb))
}

/// Whose licence stands in the package itself: `/usr/share/doc/NAME/copyright`.
fn deb_package(held: &BundlePackages, deb: &BundlePackage) -> Value {
    let mut package =
        package(id("deb", &[&held.distribution, &held.architecture, &deb.name, &deb.version]), &deb.name, &deb.version, UNKNOWN);
    package.insert("downloadLocation".to_owned(), format!("https://{}", deb.path).into());
    package.insert("checksums".to_owned(), json!([{"algorithm": "SHA256", "checksumValue": deb.sha256}]));
    // Package URL of the type `deb` (purl-spec).
    let vendor = held.distribution.split('-').next().unwrap_or_default();
    let version = deb.version.replace('+', "%2B").replace('~', "%7E").replace(':', "%3A");
    let purl =
        format!("pkg:deb/{vendor}/{}@{version}?arch={}&distro={}", deb.name.replace('+', "%2B"), held.architecture, held.distribution);
    let reference = json!([{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator": purl}]);
    package.insert("externalRefs".to_owned(), reference);
    package.into()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing)]
    use super::*;

    #[test]
    fn every_component_stands_there_with_its_licence_source_and_digest() {
        let digest = "a".repeat(64);
        let bundle = Bundle::parse(&format!(
            r#"{{"format": 1, "kubernetes": [],
                "files": [{{"name": "runc", "version": "1.5.2", "architecture": "amd64", "path": "files/github.com/x/runc.amd64", "size": 1, "sha256": "{digest}"}}],
                "images": [{{"name": "pause", "version": "3.10.2", "architecture": "amd64", "path": "images/p.tar", "size": 1, "sha256": "{digest}",
                             "reference": "registry.k8s.io/pause:3.10.2", "manifestDigest": "sha256:{digest}"}}]}}"#
        ))
        .unwrap();
        let licences = BTreeMap::from([("runc".to_owned(), "Apache-2.0".to_owned())]);
        let list = spdx(&bundle, &licences, "2026-11-25T12:00:00Z", "kokctl-0.1.0");
        let packages = list["packages"].as_array().unwrap();
        assert_eq!(packages[0]["downloadLocation"], "https://github.com/x/runc.amd64");
        assert_eq!(packages[0]["licenseDeclared"], "Apache-2.0");
        assert_eq!(packages[0]["checksums"][0]["checksumValue"], digest);
        assert_eq!(packages[1]["licenseDeclared"], "NOASSERTION", "nobody says it");
        let purl = packages[1]["externalRefs"][0]["referenceLocator"].as_str().unwrap();
        assert!(purl.starts_with("pkg:oci/pause@sha256%3A") && purl.ends_with("repository_url=registry.k8s.io/pause&tag=3.10.2"), "{purl}");
        let ids: Vec<&str> = packages.iter().map(|package| package["SPDXID"].as_str().unwrap()).collect();
        assert_eq!(ids, ["SPDXRef-file-runc-1.5.2-amd64", "SPDXRef-image-registry.k8s.io-pause-3.10.2-amd64"]);
        assert_eq!(list["relationships"].as_array().unwrap().len(), 2);
        let later = spdx(&bundle, &licences, "2027-01-01T00:00:00Z", "kokctl-0.1.0");
        assert_eq!(list["documentNamespace"], later["documentNamespace"]);
    }
}
