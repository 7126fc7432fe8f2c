//! Which keys have signed the tokens of service accounts that stand in Secrets (`kubernetes.io/service-account-token`): nobody signs these anew by himself. Of a
//! token only its head leaves the host, which names the algorithm and the key.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use super::parse::{ParseError, Section, text_of};

/// Secrets by `namespace/name`, each with the name of the key that has signed its token; or what was said instead.
pub type TokenSecrets = Result<BTreeMap<String, String>, String>;

/// After [`super::api_server::ready`]. Whoever may make Secrets may put anything in the place of a token: it comes quoted, on one line, and what is no head of
/// one is left out.
pub(super) const SCRIPT: &str = r#"mark token-secrets
if [ -n "$api_server" ]; then
  { kube get secrets --all-namespaces --chunk-size=100 --field-selector=type=kubernetes.io/service-account-token \
    --output='go-template={{range .items}}{{.metadata.namespace}}/{{.metadata.name}} {{with .data}}{{with .token}}{{printf "%.400q" (base64decode .)}}{{end}}{{end}}{{"\n"}}{{end}}' 2>&1 \
    && echo done; } | sed -e 's/^\([^ "]*\) "\(eyJ[A-Za-z0-9_-]*\)\..*$/\1 \2/' -e 's/^\([^ "]*\) ".*$/\1 /'
fi
"#;

/// What [`SCRIPT`] says. Where the end is missing nothing is known.
pub(super) fn read(sections: &[Section<'_>]) -> Result<TokenSecrets, ParseError> {
    let text = text_of(sections, "token-secrets")?;
    let Some(lines) = text.trim_end().strip_suffix("done") else {
        let answer = text.trim();
        return Ok(Err(if answer.is_empty() { "the API server does not answer".to_owned() } else { answer.chars().take(400).collect() }));
    };
    let secrets = lines.lines().map(|line| {
        let (name, head) = line.split_once(' ').ok_or_else(|| ParseError::new("token-secrets", line))?;
        Ok((name.to_owned(), signed_by(head).unwrap_or_default()))
    });
    secrets.collect::<Result<_, _>>().map(Ok)
}

/// The key that the head of a token names (RFC 7515, `kid`).
fn signed_by(head: &str) -> Option<String> {
    let head: serde_json::Value = serde_json::from_slice(&URL_SAFE_NO_PAD.decode(head).ok()?).ok()?;
    head.get("kid")?.as_str().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "these are tests")]

    use super::super::parse::sections;
    use super::super::script::Nonce;
    use super::*;

    fn read_section(said: &str) -> TokenSecrets {
        let nonce = Nonce::new([7; 16]);
        let text = format!("\n{0} token-secrets\n{said}\n{0} end\n", nonce.as_str());
        read(&sections(&nonce, text.as_bytes())).unwrap()
    }

    #[test]
    fn tokens_name_their_keys() {
        let head = URL_SAFE_NO_PAD.encode(r#"{"alg":"RS256","kid":"k1"}"#);
        let found = read_section(&format!("default/a.token {head}\nkube-system/new \nns/odd {head}x\ndone\n")).unwrap();
        let expected = [("default/a.token", "k1"), ("kube-system/new", ""), ("ns/odd", "")];
        assert_eq!(found, expected.map(|(name, key)| (name.to_owned(), key.to_owned())).into());
        assert_eq!(read_section("done\n"), Ok(BTreeMap::new()));
    }

    #[test]
    fn half_an_answer_is_none() {
        assert_eq!(read_section("Error from server (Forbidden): no\n"), Err("Error from server (Forbidden): no".to_owned()));
        assert_eq!(read_section(""), Err("the API server does not answer".to_owned()));
    }
}
