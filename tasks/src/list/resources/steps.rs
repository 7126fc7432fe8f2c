//! From what is declared to steps.

use std::time::Duration;

use kok_crds::model::{Content, HostResource, LocalFile, Rights, Text, Wish};

use super::{HostPlace, brought, render::render, trust};
use crate::plan::{Draft, Refusal, StepId};
use crate::preconditions::unknown_distribution;
use crate::resources::{
    Archive, AuthorizedKey, Binary, Block, Directory, File, FileContent, Gone, Group, KernelModule, Line, Mount, NamedPackages, Owner,
    Resource, Symlink, Sysctl, Tree, Unit, UnitGoal, Unpacked, User,
};
use crate::secret_name::SecretName;

/// Installing may wait for the lock of another package manager, and fetches what there is to install.
const PACKAGES: Duration = Duration::from_secs(900);

/// The steps of one entry: nearly always one.
pub(super) struct Steps {
    pub(super) first: StepId,
    pub(super) last: StepId,
}

/// Adds the steps of an entry.
pub(super) fn emit(place: &HostPlace<'_>, entry: &HostResource, draft: &mut Draft<'_>) -> Result<Steps, Refusal> {
    let name = &entry.name;
    let one = |step: StepId| Steps { first: step.clone(), last: step };
    let resource = match &entry.wish {
        Wish::File { path, content, rights, secret } => Resource::File(file(place, entry, (path, content, rights, *secret))?),
        Wish::Directory { path, rights } => Resource::Directory(Directory::new(path, rights.mode).owned(owner(rights))),
        Wish::Symlink { path, target } => Resource::Symlink(Symlink { path: path.clone(), target: target.clone() }),
        Wish::Absent { path, recursive } => Resource::Gone(Gone { path: path.clone(), recursive: *recursive }),
        Wish::Line { path, line, starts_with } => {
            Resource::Line(Line { path: path.clone(), line: line.clone(), starts_with: starts_with.clone() })
        }
        Wish::Block { path, text } => Resource::Block(Block { path: path.clone(), text: text.clone(), mark: Some(name.clone()) }),
        Wish::Sysctl { name: parameter, value } => return Ok(sysctl(draft, name, parameter, value)),
        Wish::KernelModule { name: module } => return Ok(kernel_module(draft, name, module)),
        Wish::Package { names } => {
            let step = draft.add(name, Resource::NamedPackages(packages(place, names)?));
            draft.within(PACKAGES);
            return Ok(one(step));
        }
        Wish::User(account) => Resource::User(User { account: account.clone(), recorded: false }),
        Wish::Group { name, gid, system } => Resource::Group(Group { name: name.clone(), gid: *gid, system: *system }),
        Wish::AuthorizedKey { user, key } => Resource::AuthorizedKey(AuthorizedKey { user: user.clone(), key: key.clone() }),
        Wish::Binary { path, payload, rights } => {
            let artifact = brought::artifact(entry, payload)?;
            Resource::Binary(Binary { path: path.clone(), artifact, mode: rights.mode, owner: owner(rights) })
        }
        Wish::Archive { into, payload, creates, rights, contents, .. } => {
            let artifact = brought::artifact(entry, payload)?;
            let contents = contents.clone().ok_or_else(|| brought::unread(entry, payload))?;
            let tree = Tree { contents, owner: owner(rights), creates: creates.clone() };
            Resource::Archive(Archive { artifact, folder: into.clone(), unpacked: Unpacked::Tree(tree) })
        }
        Wish::CaCertificate { name: certificate, certificate: content } => {
            return trust::ca_certificate(place, entry, draft, (certificate, content.as_ref()));
        }
        Wish::Mount(mount) => Resource::Mount(Mount(mount.clone())),
        Wish::Unit { name: unit, running, enabled, restart_on } => {
            let goal = UnitGoal::Declared { running: *running, enabled: *enabled };
            Resource::Unit(Unit { name: unit.clone(), goal, reads: reads(place, restart_on) })
        }
    };
    Ok(one(draft.add(name, resource)))
}

fn owner(rights: &Rights) -> Owner {
    let is_root = rights.owner == "root" && rights.group.as_ref().is_none_or(|group| group == "root");
    if is_root { Owner::default() } else { Owner { user: rights.owner.clone(), group: rights.group.clone() } }
}

/// The files whose change asks for a restart: those that are named by their paths, and those of entries that are named.
fn reads(place: &HostPlace<'_>, restart_on: &[String]) -> Vec<String> {
    let path = |word: &String| {
        if word.starts_with('/') {
            return Some(word.clone());
        }
        let mut entries = place.cluster.resources.of_host(&place.host.name);
        // A line changes the file at the time of the run, as a file does. What is gone has no time.
        let wish = &entries.find(|entry| entry.name == *word)?.wish;
        match wish {
            Wish::File { path, .. } | Wish::Binary { path, .. } | Wish::Line { path, .. } | Wish::Block { path, .. } => Some(path.clone()),
            Wish::CaCertificate { name, certificate: Some(_) } => trust::file_of(place, name),
            _ => None,
        }
    };
    restart_on.iter().filter_map(path).collect()
}

type FileParts<'a> = (&'a String, &'a Content, &'a Rights, bool);

fn file(place: &HostPlace<'_>, entry: &HostResource, (path, content, rights, secret): FileParts<'_>) -> Result<File, Refusal> {
    let text = match content {
        Content::Text(text) => Some(text.clone()),
        Content::Source(file) => Some(read(entry, file)?.clone()),
        Content::Template(file) => render(place, entry, file, read(entry, file)?.expose())?.map(Text::new),
    };
    let content = match text {
        // An empty file has no secret, and nothing is sent by a name that stands for nothing.
        Some(text) if secret && !text.expose().is_empty() => {
            let name = SecretName::HostFile { host: place.host.name.clone(), path: path.clone() };
            FileContent::Hidden { name, text }
        }
        Some(text) => FileContent::Text(text.expose().to_owned()),
        // The first look asks for what stands there; what should is known after it.
        None if secret => FileContent::Hidden {
            name: SecretName::HostFile { host: place.host.name.clone(), path: path.clone() },
            text: Text::new(String::new()),
        },
        None => FileContent::Text(String::new()),
    };
    Ok(File::new(path, rights.mode, content).owned(owner(rights)))
}

/// What stands in a file of the user's.
pub(super) fn read<'a>(entry: &HostResource, file: &'a LocalFile) -> Result<&'a Text, Refusal> {
    file.text.as_ref().ok_or_else(|| {
        let refusal = Refusal::new(format!("the file {} of `{}` was not read", file.path.escape_debug(), entry.name.escape_debug()));
        refusal.at(file.origin.to_string()).hint("this is a defect of kokctl; please report it")
    })
}

fn packages(place: &HostPlace<'_>, names: &[String]) -> Result<NamedPackages, Refusal> {
    let distribution = place.facts.distribution().ok_or_else(|| unknown_distribution(place.facts))?;
    Ok(NamedPackages { manager: distribution.manager, names: names.to_vec(), environment: place.environment.clone() })
}

/// The file makes it last; the other step is about now.
fn sysctl(draft: &mut Draft<'_>, entry: &str, name: &str, value: &str) -> Steps {
    let path = format!("/etc/sysctl.d/99-zz-kokctl-{}.conf", name.replace('/', "-"));
    let text = format!("# Written by kokctl.\n{name} = {value}\n");
    let first = draft.add(&format!("{entry}/file"), Resource::File(File::text(path, text)));
    let last = draft.add(entry, Resource::Sysctl(Sysctl { name: name.to_owned(), value: value.to_owned() }));
    draft.needs(&last, &first, crate::plan::Reason::Because("what lasts is written first"));
    Steps { first, last }
}

/// The same of a module.
fn kernel_module(draft: &mut Draft<'_>, entry: &str, name: &str) -> Steps {
    let path = format!("/etc/modules-load.d/kokctl-{name}.conf");
    let first = draft.add(&format!("{entry}/file"), Resource::File(File::text(path, format!("# Written by kokctl.\n{name}\n"))));
    let last = draft.add(entry, Resource::KernelModule(KernelModule { name: name.to_owned() }));
    draft.needs(&last, &first, crate::plan::Reason::Because("what lasts is written first"));
    Steps { first, last }
}
