//! Variables with expressions, and options of ssh: values or problems, never a panic.
#![no_main]

use kok_crds::Source;
use kok_crds::inventory::{Inventory, Vars};
use kok_crds::resolve::{Connection, Resolved};
use kok_crds::tree::{Node, Value};
use libfuzzer_sys::fuzz_target;

const INVENTORY: &str = "all:\n  hosts: {a: {ip: 10.0.0.1}, b: }\n  children: {kube_node: {hosts: {b: }}}\n";

fuzz_target!(|texts: (&str, &str, &str)| {
    let Ok(inventory) = Inventory::read(&Source::file("hosts.yml", INVENTORY), &[]) else { return };
    let mut vars = Vars::default();
    for (name, text) in [("x", texts.0), ("y", texts.1), ("ansible_ssh_args", texts.2)] {
        let position = Source::file("vars.yml", "").position(1, 1);
        let node = Node::new(Value::Text(text.to_owned()), position.clone());
        vars.insert(name, kok_crds::inventory::WrittenVariable { key_position: position, node });
    }
    let resolved = Resolved::new(inventory, vec![vars]);
    for name in ["x", "y"] {
        if let Err(problem) = resolved.get("a", name) {
            assert!(problem.position.is_some());
        }
        let _ = resolved.get("b", name);
    }
    let _ = Connection::for_host(&resolved, "b");
});
