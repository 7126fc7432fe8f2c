//! The key under which a built component is kept: equal keys mean equal bytes.

use super::digest::sha256;
use super::source::Component;

/// Everything outside a component's folder that changes what comes out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Surroundings<'a> {
    /// [`super::RECIPE_VERSION`].
    pub recipe_version: u32,
    /// What `go env GOVERSION` says.
    pub go_version: &'a str,
    /// Architecture that is built for.
    pub architecture: &'a str,
    /// What the C compiler says about itself, for components with C parts.
    pub compiler: Option<&'a str>,
    /// Debian packages with their versions.
    pub packages: &'a [(String, String)],
    /// Files of this machine that go into images, with their SHA-256.
    pub host_files: &'a [(String, String)],
}

/// The component's key, 64 hexadecimal digits.
#[must_use]
pub fn component_key(component: &Component, surroundings: &Surroundings<'_>) -> String {
    let mut text = Text(Vec::new());
    text.field("recipe", &surroundings.recipe_version.to_string());
    text.field("component", &component.name);
    text.field("version", &component.version);
    text.field("architecture", surroundings.architecture);
    text.field("go", surroundings.go_version);
    text.field("compiler", surroundings.compiler.unwrap_or_default());
    for (kind, pairs) in [("file", component.files.as_slice()), ("package", surroundings.packages), ("host", surroundings.host_files)] {
        for (name, value) in pairs {
            text.field(kind, name);
            text.field(kind, value);
        }
    }
    sha256(&text.0)
}

/// Fields with their lengths, so that no two lists of fields make the same text.
struct Text(Vec<u8>);

impl Text {
    fn field(&mut self, name: &str, value: &str) {
        self.0.extend_from_slice(format!("{name} {}\n{value}\n", value.len()).as_bytes());
    }
}
