//! What is passed on, and what is not.
#![allow(clippy::panic, clippy::unwrap_used, reason = "these are tests")]

use serde_json::{Value, json};

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
    assert_eq!(SECRETS.len(), PATTERNS.len(), "each of them is a pattern");
    assert!(ANY.is_some() && LOGINS.is_some());
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
        "pulled docker://ghcr.io/flannel-io/flannel@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef in 2s",
        "journalctl -u kubelet --no-pager; sort -u names; systemctl --user status x.service",
        "automountServiceAccountToken: false\n{\"token\":null,\"secret\":true}",
        "authorization:\n  mode: Webhook\n  webhook:\n    cacheAuthorizedTTL: 5m0s",
    ] {
        assert_eq!(redacted(plain), plain);
    }
}

/// Whatever is written after a name, to the end of what belongs to it; and what comes after that stays.
#[test]
fn a_value_goes_whole_and_alone() {
    for (text, left) in [
        ("password: c4n4ry c4n4ry, c4n4ry\nuser: ann", "password: (left out)\nuser: ann"),
        ("password: \"c4n4ry, c4n4ry\" # c\nuser: ann", "password: \"(left out)\" # c\nuser: ann"),
        ("password: 'it''s c4n4ry'\nuser: ann", "password: '(left out)'\nuser: ann"),
        ("a:\n  password: >2-\n      c4n4ry\n\n    c4n4ry\n  user: ann", "a:\n  password: (left out)\n  user: ann"),
        ("  token: !vault |\n    c4n4ry\n    c4n4ry\n  user: ann", "  token: (left out)\n  user: ann"),
        ("passwords:\n- c4n4ry\n- c4n4ry\nuser: ann", "passwords: (left out)\nuser: ann"),
        ("- tokens:\n  - c4n4ry c4n4ry\n  - c4n4ry\n- user: ann", "- tokens: (left out)\n- user: ann"),
        ("credentials:\n  key: c4n4ry\nuser: ann", "credentials: (left out)\nuser: ann"),
        ("password: [c4n4ry,\n  c4n4ry]\nuser: ann", "password: (left out)\nuser: ann"),
        ("password: \"c4n4ry\n  c4n4ry\"\nuser: ann", "password: (left out)\nuser: ann"),
        ("token = \"\"\"\nc4n4ry\nc4n4ry\n\"\"\"\nuser = 1", "token = (left out)\nuser = 1"),
        ("SECRET_KEY=c4n4ry c4n4ry\nUSER=ann", "SECRET_KEY=(left out)\nUSER=ann"),
        ("DJANGO_SECRET_KEY='c4n4ry' USER=ann", "DJANGO_SECRET_KEY='(left out)' USER=ann"),
        ("env DB_PASS=c4n4ry,c4n4ry;c4n4ry&c4n4ry USER=ann", "env DB_PASS=(left out) USER=ann"),
        ("run PASSWORD=\"c4n4ry\"'c4n4ry c4n4ry'c4n4ry USER=ann", "run PASSWORD=(left out) USER=ann"),
        ("run --token 'c4n4ry c4n4ry' --x", "run --token '(left out)' --x"),
        ("[\"--token\",\"c4n4ry c4n4ry\",\"--x\"]", "[\"--token\",\"(left out)\",\"--x\"]"),
        ("curl -u \"ann:c4n4ry c4n4ry\" http://x", "curl -u \"(left out)\" http://x"),
        ("\"token:\" c4n4ry, said cp1", "\"token:\" (left out) said cp1"),
        ("docker://ann:c4n4ry@r/i@sha256:00 is there", "docker://(left out)@r/i@sha256:00 is there"),
        (
            "Nov 26 01:02:03 cp1 x[1]: password: |\nNov 26 01:02:03 cp1 x[1]:   c4n4ry\nNov 26 01:02:03 cp1 x[1]: user: ann",
            "Nov 26 01:02:03 cp1 x[1]: password: (left out)\nNov 26 01:02:03 cp1 x[1]: user: ann",
        ),
        ("root:$argon2id$v=19$m=65536,t=3,p=4$c4n4ry:1", "root:(a hash):1"),
    ] {
        assert_eq!(redacted(text), left, "{text}");
        assert_eq!(redacted(left), left, "nothing more goes from it");
    }
}

/// A key ends where it ends, or where its lines do if nothing says so.
#[test]
fn a_key_without_an_end_takes_nothing_else_along() {
    let key = |head: &str, after: &str| format!("a\n-----BEGIN PRIVATE KEY-----\n{head}{LINE}\n{LINE}\nc4n4ry==\n{after}");
    for (text, left) in [
        (key("", "\nkubelet is ready\n"), "a\n(a private key)\n\nkubelet is ready\n"),
        (key("", "==== uptime\n up 3 days\n"), "a\n(a private key)\n==== uptime\n up 3 days\n"),
        (key("Proc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,c4n4ry\n\n", "\nb c\n"), "a\n(a private key)\n\nb c\n"),
        (key("", &format!("\n{LINE}\n\nb c\n")), "a\n(a private key)\n\nb c\n"),
        (
            key("", &format!("b c\n-----BEGIN PRIVATE KEY-----\n{LINE}\n-----END PRIVATE KEY-----\nd")),
            "a\n(a private key)\nb c\n(a private key)\nd",
        ),
        (format!("a b\n{LINE}\nc4n4ry==\n-----END PRIVATE KEY-----\nb"), "a b\n(a private key)\nb"),
    ] {
        assert_eq!(redacted(&text), left, "{text}");
    }
    let journal = key("", "systemd[1]: b\n").replace('\n', "\nNov 26 01:02:03 cp1 x[1]: ");
    assert_eq!(
        redacted(&journal),
        "a\nNov 26 01:02:03 cp1 x[1]: (a private key)\nNov 26 01:02:03 cp1 x[1]: systemd[1]: b\nNov 26 01:02:03 cp1 x[1]: "
    );
    let json = format!("{{\"a\":\"-----BEGIN PRIVATE KEY-----\\n{LINE}\",\"b\":1}}\n{{\"c\":1}}");
    assert_eq!(redacted(&json), "{\"a\":\"(a private key)\",\"b\":1}\n{\"c\":1}");
}

/// Texts in texts of JSON, as deep as anybody writes them.
#[test]
fn json_is_json_still_and_says_the_rest() {
    let inner = json!({
        "password": "c4n4ry \"c4n4ry\", \\", "pin-token": 42, "tokens": ["c4n4ry", {"a": "]c4n4ry"}], "secret": {"a": {"b": "c4n4ry"}},
        "auth": "c4n4ry", "token": null, "ok": "yes", "url": "https://ann:c4n4ry@x/y", "hash": "$6$salt$c4n4ry", "user": "-u ann",
        "yaml": "a: b\npassword: c4n4ry c4n4ry\ntokens:\n- c4n4ry\nc: d\n", "key": format!("-----BEGIN PRIVATE KEY-----\n{LINE}\n{LINE}\n\nend of it"),
        "args": ["--token", "c4n4ry"], "Authorization": ["Bearer c4n4ry c4n4ry"], "msg": "token: true", "last": "token:", "cut": format!("{LINE}\n-----END PRIVATE KEY-----")
    });
    let mut text = inner.clone();
    for depth in 0..6 {
        for written in [text.to_string(), serde_json::to_string_pretty(&text).unwrap_or_default()] {
            let left = redacted(&written);
            assert!(!left.contains(CANARY), "{depth}: {left}");
            let mut read: Value = serde_json::from_str(&left).unwrap_or_else(|error| panic!("{depth}: {error}: {left}"));
            for _ in 0..depth {
                read = read.get("log").and_then(Value::as_str).and_then(|log| serde_json::from_str(log).ok()).unwrap_or_default();
            }
            assert_eq!(
                (read.get("ok"), read.get("msg"), read.get("user")),
                (inner.get("ok"), inner.get("msg"), inner.get("user")),
                "{left}"
            );
            assert_eq!(read.get("yaml"), Some(&json!("a: b\npassword: (left out)\ntokens: (left out)\nc: d\n")));
            assert_eq!(read.get("token"), Some(&Value::Null));
            assert!(read.get("key").is_some_and(|key| key == "(a private key)\n\nend of it"), "{left}");
        }
        text = json!({"n": depth, "log": text.to_string()});
    }
    // In a log that is no JSON itself.
    let log = format!("E1 x.go:1] it failed: config={}, and so on", Value::String(inner.to_string()));
    assert!(!redacted(&log).contains(CANARY) && redacted(&log).ends_with(", and so on"), "{}", redacted(&log));
    // Its beginning was cut off, so that nobody can tell where its strings begin.
    let nested = Value::String(Value::String(inner.to_string()).to_string()).to_string();
    let broken = format!("\u{1b} \" x {}", nested.trim_start_matches(['"', '\\']));
    assert!(!redacted(&broken).contains("c4n4ry"), "{}", redacted(&broken));
}
