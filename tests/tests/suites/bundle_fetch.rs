//! `kokctl bundle create` from a server that answers under upstream's names, and does what servers do wrong.

use std::fs;
use std::path::PathBuf;
use std::time::Instant;

use kok_tests::lab::DEFAULT_KUBERNETES_VERSION;
use kok_tests::upstream::{AUTH_HOST, Isolated};
use tempfile::TempDir;

use crate::cluster_support::kokctl::{KokctlOutput, bundle, program};

const CLUSTER: &str = "apiVersion: kubeonkube.clay.io/v1alpha1
kind: Cluster
metadata: {name: fetched}
spec:
  kubernetesVersion: ${version}
  hosts: [{name: cp1, address: 10.0.0.11, roles: [control-plane]}]
  network: {plugin: flannel}
";
/// `user:password`
const LOGIN: &str = "dXNlcjpwYXNzd29yZA==";
struct Upstream(Isolated);

impl Upstream {
    fn start(options: &[&str]) -> Self {
        let login = TempDir::new().unwrap();
        let file = login.path().join("login");
        fs::write(&file, LOGIN).unwrap();
        let options: Vec<&str> = options.iter().map(|option| if *option == "login" { file.to_str().unwrap() } else { option }).collect();
        let server = Isolated::start(&program().with_file_name("upstream"), &bundle(), &options).unwrap();
        fs::write(server.file("cluster.yaml"), CLUSTER.replace("${version}", DEFAULT_KUBERNETES_VERSION)).unwrap();
        Self(server)
    }

    fn file(&self, name: &str) -> PathBuf {
        self.0.file(name)
    }

    fn log_in(&self, auth: &str) {
        let logins: Vec<String> = ["registry.k8s.io", "ghcr.io"].iter().map(|host| format!(r#""{host}":{{"auth":"{auth}"}}"#)).collect();
        fs::write(self.file("config.json"), format!(r#"{{"auths":{{{}}}}}"#, logins.join(","))).unwrap();
    }

    fn kokctl(&self, arguments: &[&str]) -> KokctlOutput {
        let mut command = self.0.command("timeout");
        command.args(["--kill-after=5", "300"]).arg(program()).args(arguments);
        let output = command.output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        KokctlOutput { code: output.status.code().unwrap_or(-1), stdout: text(output.stdout), stderr: text(output.stderr) }
    }

    fn create(&self) -> KokctlOutput {
        let options = ["--for", "cluster.yaml", "--catalog", "catalog.json", "--ca", "ca.crt", "--output", "bundle"];
        self.kokctl(&[&["bundle", "create"], &options[..]].concat())
    }

    /// How many requests were noted that have all these words in them.
    fn requests(&self, words: &[&str]) -> usize {
        let log = fs::read_to_string(self.file("log")).unwrap();
        log.lines().filter(|line| words.iter().all(|word| line.contains(word))).count()
    }
}

#[test]
fn a_bundle_comes_whole_through_what_time_and_care_mend() {
    let faults = [
        "amd64/kubeadm=status:429",
        "amd64/kubectl=status:503",
        "amd64/kubelet=cut:1000000",
        "runc.amd64=longer:10",
        ".tgz=slow:20000000",
        "containerd/releases/=redirect:cdn.example",
        "/blobs/=redirect:cdn.example",
    ];
    let options: Vec<&str> = faults.iter().flat_map(|fault| ["--fault", fault]).chain(["--login", "login"]).collect();
    let upstream = Upstream::start(&options);
    upstream.log_in(LOGIN);
    let began = Instant::now();
    let said = upstream.create();
    println!("{:6.1} s  a bundle is fetched, with faults", began.elapsed().as_secs_f64());
    assert_eq!(said.code, 0, "{}", said.stderr);
    for name in ["kubeadm", "kubectl"] {
        assert_eq!(upstream.requests(&["GET dl.k8s.io", &format!("amd64/{name} 0 ")]), 2, "{name} is asked for again");
    }
    assert_eq!(upstream.requests(&["GET dl.k8s.io", "amd64/kubelet 1000000 "]), 1, "it goes on where the cut was");
    assert!(upstream.requests(&["GET registry.k8s.io", "/blobs/", " Bearer"]) > 0);
    assert!(upstream.requests(&["GET cdn.example", "/blobs/"]) > 0 && upstream.requests(&["GET cdn.example", "containerd"]) > 0);
    let elsewhere = upstream.requests(&["GET cdn.example", " -"]);
    assert_eq!(elsewhere, upstream.requests(&[" cdn.example "]), "who one is was told to another host");
    assert!(upstream.requests(&[AUTH_HOST, "/token", " Basic"]) > 0);
    let verified = upstream.kokctl(&["bundle", "verify", "bundle"]);
    assert_eq!(verified.code, 0, "{}", verified.stderr);
    let again = upstream.create();
    assert_eq!((again.code, again.stderr.contains("holds all of it already")), (0, true), "{}", again.stderr);
}

#[test]
fn an_expired_certificate_is_named_and_nothing_is_fetched_by_it() {
    let upstream = Upstream::start(&["--expired", "dl.k8s.io"]);
    let said = upstream.create();
    assert_eq!(said.code, 2, "{}", said.stderr);
    assert!(said.stderr.contains("expired") && said.stderr.contains("dl.k8s.io") && said.stderr.contains("--ca"), "{}", said.stderr);
    assert_eq!(upstream.requests(&[" dl.k8s.io "]), 0);
}

#[test]
fn a_registry_that_does_not_know_one_is_named_without_the_password() {
    let upstream = Upstream::start(&["--login", "login"]);
    // `user:wrong-one`
    upstream.log_in("dXNlcjp3cm9uZy1vbmU=");
    let said = upstream.create();
    assert_eq!(said.code, 2, "{}", said.stderr);
    assert!(said.stderr.contains("registry.k8s.io/kube-apiserver:") && said.stderr.contains("docker login"), "{}", said.stderr);
    assert!(!said.stderr.contains("wrong-one") && !said.stderr.contains("dXNlcjp3"), "{}", said.stderr);
    assert_eq!(upstream.requests(&["/blobs/"]), 0);
}

/// Nothing that is there is fetched again, and a folder that is misspelled becomes no bundle.
#[test]
fn another_release_is_added_to_a_bundle_that_is_there() {
    let upstream = Upstream::start(&[]);
    let made = upstream.create();
    assert_eq!(made.code, 0, "{}", made.stderr);
    let add = |folder: &str, more: &[&str]| {
        upstream.kokctl(&[&["bundle", "add", folder, "--catalog", "catalog.json", "--ca", "ca.crt"], more].concat())
    };
    let said = add("bundel", &["--kubernetes", "1.36.3"]);
    assert!(said.code == 2 && said.stderr.contains("there is no bundle") && !upstream.file("bundel").exists(), "{said:?}");
    let said = add("bundle", &[]);
    assert!(said.code == 2 && said.stderr.contains("nothing is to be added"), "{said:?}");
    let kubelets = || upstream.requests(&["GET dl.k8s.io", "amd64/kubelet 0 "]);
    let before = kubelets();
    let said = add("bundle", &["--kubernetes", "1.36.3", "--for", "cluster.yaml"]);
    assert_eq!(said.code, 0, "{said:?}");
    assert_eq!(kubelets(), before + 1, "that of the other release alone");
    let said = upstream.kokctl(&["bundle", "list", "bundle"]);
    assert!(said.stdout.contains("1.36.3") && said.stdout.contains(DEFAULT_KUBERNETES_VERSION), "{said:?}");
}
