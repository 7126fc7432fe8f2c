//! The reader of mounts.

use super::fields::{self, checked, optional, required};
use crate::Problem;
use crate::decode::{Decoder, Field, Fields, Form};
use crate::model::{Mount, MountState, Wish};
use crate::words::quote;

pub(crate) const MOUNT: Form = Form {
    what: "a mount",
    fields: &["path", "device", "fstype", "options", "dump", "pass", "state"],
    refused: &[
        ("src", "write it as `device`"),
        ("source", "write it as `device`"),
        ("name", "write it as `path`"),
        ("opts", "write it as `options`"),
        ("passno", "write it as `pass`"),
        ("fstab", "leave it out: it is /etc/fstab"),
        ("backup", "leave it out"),
        ("boot", "write `noauto` in `options` for what is not mounted at each start"),
    ],
};

/// What may be wanted of a mount, in the words of Ansible.
pub(crate) const STATES: [(&str, MountState); 4] = [
    ("mounted", MountState::Mounted),
    ("present", MountState::Present),
    ("unmounted", MountState::Unmounted),
    ("absent", MountState::Absent),
];

/// What stands in the sixth field at the most (fstab(5)).
pub(crate) const MOST_PASS: i64 = 2;

/// Without these as they are a host is none; what lies below most of them may be mounted.
const SYSTEM: [&str; 11] = ["/bin", "/dev", "/etc", "/lib", "/lib64", "/proc", "/root", "/run", "/sbin", "/sys", "/usr"];

fn mount_point(text: &str) -> Option<&'static str> {
    let is_of_kernel = ["/proc/", "/sys/", "/dev/"].iter().any(|folder| text.starts_with(folder));
    let is_system = || (is_of_kernel || SYSTEM.contains(&text)).then_some("it is a folder of the system itself");
    fields::host_path(text).or_else(is_system)
}

fn device(text: &str) -> Option<&'static str> {
    const TAGS: [&str; 4] = ["UUID=", "LABEL=", "PARTUUID=", "PARTLABEL="];
    let lacks = || TAGS.contains(&text).then_some("nothing stands behind `=`");
    let is_option = || text.starts_with(['-', '#']).then_some("it would be taken for an option or a comment");
    fields::one_line(text).or_else(is_option).or_else(lacks).or_else(|| text.contains("://").then_some("it is a URL"))
}

fn fstype(text: &str) -> Option<&'static str> {
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    if text.is_empty() || !text.chars().all(allowed) || text.starts_with('-') {
        Some("it is a name as ext4, nfs, tmpfs or none")
    } else if text == "swap" {
        Some("swap is not mounted")
    } else {
        None
    }
}

fn options(text: &str) -> Option<&'static str> {
    let is_password = |option: &str| ["password=", "pass=", "password2="].iter().any(|start| option.starts_with(start));
    if text.is_empty() || text.chars().any(|c| c.is_whitespace() || c.is_control()) || text.split(',').any(str::is_empty) {
        Some("they are words with commas between, as `defaults,noatime`")
    } else if text.starts_with('-') {
        Some("they begin with no `-`")
    } else if text.split(',').any(is_password) {
        Some("everybody on the host may read /etc/fstab: name a file as `credentials=PATH`")
    } else if text.split(',').any(|option| option == "remount") {
        Some("`remount` says what is done, and not what is to be")
    } else {
        None
    }
}

/// Ansible's words for what is done, and not what is to be.
fn state(decoder: &mut Decoder, field: &Field<'_>) -> Option<MountState> {
    if !["remounted", "ephemeral", "absent_from_fstab"].iter().any(|word| field.is_text(word)) {
        return decoder.choice(field, &STATES);
    }
    let problem = Problem::new("`state` of a mount is what lasts").at(field.position());
    let problem = problem.because("it is one of mounted, present, unmounted, absent");
    decoder.report(problem.hint("write `mounted`: what is mounted otherwise than the entry says is mounted anew"));
    None
}

pub(super) fn mount(decoder: &mut Decoder, field: &Field<'_>) -> Option<Wish> {
    let fields = decoder.fields(field, &MOUNT)?;
    let path = required(decoder, &fields, ("path", "the place of a mount"), mount_point);
    let state = fields.get("state").map_or(Some(MountState::Mounted), |field| state(decoder, &field));
    let device = device_of(decoder, &fields, state);
    let fstype = optional(decoder, &fields, ("fstype", "the type of a file system"), fstype);
    let options = optional(decoder, &fields, ("options", "the options of a mount"), options);
    let dump = number(decoder, &fields, "dump", 1);
    let pass = number(decoder, &fields, "pass", MOST_PASS);
    let (device, fstype, options) = (device?, fstype?, options?);
    let options = options.unwrap_or_else(|| "defaults".to_owned());
    let is_bind = options.split(',').any(|option| matches!(option, "bind" | "rbind"));
    let is_line = matches!(state?, MountState::Mounted | MountState::Present);
    let fstype = match fstype {
        Some(fstype) => fstype,
        None if is_bind || !is_line => "none".to_owned(),
        None => {
            if !fields.is_misspelled("fstype") {
                let problem = Problem::new("the field `fstype` is missing").at(fields.position());
                let problem = problem.because("a host would guess what is on the device");
                decoder
                    .report(problem.hint("write the type of the file system, as `ext4`, `xfs`, `nfs` or `tmpfs`; a bind mount needs none"));
            }
            return None;
        }
    };
    if is_bind && !device.as_deref().is_some_and(|device| device.starts_with('/')) {
        let problem = Problem::new("what a bind mount shows is no path").at(fields.position());
        decoder.report(
            problem.because("`options` has bind, and `device` is the folder that is shown").hint("write its absolute path as `device`"),
        );
        return None;
    }
    let mount = Mount { path: path?, device: device.unwrap_or_default(), fstype, options, dump: dump?, pass: pass?, state: state? };
    Some(Wish::Mount(mount))
}

/// What is mounted, which has to be known where a line is to stand in /etc/fstab.
fn device_of(decoder: &mut Decoder, fields: &Fields<'_>, state: Option<MountState>) -> Option<Option<String>> {
    match (fields.get("device"), state?) {
        (Some(field), _) => checked(decoder, &field, device, "what is mounted").map(Some),
        (None, MountState::Unmounted | MountState::Absent) => Some(None),
        (None, _) if fields.is_misspelled("device") => None,
        (None, _) => {
            let problem = Problem::new("the field `device` is missing").at(fields.position());
            let because = "it is what is mounted: UUID=…, LABEL=…, a path below /dev, HOST:/PATH of NFS, or a folder for a bind mount";
            decoder.report(problem.because(because).hint(format!("write it, for example {}", quote("LABEL=data"))));
            None
        }
    }
}

fn number(decoder: &mut Decoder, fields: &Fields<'_>, name: &str, most: i64) -> Option<u8> {
    fields.get(name).map_or(Some(0), |field| decoder.integer(&field, 0..=most).and_then(|number| u8::try_from(number).ok()))
}
