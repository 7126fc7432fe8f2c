//! Objects where the API server keeps them: it needs minutes to take so many, and has a processor for nothing else meanwhile.

use std::io::Write as _;
use std::process::Stdio;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kok_tests::lab::Lab;
use serde_json::{Value, json};

/// Operations of one transaction at the most, as etcd has it.
const MOST_PUTS: usize = 128;
/// Bytes of one, of which etcd takes one and a half megabytes.
const MOST_BYTES: usize = 768 << 10;
/// Where the API server of a story has its etcd.
const ADDRESS: &str = "http://127.0.0.1:2379/v3/kv";

/// Where an object of kube-on-kube's group is, which is of no namespace.
pub fn place(plural: &str, name: &str) -> String {
    format!("/registry/kubeonkube.clay.io/{plural}/{name}")
}

/// An object as the API server has written it.
pub fn get(lab: &Lab, place: &str) -> Value {
    let said = ask(lab, "range", &json!({"key": STANDARD.encode(place)}));
    let bytes = STANDARD.decode(said["kvs"][0]["value"].as_str().unwrap_or_else(|| panic!("{place}: {said}"))).unwrap();
    serde_json::from_slice(&bytes).unwrap()
}

/// Puts objects into their places, many at a time.
pub fn put(lab: &Lab, objects: impl Iterator<Item = (String, String)>) {
    let (mut puts, mut bytes) = (Vec::new(), 0);
    for (place, object) in objects {
        bytes += object.len();
        puts.push(json!({"requestPut": {"key": STANDARD.encode(place), "value": STANDARD.encode(object)}}));
        if puts.len() == MOST_PUTS || bytes >= MOST_BYTES {
            commit(lab, &mut puts);
            bytes = 0;
        }
    }
    commit(lab, &mut puts);
}

fn commit(lab: &Lab, puts: &mut Vec<Value>) {
    if !puts.is_empty() {
        let said = ask(lab, "txn", &json!({"success": std::mem::take(puts)}));
        assert_eq!(said["succeeded"], true, "{said}");
    }
}

fn ask(lab: &Lab, what: &str, body: &Value) -> Value {
    let mut curl = lab.command("curl").unwrap();
    curl.args(["-fsS", "--noproxy", "*", "--max-time", "60", "--data-binary", "@-", &format!("{ADDRESS}/{what}")]);
    let mut child = curl.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(body.to_string().as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{output:?}");
    serde_json::from_slice(&output.stdout).unwrap()
}
