//! In which order what is declared comes: by what each needs, and as the user says.

use kok_crds::model::{HostResource, MountState, Wish};

use crate::plan::{Reason, Refusal};

/// That one entry comes after another, by their places in the list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct EntryOrder {
    pub(super) later: usize,
    pub(super) earlier: usize,
    pub(super) reason: Reason,
    /// Whether a change of the earlier one is a reason to do the later one again.
    pub(super) restarts: bool,
}

/// Where package managers look for what they could install: such files are there before anything is installed.
const SOURCES: [&str; 6] = ["/etc/apt/", "/etc/yum.repos.d/", "/etc/dnf/", "/etc/pki/rpm-gpg/", "/usr/share/keyrings/", "/etc/yum/"];

/// Where unit files lie, of which systemd hears when a unit is begun.
const UNIT_FILES: [&str; 3] = ["/etc/systemd/system/", "/usr/local/lib/systemd/system/", "/run/systemd/system/"];

/// All needs of the entries of one host.
///
/// # Errors
/// [`Refusal`] if they come after each other in a circle.
pub(super) fn needs(entries: &[&HostResource]) -> Result<Vec<EntryOrder>, Refusal> {
    let mut graph = Graph { entries, needs: Vec::new() };
    for later in 0..entries.len() {
        for earlier in (0..entries.len()).filter(|earlier| *earlier != later) {
            if let Some((reason, restarts)) = graph.real(later, earlier) {
                graph.add(EntryOrder { later, earlier, reason, restarts })?;
            }
        }
    }
    // What holds for most and is needed by none gives way to what was said.
    for later in 0..entries.len() {
        for earlier in (0..entries.len()).filter(|earlier| *earlier != later) {
            if let Some(reason) = graph.usual(later, earlier).filter(|_| !graph.reaches(earlier, later)) {
                graph.needs.push(EntryOrder { later, earlier, reason, restarts: false });
            }
        }
    }
    Ok(graph.needs)
}

struct Graph<'a> {
    entries: &'a [&'a HostResource],
    needs: Vec<EntryOrder>,
}

impl Graph<'_> {
    fn entry(&self, index: usize) -> Option<&HostResource> {
        self.entries.get(index).copied()
    }

    /// Why one comes after the other in any case, and whether it is done again with it.
    fn real(&self, later: usize, earlier: usize) -> Option<(Reason, bool)> {
        let (later, earlier) = (self.entry(later)?, self.entry(earlier)?);
        if let Some(reason) = restarts(later, earlier) {
            return Some((reason, true));
        }
        if later.after.contains(&earlier.name) {
            return Some((Reason::Because("its entry says so"), false));
        }
        needed(later, earlier).map(|reason| (reason, false))
    }

    /// Why one usually comes after the other.
    fn usual(&self, later: usize, earlier: usize) -> Option<Reason> {
        let in_order = earlier < later;
        let (later, earlier) = (&self.entry(later)?.wish, &self.entry(earlier)?.wish);
        let is_source = |wish: &Wish| path(wish).is_some_and(|path| SOURCES.iter().any(|folder| path.starts_with(folder)));
        match (later, earlier) {
            (Wish::Package { .. }, source) if is_source(source) => Some(Reason::Because("packages come from the sources that it says")),
            (Wish::Package { .. }, _) => None,
            (other, Wish::Package { .. }) if !is_source(other) && !is_kernel(other) => {
                Some(Reason::Because("it may need what the packages bring, and would be in their way before"))
            }
            (Wish::Unit { .. }, Wish::User(_)) => Some(Reason::Because("it may run as that user")),
            (Wish::Mount(_), Wish::Mount(_)) if in_order => Some(Reason::Because("one after the other writes /etc/fstab")),
            (Wish::Mount(_), other) if path(other) == Some("/etc/fstab") => Some(Reason::Because("one after the other writes /etc/fstab")),
            (Wish::Mount(_), Wish::KernelModule { .. }) => Some(Reason::NeedsKernel),
            (Wish::Unit { .. }, Wish::Mount(_)) => Some(Reason::Because("it may need what is mounted")),
            (Wish::Unit { .. }, Wish::Binary { .. } | Wish::Archive { .. }) => Some(Reason::Because("it may run it")),
            (Wish::Unit { .. }, Wish::CaCertificate { .. }) => Some(Reason::Because("it may speak with those that it vouches for")),
            (Wish::Unit { .. }, Wish::Sysctl { .. } | Wish::KernelModule { .. }) => Some(Reason::NeedsKernel),
            _ => None,
        }
    }

    fn add(&mut self, need: EntryOrder) -> Result<(), Refusal> {
        if self.reaches(need.earlier, need.later) {
            return Err(self.circle(&need));
        }
        self.needs.push(need);
        Ok(())
    }

    /// Whether one comes after another already.
    fn reaches(&self, later: usize, earlier: usize) -> bool {
        let (mut open, mut seen) = (vec![later], vec![later]);
        while let Some(at) = open.pop() {
            if at == earlier {
                return true;
            }
            for need in self.needs.iter().filter(|need| need.later == at) {
                if !seen.contains(&need.earlier) {
                    seen.push(need.earlier);
                    open.push(need.earlier);
                }
            }
        }
        false
    }

    fn circle(&self, need: &EntryOrder) -> Refusal {
        let name = |index: usize| self.entry(index).map(|entry| entry.name.escape_debug().to_string()).unwrap_or_default();
        let place = self.entry(need.later).map(|entry| entry.origin.to_string()).unwrap_or_default();
        let (later, earlier) = (name(need.later), name(need.earlier));
        Refusal::new(format!("`{later}` and `{earlier}` would come after each other"))
            .at(place)
            .because(format!("`{later}` comes after `{earlier}` because {}, and that one comes after it by other entries", need.reason))
            .hint("take one of the names out of an `after` or `restartOn`")
    }
}

fn path(wish: &Wish) -> Option<&str> {
    wish.whole_path().or(wish.part_path())
}

fn is_below(path: &str, folder: &str) -> bool {
    path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
}

/// The kernel's own needs no package but where that is said.
fn is_kernel(wish: &Wish) -> bool {
    matches!(wish, Wish::Sysctl { .. } | Wish::KernelModule { .. })
}

/// Whether a change of one is a reason to start the unit of the other again.
fn restarts(later: &HostResource, earlier: &HostResource) -> Option<Reason> {
    let Wish::Unit { restart_on, .. } = &later.wish else { return None };
    let brings = |word: &String| path(&earlier.wish) == Some(word) || earlier.wish.folder().is_some_and(|folder| is_below(word, folder));
    let is_named = |word: &String| *word == earlier.name || (word.starts_with('/') && brings(word));
    restart_on.iter().any(is_named).then_some(Reason::Reads)
}

fn needed(later: &HostResource, earlier: &HostResource) -> Option<Reason> {
    let mounted = if let Wish::Mount(mount) = &later.wish { Some(mount.path.as_str()) } else { None };
    let place = path(&later.wish).or(later.wish.folder()).or(mounted);
    let inside = |folder: &str| place.is_some_and(|path| is_below(path, folder));
    match (&later.wish, &earlier.wish) {
        (_, Wish::Directory { path, .. }) if inside(path) || later.wish.folder() == Some(path) => Some(Reason::Inside),
        (Wish::Mount(mount), Wish::Directory { path, .. })
            if mount.is_bind() && (mount.device == *path || is_below(&mount.device, path)) =>
        {
            Some(Reason::Because("it shows what is there"))
        }
        (_, Wish::Mount(mount)) if mount.state != MountState::Present && (inside(&mount.path) || place == Some(&mount.path)) => {
            Some(Reason::Inside)
        }
        (_, Wish::Archive { into, .. }) if inside(into) => Some(Reason::Inside),
        (Wish::Symlink { target, .. }, Wish::Archive { into, .. }) if is_below(target, into) => Some(Reason::Because("it leads there")),
        (Wish::Line { path: part, .. } | Wish::Block { path: part, .. }, whole) if whole.whole_path() == Some(part) => Some(Reason::Reads),
        (Wish::Symlink { target, .. }, other) if path(other) == Some(target) => Some(Reason::Because("it leads there")),
        (Wish::User(user), Wish::Group { name, .. }) if user.group.iter().chain(&user.groups).any(|group| group == name) => {
            Some(Reason::Because("the user is in that group"))
        }
        (Wish::AuthorizedKey { user, .. }, Wish::User(account)) if *user == account.name => {
            Some(Reason::Because("it is a key of that user"))
        }
        (owned, Wish::User(account)) if owned.rights().is_some_and(|rights| rights.owner == account.name) => {
            Some(Reason::Because("it belongs to that user"))
        }
        (owned, Wish::Group { name, .. }) if owned.rights().is_some_and(|rights| rights.group.as_ref() == Some(name)) => {
            Some(Reason::Because("it belongs to that group"))
        }
        // A user's own folder may be declared, and then it is not useradd that makes it as it should be.
        (Wish::Sysctl { .. }, Wish::KernelModule { .. }) => Some(Reason::Because("some parameters come with a module")),
        (Wish::Unit { name, .. }, other) if path(other).is_some_and(|path| is_unit_file(path, name)) => Some(Reason::Reads),
        _ => None,
    }
}

/// Whether a file is one of a unit: its own, or a drop-in.
fn is_unit_file(path: &str, unit: &str) -> bool {
    let below = UNIT_FILES.iter().find_map(|folder| path.strip_prefix(folder));
    let template = unit.split_once('@').and_then(|(name, rest)| Some(format!("{name}@.{}", rest.rsplit_once('.')?.1)));
    let is_of = |name: &str| below.is_some_and(|file| file == name || file.strip_prefix(name).is_some_and(|rest| rest.starts_with(".d/")));
    is_of(unit) || template.is_some_and(|template| is_of(&template))
}
