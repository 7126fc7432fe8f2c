//! The `kokctl` program.
fn main() {}
