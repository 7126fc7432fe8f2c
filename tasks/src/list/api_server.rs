//! Files that API server and scheduler read besides their options.

use kok_crds::model::Cluster;

use super::{Task, kubeadm_configuration, rolling};
use crate::api_files::{self, ENCRYPTION, ENCRYPTION_SUMMARY, FOLDER, SCHEDULER, SCHEDULER_FOLDER};
use crate::observe::{Look, Observations, PathState};
use crate::plan::{Draft, HostView, Reason, Refusal, StepId, StepName};
use crate::preconditions;
use crate::resources::{Absent, Directory, File, FileContent, Replace, Resource};
use crate::secret_name::SecretName;

const NAME: &str = "api-server";

pub(super) const TASK: Task = Task { name: NAME, about: "files that API server and scheduler read besides their options", plan };

/// Step that makes the folder of what the API server reads.
const FOLDER_STEP: StepName<'static> = StepName::new(NAME, "folder");

/// The same of the scheduler.
const SCHEDULER_FOLDER_STEP: StepName<'static> = StepName::new(NAME, "scheduler-folder");

/// Step that writes what the key encrypts.
const SUMMARY: StepName<'static> = StepName::new(NAME, "encryption-summary");

/// Step that writes the key.
const KEY: StepName<'static> = StepName::new(NAME, "encryption");

/// Whether and how a control plane encrypts, and since when; with which keys, where that is asked for.
pub(crate) fn looks(cluster: &Cluster) -> Vec<Look> {
    let files = [Look::Path(ENCRYPTION.to_owned()), Look::Content(ENCRYPTION_SUMMARY.to_owned()), Look::EncryptionKeys];
    files.into_iter().chain(plugin_look(cluster)).collect()
}

/// Whether the KMS plugin of a control plane listens.
pub(crate) fn plugin_look(cluster: &Cluster) -> Option<Look> {
    cluster.settings.security.encryption.plugin().map(|plugin| Look::Path(plugin.socket.clone()))
}

/// Whether a control plane has the key.
pub(crate) fn has_key(seen: &Observations) -> bool {
    matches!(seen.paths.get(ENCRYPTION), Some(PathState::Present(_)))
}

/// A file of text with the name of its step.
struct TextFile {
    step: String,
    path: String,
    text: String,
}

fn texts(view: &HostView<'_>) -> Result<Vec<TextFile>, Refusal> {
    let files = api_files::files(view.cluster())?;
    let step = |name: &str| name.split('.').next().unwrap_or(name).to_owned();
    let of_server = files.into_iter().map(|file| TextFile { step: step(file.name), path: file.path(), text: file.text });
    let of_scheduler = api_files::scheduler_configuration(view.cluster()).map(|text| TextFile {
        step: "scheduler".to_owned(),
        path: SCHEDULER.to_owned(),
        text,
    });
    Ok(of_server.chain(of_scheduler).collect())
}

fn plan(view: &HostView<'_>, draft: &mut Draft<'_>) -> Result<(), Refusal> {
    let encrypts = view.cluster().settings.security.encryption.enabled;
    let texts = texts(view)?;
    if !view.host.roles.control_plane {
        return Ok(());
    }
    if !encrypts && has_ended(view.observations()) {
        no_encryption(view, draft);
    }
    if texts.is_empty() && !encrypts {
        return Ok(());
    }
    for (name, path) in [(FOLDER_STEP, FOLDER), (SCHEDULER_FOLDER_STEP, SCHEDULER_FOLDER)] {
        let is_wanted = texts.iter().any(|file| file.path.starts_with(path)) || (encrypts && path == FOLDER);
        if is_wanted {
            let folder = draft.add(name, Resource::Directory(Directory::new(path, 0o700)));
            draft.needs(&folder, &view.id(kubeadm_configuration::FOLDER), Reason::Inside);
        }
    }
    for TextFile { step, path, text } in texts {
        let folder = if path.starts_with(FOLDER) { FOLDER_STEP } else { SCHEDULER_FOLDER_STEP };
        let step = draft.add(&step, Resource::File(File::text(path, text).mode(0o600)));
        draft.needs(&step, &view.id(folder), Reason::Inside);
        // Some of them are read again as soon as they change.
        rolling::needed_by(view, draft, &step);
    }
    if encrypts { encryption(view, draft) } else { Ok(()) }
}

/// Whether a control plane has a file by which nothing is encrypted, and nothing that is could be read: what is left where encryption was ended.
fn has_ended(seen: &Observations) -> bool {
    seen.encryption_keys.as_ref().is_some_and(|keys| !keys.layout.is_empty() && !keys.layout.encrypts())
}

/// Nothing is encrypted any more, and none of the keys is left: the API server is started without the file before that goes.
fn no_encryption(view: &HostView<'_>, draft: &mut Draft<'_>) {
    let pattern = format!("{FOLDER}/encryption.*");
    let gone = draft.add("no-encryption", Resource::Absent(Absent { pattern, except: Vec::new(), with_folder: false }));
    draft.needs(&gone, &view.id(super::control_plane::READY), Reason::Because("the API server was started with that file before"));
}

/// The first key is made once, and who has none gets those of the others. Keys that are there stay, also while they are being replaced, unless the one
/// that others write with is not among them; what they encrypt may change.
fn encryption(view: &HostView<'_>, draft: &mut Draft<'_>) -> Result<(), Refusal> {
    let keeper = preconditions::encryption_keeper(view.cluster(), view.seen).map(|host| host.name.clone());
    let away = view.cluster().control_planes().find(|host| view.seen.is_unreachable(&host.name));
    if let (None, Some(away)) = (&keeper, away) {
        return Err(Refusal::new(format!("{} can't be asked for the key that secrets are encrypted with", away.name))
            .because("no other control plane has one, and a second key would make unreadable what is encrypted with the first")
            .hint("bring that host back, then repeat the run"));
    }
    let seen = view.observations();
    let summary = api_files::encryption_summary(view.cluster());
    // On the way to a plugin files are the way's.
    let is_led = view.cluster().settings.security.encryption.reaches.is_some();
    let stale = !is_led && keeper.as_deref().is_some_and(|keeper| lacks_key_of(view, keeper));
    let found = seen.paths.get(ENCRYPTION).and_then(PathState::present).filter(|_| stale);
    let because = "it lacks the key that others encrypt with".to_owned();
    let replace = found.map(|found| Replace { because, changed_nanoseconds: found.changed_nanoseconds });
    // While that is changed, who gets it gets it as the others have it.
    let of_keeper = keeper.as_ref().and_then(|keeper| view.seen.observations(keeper).encryption_keys.as_ref());
    let layout =
        of_keeper.map(|keys| keys.layout.clone()).filter(|layout| is_led || !layout.is_as(&view.cluster().settings.security.encryption));
    let (keeper, layout) = match has_key(seen) && !stale {
        true => (Some(view.host.name.clone()), None),
        false => (keeper, layout),
    };
    let name = SecretName::EncryptionConfiguration { keeper, layout: layout.unwrap_or_default(), new: None };
    let content = FileContent::Secret { name, replace, without: None };
    let key = draft.add(KEY, Resource::File(File::new(ENCRYPTION, 0o600, content)));
    draft.needs(&key, &view.id(FOLDER_STEP), Reason::Inside);
    rolling::needed_by(view, draft, &key);
    let summary_step = draft.add(SUMMARY, Resource::File(File::text(ENCRYPTION_SUMMARY, summary).mode(0o600)));
    draft.needs(&summary_step, &key, Reason::Because("it says what that file has"));
    Ok(())
}

/// Whether what another control plane writes could not be read here, as where a host comes back that was away while the key was replaced, or whose file was
/// emptied by a full disk.
fn lacks_key_of(view: &HostView<'_>, keeper: &str) -> bool {
    let marks = |seen: &Observations| seen.encryption_keys.as_ref().map(|keys| keys.layout.marks()).unwrap_or_default();
    let (own, others) = (marks(view.observations()), marks(view.seen.observations(keeper)));
    let is_empty = view.observations().encryption_keys.as_ref().is_some_and(|keys| keys.digest.is_empty());
    (is_empty || !own.is_empty()) && others.first().is_some_and(|first| !own.contains(first))
}

/// Says that a step makes the pods that read these files.
pub(super) fn needed_by(view: &HostView<'_>, draft: &mut Draft<'_>, step: &StepId) -> Result<(), Refusal> {
    for file in texts(view)? {
        draft.needs(step, &view.id(StepName::new(NAME, &file.step)), Reason::Reads);
    }
    if view.cluster().settings.security.encryption.enabled {
        draft.needs(step, &view.id(SUMMARY), Reason::Reads);
    }
    Ok(())
}
