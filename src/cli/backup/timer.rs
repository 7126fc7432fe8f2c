//! `kokctl backup timer`

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf, absolute};

use clap::Args;
use kok_tasks::backup::{TimerUnits, WRITTEN};

use crate::cli::files::{ClusterFiles, ExtraVars};
use crate::cli::process;
use crate::failure::{Failure, Kind};
use crate::ui::{line, status_line};

/// Print the units of systemd by which this machine makes backups as `spec.backup.schedule` has it
///
/// Nothing is installed: put them into /etc/systemd/system, or have them written there by --output. The service runs `kokctl backup create` as whoever runs
/// this, with this program and these files, and asks nobody: keys of SSH that have a passphrase are none for it.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    cluster: ClusterFiles,
    /// Write both into this folder, such as /etc/systemd/system, in the place of what an earlier run has written
    #[arg(short, long, value_name = "FOLDER")]
    output: Option<PathBuf>,
}

/// Where kokctl looks for what it has, besides the user's home.
const PLACES: [&str; 3] = ["XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"];

pub(super) fn run(arguments: &Arguments) -> Result<(), Vec<Failure>> {
    let cluster = arguments.cluster.read(&ExtraVars::default())?;
    let (backup, one) = (&cluster.settings.backup, |failure: Failure| vec![failure]);
    let lacks = |what: &str, hint: &str| {
        let failure = Failure::new(Kind::Input, format!("the cluster's file does not say {what}"));
        one(failure.at("spec.backup").hint(hint))
    };
    let Some(schedule) = &backup.schedule else {
        return Err(lacks("when backups are to be made", "add `schedule: \"0 */6 * * *\"`, five fields as cron has them, in UTC"));
    };
    if backup.folder.is_none() && backup.s3.bucket.is_none() {
        return Err(lacks("where they go", "add `to: {folder: /srv/backups}`, or a bucket as `to: {s3: …}`"));
    }
    if backup.encrypt && backup.recipients.is_empty() {
        return Err(lacks("who can read them", "add `recipients: [age1…]`, of which `age-keygen -o backup.key` makes one"));
    }
    let command = command(&arguments.cluster).map_err(one)?;
    let environment: Vec<(String, String)> =
        PLACES.iter().filter_map(|name| Some(((*name).to_owned(), process::path_of(name)?.display().to_string()))).collect();
    let user = rustix::process::getuid().as_raw();
    let units = TimerUnits { cluster: &cluster.name, schedule, command: &command, user, environment: &environment };
    let files = [(format!("{}.service", units.name()), units.service()), (format!("{}.timer", units.name()), units.timer())];
    let begin = format!("`systemctl daemon-reload && systemctl enable --now {}.timer` begins with it", units.name());
    match &arguments.output {
        None => files.iter().for_each(|(name, text)| line(&format!("# /etc/systemd/system/{name}\n{text}"))),
        Some(folder) => {
            files.iter().try_for_each(|(name, text)| write(&folder.join(name), text)).map_err(one)?;
            line(&format!("{} has {} and {}", folder.display(), files[0].0, files[1].0));
        }
    }
    status_line(&begin);
    Ok(())
}

/// What is to be run, with paths that hold wherever it is run.
fn command(files: &ClusterFiles) -> Result<Vec<String>, Failure> {
    let wrong = |path: &Path, because: String| {
        Failure::new(Kind::Input, "no timer can be made of this").at(path.display().to_string()).because(because)
    };
    let text = |path: &Path| {
        let path = absolute(path).map_err(|error| wrong(path, error.to_string()))?;
        path.to_str().map(str::to_owned).ok_or_else(|| wrong(&path, "its name is no text".to_owned()))
    };
    let program = std::env::current_exe().map_err(|error| wrong(Path::new("kokctl"), error.to_string()))?;
    let mut command = vec![text(&program)?, "backup".to_owned(), "create".to_owned()];
    for path in files.all() {
        if path == Path::new("-") || path.starts_with("/dev/fd") || path.starts_with("/proc") {
            return Err(wrong(path, "it is gone by the time the timer comes".to_owned()).hint("give the path of a file"));
        }
        command.extend(["-f".to_owned(), text(path)?]);
    }
    Ok(command)
}

/// Nothing of anybody else's is written over.
fn write(path: &Path, text: &str) -> Result<(), Failure> {
    let failed = |because: String| Failure::new(Kind::Input, "the unit can't be written").at(path.display().to_string()).because(because);
    match fs::read_to_string(path) {
        Ok(before) if !before.starts_with(WRITTEN) => {
            return Err(
                failed("there is one that `kokctl backup timer` has not written".to_owned()).hint("move it away, or name another folder")
            );
        }
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(failed(error.to_string())),
        _ => {}
    }
    fs::write(path, text).map_err(|error| failed(error.to_string()))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "these are tests")]

    use super::*;
    use crate::cli::test_files::read_line;

    fn cluster(backup: &str) -> String {
        format!(
            "apiVersion: kubeonkube.clay.io/v1alpha1\nkind: Cluster\nmetadata: {{name: c}}\nspec:\n  kubernetesVersion: 1.37.1\n  \
             hosts: [{{name: cp1, address: 10.0.0.11, roles: [control-plane]}}]\n  backup: {{{backup}}}\n"
        )
    }

    #[test]
    fn units_are_written_and_nobody_elses_is_written_over() {
        let folder = tempfile::tempdir().unwrap();
        let to = folder.path().display().to_string();
        let written = |backup: &str| read_line(&cluster(backup), ("backup-create", ""), &["--output", &to], run);
        let whole = "to: {folder: /srv/b}, encrypt: false, schedule: '@daily'";
        written(whole).unwrap();
        written(whole).unwrap();
        let timer = folder.path().join("kokctl-backup-c.timer");
        assert!(fs::read_to_string(&timer).unwrap().contains("OnCalendar=*-*-* 00:00:00 UTC"));
        let service = fs::read_to_string(folder.path().join("kokctl-backup-c.service")).unwrap();
        assert!(service.contains("\"backup\" \"create\" \"-f\" \"/"), "{service}");
        fs::write(&timer, "[Timer]\n").unwrap();
        assert!(written(whole).unwrap_err().one_line().contains("has not written"));
        assert_eq!(fs::read_to_string(&timer).unwrap(), "[Timer]\n");
        for (lacks, what) in [
            ("to: {folder: /srv/b}, encrypt: false", "when backups are to be made"),
            ("encrypt: false, schedule: '@daily'", "where they go"),
        ] {
            assert!(written(lacks).unwrap_err().one_line().contains(what), "{lacks}");
        }
    }

    #[test]
    fn what_is_gone_when_the_timer_comes_is_refused() {
        for path in ["-", "/dev/fd/3", "/proc/self/fd/3"] {
            assert!(command(&ClusterFiles::of_path(PathBuf::from(path))).is_err(), "{path}");
        }
        let command = command(&ClusterFiles::of_path(PathBuf::from("a/../c.yaml"))).unwrap();
        assert!(command.last().unwrap().starts_with('/') && command.first().unwrap().starts_with('/'), "{command:?}");
    }
}
