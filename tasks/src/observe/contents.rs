//! Small files, of which one process reads many.
//!
//! A process costs a host some 2 ms, and a control plane is asked for twenty files. What one program reads of several is told apart by a file between them
//! that begins a section: it lies in memory, has a nonce in it that whoever writes the others can't know, and no name any more when they are read.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use super::RUNTIME_DIRECTORY;
use super::look::Looks;
use super::parse::{ParseError, Section};
use super::script::{CONTENT_LIMIT, quoted};

/// The section that begins what is said of the next one of several files.
const NEXT: &str = "next";

/// What stands between two files, as a program opens it: each time from its beginning.
const BETWEEN: &str = "/proc/self/fd/4";

/// `several FUNCTION PATH…` calls it with those that are files, one between each two of them; their numbers are in `$told`. `one_by_one FUNCTION PATH…` calls it
/// with each file alone. Whether something tells several apart is in `$apart`.
const SEVERAL: &str = r#"several() {
  with=$1 told= number=0
  shift
  for path; do
    shift
    if [ -f "$path" ]; then
      [ -z "$told" ] || set -- "$@" @BETWEEN@
      set -- "$@" "$path"
      told="$told $number"
    fi
    number=$((number + 1))
  done
  "$with" "$@"
}
one_by_one() {
  with=$1
  shift
  for path; do [ "$path" = @BETWEEN@ ] || "$with" "$path"; done
}
"#;

/// Of each file as much as of a single one.
const CONTENTS: &str = r#"content() { mark content "$1"; head -c @LIMIT@ <"$1"; }
contents() {
  if [ $# -lt 2 ] || [ -z "$apart" ]; then one_by_one content "$@"; return; fi
  mark "contents$told"
  head -q -c @LIMIT@ -- "$@" 2>/dev/null
}
"#;

/// Asks for whole files, and for lines of kubeconfigs.
pub(super) fn push(script: &mut String, looks: &Looks) {
    let mut calls = String::new();
    if !(looks.contents.is_empty() && looks.kubeconfigs.is_empty()) {
        script.push_str(&SEVERAL.replace("@BETWEEN@", BETWEEN));
    }
    if !looks.contents.is_empty() {
        script.push_str(&CONTENTS.replace("@LIMIT@", &CONTENT_LIMIT.to_string()));
        // Writing to a String can't fail.
        let _ = writeln!(calls, "several contents {}", quoted(&looks.contents));
    }
    super::kubeconfig::push(script, &mut calls, &looks.kubeconfigs);
    if looks.contents.len() < 2 && looks.kubeconfigs.len() < 2 {
        script.push_str("apart=\n");
        script.push_str(&calls);
        return;
    }
    let _ = write!(
        script,
        r#"small_files() {{
{calls}:
}}
apart= between="{RUNTIME_DIRECTORY}/.between.$$"
if [ -d {RUNTIME_DIRECTORY} ] && {{ mark {NEXT} >"$between"; }} 2>/dev/null; then
  {{ rm -f "$between"; apart=yes; small_files; }} 4<"$between" || exit
else
  small_files
fi
"#
    );
}

/// What is said of several files by one program, by their numbers: these are the argument of the section `name`, whose body is of the first one.
pub(super) fn several<'a>(sections: &[Section<'a>], name: &str) -> Result<Vec<(usize, &'a [u8])>, ParseError> {
    let mut from = sections.iter().skip_while(|section| section.name != name);
    let Some(first) = from.next() else { return Ok(Vec::new()) };
    let wrong = || ParseError::new(name, first.argument);
    let numbers = first.argument.split_ascii_whitespace().map(str::parse).collect::<Result<Vec<usize>, _>>().map_err(|_| wrong())?;
    let others = from.take_while(|section| section.name == NEXT).map(|section| section.body);
    let bodies: Vec<&[u8]> = [first.body].into_iter().chain(others).collect();
    if bodies.len() == numbers.len() { Ok(numbers.into_iter().zip(bodies).collect()) } else { Err(wrong()) }
}

/// The contents of files that were asked for and are there.
pub(super) fn read(sections: &[Section<'_>], asked: &BTreeSet<String>) -> Result<BTreeMap<String, Vec<u8>>, ParseError> {
    let paths: Vec<&String> = asked.iter().collect();
    let several = several(sections, "contents")?.into_iter();
    Ok(several.filter_map(|(number, body)| Some(((*paths.get(number)?).clone(), body.to_vec()))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_said_of_as_many_files_as_are_named_is_no_answer() {
        let section = |name, argument, body| Section { name, argument, body };
        let said = [section("clock", "", b"0"), section("contents", "0 2", b"a"), section("next", "", b"c"), section("end", "", b"")];
        let asked = ["/a", "/b", "/c"].map(str::to_owned).into();
        let of = |said: &[Section<'_>]| read(said, &asked).map_err(|error| error.section);
        assert_eq!(of(&said), Ok([("/a", "a"), ("/c", "c")].map(|(path, body)| (path.to_owned(), body.as_bytes().to_vec())).into()));
        let cut_off = said.map(|section| if section.name == "next" { Section { name: "sums", ..section } } else { section });
        assert_eq!(of(&cut_off), Err("contents".to_owned()));
        assert_eq!(of(&[section("contents", "0 x", b"a"), section("next", "", b"c")]), Err("contents".to_owned()));
        assert_eq!(of(&[section("contents", "7", b"a")]), Ok(BTreeMap::new()), "nobody asked for it");
        assert_eq!(of(&[section("clock", "", b"0")]), Ok(BTreeMap::new()));
    }
}
