//! What is said of the last rehearsal of a restore.

use kok_crds::count;

use crate::clock::moment;
use crate::failure::{Failure, Kind};
use crate::state::LastRehearsal;

/// In one line.
pub(super) fn line(last: &LastRehearsal, now: i64) -> String {
    let ago = crate::cli::backup::age(now - last.rehearsed);
    let made_at = moment(last.made, "%Y-%m-%d %H:%M UTC");
    match last.faults.as_slice() {
        [] => {
            let objects = count(usize::try_from(last.objects).unwrap_or(usize::MAX), "object");
            format!(
                "rehearsal: the backup of {made_at} was restored for trial {ago} ago on {}, {objects} in {:.0} s",
                last.host, last.seconds
            )
        }
        _ => format!("rehearsal: the backup of {made_at} could not be restored for trial, {ago} ago on {}", last.host),
    }
}

/// Why somebody should look.
pub(super) fn warning(last: &LastRehearsal) -> Option<Failure> {
    let fault = last.faults.first()?;
    let more = if last.faults.len() > 1 { format!(" (and {} more)", last.faults.len() - 1) } else { String::new() };
    let failure = Failure::new(Kind::Incomplete, "the last backup that was restored for trial can't be used").at(last.backup.clone());
    let failure = failure.because(format!("{fault}{more}"));
    Some(failure.hint("`kokctl backup create -f FILE` makes another one, and `kokctl backup rehearse -f FILE` tries it"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_says_when_and_how_long_and_what_is_wrong() {
        let faults = vec!["secrets can't be read: no key".to_owned(), "x".to_owned()];
        let failed = LastRehearsal {
            backup: "/b/demo".to_owned(),
            made: 1_795_737_600,
            rehearsed: 1_795_741_200,
            host: "cp3".to_owned(),
            seconds: 12.4,
            objects: 211,
            faults,
        };
        let now = 1_795_741_200 + 172_800;
        assert_eq!(line(&failed, now), "rehearsal: the backup of 2026-11-27 00:00 UTC could not be restored for trial, 2 d ago on cp3");
        assert!(warning(&failed).is_some_and(|warning| warning.one_line().contains("no key (and 1 more)")));
        let worked = LastRehearsal { faults: Vec::new(), ..failed };
        let said = "rehearsal: the backup of 2026-11-27 00:00 UTC was restored for trial 2 d ago on cp3, 211 objects in 12 s";
        assert_eq!((line(&worked, now).as_str(), warning(&worked)), (said, None));
    }
}
