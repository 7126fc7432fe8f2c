//! Prints the script of a cluster's first probe of a host, as `tests/fixtures/README.md` says how to record its answers.
//!
//! `cargo run -p kok-tasks --example probe_script -- CLUSTER.yaml bundle.json HOST`
#![allow(clippy::print_stdout, reason = "the script is what this program is for")]

use std::error::Error;
use std::{env, fs};

use kok_tasks::bundle::Bundle;
use kok_tasks::facts::Extent;
use kok_tasks::observe::{Nonce, probe_script};
use kok_tasks::plan::{Inputs, looks};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [file, index, host] = arguments.as_slice() else { return Err("give a cluster's file, a bundle.json and a host".into()) };
    let cluster = kok_crds::read_cluster(file, &fs::read_to_string(file)?).map_err(|problems| format!("{problems:?}"))?;
    let bundle = Bundle::parse(&fs::read_to_string(index)?)?;
    let looks =
        looks(&Inputs { cluster: &cluster, bundle: &bundle, token_id: "kok000", new_cluster_id: "c1", now_seconds: 0, prune: false })
            .map_err(|refusals| format!("{refusals:?}"))?;
    let looks = looks.get(host).ok_or("the cluster has no such host")?;
    // The nonce of the fixtures; the one of a run is random.
    print!("{}", probe_script(&Nonce::new([0x5a; 16]), looks, Some(Extent::Node)));
    Ok(())
}
