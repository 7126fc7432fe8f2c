//! The scripts that count what etcd's values are encrypted with, and that have them written anew, with programs that answer in the place of etcd and kubectl.

use std::fs;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kok_crds::model::{EncryptionAlgorithm, KmsPlugin};
use kok_tasks::change::{Change, ChangeKind};
use kok_tasks::documents::encryption_configuration;
use kok_tasks::encryption::{Entry, Layout, Provider};
use kok_tasks::observe::{EncryptedValues, EncryptionKeys, EncryptionRead, Look, Looks, Nonce, Observations, parse, probe_script};
use kok_tasks::operations::{Operation, RewriteEncrypted};

use crate::support::shell::{Folder, SHELLS, run, script_of};

const MANIFEST: &str = "spec:\n  containers:\n  - command:\n    - kube-apiserver\n    - --etcd-cafile=/ca\n    - --etcd-certfile=/crt\n    - --etcd-keyfile=/key\n    - --etcd-servers=https://10.0.0.1:2379,https://10.0.0.2:2379\n";

/// A host whose programs are scripts.
fn host(programs: &[(&str, &str)]) -> Folder {
    let folder = Folder::new();
    for path in ["bin", "kubernetes/manifests", "kubernetes/apiserver"] {
        fs::create_dir_all(folder.path(path)).unwrap();
    }
    fs::write(folder.path("kubernetes/manifests/kube-apiserver.yaml"), MANIFEST).unwrap();
    for (name, text) in programs {
        folder.program(&format!("bin/{name}"), &format!("#!/bin/sh\n{}", text.replace("FOLDER", &folder.text(""))));
    }
    folder
}

fn there(folder: &Folder, script: &str) -> String {
    script.replace("/usr/local/bin/", &folder.text("bin/")).replace("/etc/kubernetes/", &folder.text("kubernetes/"))
}

fn looked(folder: &Folder, look: Look, shell: &[&str]) -> Observations {
    let (nonce, looks) = (Nonce::new([3; 16]), [look].into_iter().collect::<Looks>());
    let output = run(shell, &[], &there(folder, &probe_script(&nonce, &looks, None)));
    parse(&nonce, &looks, &output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"))
}

fn values(folder: &Folder, shell: &[&str]) -> EncryptedValues {
    looked(folder, Look::EncryptedValues, shell).encrypted_values.unwrap()
}

/// A page as etcd answers it: keys, and what stands at the beginning of their values before bytes that are no text.
fn page(entries: &[(String, String)], more: bool, quoted: bool) -> String {
    let number = |number: usize| if quoted { format!("\"{number}\"") } else { number.to_string() };
    let entry = |(key, value): &(String, String)| {
        let bytes: Vec<u8> = value.bytes().chain([0, 255, 10, 123, 34, 200]).collect();
        let (key, value) = (STANDARD.encode(key), STANDARD.encode(bytes));
        format!("{{\"key\":\"{key}\",\"create_revision\":{},\"version\":{},\"value\":\"{value}\"}}", number(7), number(1))
    };
    let kvs: Vec<String> = entries.iter().map(entry).collect();
    let more = if more { "\"more\":true," } else { "" };
    format!(
        "{{\"header\":{{\"cluster_id\":{},\"revision\":{}}},\"kvs\":[{}],{more}\"count\":{}}}",
        number(1),
        number(9),
        kvs.join(","),
        number(4)
    )
}

fn entry(key: &str, value: &str) -> (String, String) {
    (format!("/registry/{key}"), value.to_owned())
}

/// Two pages; of the second only who asks from behind the last key of the first gets anything.
fn pages(quoted: bool) -> (String, String) {
    let first = [
        entry("configmaps/default/a", "k8s"),
        entry("secrets/default/plain", "k8s\0\n\x0c\n\x02v1\x12\x06Secret\x12"),
        entry("deployments/default/a", "k8s\0\n\x15\n\x07apps/v1\x12\nDeployment"),
        entry("services/endpoints/masterleases/a", "k8s\0\n\x0f\n\x02v1\x12\tEndpoints"),
        entry("x/short", "k8s\0\n"),
        entry("masterleases/10.0.0.1", "k8s\0\n\x0f\n\x02v1\x12\tEndpoints"),
        entry("services/endpoints/default/a", "k8s\0\n\x0f\n\x02v1\x12\tEndpoints"),
        entry("ranges/serviceips", "k8s\0\n\x15\n\x02v1\x12\x0fRangeAllocation"),
        entry("example.org/widgets/a", "\u{7b}\"apiVersion\":\"example.org/v1\",\"kind\":\"Widget\",\"metadata\":{}}"),
        entry("secrets/default/a", "k8s:enc:secretbox:v1:kokctl:"),
        entry("secrets/default/b", "k8s:enc:secretbox:v1:kokctl-1795723865:"),
    ];
    let second = [
        entry("secrets/x/a", "k8s:enc:secretbox:v1:kokctl:"),
        entry("secrets/x/plain", "k8s\0\n\x0c\n\x02v1\x12\x06Secret\x12"),
        entry("secrets/x/long", "k8s:enc:aescbc:v1:a-key-of-somebody-whose-name-is-as-long-as-names-can-be-here:"),
        entry("secrets/x/text", "a text with k8s:enc:secretbox:v1:kokctl: in it"),
    ];
    (page(&first, true, quoted), page(&second, false, quoted))
}

fn are_counted(found: EncryptedValues, by: &str) {
    let found = found.unwrap_or_else(|said| panic!("{by}: {said}"));
    let expected = [
        ("k8s:enc:aescbc:v1:a-key-of-somebody-whose-name-is-as-long-as-names-can-be-here:", 1),
        ("k8s:enc:secretbox:v1:kokctl-1795723865:", 1),
        ("k8s:enc:secretbox:v1:kokctl:", 2),
    ];
    assert_eq!(found.encrypted, expected.map(|(mark, count)| (mark.to_owned(), count)).into(), "{by}");
    // Of API servers' own leases and of what nobody serves nothing is said.
    let expected = [("deployments.apps", 1), ("endpoints", 2), ("secrets", 2), ("widgets.example.org", 1)];
    assert_eq!(found.plain, expected.map(|(resource, count)| (resource.to_owned(), count)).into(), "{by}");
}

/// What an API server answers.
const API: &str = "case $* in *readyz*) echo ok; exit;; *api-resources*) printf '%s\\n' 'secrets v1 true Secret' 'endpoints ep v1 true Endpoints' \\
    'deployments deploy apps/v1 true Deployment' 'widgets example.org/v1 false Widget'; exit;; esac\n";

fn asked(programs: &[(&str, &str)]) -> Folder {
    let folder = host(programs);
    fs::write(folder.path("kubernetes/admin.conf"), "kubeconfig").unwrap();
    folder
}

#[test]
fn all_values_are_counted_by_the_key_that_they_are_encrypted_with() {
    let (first, second) = pages(true);
    // The first server does not answer.
    let gateway = format!(
        "case $* in *10.0.0.1*) echo 'The connection to the server 10.0.0.1:2379 was refused' >&2; exit 1;; esac\nread -r asked\ncase $asked in\n\
         *'\"key\":\"AA==\",\"range_end\":\"AA==\"'*) echo '{first}';;\n*'\"key\":\"{}\"'*) echo '{second}';;\n*) echo \"$asked\" >&2; exit 1;;\nesac\n",
        STANDARD.encode("/registry/secrets/default/b\0")
    );
    let (first, second) = pages(false);
    let etcdctl = format!(
        "case $* in\n*' get  --from-key'*) echo '{first}';;\n*'/registry/secrets/default/b'?' --from-key'*) echo '{second}';;\n*) echo \"$*\"; exit 1;;\nesac\n"
    );
    for shell in SHELLS {
        are_counted(values(&asked(&[("kubectl", &format!("{API}{gateway}"))]), shell), "kubectl");
        are_counted(values(&asked(&[("kubectl", API), ("etcdctl", &etcdctl)]), shell), "etcdctl");
        assert!(values(&host(&[("etcdctl", &etcdctl)]), shell).is_err_and(|said| said.contains("which kinds of objects")));
    }
}

/// What was not read to its end is not known.
#[test]
fn an_etcd_that_does_not_answer_says_nothing_of_its_values() {
    let (first, _) = pages(false);
    let breaks = format!("case $* in *' get  --from-key'*) echo '{first}';; *) echo 'etcdserver: request timed out'; exit 1;; esac\n");
    for (program, said) in [("echo '{\"error\":\"no\"}'; exit 1\n", "error"), (breaks.as_str(), "request timed out")] {
        let found = values(&host(&[("etcdctl", program)]), SHELLS[0]);
        assert!(found.as_ref().is_err_and(|found| found.contains(said) || said == "error"), "{found:?}");
    }
    assert!(values(&host(&[]), SHELLS[0]).is_err());
}

#[test]
fn keys_are_told_by_their_names_alone() {
    let with = |text: &str, manifest: &str| {
        let folder = host(&[]);
        fs::write(folder.path("kubernetes/apiserver/encryption.yaml"), text).unwrap();
        fs::write(folder.path("kubernetes/manifests/kube-apiserver.yaml"), manifest).unwrap();
        looked(&folder, Look::EncryptionKeys, SHELLS[0]).encryption_keys.unwrap()
    };
    let quoted = "resources:\n- resources: [\"secrets\"]\n  providers:\n  - secretbox:\n      keys:\n      - name: \"kokctl-7\"\n        secret: \"YQ==\"\n      - name: \"kokctl\"\n        secret: \"Yg==\"\n  # A word.\n  - identity: {}\n";
    let keys = with(quoted, MANIFEST);
    assert_eq!((keys.names().as_slice(), keys.reloads), (&["kokctl-7".to_owned(), "kokctl".to_owned()][..], false));
    let key = |name: &str| Provider::Key { algorithm: EncryptionAlgorithm::Secretbox, name: name.to_owned() };
    let entry = Entry { resources: vec!["secrets".to_owned()], providers: vec![key("kokctl-7"), key("kokctl"), Provider::Identity] };
    assert_eq!(keys.layout.entries(), [entry]);
    let plain = with(&format!("# other words\n{}", quoted.replace('"', "")), "    - --encryption-provider-config-automatic-reload=true\n");
    assert!(plain.reloads && plain.layout == keys.layout && plain.sum == keys.sum && plain.digest != keys.digest);
    assert_ne!(with(&quoted.replace("YQ==", "YR=="), MANIFEST).sum, keys.sum);
    // By hand, and as kokctl writes none.
    let listed = with(&quoted.replace(" [\"secrets\"]", "\n  - secrets\n  - configmaps"), MANIFEST);
    assert_eq!(listed.layout.resources().collect::<Vec<_>>(), ["secrets", "configmaps"]);
    for odd in ["kms", "aescbc:\n      - name: x\n  - vault"] {
        assert!(with(&quoted.replace("secretbox", odd), MANIFEST).layout.is_empty(), "{odd}");
    }
    assert_eq!(looked(&host(&[]), Look::EncryptionKeys, SHELLS[1]).encryption_keys, Some(EncryptionKeys::default()));
}

/// As kokctl writes it, beside a key; and what of a plugin kokctl writes nowhere is not taken for it.
#[test]
fn a_plugin_is_told_with_the_folder_that_is_shown() {
    const MOUNTED: &str = "    volumeMounts:\n    - mountPath: /etc/kubernetes/pki\n      name: k8s-certs\n      readOnly: true\n    - mountPath: /run/kms\n      name: kokctl-kms\n  volumes:\n  - hostPath:\n      path: /run/kms\n      type: DirectoryOrCreate\n    name: kokctl-kms\n";
    let plugin = KmsPlugin { name: "vault".to_owned(), socket: "/run/kms/vault.sock".to_owned(), timeout_millis: 500 };
    let key = Provider::Key { algorithm: EncryptionAlgorithm::Aescbc, name: "kokctl-7".to_owned() };
    let entry = |name: &str, providers| Entry { resources: vec![name.to_owned()], providers };
    let both = entry("secrets", vec![Provider::Kms(plugin.clone()), key.clone(), Provider::Identity]);
    let layout = Layout::new(vec![both, entry("configmaps", vec![key, Provider::Kms(plugin), Provider::Identity])]);
    let text = encryption_configuration(&layout, &[("kokctl-7", "YQ==")]).unwrap();
    let with = |text: &str, manifest: &str, shell| {
        let folder = host(&[]);
        fs::write(folder.path("kubernetes/apiserver/encryption.yaml"), text).unwrap();
        fs::write(folder.path("kubernetes/manifests/kube-apiserver.yaml"), manifest).unwrap();
        looked(&folder, Look::EncryptionKeys, shell).encryption_keys.unwrap()
    };
    for shell in SHELLS {
        let keys = with(&text, MOUNTED, shell);
        assert_eq!((keys.layout, keys.plugin_folder.as_deref()), (layout.clone(), Some("/run/kms")));
        let keys = with("", &format!("    - --encryption-provider-config=/x\n{MOUNTED}"), shell);
        assert!(
            keys.digest.is_empty() && keys.layout.is_empty() && keys.is_read && keys.plugin_folder.as_deref() == Some("/run/kms"),
            "lost"
        );
        let keys = with(&text, &MOUNTED.replace("kokctl-kms", "mine"), shell);
        assert_eq!((keys.layout, keys.plugin_folder), (layout.clone(), None));
    }
    let odd = [
        ("apiVersion: v2", "apiVersion: v1"),
        ("unix:///run", "unix:///run/../etc"),
        ("unix:///", "tcp://"),
        ("\"vault\"", "\"a:b\""),
        ("\"vault\"", "\"kokctl\""),
        ("500ms", "soon"),
        ("      timeout: \"500ms\"\n", ""),
        ("      name: \"vault\"\n", "      cachesize: 5\n"),
    ];
    for (is, odd) in odd {
        assert!(with(&text.replace(is, odd), MOUNTED, SHELLS[0]).layout.is_empty(), "{odd}");
    }
}

#[test]
fn an_api_server_tells_which_file_it_has_read_and_when() {
    let metrics = "process_start_time_seconds 1.7e+09\n\
        apiserver_encryption_config_controller_automatic_reload_last_timestamp_seconds{apiserver_id_hash=\"sha256:00\",status=\"success\"} NOW\n\
        apiserver_encryption_config_controller_automatic_reload_last_timestamp_seconds{apiserver_id_hash=\"sha256:00\",status=\"failure\"} 9e+09\n\
        apiserver_encryption_config_controller_last_config_info{apiserver_id_hash=\"sha256:00\",hash=\"sha256:0123abcd\"} 1\n";
    let program = format!(
        "case $* in *readyz*) echo ok;; *metrics*) now=$(($(date +%s) - 70)); echo '{metrics}' | sed \"s/NOW/$now/\";; *) exit 1;; esac\n"
    );
    let folder = host(&[("kubectl", &program)]);
    fs::write(folder.path("kubernetes/admin.conf"), "kubeconfig").unwrap();
    for shell in SHELLS {
        let EncryptionRead { digest, age_seconds } = looked(&folder, Look::EncryptionRead, shell).encryption_read.unwrap();
        assert_eq!(digest.as_deref(), Some("0123abcd"));
        // A second may begin between the host's clock and what the API server says.
        assert!(age_seconds.is_some_and(|age| (69..90).contains(&age)), "{age_seconds:?}");
    }
    fs::write(folder.path("bin/kubectl"), "#!/bin/sh\nexit 1\n").unwrap();
    assert_eq!(looked(&folder, Look::EncryptionRead, SHELLS[0]).encryption_read, Some(EncryptionRead::default()));
}

fn rewritten(folder: &Folder, resources: &[&str], shell: &[&str]) -> (bool, String, String) {
    let resources = resources.iter().map(|name| (*name).to_owned()).collect();
    let operation = Operation::RewriteEncrypted(RewriteEncrypted {
        key: Some("kokctl-7".to_owned()),
        resources,
        others: vec!["configmaps".to_owned()],
    });
    let script = script_of(&operation.act(&Change::new(ChangeKind::Write, "")));
    let output = run(shell, &[], &there(folder, &script));
    let patched = fs::read_to_string(folder.path("patched")).unwrap_or_default();
    drop(fs::remove_file(folder.path("patched")));
    (output.status.success(), patched, String::from_utf8_lossy(&output.stderr).into_owned())
}

const KUBECTL: &str = r#"while case $1 in --*) true;; *) false;; esac; do shift; done
verb=$1
shift
case $verb in
  get)
    case $1 in
      secrets) for i in 1 2 3 4 5 6; do echo "a/s$i"; done; echo b/s1; echo '/cluster:wide'; ANSWER;;
      widgets.example.org) echo "a/w1";;
    esac;;
  api-resources) case $* in *--api-group=example.org*) echo widgets.example.org;; *) exit 1;; esac;;
  patch) echo "$*" >>FOLDER/patched; FAILS;;
esac
"#;

fn kubectl(answer: &str, fails: &str) -> String {
    KUBECTL.replace("ANSWER", answer).replace("FAILS", fails)
}

#[test]
fn objects_are_patched_with_nothing_some_at_a_time() {
    for shell in SHELLS {
        let folder = host(&[("kubectl", &kubectl("true", "true"))]);
        let (ended, patched, said) = rewritten(&folder, &["secrets", "*.example.org"], shell);
        let with = "--type=merge --patch={} --output=name --";
        let expected = [
            format!("--namespace=a {with} secrets s1 s2 s3 s4 s5"),
            format!("--namespace=a {with} secrets s6"),
            format!("--namespace=b {with} secrets s1"),
            format!("{with} secrets cluster:wide"),
            format!("--namespace=a {with} widgets.example.org w1"),
        ];
        assert!(ended && said.is_empty(), "{said}");
        assert_eq!(patched.lines().collect::<Vec<_>>(), expected);
    }
}

/// Who is gone or was changed by somebody else is done; whom somebody else does not let be written is told, and the others are written all the same.
#[test]
fn only_what_can_not_be_written_is_a_failure() {
    for shell in SHELLS {
        let passes = "echo 'Error from server (NotFound): secrets \"s1\" not found' >&2; echo 'Error from server (Conflict): Operation cannot' >&2; exit 1";
        let (ended, patched, said) = rewritten(&host(&[("kubectl", &kubectl("true", passes))]), &["secrets"], shell);
        assert!(ended && said.is_empty() && patched.lines().count() == 4, "{said}");
        let warns = "echo 'Warning: v1 Endpoints is deprecated' >&2; echo 'Error from server (Conflict): Operation cannot' >&2; exit 1";
        let (ended, _, said) = rewritten(&host(&[("kubectl", &kubectl("true", warns))]), &["secrets"], shell);
        assert!(ended && said.is_empty(), "{said}");
        let denied = "case $* in *s6*) echo 'Error from server: admission webhook \"w\" denied the request' >&2; exit 1;; esac";
        let (ended, patched, said) = rewritten(&host(&[("kubectl", &kubectl("true", denied))]), &["secrets"], shell);
        assert!(!ended && said.contains("webhook") && patched.lines().count() == 4, "{said}");
        let (ended, patched, _) = rewritten(&host(&[("kubectl", &kubectl("exit 1", "true"))]), &["secrets"], shell);
        assert!(!ended && patched.lines().count() == 4, "a list that was cut off is not all of it");
        assert!(!rewritten(&host(&[("kubectl", "exit 1\n")]), &["*.*"], shell).0);
    }
}

/// kubectl as far as it goes. Who may make webhooks may write anything where a namespace stands.
#[test]
fn services_of_webhooks_are_asked_for_their_endpoints() {
    const KUBECTL: &str = r#"echo "$*" >>FOLDERasked
case "$*" in
*readyz*) echo ok;;
*webhookconfigurations*) cat FOLDERwebhooks; [ ! -e FOLDERfails ];;
*service-name=ready*) printf y;;
*service-name=unknown*) exit 1;;
*"get service elsewhere"*) printf y;;
esac
"#;
    let line = |namespace: &str, service: &str| {
        format!(
            "[{namespace:?},{service:?},\"ValidatingWebhookConfiguration\",\"all\",\"{service}.io\",false,[[[\"\",null],[\"pods\",null]],null]]\n"
        )
    };
    for shell in SHELLS {
        let folder = host(&[("kubectl", KUBECTL)]);
        fs::write(folder.path("kubernetes/admin.conf"), "kubeconfig").unwrap();
        let services = ["ready", "gone", "unknown", "elsewhere"].map(|service| line("guard", service)).concat();
        fs::write(folder.path("webhooks"), format!("{services}{}", line("--all-namespaces;touch HERE", "odd"))).unwrap();
        let found = looked(&folder, Look::Webhooks, shell).webhooks.unwrap().unwrap();
        let answers: Vec<(&str, bool)> = found.iter().map(|webhook| (&*webhook.name, webhook.answers)).collect();
        let expected = [("ready.io", true), ("gone.io", false), ("unknown.io", true), ("elsewhere.io", true), ("odd.io", true)];
        assert_eq!(answers, expected, "{shell:?}");
        assert!(!fs::read_to_string(folder.path("asked")).unwrap().contains("HERE"), "{shell:?}");
        fs::write(folder.path("fails"), "").unwrap();
        assert!(looked(&folder, Look::Webhooks, shell).webhooks.unwrap().is_err(), "{shell:?}: a list that was cut off is not all of it");
    }
}

/// kubectl as far as it goes: what its template makes of Secrets, one of which somebody has filled with what is no token.
#[test]
fn of_tokens_in_secrets_only_their_heads_leave_the_host() {
    const KUBECTL: &str = r#"case "$*" in
*readyz*) echo ok;;
*'{{printf "%.400q" (base64decode .)}}'*) cat FOLDERsecrets; [ ! -e FOLDERfails ];;
esac
"#;
    let head = base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(r#"{"alg":"RS256","kid":"k1"}"#);
    for shell in SHELLS {
        let folder = host(&[("kubectl", KUBECTL)]);
        fs::write(folder.path("kubernetes/admin.conf"), "kubeconfig").unwrap();
        let lines = [
            format!("default/a.token \"{head}.eyJjNG40cnkiOiAxfQ.c4n4ry\""),
            "ns/empty ".to_owned(),
            "ns/odd \"c4n4ry of somebody\\ndone\"".to_owned(),
            "ns/dotted \"c4n4ry.c4n4ry\"".to_owned(),
            "ns/short \"eyJc4n4ry\"".to_owned(),
        ];
        fs::write(folder.path("secrets"), lines.join("\n") + "\n").unwrap();
        let (nonce, looks) = (Nonce::new([3; 16]), [Look::TokenSecrets].into_iter().collect::<Looks>());
        let output = run(shell, &[], &there(&folder, &probe_script(&nonce, &looks, None)));
        assert!(!String::from_utf8_lossy(&output.stdout).contains("c4n4ry"), "{shell:?}: {output:?}");
        let found = parse(&nonce, &looks, &output.stdout).unwrap().token_secrets.unwrap().unwrap();
        let expected = [("default/a.token", "k1"), ("ns/dotted", ""), ("ns/empty", ""), ("ns/odd", ""), ("ns/short", "")];
        assert_eq!(found, expected.map(|(name, key)| (name.to_owned(), key.to_owned())).into(), "{shell:?}");
        fs::write(folder.path("fails"), "").unwrap();
        assert!(looked(&folder, Look::TokenSecrets, shell).token_secrets.unwrap().is_err(), "{shell:?}");
    }
}
