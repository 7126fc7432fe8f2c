//! How backups are made.

use super::values::integer;
use crate::Problem;
use crate::decode::{Decoder, Field};
use crate::given::Given;
use crate::model::{BackupFolder, Settings};
use crate::syntax::age::recipient_fault;
use crate::words::quote;

/// More than anybody has a use for; each is a file.
pub(crate) const MOST: i64 = 100_000;

const RECIPIENTS: &str = "backup_recipients";

pub(crate) fn folder(decoder: &mut Decoder, field: &Field<'_>, settings: &mut Settings) {
    let Some(text) = decoder.text(field) else { return };
    if !text.trim().is_empty() && !text.contains(char::is_control) {
        settings.backup.folder = Some(BackupFolder { path: text.to_owned(), origin: field.position().clone() });
        return;
    }
    let problem = Problem::new(format!("`{}` is no path of a folder", field.name())).at(field.position());
    decoder.report(problem.because("a path is one line, and not empty").hint("write a path such as `/srv/backups`, or leave it out"));
}

/// A list, or texts with commas between them as an inventory may have it.
pub(crate) fn recipients(decoder: &mut Decoder, field: &Field<'_>, settings: &mut Settings) {
    let before = decoder.count();
    let mut found: Vec<String> = Vec::new();
    for (text, item) in decoder.texts(field, "it is a list of recipients of age") {
        if let Some(because) = recipient_fault(text) {
            let what = if text.starts_with("AGE-SECRET-KEY-") { "a private key".to_owned() } else { quote(text) };
            let problem = Problem::new(format!("{what} is no recipient of a backup")).at(item.position()).because(because);
            decoder.report(problem.hint("write the line behind `# public key:` of the file that `age-keygen` has written"));
        } else if !found.iter().any(|known| known == text) {
            found.push(text.to_owned());
        }
    }
    if decoder.count() > before {
        decoder.turn_down(RECIPIENTS);
    }
    settings.backup.recipients = found;
}

pub(crate) fn encrypt(decoder: &mut Decoder, field: &Field<'_>, settings: &mut Settings) {
    settings.backup.encrypt = decoder.boolean(field).unwrap_or(settings.backup.encrypt);
}

/// Kubespray's `-1` is for all of them.
pub(crate) fn last(decoder: &mut Decoder, field: &Field<'_>, settings: &mut Settings) {
    if let Some(count) = integer(decoder, field, -1..=MOST) {
        settings.backup.keep.last = counted(decoder, field, count);
    }
}

pub(crate) fn daily(decoder: &mut Decoder, field: &Field<'_>, settings: &mut Settings) {
    settings.backup.keep.daily = some(decoder, field);
}

pub(crate) fn weekly(decoder: &mut Decoder, field: &Field<'_>, settings: &mut Settings) {
    settings.backup.keep.weekly = some(decoder, field);
}

pub(crate) fn monthly(decoder: &mut Decoder, field: &Field<'_>, settings: &mut Settings) {
    settings.backup.keep.monthly = some(decoder, field);
}

fn some(decoder: &mut Decoder, field: &Field<'_>) -> Option<u32> {
    integer(decoder, field, 1..=MOST).and_then(|count| u32::try_from(count).ok())
}

fn counted(decoder: &mut Decoder, field: &Field<'_>, count: i64) -> Option<u32> {
    if count == 0 {
        let problem = Problem::new(format!("`{}` cannot be 0", field.name())).at(field.position());
        decoder
            .report(problem.because("the newest backup is never removed").hint("write 1 or more; or leave it out: then all of them stay"));
    }
    u32::try_from(count).ok().filter(|count| *count > 0)
}

/// Whether it is said who can read what holds every secret of the cluster, where the file speaks of backups. The variables of Kubespray alone say only where
/// they lie: whoever makes one is asked then.
pub(crate) fn check(decoder: &mut Decoder, given: &[Given], settings: &Settings) {
    let backup = &settings.backup;
    let place = decoder.position("spec.backup").cloned();
    let of_variable = |name: &str| given.iter().find(|given| given.name == name).map(|given| given.position.clone());
    if !backup.encrypt && !backup.recipients.is_empty() {
        let place = decoder.position("spec.backup.encrypt").cloned().or_else(|| of_variable("backup_encrypt"));
        let problem = Problem::new("backups can't be encrypted to recipients and not be encrypted");
        let problem = problem.because("`encrypt: false` is said, and there are recipients").hint("leave out one of the two");
        return decoder.report(Problem { position: place, ..problem });
    }
    let is_silent = backup.encrypt && backup.recipients.is_empty() && !decoder.has_turned_down(&[RECIPIENTS]);
    if let Some(place) = place.filter(|_| is_silent) {
        let problem = Problem::new("it is not said who can read the backups").at(&place);
        let because = "a backup holds every secret of the cluster and the keys of its authorities";
        decoder.report(problem.because(because).hint(
            "add `recipients: [age1…]`, of which `age-keygen -o backup.key` makes one; or, if whoever gets the files may have all of it, `encrypt: false`",
        ));
    }
}
