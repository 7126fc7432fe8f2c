//! Small pieces of a host that users declare: accounts, packages, links, lines.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::str;

use kok_crds::model::Mount;

use super::Tree;
use super::parse::{ParseError, Section, body_of, text_of};
use super::{BLOCK_BEGIN, BLOCK_END};
use crate::shell::quote;

/// A piece of a host, of which a line or some say all that there is to know.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Piece {
    /// The line of a user in /etc/passwd, or what stands for that.
    User(String),
    /// The line of a group in /etc/group, or what stands for that.
    Group(String),
    /// `yes` for a package that is installed.
    Package(String),
    /// Where a symbolic link leads.
    Link(String),
    /// How often a line stands in a file (`= N`), after the lines that begin otherwise so (`- LINE`).
    Line {
        /// The file.
        path: String,
        /// The line.
        line: String,
        /// How the others begin; nothing for none.
        starts_with: Option<String>,
    },
    /// Lines of a file between two marks of this name, both included.
    Block {
        /// The file.
        path: String,
        /// The name in the marks.
        mark: String,
    },
    /// `yes` for a line that stands in the user's `authorized_keys`.
    Key {
        /// The user.
        user: String,
        /// The line.
        key: String,
    },
    /// The paths of an archive that are not as they have to be, and the end of the list.
    Tree(Tree),
    /// What is mounted at a path, and the lines of /etc/fstab for it.
    Mount(Mount),
    /// `yes` for a command of the shell that ends well.
    EndsWell(String),
    /// `yes` for a certificate that stands among those of a file.
    Trusted {
        /// The file, in PEM.
        bundle: String,
        /// The certificate in base64, as one line.
        body: String,
    },
}

/// What a piece may be answered at the most.
pub(super) const PIECE_LIMIT: usize = 64 << 10;

/// What a command of a user's may take that is asked: a look at a host is short.
const MOST_SECONDS: u32 = 20;

/// Whether a command of a user's ends well, as a condition of the shell.
pub(crate) fn ends_well(command: &str) -> String {
    format!("(cd / && exec timeout --kill-after=5 {MOST_SECONDS} sh -c {}) </dev/null >/dev/null 2>&1", quote(command))
}

/// The marks around a block of this name.
pub(crate) fn marks(name: &str) -> (String, String) {
    (format!("{BLOCK_BEGIN} {name}"), format!("{BLOCK_END} {name}"))
}

/// A text as a basic regular expression of sed that stands between two `/`, and matches nothing else.
pub(crate) fn literal(text: &str) -> String {
    text.chars().fold(String::new(), |mut pattern, c| {
        if matches!(c, '/' | '.' | '[' | ']' | '*' | '^' | '$' | '\\') {
            pattern.push('\\');
        }
        pattern.push(c);
        pattern
    })
}

/// Names of one kind.
fn names(pieces: &BTreeSet<Piece>, of: fn(&Piece) -> Option<&String>) -> Vec<&String> {
    pieces.iter().filter_map(of).collect()
}

fn user(piece: &Piece) -> Option<&String> {
    if let Piece::User(name) = piece { Some(name) } else { None }
}

fn group(piece: &Piece) -> Option<&String> {
    if let Piece::Group(name) = piece { Some(name) } else { None }
}

fn package(piece: &Piece) -> Option<&String> {
    if let Piece::Package(name) = piece { Some(name) } else { None }
}

/// Of users, groups and packages one command each; of the others one each.
pub(super) fn push(script: &mut String, pieces: &BTreeSet<Piece>) {
    let quoted = |names: &[&String]| names.iter().map(|name| quote(name)).collect::<Vec<_>>().join(" ");
    for (section, database, names) in [("users-named", "passwd", names(pieces, user)), ("groups-named", "group", names(pieces, group))] {
        if !names.is_empty() {
            let _ = writeln!(script, "mark {section}\ngetent {database} -- {} 2>/dev/null", quoted(&names));
        }
    }
    let packages = names(pieces, package);
    if !packages.is_empty() {
        let names = quoted(&packages);
        let _ = writeln!(
            script,
            "mark packages-named\nif command -v dpkg-query >/dev/null 2>&1; then dpkg-query -W -f '${{db:Status-Abbrev}}|${{Package}}\\n' -- {names} 2>/dev/null\n\
             elif command -v rpm >/dev/null 2>&1; then rpm -q --qf 'ii |%{{NAME}}\\n' -- {names} 2>/dev/null; fi"
        );
    }
    for (number, piece) in pieces.iter().enumerate() {
        if let Some(look) = look(piece) {
            let _ = writeln!(script, "mark piece {number}\n{look}");
        }
    }
}

/// Counts a line, and prints those that begin otherwise so; by the environment, for an argument with `=` would be an assignment to awk.
const COUNT: &str = r#"BEGIN { line = ENVIRON["kok_line"]; start = ENVIRON["kok_start"] }
($0 "") == (line "") { n++; next }
start != "" && index($0, start) == 1 { print "- " $0 }
END { print "= " n + 0 }"#;

/// Says whether a certificate stands in a file, however its lines are broken.
const TRUSTED: &str = r#"{ sub(/\r$/, "") }
/^-----BEGIN / { body = ""; inside = 1; next }
/^-----END / { if (inside && (body "") == (ENVIRON["kok_body"] "")) found = 1; inside = 0; next }
inside { body = body $0 }
END { if (found) print "yes" }"#;

fn look(piece: &Piece) -> Option<String> {
    Some(match piece {
        Piece::User(_) | Piece::Group(_) | Piece::Package(_) => return None,
        Piece::Link(path) => format!("[ ! -L {path} ] || readlink -- {path}", path = quote(path)),
        Piece::Line { path, line, starts_with } => format!(
            "[ ! -f {path} ] || kok_line={line} kok_start={start} LC_ALL=C awk {COUNT} <{path} | tail -c {PIECE_LIMIT}",
            path = quote(path),
            line = quote(line),
            start = quote(starts_with.as_deref().unwrap_or_default()),
            COUNT = quote(COUNT),
        ),
        Piece::Block { path, mark } => {
            let (begin, end) = marks(mark);
            let range = format!("/^{}$/,/^{}$/p", literal(&begin), literal(&end));
            format!("[ ! -f {path} ] || sed -n {} <{path} | head -c {PIECE_LIMIT}", quote(&range), path = quote(path))
        }
        Piece::Key { user, key } => format!(
            "home=$(getent passwd -- {user} | cut -d : -f 6)\nkeys=\"$home/.ssh/authorized_keys\"\n\
             if [ -n \"$home\" ] && [ -f \"$keys\" ] && grep -qxF -e {key} <\"$keys\"; then echo yes; fi",
            user = quote(user),
            key = quote(key),
        ),
        Piece::Tree(tree) => tree.look(),
        Piece::Mount(mount) => super::mounts::look(mount),
        Piece::EndsWell(command) => format!("if {}; then echo yes; fi", ends_well(command)),
        Piece::Trusted { bundle, body } => format!(
            "[ ! -f {bundle} ] || kok_body={body} LC_ALL=C awk {TRUSTED} <{bundle}",
            bundle = quote(bundle),
            body = quote(body),
            TRUSTED = quote(TRUSTED),
        ),
    })
}

/// What was said of each: nothing of what is not there.
pub(super) fn read(sections: &[Section<'_>], pieces: &BTreeSet<Piece>) -> Result<BTreeMap<Piece, String>, ParseError> {
    let of_section = |name: &str, is_asked: bool| if is_asked { text_of(sections, name) } else { Ok("") };
    let users = of_section("users-named", pieces.iter().any(|piece| user(piece).is_some()))?;
    let groups = of_section("groups-named", pieces.iter().any(|piece| group(piece).is_some()))?;
    let packages = of_section("packages-named", pieces.iter().any(|piece| package(piece).is_some()))?;
    let entry = |text: &str, name: &String| {
        let line = text.lines().find(|line| line.split(':').next() == Some(name));
        line.unwrap_or_default().to_owned()
    };
    let mut seen = BTreeMap::new();
    for (number, piece) in pieces.iter().enumerate() {
        let said = match piece {
            Piece::User(name) => entry(users, name),
            Piece::Group(name) => entry(groups, name),
            Piece::Package(name) => {
                let is_installed = |line: &str| line.split_once('|').is_some_and(|(state, of)| state.trim() == "ii" && of == name);
                if packages.lines().any(is_installed) { "yes".to_owned() } else { String::new() }
            }
            _ => String::from_utf8_lossy(body_of(sections, "piece", &number.to_string())?).into_owned(),
        };
        seen.insert(piece.clone(), said);
    }
    Ok(seen)
}
