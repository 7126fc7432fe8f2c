//! Webhooks of admission that refuse what they are not asked about (`failurePolicy: Fail`), and whether anybody answers for them.

use std::collections::BTreeSet;

use super::parse::{ParseError, Section, text_of};

/// A webhook that fails closed, of a service in the cluster.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Webhook {
    /// Kind of the object that it stands in.
    pub kind: String,
    /// Name of that object.
    pub configuration: String,
    /// Its own name.
    pub name: String,
    /// Whether it is asked about some objects alone: by selectors or conditions.
    pub selects: bool,
    /// Who is asked, as `namespace/name`.
    pub service: String,
    /// What it is asked about.
    pub rules: Vec<Rule>,
    /// Whether its service has an endpoint that is ready.
    pub answers: bool,
}

/// Resources that a webhook is asked about: any of these, in any of these groups. `*` stands for all.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rule {
    /// Groups of the API; empty for the core group.
    pub groups: Vec<String>,
    /// Names, with a part of the object behind a slash where it is about that.
    pub resources: Vec<String>,
}

/// All of them; or what was said instead.
pub type Webhooks = Result<Vec<Webhook>, String>;

/// After [`super::api_server::ready`]. A line of JSON for each webhook, then `done`, then one for each service with a letter for each endpoint that is ready
/// or does not say (`EndpointSlice`: that counts as ready), or for a name elsewhere (`ExternalName`), of which nothing is known. Each service costs a kubectl;
/// of more than fifty nobody has webhooks. How a namespace is spelled there the API server does not check, so only what could be one is asked for.
pub(super) const SCRIPT: &str = r#"mark kube-webhooks
if [ -n "$api_server" ]; then
  webhooks=$(kube get validatingwebhookconfigurations,mutatingwebhookconfigurations --output='go-template={{range .items}}{{$in := .}}{{range .webhooks}}{{if eq .failurePolicy "Fail"}}{{if .clientConfig.service}}[{{printf "%q" .clientConfig.service.namespace}},{{printf "%q" .clientConfig.service.name}},{{printf "%q" $in.kind}},{{printf "%q" $in.metadata.name}},{{printf "%q" .name}},{{if or .namespaceSelector .objectSelector .matchConditions}}true{{else}}false{{end}},[{{range .rules}}[[{{range .apiGroups}}{{printf "%q" .}},{{end}}null],[{{range .resources}}{{printf "%q" .}},{{end}}null]],{{end}}null]]{{"\n"}}{{end}}{{end}}{{end}}{{end}}' 2>&1) && webhooks="$webhooks
done"
  printf '%s\n' "$webhooks"
  printf '%s\n' "$webhooks" | sed -n 's/^\["\([a-z0-9-]\{1,63\}\)","\([a-z0-9-]\{1,63\}\)",.*/\1 \2/p' | sort -u | head -n 50 | while read -r namespace service; do
    ready=$(kube get endpointslices --namespace="$namespace" --selector="kubernetes.io/service-name=$service" --output='go-template={{range .items}}{{range .endpoints}}{{if eq (printf "%v" .conditions.ready) "false"}}{{else}}y{{end}}{{end}}{{end}}' 2>/dev/null </dev/null) || continue
    [ -n "$ready" ] || ready=$(kube get service "$service" --namespace="$namespace" --ignore-not-found --output='go-template={{if eq .spec.type "ExternalName"}}y{{end}}' 2>/dev/null </dev/null) || continue
    printf '%s/%s %s\n' "$namespace" "$service" "$ready"
  done
fi
"#;

/// What [`SCRIPT`] says. Where the end of the list is missing nothing is known; of a service that was not asked for it is not said that nobody answers.
pub(super) fn read(sections: &[Section<'_>]) -> Result<Webhooks, ParseError> {
    let text = text_of(sections, "kube-webhooks")?;
    let lines: Vec<&str> = text.lines().collect();
    let end = lines.iter().position(|line| *line == "done");
    let Some((webhooks, services)) = end.and_then(|end| lines.split_at_checked(end)) else {
        let answer = text.trim();
        return Ok(Err(if answer.is_empty() { "the API server does not answer".to_owned() } else { answer.chars().take(400).collect() }));
    };
    let silent: BTreeSet<&str> = services.iter().filter_map(|line| line.strip_suffix(' ')).collect();
    let answered = |webhook: Webhook| Webhook { answers: !silent.contains(&*webhook.service), ..webhook };
    Ok(Ok(webhooks.iter().filter_map(|line| of_line(line)).map(answered).collect()))
}

/// Each list ends with a null, which stands behind its last comma.
type Listed<T> = Vec<Option<T>>;

fn of_line(line: &str) -> Option<Webhook> {
    type Line = (String, String, String, String, String, bool, Listed<(Listed<String>, Listed<String>)>);
    let (namespace, service, kind, configuration, name, selects, rules): Line = serde_json::from_str(line).ok()?;
    let all = |list: Listed<String>| list.into_iter().flatten().collect();
    let rules = rules.into_iter().flatten().map(|(groups, resources)| Rule { groups: all(groups), resources: all(resources) });
    Some(Webhook { kind, configuration, name, selects, service: format!("{namespace}/{service}"), rules: rules.collect(), answers: true })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "these are tests")]

    use super::super::parse::sections;
    use super::super::script::Nonce;
    use super::*;

    fn read_section(said: &str) -> Webhooks {
        let nonce = Nonce::new([7; 16]);
        let text = format!("\n{0} kube-webhooks\n{said}\n{0} end\n", nonce.as_str());
        read(&sections(&nonce, text.as_bytes())).unwrap()
    }

    #[test]
    fn who_has_no_endpoint_does_not_answer() {
        let line = |service: &str, selects: bool| {
            let rules = r#"[[["","apps",null],["pods","nodes/status",null]],null]"#;
            format!("[\"guard\",\"{service}\",\"ValidatingWebhookConfiguration\",\"guard\",\"pods.guard.io\",{selects},{rules}]\n")
        };
        let said = format!("{}{}{}done\nguard/alive yy\nguard/dead \n", line("alive", false), line("dead", true), line("not asked", false));
        let webhooks = read_section(&said).unwrap();
        assert_eq!(webhooks.iter().map(|it| (it.answers, it.selects)).collect::<Vec<_>>(), [(true, false), (false, true), (true, false)]);
        let dead = &webhooks[1];
        assert_eq!((&*dead.service, &*dead.configuration, &*dead.name), ("guard/dead", "guard", "pods.guard.io"));
        let all = |names: [&str; 2]| names.map(str::to_owned).to_vec();
        assert_eq!(dead.rules, [Rule { groups: all(["", "apps"]), resources: all(["pods", "nodes/status"]) }]);
        assert_eq!(read_section("done\n"), Ok(Vec::new()));
    }

    #[test]
    fn without_its_end_a_list_says_nothing() {
        assert_eq!(read_section(""), Err("the API server does not answer".to_owned()));
        assert_eq!(read_section("error: forbidden"), Err("error: forbidden".to_owned()));
        assert_eq!(read_section("[\"nonsense\"]\ndone"), Ok(Vec::new()));
    }
}
