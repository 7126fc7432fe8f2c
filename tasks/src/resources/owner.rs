//! Whose a path is.

use crate::change::{ChangeKind, Verdict};
use crate::observe::{Look, Metadata, Observations, Piece};
use crate::shell::quote;

/// Who has a path: names or numbers of a user and a group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Owner {
    /// The user.
    pub user: String,
    /// The group; `None` is the user's own.
    pub group: Option<String>,
}

impl Default for Owner {
    fn default() -> Self {
        Self { user: ROOT.to_owned(), group: Some(ROOT.to_owned()) }
    }
}

const ROOT: &str = "root";

/// What it is of a path that differs, besides what stands in it.
pub(super) struct Rights<'a> {
    pub(super) mode: u32,
    pub(super) owner: &'a Owner,
}

/// The number of a name that needs no look.
fn number(name: &str) -> Option<u32> {
    if name == ROOT { Some(0) } else { name.parse().ok() }
}

/// The field of a line of passwd(5) or group(5).
pub(super) fn field(line: &str, index: usize) -> Option<&str> {
    line.trim_end().split(':').nth(index)
}

impl Owner {
    /// Whether it is root in each way.
    fn is_root(&self) -> bool {
        *self == Self::default()
    }

    pub(super) fn looks(&self) -> Vec<Look> {
        let user = (number(&self.user).is_none() || (self.group.is_none() && self.user != ROOT)).then(|| Piece::User(self.user.clone()));
        let group = self.group.iter().filter(|group| number(group).is_none()).map(|group| Piece::Group(group.clone()));
        user.into_iter().chain(group).map(Look::Piece).collect()
    }

    /// The numbers of both; the name of what does not exist yet, or nothing where nobody has looked.
    fn numbers(&self, seen: &Observations) -> Option<Result<(u32, u32), String>> {
        let line = |piece: Piece| seen.pieces.get(&piece).map(String::as_str);
        let missing = |what: &str, name: &str| Some(Err(format!("{what} {name}")));
        let of_user = |index: usize| Some(field(line(Piece::User(self.user.clone()))?, index).and_then(|number| number.parse().ok()));
        let Some(user) = number(&self.user).map_or_else(|| of_user(2), |number| Some(Some(number)))? else {
            return missing("user", &self.user);
        };
        let group = match &self.group {
            None if self.user == ROOT => Some(0),
            None => of_user(3)?,
            Some(name) => match number(name) {
                Some(number) => Some(number),
                None => field(line(Piece::Group(name.clone()))?, 2).and_then(|number| number.parse().ok()),
            },
        };
        match group {
            Some(group) => Some(Ok((user, group))),
            None => missing("group", self.group.as_ref().unwrap_or(&self.user)),
        }
    }

    /// The argument of chown(1).
    pub(super) fn argument(&self) -> String {
        if self.is_root() {
            return "0:0".to_owned();
        }
        quote(&format!("{}:{}", self.user, self.group.as_deref().unwrap_or_default()))
    }

    /// Words of the format of stat(1) that print it, and what these print, each followed by a blank. Of a user's own group nothing is said.
    pub(super) fn of_stat(&self) -> (String, String) {
        let word = |name: &String, (number, text): (&str, &str)| {
            let is_number = name.chars().all(|c| c.is_ascii_digit());
            (format!("{} ", if is_number { number } else { text }), format!("{name} "))
        };
        let user = word(&self.user, ("%u", "%U"));
        match self.group.as_ref().map(|group| word(group, ("%g", "%G"))) {
            Some(group) => (user.0 + &group.0, user.1 + &group.1),
            None => user,
        }
    }

    fn words(&self) -> String {
        match &self.group {
            Some(group) if *group != self.user => format!("{}:{group}", self.user),
            _ => self.user.clone(),
        }
    }
}

impl Rights<'_> {
    /// What is to be done about them.
    pub(super) fn kind(&self) -> ChangeKind {
        if self.owner.is_root() { ChangeKind::Mode(self.mode) } else { ChangeKind::Owned { mode: self.mode, owner: self.owner.words() } }
    }

    /// Compares them with those of a path that is there.
    pub(super) fn diff(&self, is: &Metadata, seen: &Observations) -> Verdict {
        match self.owner.numbers(seen) {
            None => Verdict::Unseen,
            Some(Err(missing)) => Verdict::differs(self.kind(), format!("there is no {missing} yet")),
            Some(Ok(numbers)) if is.mode == self.mode && (is.user, is.group) == numbers => Verdict::Same,
            Some(Ok(_)) => Verdict::differs(self.kind(), format!("it has mode {:04o} and owner {}:{}", is.mode, is.user, is.group)),
        }
    }

    /// The same of a file of root's that a variable of the script names.
    pub(super) fn of_variable(&self, name: &str) -> String {
        let owner = if self.owner.is_root() { String::new() } else { format!("chown -- {} \"${name}\"\n", self.owner.argument()) };
        format!("{owner}chmod {:04o} \"${name}\"\n", self.mode)
    }

    /// Owner first, for a change of that may take bits of the mode away.
    pub(super) fn script(&self, path: &str) -> String {
        let path = quote(path);
        if self.owner.is_root() {
            return format!("chmod {:04o} {path}\nchown 0:0 {path}\n", self.mode);
        }
        format!("chown -h -- {} {path}\nchmod {:04o} {path}\n", self.owner.argument(), self.mode)
    }
}
