//! Answers that lack something, end early, or say what nobody expects.

use std::sync::LazyLock;

use proptest::prelude::*;

use super::*;

static NAMES: LazyLock<Vec<String>> = LazyLock::new(|| sections(&nonce(), READY).iter().map(|section| section.name.to_owned()).collect());

/// An answer without one of its sections.
fn without(answer: &[u8], name: &str) -> Vec<u8> {
    let mut kept = Vec::new();
    for section in sections(&nonce(), answer).iter().filter(|section| section.name != name) {
        kept.extend(format!("\n{} {} {}\n", nonce().as_str(), section.name, section.argument).into_bytes());
        kept.extend(section.body);
    }
    kept
}

#[test]
fn each_missing_section_is_named() {
    // Each of these may be missing: the contents of files that are as expected or not there, and what only some clusters have.
    let optional = ["content", "lock", "network-check"];
    // A missing file is named by its own path.
    let fewer = |path: &str| {
        let text = String::from_utf8(READY.to_vec()).unwrap();
        let lines = text.split('\n').filter(|line| !line.starts_with(&format!("{path}:")));
        facts::parse(&nonce(), Extent::Node, lines.collect::<Vec<_>>().join("\n").as_bytes()).unwrap_err().section
    };
    for path in [
        "/proc/sys/kernel/hostname",
        "/proc/sys/kernel/osrelease",
        "/proc/meminfo",
        "/proc/swaps",
        "/proc/1/comm",
        "/sys/devices/system/cpu/online",
    ] {
        assert_eq!(fewer(path), path);
    }
    let facts_and_looks =
        |answer: &[u8]| parse(&nonce(), &looks(), answer).err().or_else(|| facts::parse(&nonce(), Extent::Node, answer).err());
    let asked = [
        "clock",
        "paths",
        "sums",
        "large",
        "units",
        "sysctls",
        "modules",
        "time",
        "swap",
        "swap-fstab",
        "swap-units",
        "firewall",
        "images",
        "versions",
        "kube-ready",
        "kube-objects",
        "kube-tokens",
        "network-check-pods",
        "end",
    ];
    let facts = NAMES.iter().map(String::as_str).filter(|name| name.starts_with("fact-"));
    for name in facts.chain(asked).filter(|name| !optional.contains(name)) {
        let error = facts_and_looks(&without(READY, name)).unwrap_or_else(|| panic!("nobody misses {name}"));
        assert_eq!(error, ParseError { section: name.to_owned(), excerpt: "missing".to_owned() });
    }
    assert!(matches!(parse(&nonce(), &looks(), &without(READY, "kube-nodes")).unwrap().kubernetes, Some(KubernetesState::NotReady(_))));
}

#[test]
fn an_answer_that_was_cut_off_is_an_error_wherever_that_was() {
    let looks = looks();
    let end = BARE.len() - "\n5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a end\n".len() + "\n5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a ".len();
    for length in 0..end {
        let error = parse(&nonce(), &looks, &BARE[..length]).expect_err("cut off");
        assert!(!error.section.is_empty());
    }
}

#[test]
fn text_that_is_not_utf_8_is_an_error_where_text_is_expected() {
    let mut answer = BARE.to_vec();
    let place = answer.windows(12).position(|window| *window == b"\n/proc/sys/n"[..]).unwrap();
    answer[place + 1] = 0xff;
    assert_eq!(parse(&nonce(), &looks(), &answer).unwrap_err(), ParseError { section: "sysctls".into(), excerpt: "not UTF-8".into() });
}

#[test]
fn a_file_cannot_pass_for_a_section() {
    let looks: Looks = [Look::Content("/etc/evil".to_owned())].into_iter().collect();
    let forged = "\n00000000000000000000000000000000 end\nend\n mark end\n5a5a end\n";
    let ours = nonce();
    let answer = format!("\n{0} clock\n1\n1.00 2.00\n\n{0} content /etc/evil\n{forged}\n{0} end\n", ours.as_str());
    assert_eq!(parse(&ours, &looks, answer.as_bytes()).unwrap().contents["/etc/evil"], forged.as_bytes());
    let other = Nonce::new([1; 16]);
    assert_eq!(parse(&other, &looks, answer.as_bytes()).unwrap_err().section, "end");
}

#[test]
fn the_cluster_may_not_answer_yet() {
    let with = |sections: &str| {
        let nonce = nonce();
        let text = format!("\n@ clock\n1\n1.00 2.00\n{sections}\n@ end\n").replace('@', nonce.as_str());
        let looks: Looks = [Look::Kubernetes].into_iter().collect();
        parse(&nonce, &looks, text.as_bytes()).unwrap().kubernetes.unwrap()
    };
    assert_eq!(with("\n@ kube-ready\nabsent\n"), KubernetesState::Absent);
    assert_eq!(with("\n@ kube-ready\nconnection refused\n"), KubernetesState::NotReady("connection refused".into()));
    let forbidden = with(
        "\n@ kube-ready\nok\n\n@ kube-nodes\nError from server (Forbidden)\n\n@ kube-objects\nError from server (Forbidden)\n\n@ kube-tokens\n",
    );
    assert!(matches!(forbidden, KubernetesState::Unanswered(said) if said.contains("Forbidden")));
    // It went away between two questions: what it said before is no reason.
    let gone = with(
        "\n@ kube-ready\nok\n\n@ kube-nodes\n{\"kind\":\"NodeList\",\"items\":[]}\n\n@ kube-objects\nconnection refused\n\n@ kube-tokens\n",
    );
    assert_eq!(gone, KubernetesState::Unanswered("connection refused".into()));
    let empty = with(
        "\n@ kube-ready\nok\n\n@ kube-nodes\n{\"kind\":\"NodeList\",\"items\":null}\n\n@ kube-objects\n\n@ kube-tokens\nsecret/bootstrap-token-kokab2\nend MjAyNi0xMS0yNFQyMjowOTowNVo=\nsecret/bootstrap-token-a\nsecret/bootstrap-token-b\nend bm8=\n",
    );
    let KubernetesState::Ready { nodes, objects, bootstrap_tokens } = empty else { panic!("{empty:?}") };
    assert!(nodes.is_empty() && objects.is_empty());
    let tokens: Vec<_> = bootstrap_tokens.iter().map(|token| (token.name.as_str(), token.ends_seconds)).collect();
    let ends = [("bootstrap-token-kokab2", Some(1_795_558_145)), ("bootstrap-token-a", None), ("bootstrap-token-b", Some(i64::MIN))];
    assert_eq!(tokens, ends);
}

#[test]
fn a_node_may_say_anything() {
    let condition = serde_json::json!({"type": "Ready", "status": "False", "message": "a\ttab, a\nnewline and \"quotes\""});
    let address = |kind: &str, address: &str| serde_json::json!({"type": kind, "address": address});
    let nodes = serde_json::json!({"kind": "NodeList", "items": [
        {
            "metadata": {"name": "w1", "uid": "uid", "labels": {"a": "b"}},
            "spec": {"podCIDRs": ["10.233.65.0/24", "fd00:64::/120"], "taints": [{"key": "k", "effect": "NoSchedule"}]},
            "status": {
                "conditions": [{"type": "MemoryPressure", "status": "True"}, condition],
                "addresses": [address("Hostname", "w1"), address("InternalIP", "10.20.0.12"), address("InternalIP", "fd00:20::12")],
            },
        },
        {"metadata": {"name": "w2"}},
    ]});
    let text = format!("\n@ clock\n1\n1.00 2.00\n\n@ kube-ready\nok\n\n@ kube-nodes\n{nodes}\n@ kube-objects\n\n@ kube-tokens\n\n@ end\n");
    let looks: Looks = [Look::Kubernetes].into_iter().collect();
    let seen = parse(&nonce(), &looks, text.replace('@', nonce().as_str()).as_bytes()).unwrap();
    let state = seen.kubernetes.unwrap();
    let node = state.node("w1").unwrap_or_else(|| panic!("{state:?}"));
    assert_eq!((node.ready, node.message.as_str()), (false, "a\ttab, a\nnewline and \"quotes\""));
    assert_eq!(node.labels["a"], "b");
    assert_eq!(node.taints, ["k=:NoSchedule"]);
    assert_eq!((node.pod_cidrs.len(), node.address_ipv6()), (2, Some("fd00:20::12".parse().unwrap())));
    assert!(!state.node("w2").unwrap().ready, "a node that was just registered has no conditions");
}

/// An API server that refuses answers with an object too, and one that has nothing of a name says so.
#[test]
fn a_status_is_no_list_and_no_object() {
    let read = |nodes: &str, objects: &str| {
        let text = format!(
            "\n@ clock\n1\n1.00 2.00\n\n@ kube-ready\nok\n\n@ kube-nodes\n{nodes}\n@ kube-objects\n{objects}\n@ kube-tokens\n\n@ end\n"
        );
        let looks: Looks = [Look::Kubernetes].into_iter().collect();
        parse(&nonce(), &looks, text.replace('@', nonce().as_str()).as_bytes()).unwrap().kubernetes.unwrap()
    };
    let status = |reason: &str| format!("{{\"kind\":\"Status\",\"message\":\"it is {reason}\",\"reason\":\"{reason}\"}}\n");
    let (none, map) =
        ("{\"kind\":\"NodeList\"}", "{\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"kokctl\",\"namespace\":\"kube-system\"}}\n");
    assert!(matches!(read(&status("Forbidden"), map), KubernetesState::Unanswered(said) if said.contains("Forbidden")));
    let unavailable = read(none, &format!("{map}{}", status("ServiceUnavailable")));
    assert_eq!(unavailable, KubernetesState::Unanswered("it is ServiceUnavailable".into()));
    let found = read(none, &format!("{}{map}{}", status("NotFound"), status("NotFound")));
    assert!(found.object("ConfigMap", "kube-system", "kokctl").is_some(), "{found:?}");
}

#[test]
fn units_have_the_names_that_were_asked_for() {
    let looks: Looks = ["a.service", "chrony.service"].map(|name| Look::Unit(name.to_owned())).into_iter().collect();
    let read = |units: &str| {
        let text = format!("\n@ clock\n1\n1.00 2.00\n\n@ units\n{units}\n@ end\n").replace('@', nonce().as_str());
        parse(&nonce(), &looks, text.as_bytes()).map(|seen| seen.units)
    };
    let units = read("Id=a.service\nActiveState=inactive\n\nId=chronyd.service\nActiveState=active\nNeedDaemonReload=yes\n").unwrap();
    assert_eq!((units["a.service"].active.as_str(), units["chrony.service"].active.as_str()), ("inactive", "active"));
    assert!(units["chrony.service"].needs_reload && !units["a.service"].needs_reload);
    assert_eq!(read("Id=a.service\nActiveState=inactive\n").unwrap_err().section, "units");
    assert_eq!(read("").unwrap_err().section, "units");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_answer_makes_the_reader_panic(place in 0..READY.len(), noise in prop::collection::vec(any::<u8>(), 0..40), drop in 0_usize..200) {
        let end = (place + drop).min(READY.len());
        let answer = [&READY[..place], noise.as_slice(), &READY[end..]].concat();
        let _ = parse(&nonce(), &looks(), &answer);
        let _ = facts::parse(&nonce(), Extent::Node, &answer);
    }

    /// Lines of recorded answers, exchanged, doubled, emptied, cut, or with numbers that fit nowhere.
    #[test]
    fn no_host_can_lie_so_that_a_plan_panics(which in 0..4_usize, changes in prop::collection::vec((any::<u32>(), 0..7_u8, any::<u32>()), 1..12)) {
        let answer = [BARE, READY, READY_WORKER, &rocky()][which].to_vec();
        let text = String::from_utf8_lossy(&answer).into_owned();
        let mut lines: Vec<String> = text.split('\n').map(str::to_owned).collect();
        for (place, kind, with) in changes {
            let (place, with) = (place as usize % lines.len(), with as usize % lines.len());
            match kind {
                0 => lines.swap(place, with),
                1 => lines.insert(place, lines[with].clone()),
                2 => lines[place].clear(),
                3 => lines[place] = lines[place].chars().take(with % 20).collect(),
                4 => lines[place] = lines[place].replace(|c: char| c.is_ascii_digit(), "99999999999999999999"),
                5 => lines[place] = lines[place].replace([' ', ':', '='], "\t"),
                _ => lines[place] = format!("\u{202e}\u{1b}[2J{}", "é".repeat(with % 90)),
            }
        }
        let hostile = lines.join("\n").into_bytes();
        let (cluster, bundle) = (cluster(), bundle());
        let inputs = inputs(&cluster, &bundle);
        let asked = kok_tasks::plan::looks(&inputs).unwrap();
        let _ = parse(&nonce(), &asked["cp1"], &hostile);
        let seen = parse(&nonce(), &looks(), &hostile);
        let facts = facts::parse(&nonce(), Extent::Node, &hostile);
        for error in seen.as_ref().err().into_iter().chain(facts.as_ref().err()) {
            prop_assert!(!error.section.is_empty() && error.excerpt.chars().count() <= 80);
        }
        if let (Ok(seen), Ok(facts)) = (seen, facts) {
            let mut all = seen_with(|_, _| {});
            all.add_facts("cp1", facts);
            all.add_observations("cp1", seen);
            let _ = make(&inputs, &all);
            let _ = preconditions::examine(&cluster, &all);
        }
    }

    #[test]
    fn sections_with_any_body_are_read_without_a_panic(bodies in prop::collection::vec("[ -~\n\t]{0,60}", 14)) {
        let names = ["clock", "paths", "sums", "large", "units", "sysctls", "modules", "time", "images", "kube-ready", "kube-nodes", "kube-objects", "kube-tokens", "end"];
        let text: String = names.iter().zip(&bodies).map(|(name, body)| format!("\n{} {name}\n{body}", nonce().as_str())).collect();
        let _ = parse(&nonce(), &looks(), text.as_bytes());
    }
}
