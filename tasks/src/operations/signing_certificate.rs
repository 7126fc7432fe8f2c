//! By which certificate the controller manager signs.

use super::static_pods::{BEFORE, UNTIL_OLD_IS_GONE};
use super::tasks_of::TASKS_OF;
use crate::change::{Change, ChangeKind, Verdict, seen};
use crate::observe::{Look, Observations};
use crate::resources::Act;
use crate::script::{Content, Fragment};

/// The controller manager signs requests by a file with one certificate (`--cluster-signing-cert-file`; Kubernetes,
/// `pkg/controller/certificates/signer/ca_provider.go` takes no other), which is not the file of those that are trusted while these are two.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SigningCertificate {
    /// Whether it is a file of its own.
    pub apart: bool,
}

/// The certificate of the authority that signs, while that is being replaced. Where this is there, a manifest that is made anew names it, too.
pub const SIGNING_CERTIFICATE: &str = "/etc/kubernetes/pki/ca-signing.crt";

const MANIFEST: &str = "/etc/kubernetes/manifests/kube-controller-manager.yaml";
const OPTION: &str = "--cluster-signing-cert-file=";
const TRUSTED: &str = "/etc/kubernetes/pki/ca.crt";

/// `signs_by CERTIFICATE` has the manifest name it: by rename, with the rights of the one that was there. The new one is made in another folder: the kubelet
/// would take it for a pod.
const SIGNS_BY: &str = r#"signs_by() {
  new=/etc/kubernetes/.kokctl-kube-controller-manager.yaml
  cp -p -- /etc/kubernetes/manifests/kube-controller-manager.yaml "$new"
  sed -i "s|\(--cluster-signing-cert-file=\)/etc/kubernetes/pki/ca[a-z-]*\.crt\$|\1$1|" "$new"
  sync "$new"
  mv -fT "$new" /etc/kubernetes/manifests/kube-controller-manager.yaml
  sync /etc/kubernetes/manifests
}
"#;

/// What follows each manifest that kubeadm has written, which knows of no such file.
pub(super) fn after_kubeadm() -> String {
    format!("{SIGNS_BY}[ ! -f {SIGNING_CERTIFICATE} ] || signs_by {SIGNING_CERTIFICATE}\n")
}

/// Then the record of what kubeadm has written, if that was as it had been written. After [`SIGNS_BY`].
const SCRIPT: &str = r#"record=/var/lib/kokctl/made/control-plane
sum() { sum=$(sha256sum <"$manifest") && sum=${sum%% *}; }
sum
was=$sum
signs_by "$certificate"
sum
if [ -f "$record" ] && grep -qxF -e "$was  $manifest" "$record"; then
  cp -- "$manifest" "$record.files/"
  sed "s|^$was  $manifest\$|$sum  $manifest|" "$record" >"$record.new"
  sync "$record.new"
  mv -f "$record.new" "$record"
fi
"#;

impl SigningCertificate {
    const fn path(&self) -> &'static str {
        if self.apart { SIGNING_CERTIFICATE } else { TRUSTED }
    }

    pub(super) fn looks(&self) -> Vec<Look> {
        vec![Look::Path(MANIFEST.to_owned()), Look::Content(MANIFEST.to_owned())]
    }

    /// Of a controller manager that names another file nothing is changed.
    pub(super) fn diff(&self, seen: &Observations) -> Verdict {
        seen!(seen.paths.get(MANIFEST));
        let text = seen.contents.get(MANIFEST).map(|text| String::from_utf8_lossy(text)).unwrap_or_default();
        match text.lines().find_map(|line| line.trim().strip_prefix("- ")?.strip_prefix(OPTION)) {
            Some(path) if path != self.path() && [SIGNING_CERTIFICATE, TRUSTED].contains(&path) => {
                Verdict::differs(ChangeKind::SetTo(self.path().to_owned()), format!("it signs by {path}"))
            }
            _ => Verdict::Same,
        }
    }

    pub(super) fn act(&self, _: &Change) -> Act {
        let mut fragment = Fragment::default();
        let head = format!("program=kube-controller-manager\nmanifest={MANIFEST}\ncertificate={}\n", self.path());
        let script = format!("{head}{TASKS_OF}{BEFORE}{SIGNS_BY}{SCRIPT}{UNTIL_OLD_IS_GONE}");
        fragment.feed(Content::Bytes(script.as_bytes()), "job signing-certificate");
        Act::Script(fragment)
    }

    pub(super) fn writes(&self) -> Vec<String> {
        vec![MANIFEST.to_owned()]
    }

    pub(super) fn title(&self) -> String {
        "by which certificate the controller manager signs".to_owned()
    }
}
