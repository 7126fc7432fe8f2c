//! `kokctl operator manifests`

use clap::{Args, ValueEnum};

use crate::failure::{Failure, Kind};
use crate::ui::line;

/// What an API server has to know before it takes the objects that the operator serves.
const DEFINITIONS: [&str; 2] = [
    include_str!("../../../deploy/crds/clusters.kubeonkube.clay.io.yaml"),
    include_str!("../../../deploy/crds/clusteroperations.kubeonkube.clay.io.yaml"),
];

/// The operator itself, in the order of `kustomization.yaml`.
const OPERATOR: [&str; 3] = [
    include_str!("../../../deploy/manifests/namespace.yaml"),
    include_str!("../../../deploy/manifests/rbac.yaml"),
    include_str!("../../../deploy/manifests/statefulset.yaml"),
];

/// The namespace that they name.
const NAMESPACE: &str = "kokctl";

/// How lines name the image.
const IMAGE: &str = "image: ";

/// The longest name of a namespace, which is a label of DNS (RFC 1123).
const LONGEST: usize = 63;

/// Print what has to be applied to a meta-cluster for the operator to run in it
///
/// Definitions come first. For a new operator, or a newer one: `kokctl operator manifests | kubectl apply --server-side --force-conflicts -f -`.
/// The bundle is a claim `kokctl-bundle`, and the operator's state of the default StorageClass.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// The operator's own namespace, and that of all clusters
    #[arg(long, value_name = "NAMESPACE", default_value = NAMESPACE)]
    namespace: String,
    /// The image of the operator; by default that of this version
    #[arg(long, value_name = "NAME:TAG")]
    image: Option<String>,
    /// Nothing but this
    #[arg(long, value_name = "PART")]
    only: Option<Part>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Part {
    /// The definitions of Cluster and ClusterOperation
    Definitions,
    /// What runs, and what it may do
    Operator,
}

pub(super) fn run(arguments: &Arguments) -> Result<(), Vec<Failure>> {
    let text = text(arguments).map_err(|failure| vec![failure])?;
    line(text.trim_end());
    Ok(())
}

fn text(arguments: &Arguments) -> Result<String, Failure> {
    let namespace = arguments.namespace.as_str();
    if !is_label(namespace) {
        let failure = Failure::new(Kind::Input, format!("`{}` cannot be a namespace", namespace.escape_debug())).at("--namespace");
        return Err(failure.because("it is not a label of DNS").hint("small letters, digits and `-`: kokctl"));
    }
    if namespace == "default" || namespace.starts_with("kube-") {
        let failure = Failure::new(Kind::Input, format!("the operator can't have the namespace {namespace}")).at("--namespace");
        let because = "nobody else is to write into it, and it admits only pods that are restricted";
        return Err(failure.because(because).hint("name one of its own: kokctl"));
    }
    let image = arguments.image.as_deref();
    if let Some(image) = image.filter(|image| !is_reference(image)) {
        let failure = Failure::new(Kind::Input, format!("`{}` cannot be an image", image.escape_debug())).at("--image");
        return Err(failure
            .because("it is not a reference as registries have them")
            .hint("REGISTRY/NAME:TAG, or with @sha256:… for the tag"));
    }
    let (definitions, operator) = (arguments.only != Some(Part::Operator), arguments.only != Some(Part::Definitions));
    let mut texts: Vec<String> = Vec::new();
    texts.extend(DEFINITIONS.iter().filter(|_| definitions).map(|text| (*text).to_owned()));
    texts.extend(OPERATOR.iter().filter(|_| operator).map(|text| with_image(&in_namespace(text, namespace), image)));
    Ok(texts.join("---\n"))
}

/// The same for another namespace, wherever the lines say the usual one: as the name of the Namespace, of objects, of subjects, and in arguments.
fn in_namespace(text: &str, namespace: &str) -> String {
    let lines = text.lines().map(|line| {
        let head = ["  name: kokctl", "--own-namespace=kokctl", "--namespaces=kokctl", "namespace: kokctl"].into_iter();
        let head = head.filter_map(|namespace_line| line.ends_with(namespace_line).then(|| line.strip_suffix(NAMESPACE)).flatten()).next();
        let flow = ["namespace: kokctl}", "namespace: kokctl,"].into_iter().find(|namespace_line| line.contains(namespace_line));
        match (head, flow) {
            (Some(head), _) => format!("{head}{namespace}\n"),
            (None, Some(namespace_line)) => format!("{}\n", line.replace(namespace_line, &namespace_line.replace(NAMESPACE, namespace))),
            (None, None) => format!("{line}\n"),
        }
    });
    lines.collect()
}

fn with_image(text: &str, image: Option<&str>) -> String {
    let Some(image) = image else { return text.to_owned() };
    let lines = text.lines().map(|line| match line.split_once(IMAGE) {
        Some((head, _)) if head.trim().is_empty() => format!("{head}{IMAGE}{image}\n"),
        _ => format!("{line}\n"),
    });
    lines.collect()
}

fn is_label(text: &str) -> bool {
    let is_inner = |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '-';
    let ends = |letter: Option<char>| letter.is_some_and(|letter| letter != '-');
    text.len() <= LONGEST && text.chars().all(is_inner) && ends(text.chars().next()) && ends(text.chars().next_back())
}

/// Nothing that YAML reads otherwise: what is in references (distribution's grammar), beginning with a letter or a digit.
fn is_reference(text: &str) -> bool {
    let is_part = |letter: char| letter.is_ascii_alphanumeric() || "._-/:@".contains(letter);
    text.chars().all(is_part)
        && text.starts_with(|first: char| first.is_ascii_alphanumeric())
        && !text.ends_with(':')
        && text.contains(['/', ':'])
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "these are tests")]
    use std::fs;
    use std::path::Path;

    use super::*;

    fn printed(namespace: &str, image: Option<&str>, only: Option<Part>) -> Result<String, Failure> {
        text(&Arguments { namespace: namespace.to_owned(), image: image.map(str::to_owned), only })
    }

    fn source(path: &str) -> String {
        fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("deploy").join(path)).unwrap()
    }

    #[test]
    fn it_is_what_stands_in_deploy_definitions_first() {
        let list = source("manifests/kustomization.yaml");
        let named: Vec<&str> = list.lines().filter_map(|line| line.strip_prefix("- ")).collect();
        assert_eq!(named, ["namespace.yaml", "rbac.yaml", "statefulset.yaml"]);
        let mut all = vec![source("crds/clusters.kubeonkube.clay.io.yaml"), source("crds/clusteroperations.kubeonkube.clay.io.yaml")];
        assert_eq!(printed(NAMESPACE, None, Some(Part::Definitions)).unwrap(), all.join("---\n"));
        let operator: Vec<String> = named.iter().map(|name| source(&format!("manifests/{name}"))).collect();
        assert_eq!(printed(NAMESPACE, None, Some(Part::Operator)).unwrap(), operator.join("---\n"));
        all.extend(operator);
        assert_eq!(printed(NAMESPACE, None, None).unwrap(), all.join("---\n"));
    }

    #[test]
    fn the_image_is_that_of_this_version() {
        let image = concat!("        image: ghcr.io/kokctl/kokctl-operator:", env!("CARGO_PKG_VERSION"), "\n");
        assert!(printed(NAMESPACE, None, None).unwrap().contains(image));
    }

    /// Helm itself renders all of it in the story `chart::`, which is not told for every change.
    #[test]
    fn the_charts_roles_are_the_same() {
        let lines = |text: &str| text.lines().filter(|line| !line.trim_start().starts_with(['#'])).map(str::to_owned).collect::<Vec<_>>();
        let chart = source("chart/kokctl-operator/templates/rbac.yaml");
        let chart: String = chart.lines().filter(|line| !line.starts_with("{{-")).map(|line| format!("{line}\n")).collect();
        let namespaces = ["{{ .Release.Namespace }}", "{{ $.Release.Namespace }}", "{{ $namespace }}"];
        let chart = namespaces.iter().fold(chart, |chart, place| chart.replace(place, NAMESPACE));
        assert_eq!(lines(&chart), lines(OPERATOR[1]));
        let version = concat!("version: ", env!("CARGO_PKG_VERSION"), "\nappVersion: ", env!("CARGO_PKG_VERSION"), "\n");
        assert!(source("chart/kokctl-operator/Chart.yaml").contains(version));
    }

    #[test]
    fn another_namespace_and_image_are_the_only_differences() {
        let usual = printed(NAMESPACE, None, Some(Part::Operator)).unwrap();
        let other = printed("team-a", Some("registry.example:5000/kokctl@sha256:00"), Some(Part::Operator)).unwrap();
        let code = |text: &str| text.lines().map(|line| line.split("# ").next().unwrap_or_default().to_owned()).collect::<Vec<_>>();
        let mut changed = 0;
        for (before, after) in code(&usual).iter().zip(code(&other)) {
            assert!(
                !after.contains("namespace: kokctl") && !after.contains("namespaces=kokctl") && !after.contains("namespace=kokctl"),
                "{after}"
            );
            assert!(!after.trim_end().ends_with(" name: kokctl"), "{after}");
            let back = after.replace("team-a", NAMESPACE);
            if after.contains("image: ") {
                assert!(after.ends_with(" image: registry.example:5000/kokctl@sha256:00"), "{after}");
            } else {
                assert_eq!(&back, before);
            }
            changed += usize::from(*before != after);
        }
        assert!(changed > 10, "{changed}");
        assert!(other.contains("namespace: default}"), "Events are where objects without a namespace have theirs");
    }

    #[test]
    fn what_is_no_name_is_refused() {
        for wrong in ["", "-a", "a-", "Team", "a b", "a\nkind: x", "default", "kube-system", &"a".repeat(64)] {
            assert!(printed(wrong, None, None).unwrap_err().hint.is_some(), "{wrong:?}");
        }
        for wrong in ["", "kokctl", "a b:1", "a:1\nb", "{a:1", "a/b: c", "a/b:"] {
            assert!(printed(NAMESPACE, Some(wrong), None).unwrap_err().hint.is_some(), "{wrong:?}");
        }
    }
}
