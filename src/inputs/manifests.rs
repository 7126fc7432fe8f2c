//! Manifests of addons: read where the cluster's file says they are, and checked before any host is asked.

use kok_crds::model::{Addon, Manifest};
use kok_crds::{Input, MOST_MANIFEST_BYTES, Place, Problem, Source, in_two_addons, not_text, read_manifest};
use kok_tasks::digest::sha256;

use super::files::Files;

/// Reads the objects of all addons of the cluster. With anything wrong there is no cluster left, only what is wrong.
pub(super) fn load(input: &mut Input, files: &dyn Files) {
    let Some(cluster) = &mut input.cluster else { return };
    let mut problems = Vec::new();
    for addon in &mut cluster.addons {
        match sources(addon, files) {
            Ok(sources) => {
                for source in sources {
                    match read_manifest(addon, &source) {
                        Ok(objects) => addon.objects.extend(objects),
                        Err(found) => problems.extend(found),
                    }
                }
            }
            Err(found) => problems.extend(found),
        }
    }
    problems.extend(in_two_addons(&cluster.addons));
    if !problems.is_empty() {
        input.problems.extend(problems);
        input.cluster = None;
    }
}

/// The texts of an addon's manifests, each of which is the one that was meant.
fn sources(addon: &Addon, files: &dyn Files) -> Result<Vec<Source>, Vec<Problem>> {
    match &addon.manifest {
        // A list has no digest.
        Manifest::Files(paths) if paths.len() > 1 => {
            let (read, unread): (Vec<_>, Vec<_>) = paths.iter().map(|path| of_file(addon, path, files)).partition(Result::is_ok);
            let problems: Vec<Problem> = unread.into_iter().filter_map(Result::err).collect();
            if problems.is_empty() { Ok(read.into_iter().filter_map(Result::ok).collect()) } else { Err(problems) }
        }
        one => one_source(addon, one, files).map(|source| vec![source]).map_err(|problem| vec![problem]),
    }
}

fn one_source(addon: &Addon, manifest: &Manifest, files: &dyn Files) -> Result<Source, Problem> {
    let name = &addon.name;
    let (source, hint) = match manifest {
        Manifest::Contents(text) => (Source::placed("contents", text.clone(), Place::At(addon.origin.clone())), "`contents`"),
        Manifest::Files(paths) => (of_file(addon, &paths.concat(), files)?, "the file"),
        Manifest::Url(url) => (files.fetch(addon, url)?, "what comes from there"),
    };
    let sum = sha256(source.text.as_bytes());
    match &addon.sha256 {
        Some(wanted) if *wanted != sum => Err(Problem::new(format!("the manifest of the addon `{name}` is not the one that was meant"))
            .at(&addon.origin)
            .because(format!("its SHA-256 is {sum}, and `sha256` says {wanted}"))
            .hint(format!("look at {hint}; if it is right, write its SHA-256"))),
        _ => Ok(source),
    }
}

fn of_file(addon: &Addon, path: &str, files: &dyn Files) -> Result<Source, Problem> {
    let name = files.name(&addon.origin, path);
    let unreadable = |because: String| {
        Problem::new(format!("the manifest of the addon `{}` can't be read", addon.name))
            .at(&addon.origin)
            .because(format!("{name}: {because}"))
            .hint("name a file with objects of Kubernetes, as seen from the folder of this file")
    };
    let contents = files.read(&addon.origin, path, MOST_MANIFEST_BYTES as u64).map_err(|unread| unreadable(unread.because))?;
    match String::from_utf8(contents.bytes) {
        Ok(text) if !text.contains('\0') => Ok(Source::file(name, text)),
        Ok(text) => Err(unreadable(not_text(text.as_bytes()).0)),
        Err(error) => Err(unreadable(not_text(error.as_bytes()).0)),
    }
}
