//! The crates of the program in SPDX 2.3 (ISO/IEC 5962).

use serde_json::{Value, json};

use super::Result;
use super::crates::Crate;
use crate::release::digest::sha256;

pub(super) const NAME: &str = "sbom.spdx.json";

/// The document. The time is that of the sources, so that the same make the same.
pub(super) fn text(crates: &[Crate], version: &str, epoch: u64) -> Result<String> {
    let created = jiff::Timestamp::from_second(i64::try_from(epoch)?)?;
    let packages: Vec<Value> = crates.iter().map(package).collect();
    let program = packages.iter().find(|package| package["name"] == "kokctl").ok_or("there is no kokctl among the crates")?;
    let contains = |package: &Value| json!({"spdxElementId": program["SPDXID"], "relationshipType": "CONTAINS", "relatedSpdxElement": package["SPDXID"]});
    let describes = json!({"spdxElementId": "SPDXRef-DOCUMENT", "relationshipType": "DESCRIBES", "relatedSpdxElement": program["SPDXID"]});
    let others = packages.iter().filter(|package| *package != program).map(contains);
    let relationships: Vec<Value> = [describes].into_iter().chain(others).collect();
    let namespace = sha256(Value::from(packages.clone()).to_string().as_bytes());
    let document = json!({
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": format!("kokctl-{version}"),
        "documentNamespace": format!("https://github.com/kokctl/kokctl/spdx/{namespace}"),
        "creationInfo": {"created": created.to_string(), "creators": [format!("Tool: kokctl-dist-{version}")]},
        "packages": packages,
        "relationships": relationships,
    });
    Ok(serde_json::to_string_pretty(&document)? + "\n")
}

fn package(one: &Crate) -> Value {
    let fit = |c: char| if c.is_ascii_alphanumeric() || c == '.' { c } else { '-' };
    let id: String = format!("SPDXRef-crate-{}-{}", one.name, one.version).chars().map(fit).collect();
    json!({
        "SPDXID": id,
        "name": one.name,
        "versionInfo": one.version,
        "downloadLocation": "NOASSERTION",
        "filesAnalyzed": false,
        "licenseConcluded": "NOASSERTION",
        "licenseDeclared": one.licence,
        "copyrightText": "NOASSERTION",
        // Package URL of the type `cargo` (purl-spec).
        "externalRefs": [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator": format!("pkg:cargo/{}@{}", one.name, one.version)}],
    })
}
