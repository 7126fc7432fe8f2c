//! The licences of all that is in the program, each text once.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;

use super::Result;
use super::crates::Crate;

pub(super) const NAME: &str = "THIRD-PARTY-LICENSES.txt";

/// How files with licences begin.
const NAMES: [&str; 6] = ["license", "licence", "copying", "copyright", "notice", "unlicense"];

/// A list of the crates, and behind it the texts with the crates that have them.
pub(super) fn text(crates: &[Crate]) -> Result<String> {
    let mut text = "kokctl is linked with these crates, under these licences.\n\n".to_owned();
    let mut texts: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for one in crates.iter().filter(|one| !one.own) {
        let label = format!("{} {}", one.name, one.version);
        writeln!(text, "{label}: {}", one.licence)?;
        for found in texts_of(one)? {
            texts.entry(found).or_default().push(label.clone());
        }
    }
    let mut texts: Vec<(String, Vec<String>)> = texts.into_iter().collect();
    texts.sort_by(|(_, one), (_, other)| one.cmp(other));
    for (licence, of) in texts {
        write!(text, "\n{}\n{}\n\n{}\n", "=".repeat(80), of.join(", "), licence.trim())?;
    }
    Ok(text)
}

fn texts_of(one: &Crate) -> Result<Vec<String>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(&one.folder)? {
        let path = entry?.path();
        let name = path.file_name().map(|name| name.to_string_lossy().to_ascii_lowercase()).unwrap_or_default();
        if path.is_file() && NAMES.iter().any(|start| name.starts_with(start)) {
            found.push(String::from_utf8_lossy(&fs::read(&path)?).replace("\r\n", "\n"));
        }
    }
    found.sort();
    Ok(found)
}
