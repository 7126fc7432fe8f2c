//! What a list says of one package.

use super::{is_plain_path, is_word};

/// A package that another one needs.
#[derive(Debug, Clone, Copy)]
pub(super) struct PackageNeed<'a> {
    pub(super) name: &'a str,
    /// Whether it has to have one certain version. An installation may have another one, also of what every installation has.
    pub(super) is_exact: bool,
}

/// A package of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Deb {
    /// Its name.
    pub name: String,
    /// With epoch and revision.
    pub version: String,
    /// Whether every installation has it: what is essential, or of the priority `required` (Debian Policy, 2.5 and 3.8).
    pub is_everywhere: bool,
    /// What it needs before and after it is unpacked, as the list writes it.
    pub(super) needs: String,
    /// What it stands for besides its own name.
    pub(super) provides: String,
    /// Where it is below the archive.
    pub path: String,
    /// In bytes.
    pub size: u64,
    /// Lower-case hexadecimal sha256.
    pub sha256: String,
}

impl Deb {
    /// Reads the lines of one package. None for what is no package, or whose name, version, path or digest is none.
    #[must_use]
    pub fn parse(stanza: &str) -> Option<Self> {
        let field = |name: &str| stanza.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':')).map(str::trim);
        let text = |name: &str| field(name).unwrap_or_default();
        let (name, version, path, sha256) = (field("Package")?, field("Version")?, field("Filename")?, field("SHA256")?);
        let is_digest = sha256.len() == 64 && sha256.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        if !is_word(name) || !is_word(version) || !is_plain_path(path) || !is_digest {
            return None;
        }
        Some(Self {
            name: name.to_owned(),
            version: version.to_owned(),
            is_everywhere: field("Essential") == Some("yes") || field("Priority") == Some("required"),
            needs: [text("Pre-Depends"), text("Depends")].into_iter().filter(|text| !text.is_empty()).collect::<Vec<_>>().join(", "),
            provides: text("Provides").to_owned(),
            path: path.to_owned(),
            size: field("Size")?.parse().ok()?,
            sha256: sha256.to_owned(),
        })
    }

    /// The same in a folder in which several archives stand side by side.
    #[must_use]
    pub fn below(self, folder: &str) -> Self {
        Self { path: format!("{folder}/{}", self.path), ..self }
    }

    /// What it needs: of each those of which one is enough.
    pub(super) fn needs(&self) -> impl Iterator<Item = Vec<PackageNeed<'_>>> {
        let need = |text| Some(PackageNeed { name: bare(text)?, is_exact: text.contains("(=") });
        self.needs.split(',').map(move |one| one.split('|').filter_map(need).collect())
    }

    pub(super) fn provides(&self) -> impl Iterator<Item = &str> {
        self.provides.split(',').filter_map(bare)
    }
}

/// The name alone: without versions, architectures and `:any`.
fn bare(text: &str) -> Option<&str> {
    let name = text.split_ascii_whitespace().next()?;
    name.split([':', '(']).next().filter(|name| !name.is_empty())
}
