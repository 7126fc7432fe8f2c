//! How backups are made.

use super::values::integer;
use crate::Problem;
use crate::decode::{Decoder, Field};
use crate::given::Given;
use crate::model::{BackupFolder, Schedule, Settings};
use crate::syntax::age::recipient_fault;
use crate::words::quote;

/// More than anybody has a use for; each is a file.
pub(crate) const MOST: i64 = 100_000;

const RECIPIENTS: &str = "backup_recipients";
const BUCKET: &str = "backup_s3_bucket";

pub(crate) fn folder(decoder: &mut Decoder, field: &Field<'_>, settings: &mut Settings) {
    if let Some(path) = path(decoder, field, "/srv/backups") {
        settings.backup.folder = Some(path);
    }
}

fn path(decoder: &mut Decoder, field: &Field<'_>, such: &str) -> Option<BackupFolder> {
    let text = decoder.text(field)?;
    if !text.trim().is_empty() && !text.contains(char::is_control) {
        return Some(BackupFolder { path: text.to_owned(), origin: field.position().clone() });
    }
    let problem = Problem::new(format!("`{}` is no path", field.name())).at(field.position());
    decoder.report(problem.because("a path is one line, and not empty").hint(format!("write a path such as `{such}`, or leave it out")));
    None
}

/// Letters, digits, points and hyphens, 3 to 63 of them (Amazon S3, "General purpose bucket naming rules").
pub(crate) fn bucket(decoder: &mut Decoder, field: &Field<'_>, settings: &mut Settings) {
    let Some(text) = decoder.text(field) else { return };
    let is_end = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
    let bytes = text.as_bytes();
    let is_bucket = (3..=63).contains(&bytes.len())
        && bytes.iter().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'.' | b'-'))
        && is_end(bytes.first())
        && is_end(bytes.last());
    if is_bucket {
        settings.backup.s3.bucket = Some(text.to_owned());
        return;
    }
    let problem = Problem::new(format!("{} is no name of a bucket", quote(text))).at(field.position());
    decoder.report(
        problem
            .because("it has 3 to 63 lower-case letters, digits, points and hyphens, and begins and ends with a letter or a digit")
            .hint("write the name alone; the server's address is `endpoint`, and a folder in it `prefix`"),
    );
    decoder.turn_down(BUCKET);
}

pub(crate) fn endpoint(decoder: &mut Decoder, field: &Field<'_>, settings: &mut Settings) {
    let Some(text) = decoder.text(field) else { return };
    let rest = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
    let is_address = |rest: &str| {
        !rest.is_empty() && !rest.contains(|letter: char| letter.is_whitespace() || letter.is_control() || "@?#".contains(letter))
    };
    if rest.map(|rest| rest.trim_end_matches('/')).is_some_and(is_address) {
        settings.backup.s3.endpoint = Some(text.trim_end_matches('/').to_owned());
        return;
    }
    let problem = Problem::new(format!("{} is no address of a server", quote(text))).at(field.position());
    decoder.report(
        problem
            .because("it begins with `https://` or `http://`, and has neither a login nor a query")
            .hint("write it as `https://s3.example.com`"),
    );
}

pub(crate) fn region(decoder: &mut Decoder, field: &Field<'_>, settings: &mut Settings) {
    let Some(text) = decoder.text(field) else { return };
    if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_') {
        settings.backup.s3.region = Some(text.to_owned());
        return;
    }
    let problem = Problem::new(format!("{} is no region", quote(text))).at(field.position());
    decoder.report(problem.because("it has letters, digits and hyphens").hint("write it as `eu-central-1`, or leave it out"));
}

/// No prefix leads out of itself, and none can be told from another by a slash more.
pub(crate) fn prefix(decoder: &mut Decoder, field: &Field<'_>, settings: &mut Settings) {
    let Some(text) = decoder.text(field) else { return };
    let parts = || text.trim_matches('/').split('/');
    let is_plain = |part: &str| {
        !part.is_empty() && part != "." && part != ".." && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.=".contains(&byte))
    };
    if parts().all(is_plain) {
        settings.backup.s3.prefix = text.trim_matches('/').to_owned();
        return;
    }
    let problem = Problem::new(format!("{} is no prefix", quote(text))).at(field.position());
    decoder.report(
        problem
            .because("it has letters, digits, `-`, `_`, `.` and `=`, with single slashes between")
            .hint("write it as `clusters/demo`, or leave it out"),
    );
}

pub(crate) fn credentials(decoder: &mut Decoder, field: &Field<'_>, settings: &mut Settings) {
    settings.backup.s3.credentials = path(decoder, field, "s3-credentials");
}

pub(crate) fn ca(decoder: &mut Decoder, field: &Field<'_>, settings: &mut Settings) {
    settings.backup.s3.ca = path(decoder, field, "s3-ca.crt");
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

pub(crate) fn schedule(decoder: &mut Decoder, field: &Field<'_>, settings: &mut Settings) {
    let Some(text) = decoder.text(field) else { return };
    match Schedule::parse(text) {
        Ok(schedule) => settings.backup.schedule = Some(schedule),
        Err(because) => {
            let problem = Problem::new(format!("{} is no schedule of backups", quote(text))).at(field.position()).because(because);
            decoder.report(problem.hint("write five fields as cron has them, in UTC: `30 3 * * *` is each day at half past three"));
        }
    }
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
    let s3 = &backup.s3;
    let place_of = |field: &str| decoder.position("spec.backup.to.s3").cloned().or_else(|| of_variable(field));
    let settings_of_bucket = [
        ("backup_s3_endpoint", s3.endpoint.is_some()),
        ("backup_s3_region", s3.region.is_some()),
        ("backup_s3_prefix", !s3.prefix.is_empty()),
        ("backup_s3_credentials_file", s3.credentials.is_some()),
        ("backup_s3_ca_file", s3.ca.is_some()),
    ];
    let first = settings_of_bucket.iter().find(|(_, is_said)| *is_said).map(|(field, _)| *field);
    match (&s3.bucket, &s3.credentials, first) {
        (None, _, Some(field)) if !decoder.has_turned_down(&[BUCKET]) => {
            let problem = Problem { position: place_of(field), ..Problem::new("it is not said which bucket backups go to") };
            decoder
                .report(problem.because("something is said of a server that speaks S3").hint("add `bucket: NAME`, or leave out the rest"));
        }
        (Some(_), None, _) => {
            let problem = Problem { position: place_of(BUCKET), ..Problem::new("it is not said by which key the bucket is written to") };
            decoder.report(problem.because("kokctl takes none from the environment").hint(
                "add `credentialsFile: s3-credentials`, a file with `[default]`, `aws_access_key_id = …` and `aws_secret_access_key = …`",
            ));
        }
        _ => {}
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
