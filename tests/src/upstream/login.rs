//! Registries that ask who one is: by tokens, as upstream's do.

use super::Served;
use super::http::Request;

/// Where tokens come from.
pub const AUTH_HOST: &str = "auth.docker.io";
const TOKEN: &str = "a-token-of-the-lab";

/// What a request without the right to an answer gets instead: a status, further headers, and a body.
pub(super) enum Reply {
    Refused(String),
    Token(Vec<u8>),
}

/// With a login registries want tokens, and the login (`user:password` in Base64, as Basic has it) for them.
pub(super) fn reply(served: &Served, request: &Request) -> Option<Reply> {
    let login = served.login.as_deref()?;
    let is_from = |scheme: &str, value: &str| request.authorization.as_deref() == Some(format!("{scheme} {value}").as_str());
    if request.host == AUTH_HOST {
        let token = served.tokens.as_ref().map_or_else(|| TOKEN.to_owned(), |tokens| tokens.token(&request.path));
        let token = format!(r#"{{"token":"{token}","access_token":"{token}","expires_in":3600}}"#);
        let basic = || Reply::Refused("WWW-Authenticate: Basic realm=\"upstream of the lab\"\r\n".to_owned());
        return Some(if is_from("Basic", login) { Reply::Token(token.into_bytes()) } else { basic() });
    }
    if !request.path.starts_with("/v2/") || is_from("Bearer", TOKEN) {
        return None;
    }
    let repository =
        request.path.strip_prefix("/v2/").and_then(|rest| rest.split_once("/manifests/").or_else(|| rest.split_once("/blobs/")));
    let scope = repository.map(|(name, _)| format!(",scope=\"repository:{name}:pull\"")).unwrap_or_default();
    let host = &request.host;
    Some(Reply::Refused(format!("WWW-Authenticate: Bearer realm=\"https://{AUTH_HOST}/token\",service=\"{host}\"{scope}\r\n")))
}
