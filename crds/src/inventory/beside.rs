//! The folders `group_vars/` and `host_vars/` beside an inventory.

use std::collections::BTreeMap;

use super::build::Builder;
use super::legacy;
use super::vars::{Vars, read_into};
use crate::words::{nearest, quote};
use crate::{Notice, Problem, Source};

/// Whose variables a file holds.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Owner {
    Group,
    Host,
}

const FOLDERS: [(&str, Owner); 2] = [("group_vars", Owner::Group), ("host_vars", Owner::Host)];

/// Endings of files that Ansible reads, in the order in which it looks for them.
const ENDINGS: [&str; 3] = [".yml", ".yaml", ".json"];

/// A file by what its name says.
struct Place<'a> {
    owner: Owner,
    name: &'a str,
    /// A folder comes before files of the same name, and then the endings in their order: only the first of them counts.
    rank: usize,
    path: &'a str,
}

/// Reads files of the folders into the builder, whose hosts and groups are known by now.
pub(super) fn read(builder: &mut Builder, sources: &[Source]) {
    let mut places: BTreeMap<(Owner, &str), Vec<(Place<'_>, &Source)>> = BTreeMap::new();
    for source in sources {
        match place(&source.name) {
            Ok(Some(place)) => places.entry((place.owner, place.name)).or_default().push((place, source)),
            Ok(None) => builder.notices.push(
                Notice::new(format!("{} is not read", quote(&source.name)))
                    .at(&source.position(1, 1))
                    .because("Ansible reads files that end with .yml, .yaml, .json or nothing, and none that begin with a dot"),
            ),
            Err(problem) => builder.problems.push(problem.at(&source.position(1, 1))),
        }
    }
    for ((owner, name), mut files) in places {
        files.sort_by(|(a, _), (b, _)| (a.rank, a.path).cmp(&(b.rank, b.path)));
        let Some(rank) = files.first().map(|(place, _)| place.rank) else { continue };
        let mut vars = Vars::default();
        for (place, source) in files {
            if place.rank == rank {
                let before = builder.problems.len();
                let read = read_into(source, &mut builder.problems);
                builder.unread.vars |= builder.problems.len() > before && read.is_empty();
                vars.extend(read);
            } else {
                builder.notices.push(shadowed(source, name));
            }
        }
        give(builder, owner, name, vars, sources);
    }
}

fn shadowed(source: &Source, name: &str) -> Notice {
    Notice::new(format!("{} is not read", quote(&source.name)))
        .at(&source.position(1, 1))
        .because(format!("there is also a folder or another file for {}, and Ansible reads only one of them", quote(name)))
        .hint("move its variables there")
}

fn give(builder: &mut Builder, owner: Owner, name: &str, vars: Vars, sources: &[Source]) {
    let target = match owner {
        Owner::Group => builder.groups.get_mut(legacy::current(name)).map(|group| &mut group.file_vars),
        Owner::Host => builder.hosts.get_mut(name).map(|host| &mut host.file_vars),
    };
    if let Some(target) = target {
        target.extend(vars);
        return;
    }
    let (what, known): (_, Vec<&str>) = match owner {
        Owner::Group => ("group", builder.groups.keys().map(AsRef::as_ref).collect()),
        Owner::Host => ("host", builder.hosts.keys().map(AsRef::as_ref).collect()),
    };
    let near = nearest(name, &known).map(|near| format!("did you mean {}?", quote(near)));
    // Sample inventories bring files for groups that not every cluster has.
    let notice = Notice::new(format!("the variables of the {what} {} count for nobody", quote(name)));
    let notice = notice.because(format!("the inventory has no {what} of that name"));
    let is_its = |source: &&Source| matches!(place(&source.name), Ok(Some(place)) if place.owner == owner && place.name == name);
    let position = sources.iter().find(is_its).map(|source| source.position(1, 1));
    builder.notices.push(Notice { hint: near, position, ..notice });
}

/// What the name of a file says; `None` for one that Ansible passes over.
fn place(path: &str) -> Result<Option<Place<'_>>, Problem> {
    let parts: Vec<&str> = path.split('/').collect();
    let folder = parts.iter().rposition(|part| FOLDERS.iter().any(|(name, _)| name == part));
    let found = folder.and_then(|index| {
        let (_, owner) = FOLDERS.iter().find(|(name, _)| Some(name) == parts.get(index))?;
        Some((*owner, parts.get(index + 1..).filter(|rest| !rest.is_empty())?))
    });
    let Some((owner, rest)) = found else {
        return Err(Problem::new(format!("{} is in neither group_vars nor host_vars", quote(path)))
            .because("beside an inventory stand `group_vars/GROUP.yml`, `host_vars/HOST.yml`, or folders of those names")
            .hint("move the file there"));
    };
    let is_hidden = |part: &&str| part.starts_with('.') || part.ends_with('~');
    let (Some((first, inner)), Some(last)) = (rest.split_first(), rest.last()) else { return Ok(None) };
    let ending = ENDINGS.iter().position(|ending| last.ends_with(ending));
    if rest.iter().any(is_hidden) {
        return Ok(None);
    }
    if !inner.is_empty() {
        let is_read = ending.is_some() || !last.contains('.');
        return Ok(is_read.then_some(Place { owner, name: first, rank: 0, path }));
    }
    // The name of a host has dots, too, so that an unknown ending may be the end of a name.
    let name = ENDINGS.iter().find_map(|ending| first.strip_suffix(ending)).unwrap_or(first);
    Ok(Some(Place { owner, name, rank: ending.map_or(0, |index| index + 1), path }))
}
