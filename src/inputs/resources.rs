//! Files of the user's that are to be on hosts, and templates for them: read where the cluster's file says they are.

use kok_crds::model::{Content, LocalFile, Text, Wish};
use kok_crds::{Input, Problem, not_text};

use super::files::Files;

/// As long as what a cluster's own file may have: larger ones are no configuration.
const MOST_BYTES: u64 = 1 << 20;

/// Reads them all. With anything wrong there is no cluster left, only what is wrong.
pub(super) fn load(input: &mut Input, files: &dyn Files) {
    let Some(cluster) = &mut input.cluster else { return };
    let mut problems = Vec::new();
    for entry in &mut cluster.resources.entries {
        let Wish::File { content: Content::Source(file) | Content::Template(file), .. } = &mut entry.wish else { continue };
        match read(file, files) {
            Ok(text) => file.text = Some(text),
            Err(problem) => problems.push(problem),
        }
    }
    if !problems.is_empty() {
        input.problems.extend(problems);
        input.cluster = None;
    }
}

fn read(file: &LocalFile, files: &dyn Files) -> Result<Text, Problem> {
    let name = files.name(&file.origin, &file.path);
    let unreadable = |because: String| {
        let problem = Problem::new("a file for the hosts can't be read").at(&file.origin).because(format!("{name}: {because}"));
        problem.hint("name a text file of at most 1 MiB, as seen from the folder of this file")
    };
    let contents = files.read(&file.origin, &file.path, MOST_BYTES).map_err(|unread| unreadable(unread.because))?;
    match String::from_utf8(contents.bytes) {
        Ok(text) if !text.contains('\0') => Ok(Text::new(text)),
        Ok(text) => Err(unreadable(not_text(text.as_bytes()).0)),
        Err(error) => Err(unreadable(not_text(error.as_bytes()).0)),
    }
}
