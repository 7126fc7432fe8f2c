//! All of an archive of the user's, below a folder.

use kok_crds::model::{Compression, Contents};

use super::owner::Owner;
use crate::artifact::Artifact;
use crate::change::{ChangeKind, Verdict, seen};
use crate::observe::{ExpectedTree as Listing, Look, Observations, PathState, Piece};
use crate::script::Fragment;
use crate::shell::quote;

/// What an archive has, each path in its place below a folder, as the archive has it. What else is there stays.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tree {
    /// What is in the archive.
    pub contents: Contents,
    /// Whose all of it is.
    pub owner: Owner,
    /// A path that says by being there that all of it is; nothing else is looked at then.
    pub creates: Option<String>,
}

impl Tree {
    fn piece(&self, into: &str) -> Listing {
        let (owner_format, owner) = self.owner.of_stat();
        Listing { into: into.to_owned(), owner_format, owner, members: self.contents.members.clone() }
    }

    pub(super) fn looks(&self, into: &str) -> Vec<Look> {
        vec![match &self.creates {
            Some(path) => Look::Path(path.clone()),
            None => Look::Piece(Piece::Tree(self.piece(into))),
        }]
    }

    pub(super) fn diff(&self, artifact: &Artifact, into: &str, seen: &Observations) -> Verdict {
        if let Some(path) = &self.creates {
            return match seen!(seen.paths.get(path)) {
                PathState::Missing => Verdict::differs(ChangeKind::Install, format!("{path} does not exist")),
                PathState::Present(_) => Verdict::Same,
            };
        }
        let listing = self.piece(into);
        let answer = seen!(seen.pieces.get(&Piece::Tree(listing.clone())));
        let because = match listing.wrong(answer).as_deref() {
            Some([]) => return Verdict::Same,
            Some([one]) => format!("{into}/{one} is not as {} has it", artifact.title),
            Some([first, others @ ..]) => {
                let least = if Listing::is_cut_off(answer) { "at least " } else { "" };
                format!("{into}/{first} and {least}{} more are not as {} has them", others.len(), artifact.title)
            }
            None => "what is there could not be compared".to_owned(),
        };
        Verdict::differs(ChangeKind::Install, because)
    }

    /// The archive is unpacked where nobody but root can write, and what is in it comes to its place by links, so that no file is ever there in
    /// part. `cp` follows no link that stands where a folder has to be.
    pub(super) fn script(&self, artifact: &Artifact, into: &str) -> Fragment {
        let option = match self.contents.compression {
            Compression::None => "",
            Compression::Gzip => "-z ",
            Compression::Xz => "-J ",
        };
        let roots: Vec<String> = self.contents.roots.iter().map(|root| quote(&format!("tree/{root}"))).collect();
        let (into, sum, owner, roots) = (quote(into), quote(&artifact.sha256), self.owner.argument(), roots.join(" "));
        let size = artifact.size;
        Fragment::text(format!(
            r#"trap '' PIPE
umask 022
into={into}
[ ! -L "$into" ] || {{ echo "$into is a symbolic link" >&2; exit 1; }}
if [ ! -d "$into" ]; then
  mkdir -m 0755 -- "$into"
  chown -- {owner} "$into"
fi
trap 'rm -rf "$into/.kokctl-unpacked"' EXIT
rm -rf "$into/.kokctl-unpacked"
mkdir -m 700 "$into/.kokctl-unpacked"
cd -P "$into/.kokctl-unpacked"
[ "$(stat -c '%u %a' .)" = "$(id -u) 700" ] || {{ echo "somebody else writes in $into" >&2; exit 1; }}
timeout "${{kokctl_limit:-900}}" cat >archive
digest_of archive {size}
[ "$sum" = {sum} ] || {{ echo "what arrived has another sha256: $sum" >&2; exit 1; }}
mkdir tree
timeout "${{kokctl_limit:-900}}" tar -x {option}--no-same-owner -p -C tree -f archive
rm -f archive
chown -Rh -- {owner} tree
chmod -R u-s,g-s,o-t -- tree
for root in {roots}; do
  chown --reference="$into" -- "$root"
  chmod --reference="$into" -- "$root"
  cp -al --remove-destination -T -- "$root" "$into"
done
sync -f "$into"
"#
        ))
    }
}
