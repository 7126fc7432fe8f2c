//! What is given with -f and -e: manifests, an inventory with the folders beside it, variables.

use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;
use kok_crds::model::Cluster;
use kok_crds::{File, Input, Notice, Outcome, Position, Role, counted, read_input};

use super::exposed;
use crate::ui::{Failure, Kind, status_line};

/// The cluster's files.
#[derive(Debug, Args)]
pub(super) struct ClusterFiles {
    /// The file with the Cluster: a manifest, of which several may be given; or an Ansible inventory (YAML or INI), or its folder with
    /// group_vars and host_vars
    #[arg(short, long = "filename", value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
}

/// Variables of the command line.
#[derive(Debug, Default, Args)]
pub(super) struct ExtraVars {
    /// Variables that win over those of the files, as Ansible has it: NAME=VALUE, {JSON or YAML} or @FILE; for inventories
    #[arg(short = 'e', long = "extra-vars", value_name = "VARS")]
    extra: Vec<String>,
}

/// Names of an inventory in its folder, in the order in which they are looked for.
const INVENTORIES: [&str; 7] = ["hosts.yaml", "hosts.yml", "inventory.ini", "inventory.yaml", "inventory.yml", "hosts.ini", "hosts"];

/// Folders beside an inventory.
const BESIDE: [&str; 2] = ["group_vars", "host_vars"];

/// A folder in a folder of group_vars is all that Ansible has; links in a circle end here.
const MAX_DEPTH: usize = 8;

/// What is larger is refused by whoever parses it; it need not be read into memory to find that out.
const MAX_BYTES: u64 = 64 << 20;

impl ClusterFiles {
    /// The cluster, whatever an operation asks for, or everything that is wrong. What the user should know is said in one line: `validate` shows it.
    pub(super) fn read(&self, extra: &ExtraVars) -> Result<Cluster, Vec<Failure>> {
        self.whole(extra).map(|(_, cluster)| cluster)
    }

    /// The cluster with all that the files say besides it.
    pub(super) fn whole(&self, extra: &ExtraVars) -> Result<(Input, Cluster), Vec<Failure>> {
        let (files, notices) = self.texts(extra)?;
        let input = read_all(&files, notices);
        let Some(cluster) = input.cluster.clone() else {
            return Err(input.problems.into_iter().map(Failure::problem).collect());
        };
        exposed::private_keys(&cluster, &files)?;
        exposed::passwords(&cluster).iter().for_each(|warning| status_line(&warning.as_warning()));
        let unheard = input.variables.iter().filter(|given| matches!(given.outcome, Outcome::NotYet | Outcome::Unknown)).count();
        if unheard > 0 {
            status_line(&format!(
                "note: {} no effect here; `kokctl validate -f {}` says which and why",
                counted(unheard, "setting has", "settings have"),
                self.path().display()
            ));
        }
        Ok((input, cluster))
    }

    /// Everything that the files say.
    pub(super) fn input(&self, extra: &ExtraVars) -> Result<Input, Vec<Failure>> {
        let (files, notices) = self.texts(extra)?;
        Ok(read_all(&files, notices))
    }

    /// The files with what is to be said of the choice of them.
    fn texts(&self, extra: &ExtraVars) -> Result<(Vec<File>, Vec<Notice>), Vec<Failure>> {
        let mut files = Vec::new();
        let mut notices = Vec::new();
        for path in &self.files {
            files.extend(read(path, &mut notices).map_err(|failure| vec![failure])?);
        }
        for vars in &extra.extra {
            files.push(match vars.strip_prefix('@') {
                Some(path) => one(Path::new(path), Role::ExtraFile).map_err(|failure| vec![failure])?,
                None => File { name: "-e".to_owned(), text: vars.clone(), role: Role::Extra },
            });
        }
        Ok((files, notices))
    }

    /// The first of the files, for hints.
    pub(super) fn path(&self) -> &Path {
        self.files.first().map_or(Path::new("cluster.yaml"), PathBuf::as_path)
    }
}

fn read_all(files: &[File], notices: Vec<Notice>) -> Input {
    let mut input = read_input(files);
    input.notices.splice(..0, notices);
    input
}

/// A file, with the folders beside it if it is an inventory; or the inventory of a folder.
fn read(path: &Path, notices: &mut Vec<Notice>) -> Result<Vec<File>, Failure> {
    let path = if path.is_dir() { inventory_of(path, notices)? } else { path.to_owned() };
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

/// The first inventory of a folder; of others in it the user is told, who may have meant them.
fn inventory_of(folder: &Path, notices: &mut Vec<Notice>) -> Result<PathBuf, Failure> {
    let mut paths = INVENTORIES.iter().map(|name| folder.join(name)).filter(|path| path.is_file());
    let found = paths.next();
    if let Some(first) = &found {
        notices.extend(paths.map(|other| not_read(&other, first)));
    }
    found.ok_or_else(|| {
        Failure::new(Kind::Input, "the folder has no inventory")
            .at(folder.display().to_string())
            .because(format!("it is called {}", INVENTORIES.join(", ")))
            .hint("give the inventory itself with -f, or the file of a Cluster")
    })
}

fn not_read(other: &Path, first: &Path) -> Notice {
    let (name, read) = (other.display().to_string(), first.display());
    let position = Position { file: name.as_str().into(), line: 1, column: 1 };
    Notice::new(format!("`{name}` is not read, for `{read}` is"))
        .at(&position)
        .because("a cluster has one inventory, and of several in a folder the first one counts")
        .hint(format!("if the other one is meant, give it itself: -f {name}"))
}

/// The cluster of an inventory is called as its folder is.
fn name_of(folder: &Path) -> Option<String> {
    let folder = fs::canonicalize(folder).ok()?;
    Some(folder.file_name()?.to_string_lossy().into_owned())
}

fn beside(folder: &Path, depth: usize, files: &mut Vec<File>) -> Result<(), Failure> {
    let Ok(entries) = fs::read_dir(folder) else { return Ok(()) };
    let mut paths: Vec<PathBuf> = entries.filter_map(|entry| entry.ok().map(|entry| entry.path())).collect();
    paths.sort();
    for path in paths {
        if path.is_dir() && depth < MAX_DEPTH {
            beside(&path, depth + 1, files)?;
        } else if path.is_file() {
            files.push(one(&path, Role::Beside)?);
        }
    }
    Ok(())
}

fn one(path: &Path, role: Role) -> Result<File, Failure> {
    let name = path.display().to_string();
    let unreadable = |because: String| {
        let hint = match role {
            Role::Main { .. } => "give the file of a Cluster with -f; docs/cluster.md shows one",
            _ => "it belongs to the inventory: let it be readable, or move it away",
        };
        Failure::new(Kind::Input, "the cluster's file can't be read").at(name.clone()).because(because).hint(hint)
    };
    let size = fs::metadata(path).map_err(|error| unreadable(error.to_string()))?.len();
    if size > MAX_BYTES {
        return Err(unreadable(format!("it is {size} bytes long, and more than {MAX_BYTES} are not read")));
    }
    let text = fs::read_to_string(path).map_err(|error| unreadable(error.to_string()))?;
    Ok(File { name, text, role })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::{ClusterFiles, ExtraVars};
    use crate::cli::exposed;
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;

    const HOSTS: &str =
        "all: {children: {kube_control_plane: {hosts: {cp1: {ip: 10.0.0.11}}}, kube_node: {hosts: {w1: {ip: 10.0.0.12}}}}}\n";

    fn folder() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        let cluster = folder.path().join("berlin");
        fs::create_dir_all(cluster.join("group_vars/all")).unwrap();
        fs::create_dir(cluster.join("host_vars")).unwrap();
        fs::write(cluster.join("hosts.yaml"), HOSTS).unwrap();
        fs::write(cluster.join("group_vars/all/net.yml"), "kube_network_plugin: flannel\nkube_proxy_mode: iptables\n").unwrap();
        fs::write(cluster.join("host_vars/w1.yml"), "ansible_host: 192.0.2.12\n").unwrap();
        folder
    }

    fn read(path: std::path::PathBuf, extra: &[&str]) -> kok_crds::model::Cluster {
        let extra = ExtraVars { extra: extra.iter().map(|text| (*text).to_owned()).collect() };
        ClusterFiles { files: vec![path] }.read(&extra).unwrap()
    }

    #[test]
    fn a_folder_and_its_inventory_are_the_same() {
        let folder = folder();
        let path = folder.path().join("berlin");
        let cluster = read(path.clone(), &[]);
        assert_eq!((cluster.name.as_str(), cluster.settings.kube_proxy_mode.as_str()), ("berlin", "iptables"));
        assert_eq!(cluster.host("w1").unwrap().ssh.address.as_deref(), Some("192.0.2.12"));
        assert_eq!(read(path.join("hosts.yaml"), &[]), cluster);
    }

    /// Passwords are warned of, and a key is refused, where the file's mode lets others read it.
    #[test]
    fn secrets_that_others_may_read_are_not_passed_over() {
        let folder = folder();
        let path = folder.path().join("berlin/host_vars/w1.yml");
        fs::write(&path, "ansible_host: 192.0.2.12\nansible_become_password: sesame\nansible_password: sesame\n").unwrap();
        let warned = |mode: u32| {
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            exposed::passwords(&read(folder.path().join("berlin"), &[]))
        };
        assert_eq!(warned(0o600), []);
        let [warning] = <[_; 1]>::try_from(warned(0o640)).unwrap();
        assert!(warning.at.as_deref().unwrap().ends_with("host_vars/w1.yml:2:26"), "{warning:?}");
        let said = warning.as_warning();
        assert!(said.contains("0640") && said.contains("chmod 600") && !said.contains("sesame"), "{said}");

        let file = folder.path().join("referenced.yaml");
        fs::write(&file, "ssh-privatekey").unwrap();
        let mut cluster = read(folder.path().join("berlin"), &[]);
        cluster.hosts.first_mut().unwrap().ssh.private_key = Some(kok_crds::Secret::new("key"));
        let refused = |mode: u32| {
            fs::set_permissions(&file, fs::Permissions::from_mode(mode)).unwrap();
            let given = super::one(&file, kok_crds::Role::Main { cluster: None }).unwrap();
            exposed::private_keys(&cluster, &[given])
        };
        assert_eq!(refused(0o600), Ok(()));
        assert!(refused(0o644).unwrap_err().first().unwrap().hint.as_deref().unwrap().starts_with("chmod 600 /"));
    }

    #[test]
    fn extra_variables_win_and_come_from_files_too() {
        let folder = folder();
        let file = folder.path().join("extra.yml");
        fs::write(&file, "kube_proxy_mode: nftables\n").unwrap();
        let from_file = format!("@{}", file.display());
        let mode = |extra: &[&str]| read(folder.path().join("berlin"), extra).settings.kube_proxy_mode.as_str();
        assert_eq!(mode(&[&from_file]), "nftables");
        assert_eq!(mode(&[&from_file, "kube_proxy_mode=iptables"]), "iptables");
    }

    #[test]
    fn of_two_inventories_one_is_read_and_that_is_said() {
        let folder = folder();
        let path = folder.path().join("berlin");
        fs::write(path.join("inventory.ini"), "[all]\n").unwrap();
        let input = ClusterFiles { files: vec![path] }.input(&ExtraVars::default()).unwrap();
        let notice = input.notices.first().unwrap().to_string();
        assert!(notice.contains("inventory.ini` is not read") && notice.contains("hosts.yaml` is"), "{notice}");
        assert!(input.cluster.is_some());
    }

    #[test]
    fn what_is_not_there_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let files = ClusterFiles { files: vec![folder.path().to_owned()] };
        let failures = files.read(&ExtraVars::default()).unwrap_err();
        assert!(failures.first().unwrap().because.as_deref().unwrap().contains("hosts.yaml"), "{failures:?}");
    }
}
