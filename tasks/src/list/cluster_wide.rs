//! What one control plane does for the whole cluster.

use std::time::Duration;

use kok_pki::{AuthorityKind, Leaf};

use super::control_plane::{ADDONS, NAME, TOKEN, UPLOADED};
use super::{images, kubeadm_configuration, kubelet_join, names, network};
use crate::identity;
use crate::issued::is_kept_elsewhere;
use crate::operations::{Addons, BootstrapToken, EndpointReady, Operation, PrivateClusterInfo, RemoveTokens, UploadConfiguration};
use crate::plan::{Draft, HostView, Reason, Refusal, StepId, StepName};

/// Step after which the way to the API that the user runs leads to it.
const ENDPOINT: StepName<'static> = StepName::new(NAME, "endpoint");

/// Where the user runs a way to the API, it has to lead to one: kubeadm's phases and all who join take it.
fn endpoint(view: &HostView<'_>, draft: &mut Draft<'_>, administrators: &StepId) -> Option<StepId> {
    view.cluster().external_endpoint()?;
    let url = format!("https://{}", identity::endpoint_text(view.cluster()));
    let step = draft.add(ENDPOINT, Operation::EndpointReady(EndpointReady { url }));
    // A load balancer asks its servers every few seconds, and a name may have to spread.
    draft.within(Duration::from_secs(240));
    draft.needs(&step, administrators, Reason::Because("before, there is no API server that it could lead to"));
    names::needed_by(view, draft, &step);
    Some(step)
}

/// What one control plane does for all.
pub(super) fn plan(view: &HostView<'_>, draft: &mut Draft<'_>, administrators: &StepId) -> Result<(), Refusal> {
    let endpoint = endpoint(view, draft, administrators);
    let upload = upload(view, draft, administrators)?;
    let addons = addons(view, draft, administrators)?;
    let token = token(view, draft, administrators)?;
    for step in endpoint.iter().flat_map(|_| [&upload, &addons, &token]) {
        draft.needs(step, &view.id(ENDPOINT), Reason::Because("kubeadm asks there, by the administrators' kubeconfig"));
    }
    Ok(())
}

/// The cluster's own configuration.
fn upload(view: &HostView<'_>, draft: &mut Draft<'_>, administrators: &StepId) -> Result<StepId, Refusal> {
    let uploaded = kubeadm_configuration::cluster(view)?;
    let (path, source) = (uploaded.path.clone(), uploaded.source.clone());
    let control_planes = view.cluster().control_planes().map(|host| host.name.clone()).collect();
    let recorded = is_kept_elsewhere(view.cluster(), AuthorityKind::Kubernetes);
    let upload = UploadConfiguration { configuration: path.clone(), source, control_planes, recorded };
    let upload = draft.add(UPLOADED, Operation::UploadConfiguration(upload));
    draft.needs(&upload, administrators, Reason::Because("only administrators may"));
    draft.needs(&upload, &view.id(uploaded.step), Reason::Reads);
    Ok(upload)
}

/// kube-proxy and CoreDNS.
fn addons(view: &HostView<'_>, draft: &mut Draft<'_>, administrators: &StepId) -> Result<StepId, Refusal> {
    let uploaded = kubeadm_configuration::cluster(view)?;
    let (path, source) = (uploaded.path.clone(), kubeadm_configuration::addons_source(view, uploaded));
    let renewed_on = view.cluster().awaited_nodes().filter(|_| view.cluster().has_away()).map(|host| host.name.clone()).collect();
    let addons = Addons { configuration: path, source, proxy: network::has_proxy(view), renewed_on };
    let addons = draft.add(ADDONS, Operation::Addons(addons));
    draft.needs(&addons, administrators, Reason::Because("only administrators may"));
    draft.needs(&addons, &view.id(uploaded.step), Reason::Reads);
    kubeadm_configuration::patched_by(view, draft, &addons);
    for host in view.cluster().nodes().filter(|_| view.cluster().api_endpoint_name().is_some()) {
        let named = names::HOSTS_FILE.on(&host.name);
        draft.needs(&addons, &named, Reason::While("kube-proxy asks the API by the name that the host has for it when it starts"));
    }

    // While a cluster is founded they wait for nobody; where old ones run, new ones have what they need when they take their place.
    let images = [images::KUBE_PROXY, images::COREDNS].into_iter().filter(|image| *image != images::KUBE_PROXY || network::has_proxy(view));
    for image in images.filter(|_| view.cluster().underway.is_some()) {
        for host in view.cluster().nodes() {
            draft.needs(&addons, &image.on(&host.name), Reason::StartsImage);
        }
    }
    Ok(addons)
}

/// The token by which hosts join, and that it ends.
fn token(view: &HostView<'_>, draft: &mut Draft<'_>, administrators: &StepId) -> Result<StepId, Refusal> {
    let joining = kubelet_join::joining(view)?;
    let (host, id) = (view.host.name.clone(), view.inputs.token_id.to_owned());
    let server = view.cluster().api_endpoint_name().map(|_| identity::endpoint_url(view.cluster()));
    let kubelet_client =
        view.cluster().control_planes().any(|host| Leaf::has_bare_kubelet_client(view.cluster().plane_version(host).minor));
    let token = BootstrapToken { host, id, needed: !joining.is_empty(), kubelet_client, server };
    let token = draft.add(TOKEN, Operation::BootstrapToken(token));
    draft.needs(&token, administrators, Reason::Because("only administrators may"));
    if view.cluster().settings.security.private_cluster_info {
        let private = draft.add("cluster-info", Operation::PrivateClusterInfo(PrivateClusterInfo));
        draft.needs(&private, administrators, Reason::Because("only administrators may"));
        draft.follows(&private, &token, Reason::Because("the rules for joining hosts show it to everybody again"));
    }
    let removal = draft.add("token-removal", Operation::RemoveTokens(RemoveTokens));
    draft.follows(&removal, &token, Reason::Because("a token can't be removed before it is made"));
    for host in joining {
        draft.needs(&removal, &kubelet_join::JOINED.on(&host), Reason::Because("that host still needs the token"));
    }
    Ok(token)
}
