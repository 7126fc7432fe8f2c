//! The distribution's store of certificate authorities.

use crate::change::{Change, ChangeKind, Verdict, seen};
use crate::distribution::{Distribution, TrustPlaces};
use crate::observe::{Look, Observations, PathState, Piece};
use crate::resources::Act;
use crate::script::Fragment;

/// The bundle of all authorities that programs read is newer than each that was added, and has what it has to have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrustStore {
    /// Where additional authorities lie.
    pub folder: &'static str,
    /// The file that programs read.
    bundle: &'static str,
    /// What makes the one from the other.
    command: &'static str,
    /// What takes away links to files that were taken away.
    tidy: Option<&'static str>,
    /// Files of additional authorities, absolute.
    pub anchors: Vec<String>,
    /// Certificates that programs trust, in PEM: each stands in the bundle, whatever files there are.
    pub certificates: Vec<String>,
    /// Whether files may have been taken away: then the bundle is newer than the folder, too.
    pub thinned: bool,
}

impl TrustStore {
    /// The store of a family of distributions, with nothing added.
    #[must_use]
    pub fn for_distribution(distribution: &Distribution) -> Self {
        let TrustPlaces { folder, bundle, command, tidy, .. } = distribution.trust;
        Self { folder, bundle, command, tidy, anchors: Vec::new(), certificates: Vec::new(), thinned: false }
    }

    /// The same with these files added.
    #[must_use]
    pub fn with(self, anchors: Vec<String>) -> Self {
        Self { anchors, ..self }
    }

    /// The same where programs are to trust this certificate, which lies in that file.
    #[must_use]
    pub fn trusting(self, anchor: String, pem: String) -> Self {
        Self { anchors: vec![anchor], certificates: vec![pem], ..self }
    }

    /// The same where a file was to be taken away.
    #[must_use]
    pub fn thinned(self) -> Self {
        Self { thinned: true, ..self }
    }

    fn piece(&self, pem: &str) -> Piece {
        let body = pem.lines().filter(|line| !line.starts_with("-----")).collect();
        Piece::Trusted { bundle: self.bundle.to_owned(), body }
    }

    pub(super) fn looks(&self) -> Vec<Look> {
        let folder = self.thinned.then_some(self.folder);
        let paths = self.anchors.iter().map(String::as_str).chain(folder).chain([self.bundle]);
        let certificates = self.certificates.iter().map(|pem| Look::Piece(self.piece(pem)));
        paths.map(|path| Look::Path(path.to_owned())).chain(certificates).collect()
    }

    pub(super) fn diff(&self, seen: &Observations) -> Verdict {
        let made = match seen!(seen.paths.get(self.bundle)) {
            PathState::Present(is) => is.changed_nanoseconds,
            PathState::Missing if self.anchors.is_empty() => return Verdict::Same,
            PathState::Missing => return Verdict::differs(ChangeKind::Update, format!("{} does not exist", self.bundle)),
        };
        for path in &self.anchors {
            match seen!(seen.paths.get(path)) {
                PathState::Present(is) if is.changed_nanoseconds <= made => {}
                _ => return Verdict::differs(ChangeKind::Update, format!("{path} is newer than what programs read")),
            }
        }
        if self.thinned && matches!(seen!(seen.paths.get(self.folder)), PathState::Present(is) if is.changed_nanoseconds > made) {
            return Verdict::differs(ChangeKind::Update, format!("{} has changed since what programs read was made", self.folder));
        }
        for pem in &self.certificates {
            if seen!(seen.pieces.get(&self.piece(pem))).trim() != "yes" {
                return Verdict::differs(ChangeKind::Update, format!("{} does not have it, so programs don't trust it", self.bundle));
            }
        }
        Verdict::Same
    }

    /// Two at once would each take the other's half-made file for its own.
    pub(super) fn act(&self, _: &Change) -> Act {
        let tidy = self.tidy.filter(|_| self.thinned).map(|tidy| format!("flock /run/kokctl-trust.lock {tidy}\n")).unwrap_or_default();
        Act::Script(Fragment::text(format!("flock /run/kokctl-trust.lock {} >/dev/null\n{tidy}", self.command)))
    }

    pub(super) fn title(&self) -> String {
        match self.anchors.as_slice() {
            [anchor] if !self.certificates.is_empty() => format!("trust in {anchor}"),
            _ => "certificate authorities that programs trust".to_owned(),
        }
    }
}
