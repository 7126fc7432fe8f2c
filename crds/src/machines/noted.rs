//! What a Vagrantfile has noted of a machine.

use super::Machine;
use crate::Problem;
use crate::Source;
use crate::decode::{Decoder, Field, Form};
use crate::tree::Dialect;

const NOTED: Form = Form { what: "what is noted of a machine", fields: &["address", "hostKey"], refused: &[] };

/// What to do about a file that nobody else writes.
const ANEW: &str = "remove the file, and `vagrant up` writes it anew";

/// Adds it to the machine. What the values mean, the reader of hosts says.
pub(super) fn read(machine: &mut Machine, source: &Source, problems: &mut Vec<Problem>) {
    let nodes = match source.parse(Dialect::Kubernetes) {
        Ok(nodes) => nodes,
        Err(problem) => return problems.push(problem.hint(ANEW)),
    };
    let [node] = nodes.as_slice() else {
        let problem = Problem::new("nothing, or more than one thing, is noted of a machine").at(&source.position(1, 1));
        return problems.push(problem.because("the file is one map with `address` and `hostKey`").hint(ANEW));
    };
    if machine.address.is_some() {
        let problem = Problem::new("what is noted of a machine is there twice").at(&node.position);
        return problems.push(problem.because("a machine has one provider").hint("remove the file of the one that it does not have"));
    }
    let mut decoder = Decoder::default();
    let root = Field { path: String::new(), node };
    if let Some(fields) = decoder.fields(&root, &NOTED) {
        machine.address = decoder.required(&fields, "address").map(|field| field.node.clone());
        machine.login.extend(decoder.required(&fields, "hostKey").map(|field| ("hostKey", field.node.clone())));
    }
    problems.extend(decoder.finish().0);
}
