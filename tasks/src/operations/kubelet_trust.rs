//! By which authorities a kubelet knows the API server.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::change::{Change, ChangeKind, Verdict, seen};
use crate::observe::{Look, Observations, PathState};
use crate::resources::Act;
use crate::script::{Content, Fragment};

/// The kubeconfig of the host's kubelet has these authorities in it. The rest of it stays; one that names a file of them stays as it is. The kubelet reads it
/// at its start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KubeletTrust {
    /// In PEM.
    pub authorities: String,
}

const KUBELET_CONF: &str = "/etc/kubernetes/kubelet.conf";

/// By rename, and with the rights of the one that was there. What kubeadm has finished (`kubelet-finalize`) is known by its sum.
const SCRIPT: &str = r#"new=/etc/kubernetes/.kokctl-kubelet.conf
record=/var/lib/kokctl/made/kubelet-finalized
sum() { sum=$(sha256sum </etc/kubernetes/kubelet.conf) && sum=${sum%% *}; }
sum
was=$sum
sed "s|^\( *certificate-authority-data: \).*|\1$data|" /etc/kubernetes/kubelet.conf | (umask 077 && cat >"$new")
sync "$new"
mv -fT "$new" /etc/kubernetes/kubelet.conf
sync /etc/kubernetes
sum
if [ -f "$record" ] && [ "$(cat "$record")" = "$was" ]; then
  printf '%s\n' "$sum" >"$record.new"
  sync "$record.new"
  mv -f "$record.new" "$record"
fi
"#;

impl KubeletTrust {
    pub(super) fn looks(&self) -> Vec<Look> {
        vec![Look::Path(KUBELET_CONF.to_owned()), Look::KubeconfigAuthorities(KUBELET_CONF.to_owned())]
    }

    /// A host that joins gets it so.
    pub(super) fn diff(&self, seen: &Observations) -> Verdict {
        if *seen!(seen.paths.get(KUBELET_CONF)) == PathState::Missing {
            return Verdict::Same;
        }
        match seen!(seen.kubeconfig_authorities.get(KUBELET_CONF)) {
            Some(is) if is.trim() != self.authorities.trim() => Verdict::differs(ChangeKind::Write, "it names other authorities"),
            _ => Verdict::Same,
        }
    }

    pub(super) fn act(&self, _: &Change) -> Act {
        let mut fragment = Fragment::default();
        let script = format!("data={}\n{SCRIPT}", STANDARD.encode(&self.authorities));
        fragment.feed(Content::Bytes(script.as_bytes()), "job kubelet-trust");
        Act::Script(fragment)
    }

    pub(super) fn title(&self) -> String {
        "authorities in the kubelet's kubeconfig".to_owned()
    }
}
