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

/// Volumes of that container; its own of the configuration stands there already.
const VOLUMES: &str = "      - name: programs
        hostPath: {path: /usr}
      - name: cni
        hostPath: {path: /etc/cni/net.d, type: DirectoryOrCreate}
";

/// What stands beside kokctl's flannel in a cluster that hosts join by hand: that same container, on these hosts alone.
const INSTALLER: &str = "apiVersion: v1
kind: ConfigMap
metadata: {name: install-cni, namespace: kube-system}
data:
  cni-conf.json: @CONFIGURATION@
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: install-cni, namespace: kube-system}
spec:
  selector: {matchLabels: {app: install-cni}}
  template:
    metadata: {labels: {app: install-cni}}
    spec:
      hostNetwork: true
      priorityClassName: system-node-critical
      terminationGracePeriodSeconds: 1
      tolerations: [{operator: Exists}]
      affinity:
        nodeAffinity:
          requiredDuringSchedulingIgnoredDuringExecution:
            nodeSelectorTerms:
            - matchExpressions: [{key: kubernetes.io/hostname, operator: In, values: [@HOSTS@]}]
@INIT_CONTAINER@      containers:
      - name: stays
        image: @IMAGE@
        imagePullPolicy: IfNotPresent
        command: [/usr/bin/sleep, infinity]
        volumeMounts: [{name: programs, mountPath: /usr, readOnly: true}]
      volumes:
@VOLUMES@      - name: flannel-cfg
        configMap: {name: install-cni}
";

/// The manifest for this range of pods and this endpoint of the API, with the image that the bundle's index has.
pub fn manifest(index: &str, pods: &str, endpoint: &str) -> Result<String, Box<dyn Error>> {
    with_configuration(&image(index)?, pods, endpoint)
}

/// A manifest that gives these hosts their CNI configuration when they have joined, as flannel's own would; with the image that the bundle's index has.
pub(in crate::bench) fn installer(index: &str, hosts: &[&str]) -> Result<String, Box<dyn Error>> {
    installer_of(&image(index)?, hosts)
}

fn installer_of(image: &str, hosts: &[&str]) -> Result<String, Box<dyn Error>> {
    let text = INSTALLER.replace("@INIT_CONTAINER@", INIT_CONTAINER).replace("@VOLUMES@", VOLUMES).replace("@HOSTS@", &hosts.join(", "));
    Ok(text.replace("@CONFIGURATION@", &configuration()?).replace("@IMAGE@", image))
}

fn image(index: &str) -> Result<String, Box<dyn Error>> {
    let bundle = Bundle::parse(index)?;
    Ok(bundle.newest_image("flannel", architecture()).ok_or("the bundle has no image of flannel")?.reference.clone())
}

/// The CNI configuration as a scalar.
fn configuration() -> Result<String, Box<dyn Error>> {
    Ok(json!(render("flannel/10-flannel.conflist.j2", &json!({"mtu": null}))?).to_string())
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
    Ok(text.replace("@CONFIGURATION@", &configuration()?).replace("@IMAGE@", image))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use serde_json::Value;

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

    #[test]
    fn the_installer_has_the_same_container() {
        let text = installer_of("example/flannel:1", &["worker3", "worker4"]).unwrap();
        let objects: Vec<Value> = serde_saphyr::from_multiple(&text).unwrap();
        let at = |pointer: &str| objects.iter().find_map(|object| object.pointer(pointer)).unwrap().clone();
        assert_eq!(at("/spec/template/spec/initContainers/0/image"), "example/flannel:1");
        assert_eq!(at("/spec/template/spec/initContainers/0/command/2"), "/etc/kube-flannel/cni-conf.json");
        assert_eq!(at("/spec/template/spec/volumes/2/configMap/name"), "install-cni");
        assert!(at("/data/cni-conf.json").as_str().unwrap().contains("\"type\": \"flannel\""), "{text}");
        assert!(text.contains("values: [worker3, worker4]"), "{text}");
    }
}
