//! What kubeadm itself would still do to a cluster that kokctl has upgraded: nothing.

use std::collections::BTreeMap;

use kok_tests::lab::Host;

use crate::cluster_support::ok;

/// `kubeadm upgrade plan` knows of no more, and the manifests are those that `kubeadm upgrade node` would write.
pub fn finds_nothing(host: &Host, version: &str) {
    // Its check of health makes a Job, which has nothing to do with versions.
    let plan = "kubeadm upgrade plan --kubeconfig /etc/kubernetes/admin.conf --ignore-preflight-errors=CreateJob -v 1";
    let said = ok(host, &format!("{plan} v{version} 2>&1"));
    assert!(said.contains("you're up-to-date"), "{said}");
    let said = ok(host, "kubeadm upgrade node phase control-plane --dry-run --kubeconfig /etc/kubernetes/admin.conf 2>/dev/null");
    let wanted = written(&said);
    assert_eq!(wanted.len(), 3, "{said}");
    for (path, wanted) in wanted {
        assert_eq!(ok(host, &format!("cat {path}")).trim(), wanted.trim(), "{path} of {}", host.name());
    }
}

/// The files that a dry run of kubeadm says it would write, by their paths.
fn written(said: &str) -> BTreeMap<String, String> {
    const FILE: &str = "[dryrun] Would write file \"";
    let (mut files, mut path) = (BTreeMap::<String, String>::new(), None);
    for line in said.lines() {
        // What is said without an end of its line stands before the first file.
        if let Some((_, rest)) = line.split_once(FILE) {
            path = rest.split_once('"').map(|(path, _)| path.to_owned());
        } else if line.starts_with('[') {
            path = None;
        } else if let Some(path) = &path {
            let file = files.entry(path.clone()).or_default();
            file.push_str(line);
            file.push('\n');
        }
    }
    files
}

#[test]
fn files_of_a_dry_run_are_read() {
    let said = "[upgrade/control-plane] Upgrading\n[dryrun] Would upgrade to \"v1\"[dryrun] Would write file \"/a.yaml\" with content:\nkind: Pod\n\
                [dryrun] Would write file \"/b.yaml\" with content:\nkind: Pod\nspec: {}\n[upgrade] Done\nmore\n";
    let files = written(said);
    assert_eq!(
        files.into_iter().collect::<Vec<_>>(),
        [("/a.yaml".to_owned(), "kind: Pod\n".to_owned()), ("/b.yaml".to_owned(), "kind: Pod\nspec: {}\n".to_owned())]
    );
}
