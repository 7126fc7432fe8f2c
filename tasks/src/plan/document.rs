//! A plan as a document: what can be read, saved, compared and agreed to.
//!
//! It says of each step what it is, what it changes, by which act and after which others; secrets stand in it by name, and an act by its digest.
//! What is random comes from outside and stands in it ([`DocumentInputs`]), so that the same worlds give the same document. Its own digest is the
//! sha256 of its canonical form: compact JSON of these types in the order of their fields, steps and needs sorted by name, and without what only
//! tells how things stand at the moment ([`PlanDocument::digest`]).

mod act;
mod differences;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use kok_crds::model::Concealed;
use serde::{Deserialize, Serialize};

use super::graph::{Plan, Step};
use super::reason::Reason;
use super::select::Selection;
use crate::change::{Change, ChangeKind};
use crate::digest::sha256;
use crate::support::redacted;
pub use act::{ActDocument, ActKind, ArtifactDocument};
pub use differences::{Aspect, Difference};

/// What a document says that it is.
const FORMAT: &str = "kokctl-plan";

/// The version of the format. A document of another version is not read.
pub const PLAN_VERSION: u32 = 1;

/// What a document was made from, besides the world: whoever makes the plan anew gives it the same.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DocumentInputs {
    /// The cluster's name.
    pub cluster: String,
    /// The version of the program that made the plan.
    pub program: String,
    /// The public half of the run's bootstrap token.
    pub token_id: String,
    /// The id that the cluster gets if it has none yet.
    pub new_cluster_id: String,
    /// The only tasks that are wanted; nothing for all.
    pub tasks: Option<BTreeSet<String>>,
    /// The only hosts that are wanted; nothing for all.
    pub hosts: Option<BTreeSet<String>>,
    /// Whether objects of addons that leave their manifests go even if others lose theirs with them.
    pub prune: bool,
}

impl DocumentInputs {
    /// The part of the plan that is meant.
    #[must_use]
    pub fn of_part(mut self, selection: &Selection) -> Self {
        self.tasks = selection.tasks().map(|tasks| tasks.into_iter().map(str::to_owned).collect());
        self.hosts = selection.hosts().cloned();
        self
    }
}

/// A plan as a document.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PlanDocument {
    format: String,
    version: u32,
    digest: String,
    /// What it was made from.
    pub inputs: DocumentInputs,
    /// All steps, earlier ones first.
    pub steps: Vec<StepDocument>,
}

/// A step.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct StepDocument {
    /// Its name.
    pub step: String,
    /// The host that it acts on.
    pub host: String,
    /// The task that it is of.
    pub task: String,
    /// What it is, for people.
    pub title: String,
    /// What it changes; nothing for one that is as desired.
    pub change: Option<ChangeDocument>,
    /// What is to be done before it.
    pub needs: Vec<NeedDocument>,
    /// Steps whose change is reason enough to do this one.
    pub triggers: BTreeSet<String>,
    /// How long acting and coming true may take together.
    pub deadline_seconds: u64,
}

/// What a step changes.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ChangeDocument {
    /// What is to be done.
    pub kind: ChangeKind,
    /// The same for people.
    pub summary: String,
    /// What was seen that makes it necessary, for people.
    pub because: String,
    /// Whether it is only assumed, because the cluster could not be asked.
    pub assumed: bool,
    /// The difference of a text file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub diff: Option<String>,
    /// What brings it about.
    pub act: ActDocument,
}

/// That another step comes first.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NeedDocument {
    /// The other step.
    pub step: String,
    /// Of which kind the reason is.
    pub reason: String,
    /// The reason for people.
    pub because: String,
}

/// Why a text is no document that can be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DocumentError {
    /// It is something else, or cut off.
    #[error("it is no saved plan")]
    NoPlan(String),
    /// It was written in another version of the format.
    #[error("it is a saved plan of version {0} of the format, and this kokctl reads version {PLAN_VERSION}")]
    Version(u64),
    /// It does not have the digest that it says.
    #[error("the saved plan was changed after it was made")]
    Changed {
        /// The digest that it says.
        says: String,
        /// The digest of what it says.
        has: String,
    },
}

impl PlanDocument {
    /// The document of a plan. What was encrypted in the user's files stands nowhere in it, and no digest in it depends on that.
    #[must_use]
    pub fn new(plan: &Plan, inputs: DocumentInputs, concealed: &Concealed) -> Self {
        let steps = plan.steps().map(|step| StepDocument::new(plan, step, concealed)).collect();
        let mut document = Self { format: FORMAT.to_owned(), version: PLAN_VERSION, digest: String::new(), inputs, steps };
        document.digest = document.computed();
        document
    }

    /// Reads a document.
    ///
    /// # Errors
    /// [`DocumentError`] if it is none, of another version, or not what was written.
    pub fn parse(text: &str) -> Result<Self, DocumentError> {
        let head: Head = serde_json::from_str(text).map_err(|error| DocumentError::NoPlan(error.to_string()))?;
        if head.format != FORMAT {
            return Err(DocumentError::NoPlan(format!("its format is `{}`, not `{FORMAT}`", head.format.escape_debug())));
        }
        if head.version != u64::from(PLAN_VERSION) {
            return Err(DocumentError::Version(head.version));
        }
        let document: Self = serde_json::from_str(text).map_err(|error| DocumentError::NoPlan(error.to_string()))?;
        let names: BTreeSet<&str> = document.steps.iter().map(|step| step.step.as_str()).collect();
        if names.len() < document.steps.len() {
            return Err(DocumentError::NoPlan("two of its steps have one name".to_owned()));
        }
        let has = document.computed();
        if has == document.digest { Ok(document) } else { Err(DocumentError::Changed { says: document.digest, has }) }
    }

    /// What it is known by: `sha256:` and 64 hexadecimal digits, over all of it but what only tells how things stand at the moment. That is why
    /// something is waited for, and why the cluster could not be asked.
    #[must_use]
    pub fn digest(&self) -> &str {
        &self.digest
    }

    /// The same without what looks like a secret in what it tells people: files of hosts may have passwords that stand in nobody's files. It is known by
    /// a digest of its own, in which what each act does counts as before.
    #[must_use]
    pub fn redacted(mut self) -> Self {
        for change in self.steps.iter_mut().filter_map(|step| step.change.as_mut()) {
            change.because = redacted(&change.because);
            change.diff = change.diff.as_deref().map(redacted);
        }
        self.digest = self.computed();
        self
    }

    /// Whether it changes nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.steps.iter().all(|step| step.change.is_none())
    }

    /// Where another document differs from this one: nothing exactly if both have the same digest.
    #[must_use]
    pub fn compare(&self, now: &Self) -> Vec<Difference> {
        differences::between(self, now)
    }

    fn computed(&self) -> String {
        #[derive(Serialize)]
        struct Canonical<'a> {
            format: &'a str,
            version: u32,
            inputs: &'a DocumentInputs,
            steps: Vec<StepDocument>,
        }
        let mut steps: Vec<StepDocument> = self.steps.iter().map(StepDocument::covered).collect();
        steps.sort();
        let canonical = Canonical { format: &self.format, version: self.version, inputs: &self.inputs, steps };
        // Texts, numbers and lists of them always have a form in JSON.
        format!("sha256:{}", sha256(&serde_json::to_vec(&canonical).unwrap_or_default()))
    }
}

/// What is read of a document before the rest of it can be understood.
#[derive(Deserialize)]
struct Head {
    #[serde(default)]
    format: String,
    #[serde(default)]
    version: u64,
}

impl StepDocument {
    /// The document of one step of a plan.
    #[must_use]
    pub fn new(plan: &Plan, step: &Step, concealed: &Concealed) -> Self {
        let needs = plan.needs(&step.id).into_iter();
        Self {
            step: step.id.to_string(),
            host: step.host.clone(),
            task: step.task.to_owned(),
            title: concealed.hide(&step.title()).into_owned(),
            change: plan.change(&step.id).map(|change| ChangeDocument::new(step, change, concealed)),
            needs: needs.map(|(need, reason)| NeedDocument::new(need, reason)).collect(),
            triggers: step.triggers.iter().map(ToString::to_string).collect(),
            deadline_seconds: step.deadline.as_secs(),
        }
    }

    /// What of it the digest covers.
    fn covered(&self) -> Self {
        let mut covered = self.clone();
        covered.needs.sort();
        if let Some(change) = covered.change.as_mut().filter(|change| change.assumed || change.act.kind == ActKind::Wait) {
            change.because.clear();
        }
        covered
    }
}

impl NeedDocument {
    /// That this step comes first, for this reason.
    #[must_use]
    pub fn new(need: &Step, reason: &Reason) -> Self {
        Self { step: need.id.to_string(), reason: reason.name().to_owned(), because: reason.to_string() }
    }
}

impl ChangeDocument {
    fn new(step: &Step, change: &Change, concealed: &Concealed) -> Self {
        Self {
            kind: change.kind.clone(),
            summary: change.summary(),
            because: change.because.clone(),
            assumed: change.assumed,
            diff: change.diff.clone(),
            act: ActDocument::new(&step.act(change), concealed),
        }
    }
}
