//! Builds and runs Kubernetes clusters on your own Linux hosts over SSH.
pub mod remote;
