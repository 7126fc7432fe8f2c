//! What is on hosts before anything is measured: images in containerd, and for kubeadm's way programs on the disk.

use std::collections::BTreeSet;
use std::error::Error;
use std::fs::File;
use std::path::PathBuf;
use std::process::Stdio;
use std::thread;
use std::time::Instant;

use kok_tasks::bundle::Bundle;

use super::{NEW, OLD};
use crate::bench::architecture;
use crate::bench::site::{Site, milliseconds, settle};
use crate::lab::Host;

/// Images that control planes alone run.
const OF_CONTROL_PLANES: [&str; 4] = [ETCD, "kube-apiserver", "kube-controller-manager", "kube-scheduler"];
const ETCD: &str = "etcd";
/// The program of control planes alone; kokctl gives it to no worker.
const KUBECTL: &str = "kubectl";

/// A file of the bundle, and the line of shell that takes it on a host.
struct Goods {
    path: PathBuf,
    line: String,
    of_control_planes: bool,
}

/// The images of the newer release, and of the releases of etcd on the way to it, as kokctl would have them there: pinned.
pub(super) fn images(site: &Site) -> Result<(), Box<dyn Error>> {
    let bundle = index(site)?;
    let (there, release) = (&bundle.release(OLD)?.images, &bundle.release(NEW)?.images);
    let there: BTreeSet<&String> = there.values().collect();
    let of_etcd = bundle.images.iter().filter(|image| image.name == ETCD).map(|image| (ETCD, &image.reference));
    let wanted: BTreeSet<(&str, &String)> = release.iter().map(|(name, reference)| (name.as_str(), reference)).chain(of_etcd).collect();
    let missing = wanted.into_iter().filter(|(_, reference)| !there.contains(reference));
    let goods = missing.map(|(name, reference)| {
        let path = site.bundle.join(&bundle.image(reference, architecture())?.path);
        let pin = format!("ctr -n k8s.io images label {reference} io.cri-containerd.pinned=pinned");
        let line = format!("ctr -n k8s.io images import --digests=false - && {pin}");
        Ok(Goods { path, line, of_control_planes: OF_CONTROL_PLANES.contains(&name) })
    });
    to_all(site, &goods.collect::<Result<Vec<_>, Box<dyn Error>>>()?)
}

/// The programs of the newer release, where nothing runs them yet. Returns how many milliseconds that took.
pub(super) fn programs(site: &Site) -> Result<f64, Box<dyn Error>> {
    let bundle = index(site)?;
    let began = Instant::now();
    let goods = ["kubeadm", "kubelet", KUBECTL].into_iter().map(|name| {
        let path = site.bundle.join(&bundle.file(name, NEW, architecture())?.path);
        let line = format!("mkdir -p /root/upgrade && cat >/root/upgrade/{name} && chmod 755 /root/upgrade/{name}");
        Ok(Goods { path, line, of_control_planes: name == KUBECTL })
    });
    to_all(site, &goods.collect::<Result<Vec<_>, Box<dyn Error>>>()?)?;
    Ok(milliseconds(began))
}

fn index(site: &Site) -> Result<Bundle, Box<dyn Error>> {
    Ok(Bundle::parse(&site.index()?)?)
}

/// To all hosts at once, and to each what is for it, one after the other; then until it is on the disk.
fn to_all(site: &Site, goods: &[Goods]) -> Result<(), Box<dyn Error>> {
    let (planes, workers) = site.roles();
    let (planes, workers) = (planes.iter().map(|host| (host, true)), workers.iter().map(|host| (host, false)));
    // What goes from one thread to another is text.
    let to = |host: &Host, goods: &Goods| send(host, goods).map_err(|error| format!("{}: {}: {error}", host.name(), goods.path.display()));
    thread::scope(|scope| {
        let begin = |(host, is_plane): (_, bool)| {
            scope.spawn(move || goods.iter().filter(|goods| is_plane || !goods.of_control_planes).try_for_each(|goods| to(host, goods)))
        };
        let begun: Vec<_> = planes.chain(workers).map(begin).collect();
        begun.into_iter().try_for_each(|host| host.join().unwrap_or_else(|_| Err("a thread has panicked".to_owned())))
    })?;
    settle()
}

fn send(host: &Host, goods: &Goods) -> Result<(), Box<dyn Error>> {
    let mut ssh = host.ssh_command("root", &goods.line)?;
    let output = ssh.stdin(File::open(&goods.path)?).stdout(Stdio::null()).stderr(Stdio::piped()).output()?;
    if output.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&output.stderr).into()) }
}
