//! Reading files, folders and standard input.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use kok_crds::{File, Notice, Position, Role, listed, not_text};

use super::vagrant;
use crate::failure::{Failure, Kind};
use crate::plain_file;

/// Names of an inventory in its folder, in the order in which they are looked for.
const INVENTORIES: [&str; 7] = ["hosts.yaml", "hosts.yml", "inventory.ini", "inventory.yaml", "inventory.yml", "hosts.ini", "hosts"];

/// Folders beside an inventory.
const BESIDE: [&str; 2] = ["group_vars", "host_vars"];

/// Ends of names of manifests, as kubectl has it.
const MANIFESTS: [&str; 3] = ["yaml", "yml", "json"];

/// A folder in a folder of group_vars is all that Ansible has; links in a circle end here.
const MAX_DEPTH: usize = 8;

/// What is larger is refused by whoever parses it (inventories and variables may be the longest); it need not be read to find that out.
const MAX_BYTES: u64 = 16 << 20;

/// The name by which standard input is given.
const STANDARD_INPUT: &str = "-";

/// Standard input is at its end once it has been read.
pub(super) fn once_from_standard_input<'a>(files: impl Iterator<Item = &'a PathBuf>) -> Result<(), Vec<Failure>> {
    if files.filter(|path| path.as_os_str() == STANDARD_INPUT).count() < 2 {
        return Ok(());
    }
    let failure = Failure::new(Kind::Input, "standard input is given twice").at("the command line");
    Err(vec![failure.because("it can be read once").hint("write `-f -` once; several documents can stand in it with `---` between them")])
}

/// A file, with the folders beside it if it is an inventory; what a folder holds; or standard input.
pub(super) fn read(path: &Path, notices: &mut Vec<Notice>) -> Result<Vec<File>, Failure> {
    if path.as_os_str() == STANDARD_INPUT {
        return standard_input().map(|file| vec![file]);
    }
    if let Some(folder) = vagrant::folder(path) {
        return of_vagrant(folder, notices);
    }
    let path = match path.is_dir().then(|| of_folder(path, notices)).transpose()? {
        Some(Folder::Manifests(files)) => return Ok(files),
        Some(Folder::Inventory(path)) => path,
        None => path.to_owned(),
    };
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let main = one(&path, Role::Main { cluster: name_of(folder) })?;
    if main.is_manifest() {
        return Ok(vec![main]);
    }
    let mut files = vec![main];
    for name in BESIDE {
        beside(&folder.join(name), 0, &mut files)?;
    }
    Ok(files)
}

/// Machines of Vagrant, with the Cluster that lies beside the Vagrantfile, or with the variables that do as beside an inventory.
fn of_vagrant(folder: &Path, notices: &mut Vec<Notice>) -> Result<Vec<File>, Failure> {
    let manifests = manifests_of(folder, notices)?;
    let inventory = INVENTORIES.iter().map(|name| folder.join(name)).find(|path| path.is_file());
    if let Some(other) = inventory.filter(|path| !manifests.iter().any(|file| file.name == path.display().to_string())) {
        return Err(Failure::new(Kind::Input, "the folder lists the hosts twice")
            .at(folder.display().to_string())
            .because(format!("`{}` is an inventory, and there is a Vagrantfile", other.display()))
            .hint(format!(
                "move the inventory away, for Vagrant says how its machines are reached; or give it itself: -f {}",
                other.display()
            )));
    }
    let mut files = vagrant::machines(folder, name_of(folder))?;
    if manifests.iter().any(|file| file.holds_cluster() || file.is_encrypted()) {
        files.extend(manifests);
        return Ok(files);
    }
    notices.extend(manifests.iter().map(|other| {
        let notice = Notice::new(format!("`{}` is not read", other.name)).at(&start_of(&other.name));
        notice.because("no object beside the Vagrantfile is a Cluster").hint("if it is meant, give it itself with -f")
    }));
    for name in BESIDE {
        beside(&folder.join(name), 0, &mut files)?;
    }
    Ok(files)
}

/// An inventory on standard input has no folder, and so no name and nothing beside it.
fn standard_input() -> Result<File, Failure> {
    let name = "standard input".to_owned();
    match plain_file::bounded(std::io::stdin().lock(), MAX_BYTES) {
        Ok(bytes) => text(name, bytes, Role::Main { cluster: None }),
        Err(because) => {
            Err(Failure::new(Kind::Input, "standard input can't be read").at(name).because(because).hint("give a file in place of `-`"))
        }
    }
}

/// What a folder is.
enum Folder {
    Inventory(PathBuf),
    Manifests(Vec<File>),
}

/// The first inventory of a folder, or else its manifests; of other files that may have been meant the user is told. What a file is, its
/// text says: objects of Kubernetes may be called `hosts.yaml` too.
fn of_folder(folder: &Path, notices: &mut Vec<Notice>) -> Result<Folder, Failure> {
    let named = INVENTORIES.iter().map(|name| folder.join(name)).filter(|path| path.is_file());
    let read = named.map(|path| one(&path, Role::Main { cluster: None }).map(|file| (path, file))).collect::<Result<Vec<_>, _>>()?;
    let mut inventories = read.into_iter().filter(|(_, file)| !file.is_manifest()).map(|(path, _)| path);
    if let Some(first) = inventories.next() {
        notices.extend(inventories.map(|other| not_read(&other, &first)));
        beside_inventory(folder, &first, notices)?;
        return Ok(Folder::Inventory(first));
    }
    let manifests = manifests_of(folder, notices)?;
    if !manifests.is_empty() {
        return Ok(Folder::Manifests(manifests));
    }
    Err(Failure::new(Kind::Input, "the folder has neither an inventory nor manifests")
        .at(folder.display().to_string())
        .because(format!(
            "an inventory is called {}; manifests end with .{}, and each object has its `apiVersion`",
            INVENTORIES.join(", "),
            MANIFESTS.join(", .")
        ))
        .hint("give the inventory itself with -f, or the file of a Cluster"))
}

/// What lies beside an inventory and could be a manifest: with a Cluster of its own the folder says two things, and others are left out.
fn beside_inventory(folder: &Path, inventory: &Path, notices: &mut Vec<Notice>) -> Result<(), Failure> {
    let role = || Role::Main { cluster: None };
    // What can't be read is nothing that was asked for.
    let files = maybe_manifests(folder)?.into_iter().filter_map(|path| one(&path, role()).ok());
    let manifests: Vec<File> = files.filter(|file| file.is_manifest() || file.is_encrypted()).collect();
    if let Some(other) = manifests.iter().find(|file| file.holds_cluster()) {
        return Err(Failure::new(Kind::Input, "the folder describes the cluster twice")
            .at(folder.display().to_string())
            .because(format!("`{}` is an inventory, and `{}` holds a Cluster", inventory.display(), other.name))
            .hint(format!("give the one that is meant itself: -f {} or -f {}", inventory.display(), other.name)));
    }
    if let Some(first) = manifests.first() {
        let names = listed(manifests.iter().map(|file| file.name.as_str()));
        let notice = Notice::new(format!("of the folder not read: {names}")).at(&start_of(&first.name));
        let because = format!("`{}` is an inventory, and of a folder with one no objects are read", inventory.display());
        notices.push(notice.because(because).hint("if they are meant, give them themselves with -f"));
    }
    Ok(())
}

/// Files of a folder, but not of folders below it, that may be manifests by their names, in the order of these.
fn maybe_manifests(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let is_named = |path: &PathBuf| path.extension().is_some_and(|end| MANIFESTS.iter().any(|known| end == *known));
    Ok(sorted(folder)?.into_iter().filter(is_named).filter(|path| path.is_file()).collect())
}

/// The manifests that lie in a folder.
fn manifests_of(folder: &Path, notices: &mut Vec<Notice>) -> Result<Vec<File>, Failure> {
    let paths = maybe_manifests(folder)?.into_iter();
    let files: Vec<File> = paths.map(|path| one(&path, Role::Main { cluster: None })).collect::<Result<_, _>>()?;
    let (manifests, others): (Vec<File>, Vec<File>) = files.into_iter().partition(|file| file.is_manifest() || file.is_encrypted());
    if !manifests.is_empty() {
        notices.extend(others.iter().map(|other| {
            let notice = Notice::new(format!("`{}` is not read", other.name)).at(&start_of(&other.name));
            notice.because("it holds no object, and of a folder without an inventory the manifests are read")
        }));
    }
    Ok(manifests)
}

fn start_of(name: &str) -> Position {
    Position { file: name.into(), line: 1, column: 1 }
}

fn not_read(other: &Path, first: &Path) -> Notice {
    let (name, read) = (other.display().to_string(), first.display());
    Notice::new(format!("`{name}` is not read, for `{read}` is"))
        .at(&start_of(&name))
        .because("a cluster has one inventory, and of several in a folder the first one counts")
        .hint(format!("if the other one is meant, give it itself: -f {name}"))
}

/// The cluster of an inventory is called as its folder is.
fn name_of(folder: &Path) -> Option<String> {
    let folder = fs::canonicalize(folder).ok()?;
    Some(folder.file_name()?.to_string_lossy().into_owned())
}

/// What a folder holds, by name.
fn sorted(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let unreadable = |error: io::Error| {
        Failure::new(Kind::Input, "the folder can't be read")
            .at(folder.display().to_string())
            .because(error.to_string())
            .hint("what it says would be missing: let it be a folder that you may read, or move it away")
    };
    let entries = fs::read_dir(folder).map_err(unreadable)?;
    let mut paths = entries.map(|entry| entry.map(|entry| entry.path())).collect::<Result<Vec<_>, _>>().map_err(unreadable)?;
    paths.sort();
    Ok(paths)
}

/// Everything below a folder that Ansible reads. What can't be read is refused: its variables would be missing, and nobody would see that.
fn beside(folder: &Path, depth: usize, files: &mut Vec<File>) -> Result<(), Failure> {
    // Even a link to nowhere is something that was meant to be read.
    if depth == 0 && fs::symlink_metadata(folder).is_err_and(|error| error.kind() == io::ErrorKind::NotFound) {
        return Ok(());
    }
    for path in sorted(folder)?.into_iter().filter(|path| is_read(path)) {
        let is_folder = fs::metadata(&path).map_err(|error| unreadable(&path, error.to_string(), Role::Beside))?.is_dir();
        match is_folder {
            true if depth < MAX_DEPTH => beside(&path, depth + 1, files)?,
            true => return Err(unreadable(&path, format!("it lies more than {MAX_DEPTH} folders deep"), Role::Beside)),
            false => files.push(one(&path, Role::Beside)?),
        }
    }
    Ok(())
}

/// Whether Ansible reads what has this name. Editors leave links to nowhere under hidden names.
fn is_read(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    !name.starts_with('.') && !name.ends_with('~')
}

/// One file; what a shell has opened (`<(…)`, `/dev/stdin`) is read to its end.
pub(super) fn one(path: &Path, role: Role) -> Result<File, Failure> {
    let bytes = plain_file::read(path, MAX_BYTES).map_err(|because| unreadable(path, because, role.clone()))?;
    text(path.display().to_string(), bytes, role)
}

/// What to do about `-f 20`.
const FORKS: &str = "`-f` names a file here, not forks: leave it out, for kokctl itself finds out how much can be done at once";

fn is_number(path: &Path) -> bool {
    path.to_str().is_some_and(|text| text.parse::<u32>().is_ok())
}

fn unreadable(path: &Path, because: String, role: Role) -> Failure {
    let (what, hint) = match role {
        Role::Main { .. } if is_number(path) => ("the cluster's file can't be read", FORKS),
        Role::Main { .. } => (
            "the cluster's file can't be read",
            "give the file of a Cluster or an inventory, by itself or with -f; docs/cluster.md shows one",
        ),
        Role::Beside => ("a file beside the inventory can't be read", "it belongs to the inventory: let it be readable, or move it away"),
        Role::Machines { .. } | Role::Machine { .. } => {
            ("what is noted of Vagrant's machines can't be read", "remove the file, and `vagrant up` writes it anew")
        }
        Role::ExtraFile | Role::Extra => {
            ("the file of -e can't be read", "`-e @FILE` names a file with variables, in YAML or JSON, from here; or write `-e NAME=VALUE`")
        }
    };
    Failure::new(Kind::Input, what).at(path.display().to_string()).because(because).hint(hint)
}

pub(super) fn text(name: String, bytes: Vec<u8>, role: Role) -> Result<File, Failure> {
    let bytes = match String::from_utf8(bytes) {
        // Latin letters in UTF-16 are UTF-8 with zeros between them.
        Ok(text) if !text.contains('\0') => return Ok(File { name, text, role }),
        Ok(text) => text.into_bytes(),
        Err(error) => error.into_bytes(),
    };
    let (because, hint) = not_text(&bytes);
    Err(Failure::new(Kind::Input, "the file is not in UTF-8").at(name).because(because).hint(hint))
}
