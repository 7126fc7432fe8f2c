//! A folder with a Vagrantfile: its machines are asked for anew each time, and nothing is written.

use std::env;
use std::fs;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;

use kok_crds::{File, Role, listed};

use super::read;
use crate::failure::{Failure, Kind};
use crate::plain_file;

/// What makes a folder one of Vagrant's.
const VAGRANTFILE: &str = "Vagrantfile";

/// The program. Its name is looked for in PATH, as by whoever types it.
const PROGRAM: &str = "vagrant";

/// Where Vagrant keeps what it knows of its machines, and the variable that names another folder.
const STATE: (&str, &str) = (".vagrant", "VAGRANT_DOTFILE_PATH");

/// In the folder that Vagrant has for a machine and its provider: what kokctl's own Vagrantfile has noted of the machine. It goes with the machine.
const NOTED: &str = "kokctl.json";

/// A machine has five hundred bytes.
const MOST_BYTES: u64 = 1 << 20;

/// Characters of what Vagrant says of an error.
const MOST_SAID: usize = 400;

/// The folder of a Vagrantfile that is given, or that a given folder has.
pub(super) fn folder(path: &Path) -> Option<&Path> {
    if path.is_dir() {
        return path.join(VAGRANTFILE).is_file().then_some(path);
    }
    let own = path.file_name().is_some_and(|name| name == VAGRANTFILE) && path.is_file();
    path.parent().filter(|_| own).map(|folder| if folder.as_os_str().is_empty() { Path::new(".") } else { folder })
}

/// What Vagrant says of the machines, and what is noted of each. Where no Cluster says it, the cluster is called so.
pub(super) fn machines(folder: &Path, cluster: Option<String>) -> Result<Vec<File>, Failure> {
    let answer = ask(folder, &["ssh-config"])?;
    if !answer.is_success {
        return Err(not_up(folder, &answer));
    }
    let name = format!("`vagrant ssh-config` of {}", folder.display());
    let mut files = vec![read::text(name, answer.printed, Role::Machines { cluster })?];
    for (name, path) in noted(folder) {
        files.push(read::one(&path, Role::Machine { name })?);
    }
    Ok(files)
}

/// What a run of Vagrant came to.
struct Printed {
    is_success: bool,
    printed: Vec<u8>,
    /// What it printed on standard error.
    errors: String,
}

/// Asks Vagrant as whoever gave the folder would, in it.
fn ask(folder: &Path, arguments: &[&str]) -> Result<Printed, Failure> {
    let failed = |because: String, hint: &str| {
        Failure::new(Kind::Input, "Vagrant can't be asked for its machines").at(folder.display().to_string()).because(because).hint(hint)
    };
    let mut command = Command::new(PROGRAM);
    // The folder is the one that was given, no new release is looked for, and no colours are printed.
    command
        .args(arguments)
        .current_dir(folder)
        .env_remove("VAGRANT_CWD")
        .env("VAGRANT_CHECKPOINT_DISABLE", "1")
        .env("VAGRANT_NO_COLOR", "1");
    let spawned = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let mut child = spawned.map_err(|error| match error.kind() {
        ErrorKind::NotFound => failed(
            "there is a Vagrantfile, and no program `vagrant` in PATH".to_owned(),
            "install Vagrant; or give a file of the cluster itself with -f, if the Vagrantfile is not meant",
        ),
        _ => failed(error.to_string(), "run `vagrant ssh-config` there and see"),
    })?;
    // Whoever fills one of two pipes while nobody reads it would wait for ever.
    let errors = child.stderr.take().map(|pipe| thread::spawn(|| drained(pipe)));
    let printed = child.stdout.take().map_or_else(|| Ok(Vec::new()), |pipe| plain_file::bounded(pipe, MOST_BYTES));
    let status = child.wait().map_err(|error| failed(error.to_string(), "run `vagrant ssh-config` there and see"))?;
    let printed = printed.map_err(|because| failed(because, "run `vagrant ssh-config` there and see what it prints"))?;
    let errors = errors.and_then(|thread| thread.join().ok()).unwrap_or_default();
    Ok(Printed { is_success: status.success(), printed, errors })
}

/// The beginning of what a program prints; the rest is read too, so that the program can go on.
fn drained(mut pipe: impl Read) -> String {
    let mut kept = Vec::new();
    let _ = pipe.by_ref().take(MOST_BYTES).read_to_end(&mut kept);
    let _ = std::io::copy(&mut pipe, &mut std::io::sink());
    String::from_utf8_lossy(&kept).into_owned()
}

/// That Vagrant does not say how machines are reached, with those that are not up.
fn not_up(folder: &Path, answer: &Printed) -> Failure {
    let failure = Failure::new(Kind::Input, "Vagrant does not say how its machines are reached").at(folder.display().to_string());
    let states = ask(folder, &["status", "--machine-readable"]).ok().filter(|answer| answer.is_success);
    let resting = states.map(|answer| resting(&String::from_utf8_lossy(&answer.printed))).unwrap_or_default();
    if resting.is_empty() {
        let because = format!("`vagrant ssh-config` failed: {}", plain(&answer.errors));
        return failure.because(because).hint("run it there, and correct what it says");
    }
    let because = format!("not every machine is up: {}", listed(resting.iter().map(String::as_str)));
    failure.because(because).hint("run `vagrant up` in that folder, with the same variables, such as WORKERS, and then this again")
}

/// Machines that don't run, with their states, out of lines `TIME,MACHINE,state,STATE`.
fn resting(status: &str) -> Vec<String> {
    let of_line = |line: &str| {
        let mut parts = line.split(',').skip(1);
        let (name, kind, state) = (parts.next()?, parts.next()?, parts.next()?);
        (kind == "state" && state != "running").then(|| format!("{} ({})", plain(name), plain(state)))
    };
    status.lines().filter_map(of_line).collect()
}

/// Text of others in one line: its beginning, if it is long, for what follows is where in Vagrant something failed.
fn plain(text: &str) -> String {
    let printable: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let words: Vec<&str> = printable.split_whitespace().collect();
    let line = words.join(" ");
    let kept: String = line.chars().take(MOST_SAID).collect();
    if kept.len() < line.len() { format!("{kept}…") } else { kept }
}

/// The files with what is noted of machines, sorted, each with the name of its machine.
fn noted(folder: &Path) -> Vec<(String, PathBuf)> {
    let (usual, variable) = STATE;
    let state = env::var_os(variable).filter(|path| !path.is_empty()).map_or_else(|| PathBuf::from(usual), PathBuf::from);
    // What is not there has noted nothing, which is said where it is missed.
    let entries = |folder: &Path| fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect::<Vec<_>>();
    let machines = entries(&folder.join(state).join("machines"));
    let providers = machines.iter().flat_map(|machine| entries(machine).into_iter().map(move |provider| (machine, provider)));
    let files = providers.filter_map(|(machine, provider)| {
        let name = machine.file_name()?.to_str()?.to_owned();
        Some((name, provider.join(NOTED))).filter(|(_, path)| path.is_file())
    });
    let mut files: Vec<(String, PathBuf)> = files.collect();
    files.sort();
    files
}

#[cfg(test)]
mod tests {
    use super::{folder, plain, resting};
    use std::fs;
    use std::path::Path;

    #[test]
    fn machines_that_do_not_run_are_named() {
        let status = "1,,ui,error,a\n1,worker-1,metadata,provider,libvirt\n1,worker-1,state,not_created\n1,cp,state,running\n1,worker-2,state,\u{1b}[31moff\n";
        assert_eq!(resting(status), ["worker-1 (not_created)", "worker-2 ([31moff)"]);
    }

    #[test]
    fn what_vagrant_says_is_one_short_line() {
        assert_eq!(plain("  a\r\n\tb\u{7}c\n"), "a b c");
        let long = plain(&"word ".repeat(1_000));
        assert!(long.ends_with('…') && long.chars().count() < 410, "{long}");
    }

    #[test]
    #[allow(clippy::unwrap_used)]
    fn a_vagrantfile_and_its_folder_are_the_same() {
        let lab = tempfile::tempdir().unwrap();
        let file = lab.path().join("Vagrantfile");
        assert_eq!((folder(lab.path()), folder(&file)), (None, None));
        fs::write(&file, "").unwrap();
        assert_eq!((folder(lab.path()), folder(&file)), (Some(lab.path()), Some(lab.path())));
        assert_eq!(folder(Path::new("Vagrantfile")), None, "there is none here");
    }
}
