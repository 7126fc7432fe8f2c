//! Every test that needs hosts of the lab, the bundle or Go, in one program: what they share is compiled and linked once.
//!
//! Each suite is a module with its tests; `cargo test -p kok-tests --test suites -- SUITE:: --test-threads=1 --nocapture` runs one of them, and
//! `tests/make/stories.txt` says what `make test` runs of them.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    missing_docs,
    unreachable_pub
)]

mod admission;
mod api_server;
mod api_server_support;
mod authorities;
mod backup;
mod backup_story;
mod bad_input;
mod bad_input_cases;
mod buckets;
mod buckets_story;
mod bundle_fetch;
mod bundle_push;
mod bundle_push_story;
mod calico;
mod calico_story;
mod certificates;
mod certificates_story;
mod chart;
mod cluster;
mod cluster_story;
mod cluster_support;
mod commands;
mod deaths;
mod draw;
mod encryption;
mod etcd_room;
mod faults;
mod faults_cases;
mod fetched;
mod highly_available;
mod highly_available_story;
mod histories;
mod histories_story;
mod hooks;
mod host_resources;
mod issued;
mod issued_story;
mod kms;
mod kms_story;
mod known;
mod kube_on_kube;
mod kube_on_kube_story;
mod lab_hosts;
mod lab_killed;
mod lab_support;
mod members;
mod members_story;
mod metrics;
mod networks;
mod networks_cases;
mod operator;
mod operator_faults;
mod operator_faults_story;
mod operator_pace;
mod operator_pod;
mod operator_pod_story;
mod operator_restore;
mod operator_scale;
mod operator_scale_story;
mod operator_story;
mod own_etcd;
mod own_members;
mod own_recovery;
mod packages;
mod page;
mod page_story;
mod prepared;
mod pulled;
mod reboots;
mod recovers;
mod release_build;
mod roles;
mod secrets;
mod service_accounts;
mod two_clusters;
mod upgrades;
mod upgrades_away;
mod upgrades_far;
mod upgrades_faults;
mod upgrades_story;
mod vagrant;
mod workers;
