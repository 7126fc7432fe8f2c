//! Which certificate authorities the cluster tells others to trust: whoever joins, whoever is asked in the place of an API server, and all pods.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::parse::{ParseError, Section, text_of};

/// Texts of PEM, of which none is there where nobody has put it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ClusterTrust {
    /// What those who join are told (ConfigMap `cluster-info`).
    pub joining: Option<String>,
    /// By whom API servers know their clients, as aggregated API servers are told (ConfigMap `extension-apiserver-authentication`).
    pub clients: Option<String>,
    /// By whom aggregated API servers know the API servers that ask them; in the same place.
    pub front_proxy: Option<String>,
    /// What pods are told, each text once, with one of the namespaces that have it (ConfigMaps `kube-root-ca.crt`).
    pub pods: Vec<(String, String)>,
}

/// After [`super::api_server::ready`]. Texts come quoted, each on one line, then `done`; what pods are told once for all namespaces that have the same.
pub(super) const SCRIPT: &str = r#"mark cluster-trust
if [ -n "$api_server" ]; then
  {
    kube get configmap cluster-info --namespace=kube-public --ignore-not-found --output='go-template={{printf "joining %q\n" .data.kubeconfig}}' &&
    kube get configmap extension-apiserver-authentication --namespace=kube-system --output='go-template={{with index .data "client-ca-file"}}{{printf "clients %q\n" .}}{{end}}{{with index .data "requestheader-client-ca-file"}}{{printf "front-proxy %q\n" .}}{{end}}' &&
    { kube get configmaps --all-namespaces --field-selector=metadata.name=kube-root-ca.crt --chunk-size=500 --output='go-template={{range .items}}{{printf "%q" (index .data "ca.crt")}} {{.metadata.namespace}}{{"\n"}}{{end}}' || echo '"" failed'; } |
      LC_ALL=C sort | { last=; while IFS= read -r line; do [ "${line% *}" = "$last" ] || printf 'pods %s %s\n' "${line##* }" "${line% *}"; last=${line% *}; done; } | head -n 20 &&
    echo done
  } 2>&1
fi
"#;

/// What [`SCRIPT`] says. Where the end is missing nothing is known.
pub(super) fn read(sections: &[Section<'_>]) -> Result<Result<ClusterTrust, String>, ParseError> {
    let text = text_of(sections, "cluster-trust")?;
    let Some(lines) = text.trim_end().strip_suffix("done") else {
        let answer = text.trim();
        return Ok(Err(if answer.is_empty() { "the API server does not answer".to_owned() } else { answer.chars().take(400).collect() }));
    };
    let mut trust = ClusterTrust::default();
    for line in lines.lines() {
        let Some((name, rest)) = line.split_once(' ') else { continue };
        match name {
            "joining" => trust.joining = Some(authority_of(&unquoted(rest))),
            "clients" => trust.clients = Some(unquoted(rest)),
            "front-proxy" => trust.front_proxy = Some(unquoted(rest)),
            "pods" => trust.pods.extend(rest.split_once(' ').map(|(namespace, text)| (namespace.to_owned(), unquoted(text)))),
            _ => {}
        }
    }
    Ok(Ok(trust))
}

/// What Go has quoted; of PEM and YAML that is what JSON has, and what is not is none of them.
fn unquoted(text: &str) -> String {
    serde_json::from_str(text).unwrap_or_default()
}

/// The authorities that a kubeconfig names; an empty text, which no certificate is, where it has none.
fn authority_of(kubeconfig: &str) -> String {
    let data = kubeconfig.lines().find_map(|line| line.trim_start().strip_prefix("certificate-authority-data:"));
    let bytes = data.and_then(|data| STANDARD.decode(data.trim().trim_matches('"')).ok());
    bytes.and_then(|bytes| String::from_utf8(bytes).ok()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "these are tests")]

    use super::super::parse::sections;
    use super::super::script::Nonce;
    use super::*;

    fn read_section(said: &str) -> Result<ClusterTrust, String> {
        let nonce = Nonce::new([7; 16]);
        let text = format!("\n{0} cluster-trust\n{said}\n{0} end\n", nonce.as_str());
        read(&sections(&nonce, text.as_bytes())).unwrap()
    }

    #[test]
    fn texts_are_taken_out_of_their_quotes() {
        let said = "joining \"clusters:\\n- cluster:\\n    certificate-authority-data: LS0tCg==\\n\"\nclients \"a\\nb\\n\"\n\
                    front-proxy \"c\\n\"\npods default \"a\\n\"\npods web \"b\\n\"\nWarning: something\ndone\n";
        let pods = [("default", "a\n"), ("web", "b\n")].map(|(namespace, text)| (namespace.to_owned(), text.to_owned()));
        let expected = ClusterTrust {
            joining: Some("---\n".to_owned()),
            clients: Some("a\nb\n".to_owned()),
            front_proxy: Some("c\n".to_owned()),
            pods: pods.into(),
        };
        assert_eq!(read_section(said), Ok(expected));
    }

    #[test]
    fn half_an_answer_is_none() {
        assert_eq!(read_section("Error from server (Forbidden): no\n"), Err("Error from server (Forbidden): no".to_owned()));
        assert_eq!(read_section(""), Err("the API server does not answer".to_owned()));
        let failed = read_section("pods failed \"\"\ndone\n").unwrap();
        assert_eq!(failed.pods, [("failed".to_owned(), String::new())], "what pods are told is not known, and is no certificate");
    }
}
