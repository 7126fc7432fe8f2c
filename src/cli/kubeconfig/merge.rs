//! `kokctl kubeconfig --merge`

use std::path::Path;

use kok_pki::{MergeChange, MergeError, MergeSummary, NewCluster, SecretText, Taken, inspect_kubeconfig, merge_kubeconfig};

use super::own::{Own, usual};
use crate::engine::Server;
use crate::failure::{Failure, Kind};

/// How the entries are called.
pub(super) struct Names<'a> {
    /// The cluster's and the context's.
    pub(super) context: &'a str,
    /// The user's, if it is not the administrator.
    pub(super) user: Option<&'a str>,
}

/// Takes the cluster into the user's kubeconfig, and says in lines what was done.
pub(super) fn merge(
    into: Option<&Path>,
    names: &Names<'_>,
    admin: &SecretText,
    server: &Server,
    all: &[Server],
) -> Result<Vec<String>, Vec<Failure>> {
    let name = names.context;
    let usual = || usual(std::env::var_os("KUBECONFIG").as_ref(), std::env::home_dir());
    let Some(path) = into.map(Path::to_owned).or_else(usual) else {
        return Err(vec![
            Failure::new(Kind::Input, "there is no kubeconfig to merge into: neither KUBECONFIG nor HOME is set")
                .hint("name a file with --into"),
        ]);
    };
    let admin = inspect_kubeconfig(admin).map_err(|error| {
        let failure = Failure::new(Kind::Host, "the administrator's kubeconfig can't be read");
        vec![
            failure
                .at(format!("host {}: /etc/kubernetes/admin.conf", server.host))
                .because(error.to_string())
                .hint("`kokctl apply` writes it anew"),
        ]
    })?;
    let servers: Vec<String> = all.iter().map(Server::url).collect();
    let new = NewCluster {
        name,
        user: names.user,
        server: &server.url(),
        tls_server_name: server.tls_server_name,
        servers: &servers,
        admin: &admin,
    };
    let own = Own::open(&path).map_err(|failure| vec![failure])?;
    let (text, summary) = merge_kubeconfig(&own.text, &new).map_err(|error| refused(error, &path))?;
    if summary.change != MergeChange::Nothing || own.open_mode().is_some() {
        own.replace(&text).map_err(|failure| vec![failure])?;
    }
    let closed = own.open_mode().map(|mode| format!("{} can now be read by its owner only; its mode was {mode:04o}", path.display()));
    let next = match into {
        Some(path) => format!("next: kubectl --kubeconfig {} get nodes", path.display()),
        None => "next: kubectl get nodes".to_owned(),
    };
    Ok([merge_message(name, &path, &summary)]
        .into_iter()
        .chain(closed)
        .chain((summary.change == MergeChange::Added).then_some(next))
        .collect())
}

fn merge_message(name: &str, path: &Path, summary: &MergeSummary) -> String {
    let path = path.display();
    let before = summary.context_before.as_ref().map(|before| format!(" (before: {before})")).unwrap_or_default();
    match summary.change {
        MergeChange::Added => format!("context {name} was added to {path}, and is the current one now{before}"),
        MergeChange::Renewed if before.is_empty() => format!("context {name} was renewed in {path}, and is the current one"),
        MergeChange::Renewed => format!("context {name} was renewed in {path}, and is the current one now{before}"),
        MergeChange::Chosen => format!("context {name} is already there in {path}, and is the current one now{before}"),
        MergeChange::Nothing => format!("context {name} is already there in {path}, and is the current one: nothing to do"),
    }
}

fn refused(error: MergeError, path: &Path) -> Vec<Failure> {
    let name = path.display();
    let failure = Failure::new(Kind::Input, format!("{name} was left as it is: {error}"));
    let other = "name another file with --into";
    match error {
        MergeError::Misfit(misfit) => {
            let place = format!("{name}:{}:{}", misfit.line, misfit.column);
            vec![failure.at(place).because(misfit.what).hint(format!("mend it, or {other}"))]
        }
        MergeError::Taken(taken) => taken.iter().map(|entry| of_another(entry, path)).collect(),
        MergeError::Unfaithful => vec![failure.hint(other)],
        MergeError::Admin(_) => vec![failure.hint("`kokctl kubeconfig` without --merge prints it")],
    }
}

fn of_another(Taken { kind, name, line, column }: &Taken, path: &Path) -> Failure {
    let path = path.display();
    Failure::new(Kind::Input, format!("{path} was left as it is: its {kind} {name} is not of this cluster"))
        .at(format!("{path}:{line}:{column}"))
        .because("neither its certificate authority nor its server is this cluster's")
        .hint(format!(
            "name another file with --into; or, if nobody needs that entry: kubectl --kubeconfig {path} config delete-{kind} {name}"
        ))
}
