//! The folders `<component>/<version>/` and what stands in them.

use std::fs;
use std::path::{Path, PathBuf};

use super::digest::sha256_file;
use super::error::{ReleaseError, Result};
use super::recipe::Recipe;

/// The file of a component's folder that says what it yields.
pub const RECIPE_FILE: &str = "component.yaml";

/// One component in one version, read from its folder.
#[derive(Debug, Clone)]
pub struct Component {
    /// Name of the outer folder.
    pub name: String,
    /// Name of the inner folder: the version without a leading `v`. For what Debian builds, the version of its package once that
    /// is known.
    pub version: String,
    /// The folder.
    pub folder: PathBuf,
    /// What its `component.yaml` says.
    pub recipe: Recipe,
    /// Lowest Go version that its `go.mod` asks for; empty when Go builds nothing.
    pub go_version: String,
    /// Every file of the folder by its path inside, with its SHA-256; sorted.
    pub files: Vec<(String, String)>,
}

impl Component {
    /// Whether a request for this name is one for it.
    #[must_use]
    pub fn is_called(&self, name: &str) -> bool {
        self.name == name || self.recipe.group.as_deref() == Some(name)
    }

    /// Name and version for people: `etcd 3.7.0`.
    #[must_use]
    pub fn label(&self) -> String {
        format!("{} {}", self.name, self.version)
    }

    /// The same component with another version than its folder's name.
    ///
    /// # Errors
    /// When its description can't be read, or doesn't go with that version.
    pub fn with_version(&self, version: &str, architecture: &str) -> Result<Self> {
        Self::read(&self.name, version, &self.folder, architecture)
    }

    fn read(name: &str, version: &str, folder: &Path, architecture: &str) -> Result<Self> {
        let recipe_path = folder.join(RECIPE_FILE);
        let text = fs::read_to_string(&recipe_path).map_err(ReleaseError::io("read", &recipe_path))?;
        let recipe = Recipe::parse(&text, version, architecture).map_err(|message| ReleaseError::Recipe { path: recipe_path, message })?;
        let go_version = if recipe.go.binaries.is_empty() { String::new() } else { go_version(&folder.join("go.mod"))? };
        let mut files = Vec::new();
        collect_files(folder, "", &mut files)?;
        files.sort();
        Ok(Self { name: name.to_owned(), version: version.to_owned(), folder: folder.to_path_buf(), recipe, go_version, files })
    }
}

fn go_version(module: &Path) -> Result<String> {
    let text = fs::read_to_string(module).map_err(ReleaseError::io("read", module))?;
    text.lines().find_map(|line| line.strip_prefix("go ")).map(|version| version.trim().to_owned()).ok_or_else(|| {
        let message = "there is no `go` line: say which Go it needs, such as `go 1.26.0`".to_owned();
        ReleaseError::Recipe { path: module.to_path_buf(), message }
    })
}

/// All components below the folder, sorted by name and version.
///
/// # Errors
/// When a folder can't be read, or a description is missing or wrong.
pub fn discover(recipes: &Path, architecture: &str) -> Result<Vec<Component>> {
    let mut components = Vec::new();
    for (name, outer) in subfolders(recipes)? {
        for (version, folder) in subfolders(&outer)? {
            components.push(Component::read(&name, &version, &folder, architecture)?);
        }
    }
    if components.is_empty() {
        let message = "there is no component here: expected folders <component>/<version>/ with a component.yaml".to_owned();
        return Err(ReleaseError::Recipe { path: recipes.to_path_buf(), message });
    }
    Ok(components)
}

fn subfolders(folder: &Path) -> Result<Vec<(String, PathBuf)>> {
    let mut found = entries(folder)?;
    found.retain(|(_, path)| path.is_dir());
    Ok(found)
}

fn entries(folder: &Path) -> Result<Vec<(String, PathBuf)>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).map_err(ReleaseError::io("list", folder))? {
        let entry = entry.map_err(ReleaseError::io("list", folder))?;
        let name = entry
            .file_name()
            .into_string()
            .map_err(|name| ReleaseError::Recipe { path: folder.join(name), message: "the name is not UTF-8: rename it".to_owned() })?;
        found.push((name, entry.path()));
    }
    found.sort();
    Ok(found)
}

fn collect_files(folder: &Path, prefix: &str, files: &mut Vec<(String, String)>) -> Result<()> {
    for (name, path) in entries(folder)? {
        let inner = format!("{prefix}{name}");
        if path.is_dir() {
            collect_files(&path, &format!("{inner}/"), files)?;
        } else {
            files.push((inner, sha256_file(&path)?.1));
        }
    }
    Ok(())
}
