//! What a host says of a mount: its lines of /etc/fstab, and what the kernel has there.

use kok_crds::model::Mount;

use crate::shell::quote;

/// Words behind which a device is looked up by what stands on it.
const TAGS: [&str; 4] = ["UUID=", "LABEL=", "PARTUUID=", "PARTLABEL="];

/// What is there of a mount.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Mounted {
    /// The lines of /etc/fstab for the path, as they stand there.
    pub lines: Vec<String>,
    /// What is mounted there now.
    pub now: Option<Now>,
    /// Whether what is mounted is what has to be.
    pub is_wanted: bool,
}

/// What is mounted somewhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Now {
    /// The type of the file system.
    pub fstype: String,
    /// Where it comes from.
    pub source: String,
    /// Options of the mount and of the file system.
    pub options: Vec<String>,
}

/// A field as /etc/fstab and /proc have it: what parts fields stands there by its number.
pub(crate) fn encoded(field: &str) -> String {
    field.replace('\\', "\\134").replace(' ', "\\040").replace('\t', "\\011")
}

/// The lines of /etc/fstab that are about a path, but for a `/` at its end.
const LINES: &str = r#"$1 !~ /^#/ && NF > 1 { path = $2; sub(/\/+$/, "", path); if (path == ENVIRON["kok_path"]) print "fstab " $0 }"#;

/// What is mounted at a path last lies above all else.
const LAST: &str = r#"$5 == ENVIRON["kok_path"] { last = $0 } END { if (last != "") print last }"#;

/// A script that prints them: `fstab LINE`, `mounted LINE` of proc(5), and `same` if what is mounted is what has to be.
pub(super) fn look(mount: &Mount) -> String {
    let (path, device) = (quote(&mount.path), quote(&mount.device));
    let wanted = match &mount.device {
        _ if mount.is_bind() => format!("if [ {device} -ef {path} ]; then echo same; fi"),
        tag if TAGS.iter().any(|word| tag.starts_with(word)) => {
            format!("device=$(PATH=\"$PATH:/usr/sbin:/sbin\" findfs {device} 2>/dev/null)\n{SAME}")
        }
        _ => format!("device={device}\n{SAME}"),
    };
    format!(
        "export kok_path={encoded}\n[ ! -f /etc/fstab ] || LC_ALL=C awk {LINES} </etc/fstab\nmounted=$(LC_ALL=C awk {LAST} </proc/self/mountinfo 2>/dev/null)\n\
         if [ -n \"$mounted\" ]; then\n  printf 'mounted %s\\n' \"$mounted\"\n  source=${{mounted#* - }}\n  source=${{source#* }}\n  \
         source=${{source%% *}}\n{wanted}\nfi\nunset kok_path",
        encoded = quote(&encoded(&mount.path)),
        LINES = quote(LINES),
        LAST = quote(LAST),
    )
}

/// One device has several names.
const SAME: &str = r#"case $source in /*) source=$(readlink -f -- "$source");; esac
case $device in /*) device=$(readlink -f -- "$device");; esac
if [ -n "$device" ] && [ "${source%/}" = "${device%/}" ]; then echo same; fi"#;

/// What was said.
pub(crate) fn read(answer: &str) -> Mounted {
    let lines = answer.lines().filter_map(|line| line.strip_prefix("fstab ")).map(str::to_owned).collect();
    let now = answer.lines().find_map(|line| line.strip_prefix("mounted ")).and_then(read_now);
    Mounted { lines, now, is_wanted: answer.lines().any(|line| line == "same") }
}

/// A line of /proc/self/mountinfo (proc(5)).
fn read_now(line: &str) -> Option<Now> {
    let (mount, rest) = line.split_once(" - ")?;
    let mut rest = rest.split(' ');
    let (fstype, source) = (rest.next()?.to_owned(), rest.next()?.to_owned());
    let of_system = rest.next().unwrap_or_default();
    let options = mount.split(' ').nth(5)?.split(',').chain(of_system.split(',')).map(str::to_owned).collect();
    Some(Now { fstype, source, options })
}
