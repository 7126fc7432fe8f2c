//! Who one is at registries: what docker and podman keep.

use std::collections::BTreeMap;
use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;

/// Users and passwords by registry.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Credentials(BTreeMap<String, (String, String)>);

impl fmt::Debug for Credentials {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_set().entries(self.0.keys()).finish()
    }
}

/// `config.json` of docker and `auth.json` of podman, as far as it is read.
#[derive(Deserialize)]
struct File {
    #[serde(default)]
    auths: BTreeMap<String, Login>,
}

#[derive(Deserialize)]
struct Login {
    #[serde(default)]
    auth: String,
}

impl Credentials {
    /// Adds those of a file. What is there already stays.
    ///
    /// # Errors
    /// What is wrong with the file, without anything secret of it.
    pub fn add(&mut self, text: &str) -> Result<(), String> {
        let file: File = serde_json::from_str(text).map_err(|error| format!("line {}: it is no configuration of docker", error.line()))?;
        for (registry, login) in file.auths.into_iter().filter(|(_, login)| !login.auth.is_empty()) {
            let decoded = STANDARD.decode(login.auth.trim()).ok().and_then(|bytes| String::from_utf8(bytes).ok());
            let (user, password) = decoded
                .as_deref()
                .and_then(|text| text.split_once(':'))
                .ok_or_else(|| format!("auths.{registry:?}.auth is no base64 of USER:PASSWORD"))?;
            self.0.entry(host(&registry)).or_insert_with(|| (user.to_owned(), password.trim_end_matches('\0').to_owned()));
        }
        Ok(())
    }

    /// Those of a registry.
    pub(super) fn at(&self, registry: &str) -> Option<(String, String)> {
        self.0.get(&host(registry)).cloned()
    }
}

/// Docker Hub has three names; some write an address.
fn host(registry: &str) -> String {
    let bare = registry.trim_start_matches("https://").trim_start_matches("http://");
    match bare.split('/').next().unwrap_or(bare) {
        "docker.io" | "registry-1.docker.io" => "index.docker.io".to_owned(),
        other => other.to_owned(),
    }
}
