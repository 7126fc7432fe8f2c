//! `component.yaml`: what a component and version is built from and what it yields.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

use super::golang::executable_name;

/// The content of a `component.yaml`. Definitions, paths of files and in archives, and references may use `${version}`,
/// `${major}`, `${minor}` and `${architecture}`; the version is the name of the folder.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Recipe {
    /// Whether it is built only where it is asked for by name.
    #[serde(default)]
    pub on_request: bool,
    /// What is built on request may be asked for by this name, too, together with others.
    #[serde(default)]
    pub group: Option<String>,
    /// What Go builds. Without binaries there is no `go.mod`.
    #[serde(default)]
    pub go: GoRecipe,
    /// Programs that Debian builds.
    #[serde(default)]
    pub debian: Option<DebianRecipe>,
    /// Debian packages that must be installed where it is built, alternatives as in `pkgconf | pkg-config`. Their versions are
    /// part of the component's key.
    #[serde(default)]
    pub packages: Vec<String>,
    /// Files of the bundle.
    #[serde(default)]
    pub files: Vec<FileRecipe>,
    /// Images of the bundle.
    #[serde(default)]
    pub images: Vec<ImageRecipe>,
    /// Set for Kubernetes itself.
    #[serde(default)]
    pub kubernetes_release: Option<KubernetesReleaseRecipe>,
}

/// What Go builds in the component's folder. Every binary is linked statically.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct GoRecipe {
    /// Package by name of the binary.
    #[serde(default)]
    pub binaries: BTreeMap<String, String>,
    /// Whether C parts are compiled in; the packages must then name a C compiler and library.
    #[serde(default)]
    pub cgo: bool,
    /// Build tags.
    #[serde(default)]
    pub tags: Vec<String>,
    /// String variables that the linker sets, by import path and name.
    #[serde(default)]
    pub define: BTreeMap<String, String>,
}

/// Packages of the distribution that are downloaded and unpacked, never installed.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct DebianRecipe {
    /// Package names. The first has to be there and gives the component its version. Others that the distribution doesn't have
    /// are left out: libraries are named differently from one release to the next, and one that is missing then is told.
    pub packages: Vec<String>,
}

/// A file of the bundle: a binary as it is, or an archive of binaries. Exactly one of the two is given.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct FileRecipe {
    /// Name of the file in `bundle.json`.
    pub name: String,
    /// Upstream's address without the scheme.
    pub path: String,
    /// The binary that the file is.
    #[serde(default)]
    pub binary: Option<String>,
    /// For a `.tar.gz` or `.tgz`: binary by path inside.
    #[serde(default)]
    pub archive: Option<BTreeMap<String, String>>,
}

/// An image of the bundle, with one layer.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct ImageRecipe {
    /// Name of the image in `bundle.json`.
    pub name: String,
    /// Reference with tag.
    pub reference: String,
    /// Binary by absolute path inside.
    #[serde(default)]
    pub contents: BTreeMap<String, String>,
    /// Absolute paths of programs in the packages of `debian`; they come with their libraries and the packages' licences.
    #[serde(default)]
    pub package_programs: Vec<String>,
    /// Programs of this machine that are put into the image with the libraries that they need, at the same paths.
    #[serde(default)]
    pub host_programs: Vec<String>,
    /// Numbers of the user and group that a container runs as, `65532:65532`; without it as root.
    #[serde(default)]
    pub user: Option<String>,
    /// The signal by which a container is asked to end, `SIGUSR1`; without it `SIGTERM`.
    #[serde(default)]
    pub stop_signal: Option<String>,
    /// What upstream's image of that name has and this one has not.
    #[serde(default)]
    pub lacks: Vec<String>,
    /// The program that a container runs, with its first arguments.
    pub entrypoint: Vec<String>,
}

/// How a Kubernetes release tells which images it needs.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct KubernetesReleaseRecipe {
    /// The binary that is asked: `kubeadm config images list`.
    pub kubeadm: String,
}

impl GoRecipe {
    fn check(&self) -> Result<(), String> {
        let mut executables = BTreeSet::new();
        for name in self.binaries.values().map(|package| executable_name(package)) {
            if !executables.insert(name) {
                return Err(format!("go.binaries: two packages make an executable {name:?}"));
            }
        }
        // They go through the linker's own splitting into words.
        let unfit = |c: char| c.is_whitespace() || c == '"' || c == '\'';
        match self.define.iter().find(|(_, value)| value.contains(unfit)) {
            None => Ok(()),
            Some((name, value)) => {
                Err(format!("go.define.{name}: {value:?} holds a space or a quote, which the linker's options can't carry"))
            }
        }
    }
}

impl Recipe {
    /// Reads a description, fills in its placeholders and checks that it holds together.
    ///
    /// # Errors
    /// What is wrong, with line and column where the text itself is.
    pub fn parse(text: &str, version: &str, architecture: &str) -> Result<Self, String> {
        let mut recipe: Self = serde_saphyr::from_str(text).map_err(|error| error.to_string())?;
        recipe.expand(&variables(version, architecture))?;
        recipe.check()?;
        Ok(recipe)
    }

    fn expand(&mut self, variables: &BTreeMap<&str, String>) -> Result<(), String> {
        let of = |text: &mut String| expand(text, variables).map(|expanded| *text = expanded);
        self.go.define.values_mut().try_for_each(of)?;
        for file in &mut self.files {
            of(&mut file.path)?;
            if let Some(archive) = &mut file.archive {
                *archive =
                    archive.iter().map(|(path, binary)| Ok((expand(path, variables)?, binary.clone()))).collect::<Result<_, String>>()?;
            }
        }
        self.images.iter_mut().try_for_each(|image| of(&mut image.reference))
    }

    fn check(&self) -> Result<(), String> {
        if self.go.binaries.is_empty() && self.debian.is_none() {
            return Err("go.binaries is empty: name at least one binary with its package, or packages under `debian`".to_owned());
        }
        if self.group.is_some() && !self.on_request {
            return Err("there is a group, and it is always built: add `onRequest: true`, or leave the group out".to_owned());
        }
        self.go.check()?;
        if self.debian.as_ref().is_some_and(|debian| debian.packages.is_empty()) {
            return Err("debian.packages is empty: name the package that holds the program".to_owned());
        }
        self.files.iter().try_for_each(|file| self.check_file(file))?;
        self.images.iter().try_for_each(|image| self.check_image(image))?;
        if let Some(release) = &self.kubernetes_release {
            self.check_binary("kubernetesRelease.kubeadm", &release.kubeadm)?;
        }
        let mut names = BTreeSet::new();
        let files = self.files.iter().map(|file| ("file", &file.name));
        let images = self.images.iter().map(|image| ("image", &image.name));
        for (kind, name) in files.chain(images) {
            if !names.insert((kind, name)) {
                return Err(format!("there are two {kind}s with the name {name:?}: give one of them another name"));
            }
        }
        Ok(())
    }

    fn check_file(&self, file: &FileRecipe) -> Result<(), String> {
        let what = format!("file {:?}", file.name);
        check_relative(&what, &file.path)?;
        match (&file.binary, &file.archive) {
            (Some(binary), None) => self.check_binary(&what, binary),
            (None, Some(archive)) => {
                if !file.path.ends_with(".tar.gz") && !file.path.ends_with(".tgz") {
                    return Err(format!("{what}: an archive's path ends with .tar.gz or .tgz, not so {:?}", file.path));
                }
                archive.iter().try_for_each(|(path, binary)| {
                    check_relative(&what, path)?;
                    self.check_binary(&what, binary)
                })
            }
            _ => Err(format!("{what}: give either `binary` or `archive`")),
        }
    }

    fn check_image(&self, image: &ImageRecipe) -> Result<(), String> {
        let what = format!("image {:?}", image.name);
        if split_reference(&image.reference).is_none() {
            return Err(format!(
                "{what}: {:?} is not a reference with registry and tag, such as registry.k8s.io/pause:3.10.2",
                image.reference
            ));
        }
        if image.entrypoint.is_empty() {
            return Err(format!("{what}: entrypoint is empty"));
        }
        if image.user.as_ref().is_some_and(|user| !is_user(user)) {
            return Err(format!("{what}: user is not two numbers such as 65532:65532"));
        }
        if image.stop_signal.as_ref().is_some_and(|signal| !signal.starts_with("SIG")) {
            return Err(format!("{what}: stopSignal is not the name of a signal such as SIGUSR1"));
        }
        self.check_package_programs(&what, &image.package_programs)?;
        image.contents.iter().try_for_each(|(path, binary)| {
            let inner = path.strip_prefix('/').ok_or_else(|| format!("{what}: {path:?} is not absolute"))?;
            check_relative(&what, inner)?;
            self.check_binary(&what, binary)
        })
    }

    fn check_package_programs(&self, what: &str, programs: &[String]) -> Result<(), String> {
        if !programs.is_empty() && self.debian.is_none() {
            return Err(format!("{what} names packagePrograms, but there are no packages under `debian`"));
        }
        programs.iter().try_for_each(|path| {
            let inner = path.strip_prefix('/').ok_or_else(|| format!("{what}: {path:?} is not absolute"))?;
            check_relative(what, inner)
        })
    }

    fn check_binary(&self, what: &str, binary: &str) -> Result<(), String> {
        if self.go.binaries.contains_key(binary) {
            return Ok(());
        }
        Err(format!("{what} names the binary {binary:?}, which is not among go.binaries"))
    }
}

/// Repository and tag of a reference. `None` unless it has both, a registry's name, and nothing that can't be part of a path.
#[must_use]
pub fn split_reference(reference: &str) -> Option<(&str, &str)> {
    let (repository, tag) = reference.rsplit_once(':')?;
    let allowed = |c: char| c.is_ascii_alphanumeric() || "._-/".contains(c);
    let valid = repository.contains('/') && !tag.is_empty() && !tag.contains('/') && reference.replace(':', "").chars().all(allowed);
    (valid && check_relative("", repository).is_ok() && tag != "." && tag != "..").then_some((repository, tag))
}

/// Numbers only: there is no list of names in these images.
fn is_user(text: &str) -> bool {
    let number = |part: &str| part.parse::<u32>().is_ok();
    text.split_once(':').is_some_and(|(user, group)| number(user) && number(group))
}

fn check_relative(what: &str, path: &str) -> Result<(), String> {
    if path.split('/').any(|part| part.is_empty() || part == "." || part == "..") {
        return Err(format!("{what}: {path:?} is not a plain relative path"));
    }
    Ok(())
}

fn variables(version: &str, architecture: &str) -> BTreeMap<&'static str, String> {
    let mut parts = version.split('.').map(str::to_owned);
    let (major, minor) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    BTreeMap::from([("version", version.to_owned()), ("architecture", architecture.to_owned()), ("major", major), ("minor", minor)])
}

fn expand(text: &str, variables: &BTreeMap<&str, String>) -> Result<String, String> {
    let mut result = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        let (name, behind) = after.split_once('}').ok_or_else(|| format!("{text:?}: `${{` without `}}`"))?;
        let known = || variables.keys().copied().collect::<Vec<_>>().join(", ");
        let value = variables.get(name).ok_or_else(|| format!("{text:?}: there is no ${{{name}}}; known are {}", known()))?;
        result.push_str(before);
        result.push_str(value);
        rest = behind;
    }
    result.push_str(rest);
    Ok(result)
}
