//! A user of the system.

use kok_crds::model::Account;

use super::Act;
use super::owner::field;
use crate::change::{ChangeKind, Verdict, seen};
use crate::observe::{Look, Observations, Piece, STATE_DIRECTORY};
use crate::script::Fragment;
use crate::shell::quote;

/// A user. What its account leaves open is taken as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct User {
    /// What is wanted of it.
    pub account: Account,
    /// Whether it is noted that kokctl has made it, so that `reset` removes it again.
    pub recorded: bool,
}

/// Where it stands that kokctl has made a user: one that was there before is not removed by `reset`.
pub(crate) fn record(name: &str) -> String {
    format!("{STATE_DIRECTORY}/made/user-{name}")
}

/// Fields of a line of passwd(5).
const UID: usize = 2;
const GID: usize = 3;
const COMMENT: usize = 4;
const HOME: usize = 5;
const SHELL: usize = 6;

impl User {
    /// A user and a group of one name, without a login and without a home, as whom a unit runs.
    #[must_use]
    pub fn of_unit(name: &str) -> Self {
        let account = Account {
            name: name.to_owned(),
            uid: None,
            group: None,
            groups: Vec::new(),
            home: None,
            shell: None,
            comment: None,
            system: true,
        };
        Self { account, recorded: true }
    }

    pub(super) fn looks(&self) -> Vec<Look> {
        let account = &self.account;
        let groups = account.group.iter().chain(&account.groups).map(|group| Piece::Group(group.clone()));
        [Piece::User(account.name.clone())].into_iter().chain(groups).map(Look::Piece).collect()
    }

    pub(super) fn diff(&self, seen: &Observations) -> Verdict {
        let line = seen!(seen.pieces.get(&Piece::User(self.account.name.clone())));
        if field(line, UID).is_none() {
            return Verdict::differs(ChangeKind::Create, "it does not exist");
        }
        let mut wrong: Vec<String> = Vec::new();
        for (what, index, wanted) in self.fields() {
            let is = field(line, index).unwrap_or_default();
            if is != wanted {
                wrong.push(format!("its {what} is {is}"));
            }
        }
        if let Some(group) = &self.account.group {
            let gid = field(seen!(seen.pieces.get(&Piece::Group(group.clone()))), 2);
            if gid.is_none() || gid != field(line, GID) {
                wrong.push(format!("its group is not {group}"));
            }
        }
        for group in &self.account.groups {
            let members = field(seen!(seen.pieces.get(&Piece::Group(group.clone()))), 3).unwrap_or_default();
            if !members.split(',').any(|member| member == self.account.name) {
                wrong.push(format!("it is not in {group}"));
            }
        }
        if wrong.is_empty() { Verdict::Same } else { Verdict::differs(ChangeKind::Set, wrong.join(", ")) }
    }

    /// What is wanted of fields of its line, as it stands there.
    fn fields(&self) -> Vec<(&'static str, usize, String)> {
        let Account { uid, comment, home, shell, .. } = &self.account;
        let fields = [
            ("number", UID, uid.map(|uid| uid.to_string())),
            ("comment", COMMENT, comment.clone()),
            ("home", HOME, home.clone()),
            ("shell", SHELL, shell.clone()),
        ];
        fields.into_iter().filter_map(|(what, index, wanted)| Some((what, index, wanted?))).collect()
    }

    /// Options of useradd(8) and usermod(8) alike.
    fn options(&self) -> String {
        let option = |(_, index, value): (&str, usize, String)| {
            let letter = match index {
                UID => "-u",
                COMMENT => "-c",
                HOME => "-d",
                _ => "-s",
            };
            format!(" {letter} {}", quote(&value))
        };
        let group = self.account.group.iter().map(|group| format!(" -g {}", quote(group)));
        self.fields().into_iter().map(option).chain(group).collect()
    }

    /// What is recorded and not made does no harm: it is taken away where it is not there.
    pub(super) fn act(&self) -> Act {
        let Account { name, group, groups, home, shell, system, .. } = &self.account;
        let mut script = String::new();
        if self.recorded {
            script.push_str(&format!("mkdir -p -m 700 {STATE_DIRECTORY}/made\n: >{}\n", quote(&record(name))));
        }
        let has_groups = !groups.is_empty();
        let (name, groups) = (quote(name), quote(&groups.join(",")));
        let mut create = self.options();
        if *system {
            create.push_str(" --system");
        }
        create.push_str(match (*system, home) {
            (false, _) => " --create-home",
            (true, Some(_)) => " --no-create-home",
            (true, None) => " --no-create-home --home-dir /nonexistent",
        });
        if *system && shell.is_none() {
            create.push_str(" --shell /usr/sbin/nologin");
        }
        if has_groups {
            create.push_str(&format!(" -G {groups}"));
        }
        let own = match group {
            Some(_) => "own=\n".to_owned(),
            None => format!("if getent group -- {name} >/dev/null; then own=\"-g \"{name}; else own=--user-group; fi\n"),
        };
        let append = if has_groups { format!(" -a -G {groups}") } else { String::new() };
        script.push_str(&format!(
            "if getent passwd -- {name} >/dev/null; then\n  usermod{options}{append} -- {name}\nelse\n  {own}  useradd $own{create} -- {name}\nfi\n",
            options = self.options(),
        ));
        Act::Script(Fragment::text(script))
    }

    pub(super) fn title(&self) -> String {
        format!("user {}", self.account.name)
    }
}
