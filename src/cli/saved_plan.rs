//! Plans in files: `plan --save` writes one, and `apply --plan` carries it out if the plan that is made anew is the same.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use kok_crds::model::Cluster;
use kok_tasks::plan::{Difference, DocumentError, DocumentInputs, Plan, PlanDocument, Selection};

use super::version::program;
use crate::engine::{Given, PlanChanged};
use crate::failure::{Failure, Kind};
use crate::plain_file;
use crate::randomness::random_bytes;
use crate::run::Token;

/// A step is less than 2 KiB mostly, and a host has some two hundred: this is for more than six hundred hosts.
const MOST_BYTES: u64 = 256 << 20;

/// As many as fit on a screen; the rest is counted.
const MOST_DIFFERENCES: usize = 12;

/// What to do where a saved plan is of no use.
const ANEW: &str = "make the plan anew with `kokctl plan --save FILE`, look at it, and apply that";

/// The document of a plan that was made with what was given.
pub(super) fn document(given: &Given, plan: &Plan, cluster: &Cluster, selection: &Selection) -> PlanDocument {
    let inputs = DocumentInputs {
        cluster: cluster.name.clone(),
        program: program(),
        token_id: given.token.id.clone(),
        new_cluster_id: given.new_cluster_id.clone(),
        tasks: None,
        hosts: None,
        prune: given.prune,
    };
    PlanDocument::new(plan, inputs.of_part(selection), &cluster.concealed)
}

/// A plan that was read from a file.
pub(super) struct SavedPlan {
    path: PathBuf,
    document: PlanDocument,
}

impl SavedPlan {
    /// Reads a file that this version of the program has written.
    pub(super) fn read(path: &Path) -> Result<Self, Vec<Failure>> {
        let unreadable = |because: String| {
            let failure = Failure::new(Kind::Input, "the saved plan can't be read").at(path.display().to_string());
            vec![failure.because(because).hint("give --plan the file that `kokctl plan --save FILE` has written")]
        };
        let bytes = plain_file::read(path, MOST_BYTES).map_err(unreadable)?;
        let text = String::from_utf8(bytes).map_err(|_| unreadable("it is no text".to_owned()))?;
        let saved = PlanDocument::parse(&text).map(|document| Self { path: path.to_owned(), document });
        let saved = saved.map_err(|error| vec![refused(path, &error)])?;
        let (made_by, this) = (&saved.document.inputs.program, program());
        if *made_by != this {
            let failure = saved.unfit("the saved plan was made by another version of kokctl");
            return Err(vec![failure.because(format!("kokctl {made_by} made it, and this is kokctl {this}"))]);
        }
        Ok(saved)
    }

    /// What is random, as it was when the plan was made; the token has a new secret.
    pub(super) fn given(&self) -> Result<Given, Vec<Failure>> {
        let inputs = &self.document.inputs;
        let token = Token::with_id(&inputs.token_id).map_err(|failure| vec![failure])?;
        let is_id = inputs.new_cluster_id.len() == 32 && inputs.new_cluster_id.bytes().all(|byte| byte.is_ascii_hexdigit());
        let Some(token) = token.filter(|_| is_id) else {
            return Err(vec![self.unfit("the saved plan has no token or no id for a new cluster")]);
        };
        Ok(Given { token, new_cluster_id: inputs.new_cluster_id.clone(), prune: inputs.prune })
    }

    /// The part of the cluster that it was made for. What the command line and the files' operation say may be nothing, or the same.
    pub(super) fn selection(&self, cluster: &Cluster, asked: Selection, prune: bool) -> Result<Selection, Vec<Failure>> {
        let inputs = &self.document.inputs;
        if inputs.cluster != cluster.name {
            let failure = self.unfit("the saved plan is of another cluster");
            return Err(vec![failure.because(format!("it is of {}, and the files are of {}", inputs.cluster, cluster.name))]);
        }
        if prune && !inputs.prune {
            return Err(vec![self.unfit("the saved plan was made without --prune").because("--prune is given now")]);
        }
        let saved = Selection::named(inputs.tasks.as_ref(), inputs.hosts.as_ref(), cluster);
        let saved = saved.map_err(|refusals| refusals.into_iter().map(|it| Failure::refusal(Kind::Input, it)).collect::<Vec<_>>())?;
        if asked.is_whole() || asked == saved {
            return Ok(saved);
        }
        let words_of = |selection: &Selection| part_words(selection).unwrap_or_else(|| "the whole cluster".to_owned());
        let because = format!("it was made for {}, and asked for is {}", words_of(&saved), words_of(&asked));
        let hint = "leave out --only, --skip and --limit: the file says which part it is of; or make the plan anew for the other part";
        Err(vec![Failure { hint: Some(hint.to_owned()), ..self.unfit("the saved plan is of another part").because(because) }])
    }

    /// Whether the plan that was made anew is this one.
    ///
    /// # Errors
    /// The steps that differ.
    pub(super) fn is_still(&self, now: &PlanDocument) -> Result<(), Box<PlanChanged>> {
        if self.document.digest() == now.digest() {
            return Ok(());
        }
        let differences = self.document.compare(now);
        let mut texts: Vec<String> = differences.iter().take(MOST_DIFFERENCES).map(Difference::to_string).collect();
        if let Some(more @ 1..) = differences.len().checked_sub(MOST_DIFFERENCES) {
            texts.push(format!("and {more} more"));
        }
        let failure = self.unfit("the plan is not the saved one any more, and nothing was changed");
        Err(Box::new(PlanChanged { differences, failure: failure.because(texts.join("\n")) }))
    }

    fn unfit(&self, what: &str) -> Failure {
        Failure::new(Kind::Input, what).at(self.path.display().to_string()).hint(ANEW)
    }
}

/// The options that choose a part; nothing for the whole.
pub(super) fn part_words(selection: &Selection) -> Option<String> {
    let tasks = selection.tasks().map(|tasks| format!("--only {}", tasks.join(",")));
    let hosts = selection.hosts().map(|hosts| format!("--limit {}", hosts.iter().map(String::as_str).collect::<Vec<_>>().join(",")));
    let words: Vec<String> = [tasks, hosts].into_iter().flatten().collect();
    (!words.is_empty()).then(|| words.join(" "))
}

fn refused(path: &Path, error: &DocumentError) -> Failure {
    let failure = Failure::new(Kind::Input, error.to_string()).at(path.display().to_string());
    match error {
        DocumentError::NoPlan(because) => failure.because(because).hint("give --plan the file that `kokctl plan --save FILE` has written"),
        DocumentError::Version(_) => failure.hint(ANEW),
        DocumentError::Changed { says, has } => failure.because(format!("it says that its digest is {says}, and it is {has}")).hint(ANEW),
    }
}

/// Where a plan is to be saved.
pub(super) struct PlanPlace(PathBuf);

impl PlanPlace {
    /// Looks whether a plan can be saved there, before hosts are asked for it. What is there and no saved plan is not replaced.
    pub(super) fn new(path: &Path) -> Result<Self, Vec<Failure>> {
        let refused = |because: String| vec![unwritable(path, because)];
        match fs::metadata(path) {
            Ok(found) if !found.is_file() => {
                Err(refused(format!("it is {}, and no file", if found.is_dir() { "a folder" } else { "a device or a pipe" })))
            }
            Ok(found) => {
                let is_plan = || {
                    let bytes = plain_file::read(path, MOST_BYTES)?;
                    let read = PlanDocument::parse(&String::from_utf8_lossy(&bytes));
                    Ok(!matches!(read, Err(DocumentError::NoPlan(_))))
                };
                if found.len() > 0 && !is_plan().map_err(refused)? {
                    return Err(refused("it is there already, and is no saved plan".to_owned()));
                }
                // To replace a link would leave what it leads to.
                fs::canonicalize(path).map(Self).map_err(|error| refused(error.to_string()))
            }
            Err(error) if error.kind() == ErrorKind::NotFound && path.file_name().is_some() => {
                let folder = folder(path);
                if folder.is_dir() { Ok(Self(path.to_owned())) } else { Err(refused(format!("there is no folder {}", folder.display()))) }
            }
            Err(error) => Err(refused(error.to_string())),
        }
    }

    /// Writes a plan, as a whole or not at all, for the owner only.
    pub(super) fn write(&self, document: &PlanDocument) -> Result<(), Vec<Failure>> {
        let failed = |error: io::Error| vec![unwritable(&self.0, error.to_string())];
        let mut text = serde_json::to_string_pretty(document).map_err(|error| failed(error.into()))?;
        text.push('\n');
        let mut hidden = OsString::from(".");
        hidden.push(self.0.file_name().unwrap_or_default());
        hidden.push(format!(".{}", hex::encode(random_bytes::<8>().map_err(|failure| vec![failure])?)));
        let temporary = self.0.with_file_name(hidden);
        let written = write_new(&temporary, &text).and_then(|()| fs::rename(&temporary, &self.0));
        written.map_err(|error| {
            let _ = fs::remove_file(&temporary);
            failed(error)
        })?;
        // It is there in any case; this is for a machine that loses its power now, and not every file system can do it.
        let _ = File::open(folder(&self.0)).and_then(|folder| folder.sync_all());
        Ok(())
    }

    /// Where it is.
    pub(super) fn path(&self) -> &Path {
        &self.0
    }
}

fn folder(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

fn write_new(path: &Path, text: &str) -> io::Result<()> {
    let mut file = File::options().write(true).create_new(true).mode(0o600).open(path)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

fn unwritable(path: &Path, because: String) -> Failure {
    let failure = Failure::new(Kind::Input, "the plan can't be saved").at(path.display().to_string());
    failure.because(because).hint("name another file with --save, in a folder that you may write to")
}

#[cfg(test)]
mod tests;
