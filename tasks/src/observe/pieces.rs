//! Small pieces of a host that users declare: accounts, packages, links, lines.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::str;

use kok_crds::model::Mount;

use super::ExpectedTree;
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
    Tree(ExpectedTree),
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
fn names(pieces: &BTreeSet<Piece>, name_of: fn(&Piece) -> Option<&String>) -> Vec<&String> {
    pieces.iter().filter_map(name_of).collect()
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

/// Of users and groups together, of packages, of links and of lines one command each; of the others one each.
pub(super) fn push(script: &mut String, pieces: &BTreeSet<Piece>) {
    push_accounts(script, &names(pieces, user), &names(pieces, group));
    let packages = names(pieces, package);
    if !packages.is_empty() {
        let names = quoted(&packages);
        let _ = writeln!(
            script,
            "mark packages-named\nif command -v dpkg-query >/dev/null 2>&1; then dpkg-query -W -f '${{db:Status-Abbrev}}|${{Package}}\\n' -- {names} 2>/dev/null\n\
             elif command -v rpm >/dev/null 2>&1; then rpm -q --qf 'ii |%{{NAME}}\\n' -- {names} 2>/dev/null; fi"
        );
    }
    push_links(script, pieces);
    push_lines(script, pieces);
    for (number, piece) in pieces.iter().enumerate() {
        if let Some(look) = look(piece) {
            let _ = writeln!(script, "mark piece {number}\n{look}");
        }
    }
}

fn quoted(names: &[&String]) -> String {
    names.iter().map(|name| quote(name)).collect::<Vec<_>>().join(" ")
}

/// The host's own files are looked through first, both by one program. What does not stand there may be known elsewhere.
fn push_accounts(script: &mut String, users: &[&String], groups: &[&String]) {
    if users.is_empty() && groups.is_empty() {
        return;
    }
    let named: BTreeSet<String> =
        users.iter().chain(groups).map(|name| format!(" -e {}", quote(&format!("^{}:", literal(name))))).collect();
    let named: String = named.into_iter().collect();
    let _ = writeln!(script, "newline='\n'\naccounts=$newline$(grep{named} /etc/passwd /etc/group 2>/dev/null)$newline\n{ACCOUNTS}");
    for (section, database, names) in [("users-named", "passwd", users), ("groups-named", "group", groups)] {
        if !names.is_empty() {
            let _ = writeln!(script, "mark {section}\naccounts {database} {}", quoted(names));
        }
    }
}

/// `accounts DATABASE NAME …` prints the lines of these.
const ACCOUNTS: &str = r#"accounts() {
  database=$1
  shift
  for name; do
    shift
    line=${accounts#*"$newline/etc/$database:$name:"}
    if [ "$line" = "$accounts" ]; then set -- "$@" "$name"; else printf '%s\n' "$name:${line%%"$newline"*}"; fi
  done
  [ $# = 0 ] || getent "$database" -- "$@" 2>/dev/null
}"#;

/// The links that are there are named by their numbers, and their targets end with a byte that no path has.
fn push_links(script: &mut String, pieces: &BTreeSet<Piece>) {
    let links: Vec<(usize, &String)> = numbered(pieces, |piece| if let Piece::Link(path) = piece { Some(path) } else { None });
    if links.is_empty() {
        return;
    }
    script.push_str("set --\nlinks=\n");
    for (number, path) in links {
        let _ = writeln!(script, "[ ! -L {path} ] || {{ set -- \"$@\" {path}; links=\"$links {number}\"; }}", path = quote(path));
    }
    script.push_str("mark links$links\n[ $# = 0 ] || readlink -z -- \"$@\"\n");
}

/// Those of one kind, each with its number among all.
fn numbered<'a, T>(pieces: &'a BTreeSet<Piece>, part_of: impl Fn(&'a Piece) -> Option<T>) -> Vec<(usize, T)> {
    pieces.iter().enumerate().filter_map(|(number, piece)| Some((number, part_of(piece)?))).collect()
}

/// What is looked for comes by the environment, for an argument with `=` would be an assignment to awk. A file that is not there is not opened: some
/// versions of awk end then.
fn push_lines(script: &mut String, pieces: &BTreeSet<Piece>) {
    let lines = numbered(pieces, |piece| match piece {
        Piece::Line { path, line, starts_with } => Some((path, line, starts_with)),
        _ => None,
    });
    if lines.is_empty() {
        return;
    }
    let paths: BTreeSet<&String> = lines.iter().map(|(_, (path, ..))| *path).collect();
    script.push_str("mark lines\nset --\n");
    for path in paths {
        let _ = writeln!(script, "[ ! -f {path} ] || set -- \"$@\" {path}", path = quote(path));
    }
    script.push_str("[ $# = 0 ] || (\n");
    for (number, (path, line, start)) in &lines {
        let start = start.as_deref().unwrap_or_default();
        let _ = writeln!(
            script,
            "export kok_path_{number}={} kok_line_{number}={} kok_start_{number}={}",
            quote(path),
            quote(line),
            quote(start)
        );
    }
    let numbers = lines.iter().map(|(number, _)| number.to_string()).collect::<Vec<_>>().join(" ");
    let _ = writeln!(
        script,
        "kok_numbers={} LC_ALL=C awk {} \"$@\"\n)",
        quote(&numbers),
        quote(&COUNT.replace("LIMIT", &PIECE_LIMIT.to_string()))
    );
}

/// Of each file that is there, and each line that is looked for in it: how often it stands there, and before that those that begin otherwise so. Whatever is
/// said of a piece begins with its number; where that is more than [`PIECE_LIMIT`], the rest is left out.
const COUNT: &str = r#"BEGIN {
  many = split(ENVIRON["kok_numbers"], numbers, " ")
  for (i = 1; i <= many; i++) {
    path[i] = ENVIRON["kok_path_" numbers[i]]; line[i] = ENVIRON["kok_line_" numbers[i]]; start[i] = ENVIRON["kok_start_" numbers[i]]
  }
  for (i = 1; i < ARGC; i++) is_there[ARGV[i]] = 1
}
{
  for (i = 1; i <= many; i++) if (path[i] == FILENAME) {
    if (($0 "") == (line[i] "")) count[i]++
    else if (start[i] != "" && index($0, start[i]) == 1 && said[i] < LIMIT) { print numbers[i] " - " substr($0, 1, LIMIT - said[i]); said[i] += length($0) + 12 }
  }
}
END { for (i = 1; i <= many; i++) if (path[i] in is_there) print numbers[i] " = " count[i] + 0 }"#;

/// Says whether a certificate stands in a file, however its lines are broken.
const TRUSTED: &str = r#"{ sub(/\r$/, "") }
/^-----BEGIN / { body = ""; inside = 1; next }
/^-----END / { if (inside && (body "") == (ENVIRON["kok_body"] "")) found = 1; inside = 0; next }
inside { body = body $0 }
END { if (found) print "yes" }"#;

fn look(piece: &Piece) -> Option<String> {
    Some(match piece {
        Piece::User(_) | Piece::Group(_) | Piece::Package(_) | Piece::Link(_) | Piece::Line { .. } => return None,
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
    let (links, lines) = (read_links(sections)?, read_lines(sections));
    let is_answered = |name: &str| sections.iter().any(|section| section.name == name);
    let entry = |text: &str, name: &String| {
        let line = text.lines().find(|line| line.split(':').next() == Some(name));
        line.unwrap_or_default().to_owned()
    };
    let mut seen = BTreeMap::new();
    for (number, piece) in pieces.iter().enumerate() {
        let answer = match piece {
            Piece::User(name) => entry(users, name),
            Piece::Group(name) => entry(groups, name),
            Piece::Package(name) => {
                let is_installed = |line: &str| line.split_once('|').is_some_and(|(state, owner)| state.trim() == "ii" && owner == name);
                if packages.lines().any(is_installed) { "yes".to_owned() } else { String::new() }
            }
            Piece::Link(_) if is_answered("links") => links.get(&number).cloned().unwrap_or_default(),
            Piece::Line { .. } if is_answered("lines") => lines.get(&number).cloned().unwrap_or_default(),
            _ => String::from_utf8_lossy(body_of(sections, "piece", &number.to_string())?).into_owned(),
        };
        seen.insert(piece.clone(), answer);
    }
    Ok(seen)
}

/// Targets of links by the numbers of these. Where a link went between the look whether it is there and the one where it leads, nothing is known of any.
fn read_links(sections: &[Section<'_>]) -> Result<BTreeMap<usize, String>, ParseError> {
    let Some(section) = sections.iter().find(|section| section.name == "links") else { return Ok(BTreeMap::new()) };
    let numbers: Vec<usize> = section
        .argument
        .split_ascii_whitespace()
        .map(str::parse)
        .collect::<Result<_, _>>()
        .map_err(|_| ParseError::new("links", section.argument))?;
    let targets: Vec<&[u8]> = section.body.split(|byte| *byte == 0).collect();
    // Behind the last one there is nothing.
    let is_whole = targets.len() == numbers.len() + 1;
    let text = |target: &[u8]| String::from_utf8_lossy(target).into_owned();
    Ok(if is_whole { numbers.into_iter().zip(targets.into_iter().map(text)).collect() } else { BTreeMap::new() })
}

/// What was said of lines, by the number that each line of it begins with.
fn read_lines(sections: &[Section<'_>]) -> BTreeMap<usize, String> {
    let mut answers: BTreeMap<usize, String> = BTreeMap::new();
    let body = sections.iter().find(|section| section.name == "lines").map(|section| String::from_utf8_lossy(section.body));
    for (number, line) in body.iter().flat_map(|body| body.lines()).filter_map(|line| line.split_once(' ')) {
        if let Ok(number) = number.parse() {
            let text = answers.entry(number).or_default();
            text.push_str(line);
            text.push('\n');
        }
    }
    answers
}
