//! The builder: from the components' folders to a whole bundle.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use kok_tasks::bundle::{Bundle, FORMAT};

use super::RECIPE_VERSION;
use super::assemble::Output;
use super::cache::{Cache, CachedComponent};
use super::debian::{Archive, Deb};
use super::error::{ReleaseError, Result};
use super::golang::Go;
use super::host::{self, Packages};
use super::key::{Surroundings, component_key};
use super::make::{HostFiles, Making};
use super::progress::{Progress, clock};
use super::source::{Component, discover};

/// What to build from and where to.
#[derive(Debug, Clone)]
pub struct BuildOptions {
    /// Folder of the components' folders.
    pub recipes: PathBuf,
    /// Components and groups that are built beside those that always are.
    pub with: BTreeSet<String>,
    /// Components and groups that are taken too where nothing of them has to be built for it.
    pub with_built: BTreeSet<String>,
    /// The one component that is built, instead of all of these.
    pub only: Option<String>,
    /// Folder of built components.
    pub cache: PathBuf,
    /// Folder of Go's compiled packages.
    pub build_cache: PathBuf,
    /// Folder of the bundle.
    pub output: PathBuf,
}

/// What a build came to.
#[derive(Debug, Clone)]
pub struct Summary {
    /// Components that were built now, with how long each took; the others came from the cache.
    pub built: Vec<(String, Duration)>,
    /// Number of all components.
    pub components: usize,
    /// Whether the bundle's folder was changed.
    pub changed: bool,
    /// The bundle's index.
    pub bundle: Bundle,
}

/// The architecture of this machine as Go spells it.
#[must_use]
pub fn native_architecture() -> &'static str {
    match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    }
}

/// Builds what has changed and puts the bundle together.
///
/// # Errors
/// When something that is needed is missing, a component can't be built, or the components don't make a whole bundle. The
/// components that were built until then stay in the cache, and the output has no index unless it was whole and unchanged.
pub fn build(options: &BuildOptions, progress: &mut Progress) -> Result<Summary> {
    let mut components = discover(&options.recipes, native_architecture())?;
    components = match &options.only {
        Some(only) => alone(components, only)?,
        None => wanted(components, &(&options.with | &options.with_built))?,
    };
    let archive = Archive::query(&components)?;
    for component in &mut components {
        if let Some(version) = archive.version(component)? {
            *component = component.with_version(&version, native_architecture())?;
        }
    }
    // Everything that can be missing is found out before the first minute of building.
    let builder = Builder::new(&components, archive, options)?;
    let cache = Cache::open(&options.cache, progress)?;
    let is_built = |component: &Component| builder.is_built(component, &cache);
    for left_out in leave_out_unbuilt(&mut components, options.with_built.difference(&options.with), is_built)? {
        progress.line(&left_out);
    }
    let mut output = Output::open(&options.output)?;
    let mut built = Vec::new();
    let mut parts = Vec::new();
    for (index, component) in components.iter().enumerate() {
        progress.component(index + 1, components.len(), &component.label());
        let (part, took) = builder.obtain(component, &cache, &mut output, progress)?;
        built.extend(took.map(|took| (component.label(), took)));
        parts.push(part);
    }
    let bundle = combine(parts);
    bundle.check()?;
    let changed = output.finish(&bundle)?;
    cache.prune()?;
    Ok(Summary { built, components: components.len(), changed, bundle })
}

/// Leaves out what is built on request and was not asked for.
pub(super) fn wanted(mut components: Vec<Component>, with: &BTreeSet<String>) -> Result<Vec<Component>> {
    if let Some(unknown) = with.iter().find(|name| !components.iter().any(|component| component.is_called(name))) {
        let known: BTreeSet<String> = components.into_iter().filter(|component| component.recipe.on_request).map(requested_as).collect();
        return Err(ReleaseError::UnknownComponent { name: unknown.clone(), known: Vec::from_iter(known).join(", ") });
    }
    components.retain(|component| !component.recipe.on_request || with.iter().any(|name| component.is_called(name)));
    Ok(components)
}

fn requested_as(component: Component) -> String {
    component.recipe.group.unwrap_or(component.name)
}

/// Leaves out each of these of which something is not built, and says what that is.
pub(super) fn leave_out_unbuilt<'a>(
    components: &mut Vec<Component>,
    names: impl Iterator<Item = &'a String>,
    is_built: impl Fn(&Component) -> Result<bool>,
) -> Result<Vec<String>> {
    let mut left_out = Vec::new();
    for name in names {
        let is_of_it = |component: &Component| component.recipe.on_request && component.is_called(name);
        let mut unbuilt = None;
        for component in components.iter().filter(|component| is_of_it(component)) {
            if !is_built(component)? {
                unbuilt = Some(component.label());
            }
        }
        if let Some(unbuilt) = unbuilt {
            components.retain(|component| !is_of_it(component));
            left_out.push(format!("without {name}: {unbuilt} is not built yet"));
        }
    }
    Ok(left_out)
}

/// One component, in all its versions.
pub(super) fn alone(mut components: Vec<Component>, name: &str) -> Result<Vec<Component>> {
    let known: BTreeSet<String> = components.iter().map(|component| component.name.clone()).collect();
    components.retain(|component| component.name == *name);
    if components.is_empty() {
        return Err(ReleaseError::UnknownComponent { name: name.to_owned(), known: Vec::from_iter(known).join(", ") });
    }
    Ok(components)
}

/// What all components are built with.
struct Builder {
    go: Go,
    packages: Packages,
    archive: Archive,
    compiler: Option<String>,
    host_files: HostFiles,
}

impl Builder {
    fn new(components: &[Component], archive: Archive, options: &BuildOptions) -> Result<Self> {
        let build_cache = &options.build_cache;
        fs::create_dir_all(build_cache).map_err(ReleaseError::io("create", build_cache))?;
        let go = Go::find(components, build_cache, native_architecture())?;
        let packages = Packages::query(components.iter().flat_map(|component| &component.recipe.packages).map(String::as_str))?;
        check_packages(components, &packages)?;
        let compiler = if components.iter().any(|component| component.recipe.go.cgo) { Some(host::compiler_version()?) } else { None };
        let images = components.iter().flat_map(|component| &component.recipe.images);
        let programs: BTreeSet<&String> = images.flat_map(|image| &image.host_programs).collect();
        let host_files =
            programs.into_iter().map(|program| Ok((program.clone(), host::with_libraries(program)?))).collect::<Result<_>>()?;
        Ok(Self { go, packages, archive, compiler, host_files })
    }

    fn key(&self, component: &Component, debs: &[Deb]) -> String {
        let mut packages = self.packages.select(&component.recipe.packages).unwrap_or_default();
        packages.extend(debs.iter().map(|deb| (deb.package.clone(), deb.sha256.clone())));
        let programs = component.recipe.images.iter().flat_map(|image| &image.host_programs);
        let host_files: BTreeMap<String, String> = programs.filter_map(|program| self.host_files.get(program)).flatten().cloned().collect();
        let host_files: Vec<_> = host_files.into_iter().collect();
        component_key(
            component,
            &Surroundings {
                recipe_version: RECIPE_VERSION,
                go_version: if component.go_version.is_empty() { "" } else { self.go.version() },
                architecture: native_architecture(),
                compiler: self.compiler.as_deref().filter(|_| component.recipe.go.cgo),
                packages: &packages,
                host_files: &host_files,
            },
        )
    }

    fn is_built(&self, component: &Component, cache: &Cache) -> Result<bool> {
        Ok(cache.load(component, &self.key(component, &self.archive.select(component)?)).is_some())
    }

    /// Takes a component from the cache or builds it, and brings it into the bundle. A damaged one is built again.
    fn obtain(
        &self,
        component: &Component,
        cache: &Cache,
        output: &mut Output,
        progress: &mut Progress,
    ) -> Result<(CachedComponent, Option<Duration>)> {
        let debs = self.archive.select(component)?;
        let key = self.key(component, &debs);
        let folder = cache.folder(component, &key);
        if let Some(cached) = cache.load(component, &key) {
            match output.place(&cached, &folder) {
                Ok(()) => {
                    progress.line("unchanged");
                    return Ok((cached, None));
                }
                Err(error @ ReleaseError::Damaged { .. }) => progress.line(&format!("{error}; building it again")),
                Err(error) => return Err(error),
            }
        }
        let started = Instant::now();
        let built = self.make(component, &key, &debs, cache, progress)?;
        output.place(&built, &folder)?;
        progress.line(&format!("built in {}", clock(started.elapsed())));
        Ok((built, Some(started.elapsed())))
    }

    fn make(&self, component: &Component, key: &str, debs: &[Deb], cache: &Cache, progress: &mut Progress) -> Result<CachedComponent> {
        let folder = cache.work_folder()?;
        let (work, to) = (folder.path().join("work"), folder.path().join("component"));
        for path in [&work, &to] {
            fs::create_dir(path).map_err(ReleaseError::io("create", path))?;
        }
        progress.line("building");
        let making =
            Making { component, key, architecture: native_architecture(), host_files: &self.host_files, debs, work: &work, to: &to };
        let built = making.run(&self.go, progress)?;
        cache.store(component, &built, &to)?;
        Ok(built)
    }
}

/// Names all missing packages at once, with the components that need them.
fn check_packages(components: &[Component], packages: &Packages) -> Result<()> {
    let mut missing = BTreeSet::new();
    let mut needed_by = Vec::new();
    for component in components {
        if let Err(names) = packages.select(&component.recipe.packages) {
            missing.extend(names);
            needed_by.push(component.label());
        }
    }
    if missing.is_empty() {
        return Ok(());
    }
    Err(ReleaseError::Packages { needed_by: needed_by.join(", "), missing: Vec::from_iter(missing).join(" ") })
}

fn combine(parts: Vec<CachedComponent>) -> Bundle {
    let mut bundle = Bundle { format: FORMAT, kubernetes: Vec::new(), files: Vec::new(), images: Vec::new(), packages: Vec::new() };
    for part in parts {
        bundle.kubernetes.extend(part.kubernetes);
        bundle.files.extend(part.files);
        bundle.images.extend(part.images);
    }
    bundle.sort();
    bundle
}
