//! A mount, now and at each start.

use kok_crds::model::{Mount as Wanted, MountState};

use super::Act;
use crate::change::{Change, ChangeKind, Verdict, seen};
use crate::observe::{Look, Mounted, Now, Observations, Piece, encoded, read_mounted};
use crate::script::Fragment;
use crate::shell::quote;

/// What is mounted at a path, and the line of /etc/fstab for it. Nothing is ever formatted, and what is in use is never taken away.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mount(pub Wanted);

const FSTAB: &str = "/etc/fstab";

/// Options that the kernel shows of a mount as they were said.
const SHOWN: [&str; 9] = ["ro", "rw", "nosuid", "nodev", "noexec", "noatime", "nodiratime", "relatime", "strictatime"];

/// Writes the lines of /etc/fstab anew, with one for the path or none.
const EDIT: &str = r#"BEGIN { line = ENVIRON["kok_line"] }
{
  path = $2; sub(/\/+$/, "", path)
  if ($1 !~ /^#/ && NF > 1 && path == ENVIRON["kok_path"]) {
    if (line != "" && !there) print line
    there = 1
    next
  }
  print
}
END { if (line != "" && !there) print line }"#;

impl Mount {
    fn piece(&self) -> Piece {
        Piece::Mount(self.0.clone())
    }

    pub(super) fn looks(&self) -> Vec<Look> {
        vec![Look::Piece(self.piece())]
    }

    /// The line of fstab(5).
    fn line(&self) -> String {
        let Wanted { path, device, fstype, options, dump, pass, .. } = &self.0;
        format!("{} {} {fstype} {} {dump} {pass}", encoded(device), encoded(path), encoded(options))
    }

    /// Whether a line says the same: fields may be apart by any blanks, and the last two may be left out.
    fn is_line(&self, line: &str) -> bool {
        let fields = |text: &str| {
            let mut fields: Vec<String> =
                text.split_ascii_whitespace().take_while(|word| !word.starts_with('#')).map(str::to_owned).collect();
            let missing = 6_usize.saturating_sub(fields.len());
            fields.extend(vec!["0".to_owned(); missing]);
            if let Some(path) = fields.get_mut(1) {
                *path = path.trim_end_matches('/').to_owned();
            }
            fields
        };
        fields(line) == fields(&self.line())
    }

    pub(super) fn diff(&self, seen: &Observations) -> Verdict {
        let is = read_mounted(seen!(seen.pieces.get(&self.piece())));
        let wanted = &self.0;
        let now = match wanted.state {
            MountState::Mounted => self.mounted(&is),
            MountState::Present => None,
            MountState::Unmounted | MountState::Absent => {
                is.now.as_ref().map(|now| (ChangeKind::Unmount, format!("{} ({}) is mounted there", now.source, now.fstype)))
            }
        };
        let line = match wanted.state {
            MountState::Mounted | MountState::Present => self.listed(&is),
            MountState::Unmounted => None,
            MountState::Absent if is.lines.is_empty() => None,
            MountState::Absent => Some((ChangeKind::Remove, "it would be mounted at the next start".to_owned())),
        };
        let has_line = line.is_some();
        // What is done about the mount does what is to be done about the line as well.
        let Some((kind, because)) = now.or(line) else { return Verdict::Same };
        let mut change = Change::new(kind, because);
        if has_line {
            let old: String = is.lines.iter().map(|line| format!("{line}\n")).collect();
            let new = if wanted.state == MountState::Absent { String::new() } else { format!("{}\n", self.line()) };
            change.diff = Some(super::unified(FSTAB, &old, &new));
        }
        Verdict::Differs(change)
    }

    fn mounted(&self, is: &Mounted) -> Option<(ChangeKind, String)> {
        let wanted = &self.0;
        let Some(Now { fstype, source, options }) = &is.now else {
            return Some((ChangeKind::Mount, "nothing is mounted there".to_owned()));
        };
        // A kernel has several drivers for one kind of NFS, and a bind mount has the type of what it shows.
        let is_type =
            wanted.is_bind() || wanted.fstype == "auto" || *fstype == wanted.fstype || (fstype == "nfs4" && wanted.fstype == "nfs");
        if !is_type || !is.is_wanted {
            return Some((ChangeKind::MountAnother, format!("{source} ({fstype}) is mounted there")));
        }
        let missing: Vec<&str> =
            wanted.options.split(',').filter(|option| SHOWN.contains(option)).filter(|option| !has(options, option)).collect();
        (!missing.is_empty()).then(|| (ChangeKind::Remount, format!("it is mounted without {}", missing.join(", "))))
    }

    fn listed(&self, is: &Mounted) -> Option<(ChangeKind, String)> {
        match is.lines.as_slice() {
            [one] if self.is_line(one) => None,
            [] if self.0.state == MountState::Mounted => Some((ChangeKind::Add, "it would not be mounted at the next start".to_owned())),
            [] => Some((ChangeKind::Add, "/etc/fstab has no line for it".to_owned())),
            // Options of the file system itself are known by the line alone.
            [_] if self.0.state == MountState::Mounted => Some((ChangeKind::Remount, "its line of /etc/fstab is another one".to_owned())),
            [_] => Some((ChangeKind::Replace, "its line of /etc/fstab is another one".to_owned())),
            _ => Some((ChangeKind::Replace, format!("/etc/fstab has {} lines for it", is.lines.len()))),
        }
    }

    /// What is mounted comes first: of what can't be, no line stays that the next start would stumble over.
    pub(super) fn act(&self, change: &Change) -> Act {
        let wanted = &self.0;
        let now = match change.kind {
            ChangeKind::Mount => MOUNT,
            ChangeKind::MountAnother => MOUNT_ANOTHER,
            ChangeKind::Remount => REMOUNT,
            ChangeKind::Unmount => UNMOUNT,
            _ => "",
        };
        let line = match wanted.state {
            MountState::Mounted | MountState::Present => Some(self.line()),
            MountState::Unmounted => None,
            MountState::Absent => Some(String::new()),
        };
        let mut script = format!(
            "path={path}\ndevice={device}\nfstype={fstype}\noptions={options}\nexport kok_path={encoded}\n{FUNCTIONS}{now}",
            path = quote(&wanted.path),
            device = quote(&wanted.device),
            fstype = quote(&wanted.fstype),
            options = quote(&wanted.options),
            encoded = quote(&encoded(&wanted.path)),
        );
        if let Some(line) = line {
            script.push_str(&format!("export kok_line={}\nedit={}\n{WRITE}", quote(&line), quote(EDIT)));
        }
        Act::Script(Fragment::text(script))
    }

    pub(super) fn writes(&self) -> Vec<String> {
        vec![format!("mount {}", self.0.path)]
    }

    pub(super) fn title(&self) -> String {
        match self.0.state {
            MountState::Mounted | MountState::Present => format!("mount {} at {}", self.0.device, self.0.path),
            MountState::Unmounted | MountState::Absent => format!("nothing mounted at {}", self.0.path),
        }
    }
}

/// Whether the kernel shows an option. Times of access are noted `relatime` where nothing else is shown on kernels that leave that out.
fn has(options: &[String], option: &str) -> bool {
    let shows = |word: &str| options.iter().any(|is| is == word);
    match option {
        "rw" => !shows("ro"),
        "relatime" => !shows("noatime"),
        "strictatime" => !shows("noatime") && !shows("relatime"),
        other => shows(other),
    }
}

/// The kernel knows a mount by the path that leads nowhere else.
const FUNCTIONS: &str = r#"is_mounted() { [ -n "$(LC_ALL=C awk '$5 == ENVIRON["kok_path"] { print "yes"; exit }' </proc/self/mountinfo)" ]; }
straight() {
  [ -e "$path" ] || mkdir -m 0755 -- "$path"
  to=$(readlink -f -- "$path")
  [ "$to" = "$path" ] || { echo "$path leads to $to: write that as path" >&2; exit 1; }
}
put_there() { mount -t "$fstype" -o "$options" -- "$device" "$path"; }
away() {
  umount -- "$path" || {
    echo "$path is not taken away while it is in use; end what uses it (fuser -vm $path names it), and run this again" >&2
    exit 1
  }
}
"#;

const MOUNT: &str = r#"straight
if is_mounted; then echo "something was mounted at $path meanwhile" >&2; exit 1; fi
put_there
"#;

const MOUNT_ANOTHER: &str = "straight\naway\nput_there\n";

const REMOUNT: &str = "straight\nmount -o \"remount,$options\" -- \"$path\"\n";

/// Several may lie above each other.
const UNMOUNT: &str = "while is_mounted; do away; done\n";

const WRITE: &str = r#"file=/etc/fstab
[ ! -L "$file" ] || { echo "$file is a symbolic link" >&2; exit 1; }
temporary=/etc/.kokctl-fstab
trap 'rm -f "$temporary"' EXIT
rm -f "$temporary"
[ -e "$file" ] || (umask 022; : >"$file")
cp -p -- "$file" "$temporary"
LC_ALL=C awk "$edit" <"$file" >"$temporary"
sync "$temporary"
mv -fT "$temporary" "$file"
sync /etc
systemctl daemon-reload
"#;
