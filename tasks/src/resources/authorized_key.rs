//! A key by which a user may log in.

use super::Act;
use crate::change::{ChangeKind, Verdict, seen};
use crate::observe::{Look, Observations, Piece};
use crate::script::{Content, Fragment};
use crate::shell::quote;

/// A line of the `authorized_keys` of a user. Others stay.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuthorizedKey {
    /// The user.
    pub user: String,
    /// The line.
    pub key: String,
}

/// What adds its input to the keys of whoever runs it; `$1` is his home. Others may write in a user's home: as root it would follow their links.
const ADD: &str = r#"umask 077
mkdir -p "$1/.ssh"
keys="$1/.ssh/authorized_keys"
if [ -f "$keys" ] && [ -n "$(tail -c 1 "$keys")" ]; then echo >>"$keys"; fi
cat >>"$keys""#;

impl AuthorizedKey {
    fn piece(&self) -> Piece {
        Piece::Key { user: self.user.clone(), key: self.key.clone() }
    }

    pub(super) fn looks(&self) -> Vec<Look> {
        vec![Look::Piece(self.piece())]
    }

    pub(super) fn diff(&self, seen: &Observations) -> Verdict {
        match seen!(seen.pieces.get(&self.piece())).trim() {
            "yes" => Verdict::Same,
            _ => Verdict::differs(ChangeKind::Add, "the user has no such key"),
        }
    }

    pub(super) fn act(&self) -> Act {
        let user = quote(&self.user);
        let mut fragment = Fragment::text(format!(
            "entry=$(getent passwd -- {user}) || {{ echo \"there is no such user\" >&2; exit 1; }}\n\
             uid=$(printf '%s\\n' \"$entry\" | cut -d : -f 3)\ngid=$(printf '%s\\n' \"$entry\" | cut -d : -f 4)\n\
             home=$(printf '%s\\n' \"$entry\" | cut -d : -f 6)\n"
        ));
        let command = format!(
            "setpriv --reuid \"$uid\" --regid \"$gid\" --init-groups env -i PATH=/usr/bin:/bin /bin/sh -euc {} sh \"$home\"",
            quote(ADD)
        );
        fragment.feed(Content::Bytes(format!("{}\n", self.key).as_bytes()), &command);
        Act::Script(fragment)
    }

    pub(super) fn title(&self) -> String {
        format!("key of {}", self.user)
    }
}
