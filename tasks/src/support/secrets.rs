//! What of a text is not passed on.

use std::sync::LazyLock;

use regex::Regex;

/// What a value is called that nobody else may know. Whatever stands before it belongs to its name, as in `DB_PASSWORD` or `--discovery-token`.
const NAMES: &str = "token|passw(?:or)?d|passphrase|pwd|secret|signature|credentials?|client-key-data|certificate[-_ ]?key|api[-_ ]?key|access[-_ ]?key|\
                     encryption[-_ ]?key|pre-?shared[-_ ]?key|private[-_ ]?key|[\\s\"']auth|cookie";

/// A value: in quotes, which may stand in a text that is quoted itself; a block of YAML; or up to what ends one elsewhere.
const VALUE: &str = r#"\\"(?:[^"\\\n]|\\[^"])*(?:\\")?|"(?:[^"\\\n]|\\.)*"?|'[^'\n]*'?|[|>][-+]?\n(?:[ \t]+[^\n]*\n?)+|[^\s,;&"'}\\]+"#;

/// What looks like a secret, and what takes its place; the rest of a line stays.
static SECRETS: LazyLock<Vec<(Regex, &str)>> = LazyLock::new(|| {
    let patterns = [
        (r"(?s)-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(-----END [A-Z ]*PRIVATE KEY-----|\z)".to_owned(), "(a private key)"),
        // Of one whose beginning was cut off.
        (r"(?m)(?:^.*[A-Za-z0-9+/=]{16,}[ \r]*\n)+.*-----END [A-Z ]*PRIVATE KEY-----".to_owned(), "(a private key)"),
        // The same, encoded once more: `-----BEGIN`.
        (r"\bLS0tLS1CRUdJTi[A-Za-z0-9+/=]+".to_owned(), "(a key or a certificate)"),
        // A JSON Web Token, whole or cut off: `{"`.
        (r"\beyJ[A-Za-z0-9_-]{12,}(?:\.[A-Za-z0-9_-]*)*".to_owned(), "(a token)"),
        (r"\b[a-z0-9]{6}\.[a-z0-9]{16}\b".to_owned(), "(a token)"),
        (r"\b(?:gh[pousr]_|github_pat_|glpat-|xox[a-z]-|AKIA|ASIA|hvs\.|s\.)[A-Za-z0-9_-]{14,}".to_owned(), "(a token)"),
        (r"\$(?:2[aby]|1|5|6|y|7|apr1|argon2id?)\$[^\s:,]+".to_owned(), "(a hash)"),
        (
            r"(?i)\b((?:proxy-)?authorization|(?:set-)?cookie|x-[a-z-]*(?:token|key))(\\?[\x22']?\s*[:=][^\S\n]*\\?[\x22']?)[^\n\x22\\]+"
                .to_owned(),
            "$1$2(left out)",
        ),
        (r"(?i)\b(bearer|basic) +[A-Za-z0-9+/._~=-]{8,}".to_owned(), "$1 (left out)"),
        (r"(?i)\b([a-z][a-z0-9+.-]*://)[^\s\x22'<>]*@".to_owned(), "$1(left out)@"),
        (format!(r#"(?i)((?:{NAMES})(?:\\?["'])?\s*[:=]\s*)(?:{VALUE})"#), "$1(left out)"),
        (format!(r#"(?i)(\s--?[a-z0-9-]*(?:{NAMES})[ \t]+)(?:{VALUE})"#), "$1(left out)"),
        (r"(\s(?:-u|--user|--proxy-user)[ =])\S+".to_owned(), "$1(left out)"),
    ];
    patterns.iter().filter_map(|(pattern, by)| Some((Regex::new(pattern).ok()?, *by))).collect()
});

/// A text without what looks like a secret. More may go than has to; what is left is no proof that nothing secret is in it.
#[must_use]
pub fn redacted(text: &str) -> String {
    SECRETS.iter().fold(text.to_owned(), |text, (pattern, by)| pattern.replace_all(&text, *by).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const CANARY: &str = "c4n4ry";
    const LINE: &str = "MIIEvQIBADANBgkqhkiG9w0BAQc4n4ryFAASCBKcwggSjAgEAAoIBAQC7";

    /// Of every kind that stands in files of Kubernetes, in units and their environment, and in what programs log.
    fn secrets() -> Vec<String> {
        let mut secrets = vec![
            format!("-----BEGIN RSA PRIVATE KEY-----\n{CANARY}\n-----END RSA PRIVATE KEY-----"),
            format!("-----BEGIN OPENSSH PRIVATE KEY-----\n{CANARY}"),
            format!("\"-----BEGIN EC PRIVATE KEY-----\\n{CANARY}\\n-----END EC PRIVATE KEY-----\\n\""),
            format!(
                "\nNov 26 01:02:03 cp1 x[1]: {LINE}\nNov 26 01:02:03 cp1 x[1]: {LINE}\nNov 26 01:02:03 cp1 x[1]: -----END PRIVATE KEY-----"
            ),
            format!("    client-key-data: {CANARY}=="),
            format!("    client-key-data: \"LS0tLS1CRUdJTi{CANARY}==\""),
            format!("data: LS0tLS1CRUdJTi{CANARY}=="),
            format!("    token: {CANARY}"),
            format!("tls-bootstrap-token={CANARY}"),
            format!("join 10.0.0.1:6443 --token {CANARY} --discovery"),
            format!("kubelet[12]: --token={CANARY} --x=1"),
            format!("certificateKey: {CANARY}"),
            format!("Using certificate key:\n{CANARY}"),
            format!("keys:\n        - name: key1\n          secret: {CANARY}+/="),
            format!("{{\"auths\":{{\"r.example.com\":{{\"auth\":\"{CANARY}\"}}}}}}"),
            format!("{{\"password\":\"{CANARY} {CANARY}\",\"a\":1}}"),
            format!("{{\"log\":\"said {{\\\"password\\\":\\\"{CANARY}\\\"}}\"}}"),
            format!("{{\"password\":\"a\\\"{CANARY}\"}}"),
            format!("password: |\n  {CANARY}\n  {CANARY}\n"),
            format!("Environment=\"DB_PASSWORD={CANARY}\" PGPASSWORD={CANARY} MYSQL_PWD='{CANARY} {CANARY}'"),
            format!("aws_secret_access_key = {CANARY}"),
            format!("private_key = {CANARY}="),
            format!("PresharedKey = {CANARY}="),
            format!("passphrase: {CANARY}"),
            format!("    auth = \"{CANARY}\""),
            format!("Authorization: Bearer {CANARY}{CANARY}"),
            format!("authorization: Token {CANARY} {CANARY}"),
            format!("{{\"Authorization\":\"Digest {CANARY}\"}}"),
            format!("X-Vault-Token: {CANARY}"),
            format!("Set-Cookie: session={CANARY}; Path=/"),
            format!("curl --user ann:{CANARY} http://x"),
            format!("curl -u ann:{CANARY} http://x"),
            format!("https://s3/x?X-Amz-Signature={CANARY}&b=1"),
            "eyJhbGciOiJSUzI1NiIs.c4n4ry.c4n4ry".to_owned(),
            "eyJhbGciOiJSUzI1NiIsc4n4ry".to_owned(),
            "ghp_0123456789c4n4ry0123".to_owned(),
            "glpat-0123456789c4n4ry".to_owned(),
            "root:$6$salt$c4n4ry/hash:1:2".to_owned(),
        ];
        let logins = ["ann:c4n4ry@", ":c4n4ry@", "c4n4ry@", "ann:c4n4ry@c4n4ry@", "ann:c4/n4ry/c4n4ry@"];
        secrets.extend(logins.map(|login| format!("HTTPS_PROXY=http://{login}proxy:3128")));
        secrets
    }

    #[test]
    fn nothing_that_looks_like_a_secret_is_passed_on() {
        for secret in secrets() {
            let left = redacted(&format!("before {secret} after"));
            assert!(!left.contains(CANARY) && left.starts_with("before "), "{secret}: {left}");
        }
        assert_eq!(redacted("joins with abcdef.0123456789abcdef now"), "joins with (a token) now");
        assert_eq!(SECRETS.len(), 13, "each of them is a pattern");
    }

    #[test]
    fn what_helps_is_passed_on() {
        for plain in [
            "node worker1 is Ready; secretName: is no secret of ours? kube-system/bootstrap-signer",
            "    - --tls-private-key-file=/etc/kubernetes/pki/apiserver.key",
            "    - --service-account-key-file=/etc/kubernetes/pki/sa.pub",
            "    - --authorization-mode=Node,RBAC",
            "    - --client-cert-auth=true",
            "    - --enable-bootstrap-token-auth=true",
            "    - --etcd-servers=https://127.0.0.1:2379",
            "-rw------- root 1704 2026-11-26T05:20 /etc/kubernetes/pki/apiserver-etcd-client.key",
            "ghcr.io/flannel-io/flannel:v0.28.4@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
            "Nov 26 05:20:14 cp1 kubelet[123]: E1126 failed to get lease \"cp1\": Get \"https://10.20.0.11:6443/api?timeout=10s\": EOF",
            "peer-cert-allowed-cn: \"\" uuid 5c2c6d0e-0000-4000-8000-000000000000",
        ] {
            assert_eq!(redacted(plain), plain);
        }
    }
}
