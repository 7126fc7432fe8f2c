//! flannel's manifest as a person applies it: kokctl's own, with the init container of flannel's that gives a host its CNI configuration.
//! That is what makes a node Ready in the classic order; kokctl writes the file itself.

use std::error::Error;

use kok_tasks::bundle::Bundle;
use kok_tasks::templates::render;
use serde_json::json;

use crate::bench::architecture;

/// What is put before what, in the manifest.
const ADDITIONS: [(&str, &str); 3] = [
    ("  net-conf.json: ", "  cni-conf.json: @CONFIGURATION@\n"),
    ("      containers:\n", INIT_CONTAINER),
    ("      - name: flannel-cfg\n        configMap:\n", VOLUMES),
];

/// flannel's own says `cp`, which the image of the bundle does not have: it is the host's that is run.
const INIT_CONTAINER: &str = r#"      initContainers:
      - name: install-cni
        image: @IMAGE@
        imagePullPolicy: IfNotPresent
        command: [/usr/bin/cp, -f, /etc/kube-flannel/cni-conf.json, /etc/cni/net.d/10-flannel.conflist]
        volumeMounts:
        - {name: programs, mountPath: /usr, readOnly: true}
        - {name: cni, mountPath: /etc/cni/net.d}
        - {name: flannel-cfg, mountPath: /etc/kube-flannel/}
"#;

const VOLUMES: &str = "      - name: programs
        hostPath: {path: /usr}
      - name: cni
        hostPath: {path: /etc/cni/net.d, type: DirectoryOrCreate}
";

/// The manifest for this range of pods and this endpoint of the API, with the image that the bundle's index has.
pub fn manifest(index: &str, pods: &str, endpoint: &str) -> Result<String, Box<dyn Error>> {
    let bundle = Bundle::parse(index)?;
    let image = &bundle.newest_image("flannel", architecture()).ok_or("the bundle has no image of flannel")?.reference;
    with_configuration(image, pods, endpoint)
}

fn with_configuration(image: &str, pods: &str, endpoint: &str) -> Result<String, Box<dyn Error>> {
    let (host, port) = endpoint.rsplit_once(':').ok_or("the endpoint has no port")?;
    let network = json!({"Network": pods, "EnableNFTables": true, "Backend": {"Type": "vxlan"}}).to_string();
    let context = json!({"image": image, "network_configuration": network, "api_server_host": host, "api_server_port": port});
    let mut text = render("flannel/flannel.yaml.j2", &context)?;
    for (place, addition) in ADDITIONS {
        let (before, after) = text.split_once(place).ok_or_else(|| format!("kokctl's manifest of flannel has no {place:?}"))?;
        text = format!("{before}{addition}{place}{after}");
    }
    let configuration = json!(render("flannel/10-flannel.conflist.j2", &json!({"mtu": null}))?).to_string();
    Ok(text.replace("@CONFIGURATION@", &configuration).replace("@IMAGE@", image))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn the_additions_have_their_places() {
        let text = with_configuration("example/flannel:1", "10.233.64.0/18", "api.local:6443").unwrap();
        for (_, addition) in ADDITIONS {
            assert!(text.contains(addition.lines().next().unwrap().split('@').next().unwrap()), "{text}");
        }
        assert!(text.contains(r#"cni-conf.json: "{\n  \"name\""#) && text.contains("        image: example/flannel:1\n"), "{text}");
        assert!(with_configuration("example/flannel:1", "10.233.64.0/18", "api.local").is_err());
    }
}
