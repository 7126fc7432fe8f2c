//! What nodes are annotated with. It is asked for only where somebody wants something of it: plugins keep a lot there.

use std::collections::BTreeMap;

/// Annotations by node; or what was said instead of them.
pub type Annotations = Result<BTreeMap<String, BTreeMap<String, String>>, String>;

/// A line for each node, its annotations as JSON. After the question whether the API server is ready.
pub(super) const SCRIPT: &str = r#"mark kube-annotations
if [ -n "$api_server" ]; then
  kube get nodes -o jsonpath='{range .items[*]}{.metadata.name}{"\t"}{.metadata.annotations}{"\n"}{end}' 2>&1
fi
"#;

/// Reads that. Without rights, or when the API server goes away between two questions, kubectl prints an error instead.
pub(super) fn read(body: &str) -> Annotations {
    body.lines().filter(|line| !line.is_empty()).map(|line| of_node(line).ok_or_else(|| line.chars().take(500).collect())).collect()
}

fn of_node(line: &str) -> Option<(String, BTreeMap<String, String>)> {
    let (node, annotations) = line.split_once('\t')?;
    let annotations = if annotations.is_empty() { BTreeMap::new() } else { serde_json::from_str(annotations).ok()? };
    Some((node.to_owned(), annotations))
}

#[cfg(test)]
mod tests {
    use super::read;

    #[test]
    fn a_node_may_have_none_and_an_error_is_no_node() {
        let lines = "cp1\t{\"a\":\"b\\tc\\nd\"}\ncp2\t\n";
        let said = read(lines).unwrap_or_default();
        assert_eq!(said.get("cp1").and_then(|own| own.get("a")).map(String::as_str), Some("b\tc\nd"));
        assert!(said.get("cp2").is_some_and(|own| own.is_empty()));
        let error = "Error from server (Forbidden): no";
        assert_eq!(read(&format!("{lines}{error}\n")).err().as_deref(), Some(error));
        assert!(read("cp1\tnonsense\n").is_err());
    }
}
