//! Very many objects, and objects that come and go: what a replica has to show for them.

pub mod applied;
pub mod churn;
pub mod copies;
pub mod etcd;
pub mod explained;
pub mod rest;
pub mod round;

use kok_tests::lab::Lab;

/// What a replica counts, of that which has its metrics at this port.
pub fn metrics(lab: &Lab, port: u16) -> String {
    let mut curl = lab.command("curl").unwrap();
    let output = curl.args(["-fsS", "--noproxy", "*", "--max-time", "20", &format!("http://127.0.0.1:{port}/metrics")]).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// The sum of a counter, or of one with labels those of which one of these is a part.
pub fn sum(metrics: &str, name: &str, labels: &[&str]) -> f64 {
    let is_meant = |line: &&str| {
        let rest = line.strip_prefix(name).filter(|rest| rest.starts_with(['{', ' ']));
        rest.is_some_and(|rest| labels.is_empty() || labels.iter().any(|label| rest.contains(label)))
    };
    metrics.lines().filter(is_meant).filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok()).fold(0.0, |sum, value| sum + value)
}
