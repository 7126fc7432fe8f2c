//! What is given with -f and -e: manifests, an inventory with the folders beside it, variables.

mod noted;
mod read;
mod vagrant;
mod vault;

use std::path::{Path, PathBuf};

use clap::Args;
use kok_crds::model::Cluster;
use kok_crds::{File, Input, Notice, Problem, Role, read_input, read_input_with};
use kok_tasks::support::redacted;

use super::{exposed, process};
use crate::clock::Clock;
use crate::failure::{Failure, Kind};
use crate::inputs;
use crate::ui::status_line;

pub(super) use noted::Noted;
use vault::VaultArguments;

/// The cluster's files.
#[derive(Debug, Default, Args)]
pub(super) struct ClusterFiles {
    /// The file with the Cluster: a manifest, of which several may be given, or their folder; or an Ansible inventory (YAML or INI), or its
    /// folder with group_vars and host_vars; or a folder with a Vagrantfile, whose machines are the hosts; or `-` for standard input
    #[arg(value_name = "FILE", required_unless_present = "files")]
    given: Vec<PathBuf>,
    /// The same, as kubectl has it
    #[arg(short = 'f', long = "filename", value_name = "FILE")]
    files: Vec<PathBuf>,
}

/// Variables of the command line.
#[derive(Debug, Default, Args)]
pub(super) struct ExtraVars {
    /// Variables that win over those of the files, as Ansible has it: NAME=VALUE, {JSON or YAML} or @FILE; for inventories
    #[arg(short = 'e', long = "extra-vars", value_name = "VARS")]
    extra: Vec<String>,
    #[command(flatten)]
    vault: VaultArguments,
}

impl ExtraVars {
    /// What messages call one of them: of several, places in one must not look like places in another.
    fn name(&self, number: usize) -> String {
        if self.extra.len() == 1 { "-e".to_owned() } else { format!("-e no. {number}") }
    }
}

/// The cluster's files for a verb whose own arguments are names of hosts.
#[derive(Debug, Default, Args)]
pub(super) struct NamedFiles {
    /// The file with the Cluster: a manifest, of which several may be given, or their folder; or an Ansible inventory, or its folder; or a folder
    /// with a Vagrantfile
    #[arg(short = 'f', long = "filename", value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
}

impl NamedFiles {
    pub(super) fn all(&self) -> ClusterFiles {
        ClusterFiles { given: Vec::new(), files: self.files.clone() }
    }
}

impl ClusterFiles {
    /// One file, or a folder.
    pub(super) fn of_path(path: PathBuf) -> Self {
        Self { given: vec![path], files: Vec::new() }
    }

    /// These.
    pub(super) fn of_paths(paths: Vec<PathBuf>) -> Self {
        Self { given: Vec::new(), files: paths }
    }

    /// The cluster as for a verb that asks it, with an operation, and all that the files say in one text without what looks like a secret: an inventory as
    /// the Cluster that it stands for.
    pub(super) fn described(&self, extra: &ExtraVars) -> Result<(Input, Cluster, String), Vec<Failure>> {
        let (files, notices) = self.texts(extra)?;
        let (input, cluster) = self.checked(read_files(&files, notices, &extra.vault)?, extra)?;
        let as_given = || {
            let texts = files
                .iter()
                .filter(|file| file.role != Role::Extra)
                .map(|file| format!("# {}\n{}", file.name.escape_debug(), file.text.trim_end()));
            texts.collect::<Vec<_>>().join("\n---\n") + "\n"
        };
        let text = input.inline_file().unwrap_or_else(as_given);
        Ok((input, cluster, redacted(&text)))
    }

    /// All of them.
    pub(super) fn all(&self) -> impl Iterator<Item = &PathBuf> {
        self.given.iter().chain(&self.files)
    }

    /// The cluster for a verb that brings nothing to it, whatever an operation asks for, or everything that is wrong. What the user should
    /// know is said in one line: `validate` shows it.
    pub(super) fn read(&self, extra: &ExtraVars) -> Result<Cluster, Vec<Failure>> {
        self.without_manifests(extra).map(|(_, cluster)| cluster)
    }

    /// The cluster with all that the files say besides it, and with the objects of its addons.
    pub(super) fn whole(&self, extra: &ExtraVars) -> Result<(Input, Cluster), Vec<Failure>> {
        self.checked(self.input(extra)?, extra)
    }

    /// The same where hosts are to be gone besides those that the files want gone.
    pub(super) fn whole_without(
        &self,
        extra: &ExtraVars,
        leaving: impl FnOnce(&Input) -> Vec<String>,
    ) -> Result<(Input, Cluster), Vec<Failure>> {
        let (files, notices) = self.texts(extra)?;
        let input = read_files(&files, notices, &extra.vault)?;
        let leaving = leaving(&input);
        self.checked(loaded(input.without(&leaving)), extra)
    }

    /// The same without the objects of addons and the user's own authorities: who asks a cluster or takes it down needs none of these files,
    /// which may be gone by now.
    pub(super) fn without_manifests(&self, extra: &ExtraVars) -> Result<(Input, Cluster), Vec<Failure>> {
        let (files, notices) = self.texts(extra)?;
        self.checked(read_files(&files, notices, &extra.vault)?, extra)
    }

    /// The same for who takes these hosts out, or those that an operation names: a file may be wrong by the number of members that is mended so.
    pub(super) fn without_manifests_to_leave(&self, extra: &ExtraVars, leaving: &[String]) -> Result<(Input, Cluster), Vec<Failure>> {
        let (files, notices) = self.texts(extra)?;
        let input = read_files(&files, notices, &extra.vault)?;
        let leaving = if leaving.is_empty() { input.removed_by_operation() } else { leaving.to_vec() };
        self.checked(input.even_without(&leaving), extra)
    }

    /// The hosts of a Fleet, with what is declared for them.
    pub(super) fn fleet(&self, extra: &ExtraVars) -> Result<(Input, Cluster), Vec<Failure>> {
        let (input, cluster) = self.right(self.input(extra)?, extra)?;
        if cluster.fleet.is_none() {
            let failure = Failure::new(Kind::Input, "the file is of a Cluster, and `kokctl converge` is for hosts without Kubernetes");
            let failure = failure.at(self.path().display().to_string());
            return Err(vec![failure.hint("run `kokctl apply`; `--only resources` does what is declared under `hostResources` alone")]);
        }
        Ok((input, cluster))
    }

    /// A cluster with nothing wrong.
    fn checked(&self, input: Input, extra: &ExtraVars) -> Result<(Input, Cluster), Vec<Failure>> {
        let (input, cluster) = self.right(input, extra)?;
        if cluster.fleet.is_some() {
            let failure =
                Failure::new(Kind::Input, "the file is of a Fleet, which has no Kubernetes").at(self.path().display().to_string());
            return Err(vec![failure.hint("run `kokctl converge`; for a cluster of Kubernetes write a Cluster")]);
        }
        Ok((input, cluster))
    }

    fn right(&self, input: Input, extra: &ExtraVars) -> Result<(Input, Cluster), Vec<Failure>> {
        let Some(cluster) = input.cluster.clone() else {
            return Err(input.problems.into_iter().map(Failure::problem).collect());
        };
        let open = exposed::private_keys(&cluster);
        if !open.is_empty() {
            return Err(open.into_iter().map(Failure::problem).collect());
        }
        let warnings = exposed::passwords(&cluster).into_iter().chain(inputs::ending(&cluster, Clock::seconds()));
        warnings.for_each(|warning| status_line(&warning.as_warning()));
        Noted::from_input(&input).line(&self.options(extra)).iter().for_each(|line| status_line(line));
        Ok((input, cluster))
    }

    /// Everything that the files say.
    pub(super) fn input(&self, extra: &ExtraVars) -> Result<Input, Vec<Failure>> {
        let (files, notices) = self.texts(extra)?;
        Ok(loaded(read_files(&files, notices, &extra.vault)?))
    }

    /// The files with what is to be said of the choice of them.
    fn texts(&self, extra: &ExtraVars) -> Result<(Vec<File>, Vec<Notice>), Vec<Failure>> {
        let mut files = Vec::new();
        let mut notices = Vec::new();
        read::once_from_standard_input(self.all())?;
        for path in self.all() {
            files.extend(read::read(path, &mut notices).map_err(|failure| vec![failure])?);
        }
        for (vars, number) in extra.extra.iter().zip(1..) {
            files.push(match vars.trim_start().strip_prefix('@') {
                Some(path) => read::one(Path::new(path), Role::ExtraFile).map_err(|failure| vec![failure])?,
                None => File { name: extra.name(number), text: vars.clone(), role: Role::Extra },
            });
        }
        Ok((files, notices))
    }

    /// The first of the files, for hints.
    pub(super) fn path(&self) -> &Path {
        self.all().next().map_or(Path::new("cluster.yaml"), PathBuf::as_path)
    }

    /// All files as they were given, for a command that reads the same. What variables say may be secret.
    pub(super) fn options(&self, extra: &ExtraVars) -> String {
        let variables = (!extra.extra.is_empty()).then(|| "-e …".to_owned());
        let files = self.all().map(|path| format!("-f {}", path.display()));
        files.chain(variables).chain(extra.vault.options()).collect::<Vec<_>>().join(" ")
    }
}

/// What was read of the files, with what they name on this machine.
pub(super) fn loaded(input: Input) -> Input {
    inputs::load(input, &process::files())
}

/// Passwords are taken, and somebody is asked for one, only where something counts that is encrypted.
fn read_files(files: &[File], notices: Vec<Notice>, vault: &VaultArguments) -> Result<Input, Vec<Failure>> {
    let mut input = read_input(files);
    if input.is_locked() {
        input = unlocked(files, input, vault)?;
    }
    input.notices.splice(..0, notices);
    Ok(input)
}

/// A password that can't be had is said beside all else that is wrong.
fn unlocked(files: &[File], locked: Input, vault: &VaultArguments) -> Result<Input, Vec<Failure>> {
    let given = match vault.passwords() {
        Ok(passwords) if passwords.is_empty() => vault::of_terminal(),
        given => Some(given),
    };
    match given {
        Some(Ok(passwords)) => Ok(read_input_with(files, &passwords)),
        Some(Err(failure)) => {
            let others = locked.problems.into_iter().filter(|problem| !Problem::is_locked(problem)).map(Failure::problem);
            Err([failure].into_iter().chain(others).collect())
        }
        None => Ok(locked),
    }
}

#[cfg(test)]
mod tests;
