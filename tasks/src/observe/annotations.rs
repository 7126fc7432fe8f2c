//! What nodes are annotated with. It is asked for only where somebody wants something of it: plugins keep a lot there.

use std::collections::BTreeMap;

/// A line for each node, its annotations as JSON. After the question whether the API server is ready.
pub(super) const SCRIPT: &str = r#"mark kube-annotations
if [ -n "$api_server" ]; then
  kube get nodes -o jsonpath='{range .items[*]}{.metadata.name}{"\t"}{.metadata.annotations}{"\n"}{end}' 2>/dev/null
fi
"#;

/// The annotations of each node. One that is not in it has none that is known.
pub(super) fn read(body: &str) -> BTreeMap<String, BTreeMap<String, String>> {
    let lines = body.lines().filter_map(|line| line.split_once('\t'));
    lines.filter_map(|(node, annotations)| Some((node.to_owned(), serde_json::from_str(annotations).ok()?))).collect()
}

#[cfg(test)]
mod tests {
    use super::read;

    #[test]
    fn a_node_without_any_and_a_message_are_left_out() {
        let said = read("cp1\t{\"a\":\"b\\tc\\nd\"}\ncp2\t\nError from server (Forbidden)\n");
        assert_eq!(said.len(), 1);
        assert_eq!(said.get("cp1").and_then(|own| own.get("a")).map(String::as_str), Some("b\tc\nd"));
    }
}
