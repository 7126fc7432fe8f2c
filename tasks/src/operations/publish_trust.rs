//! Whom the cluster tells others to trust.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kok_pki::AuthorityKind;
use serde_json::json;

use super::KUBECTL;
use crate::change::{Change, ChangeKind, Verdict, seen};
use crate::observe::{ClusterTrust, Look, Observations};
use crate::pem_set::PemSet;
use crate::resources::Act;
use crate::script::Fragment;
use crate::shell::quote;

/// What the cluster tells others of an authority names all of these: those who join (`cluster-info`), pods (`kube-root-ca.crt`, which the controller manager
/// keeps up), and aggregated API servers (`extension-apiserver-authentication`, to which API servers add theirs and from which they take nothing away).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublishTrust {
    /// The authority.
    pub kind: AuthorityKind,
    /// Certificates in PEM.
    pub authorities: String,
    /// Whether no others may be named.
    pub alone: bool,
}

/// The rest of that kubeconfig stays. Go's `%q` of it is a text of JSON.
const JOINING: &str = r#"text=$(kube get configmap cluster-info --namespace=kube-public --ignore-not-found --output='go-template={{printf "%q" .data.kubeconfig}}')
new=$(printf '%s\n' "$text" | sed "s|\(certificate-authority-data: \)[A-Za-z0-9+/=]*|\1$data|")
if [ "$new" != "$text" ]; then
  kube patch configmap cluster-info --namespace=kube-public --type=merge --patch="{\"data\":{\"kubeconfig\":$new}}" >/dev/null
fi
"#;

impl PublishTrust {
    fn is_as_wanted(&self, text: &str) -> bool {
        let (wanted, found) = (PemSet::parse(&self.authorities), PemSet::parse(text));
        wanted.all().all(|pem| found.has(pem)) && (!self.alone || found.all().all(|pem| wanted.has(pem)))
    }

    /// Who is told something else.
    fn wrong(&self, trust: &ClusterTrust) -> Option<String> {
        let is_wrong = |text: &&String| !self.is_as_wanted(text);
        let aggregated = || Some("what aggregated API servers are told (extension-apiserver-authentication) is not up to date".to_owned());
        match self.kind {
            AuthorityKind::Etcd => None,
            AuthorityKind::FrontProxy => trust.front_proxy.as_ref().is_none_or(|text| is_wrong(&text)).then(aggregated).flatten(),
            AuthorityKind::Kubernetes => {
                let joining = trust.joining.as_ref().filter(is_wrong);
                let pods = trust.pods.iter().find(|(_, text)| is_wrong(&text));
                let pods = || pods.map(|(namespace, _)| format!("what pods are told (kube-root-ca.crt in {namespace}) is not up to date"));
                let clients = || trust.clients.as_ref().is_none_or(|text| is_wrong(&text)).then(aggregated).flatten();
                joining.map(|_| "what hosts that join are told (cluster-info) is not up to date".to_owned()).or_else(pods).or_else(clients)
            }
        }
    }

    pub(super) fn looks(&self) -> Vec<Look> {
        vec![Look::ClusterTrust]
    }

    pub(super) fn diff(&self, seen: &Observations) -> Verdict {
        match seen!(&seen.cluster_trust) {
            Err(reason) => Verdict::differs(ChangeKind::Wait, reason.clone()),
            Ok(trust) => self.wrong(trust).map_or(Verdict::Same, |because| Verdict::differs(ChangeKind::Write, because)),
        }
    }

    /// What an API server adds again that has not read its file yet is taken away again.
    pub(super) fn act(&self, _: &Change) -> Act {
        let mut script = Fragment::text(KUBECTL);
        if self.kind == AuthorityKind::Kubernetes {
            script.line(&format!("data={}", STANDARD.encode(&self.authorities)));
            script.line(JOINING);
        }
        if self.alone {
            let field = if self.kind == AuthorityKind::FrontProxy { "requestheader-client-ca-file" } else { "client-ca-file" };
            let patch = json!({ "data": { field: PemSet::parse(&self.authorities).all().collect::<String>() } }).to_string();
            script.line(&format!(
                "kube patch configmap extension-apiserver-authentication --namespace=kube-system --type=merge --patch={} >/dev/null",
                quote(&patch)
            ));
        }
        Act::Until { script, give_up: None }
    }

    pub(super) fn title(&self) -> String {
        "whom the cluster tells others to trust".to_owned()
    }
}
