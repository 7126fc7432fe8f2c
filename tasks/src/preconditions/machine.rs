//! What a machine is: its system, its size, swap, SELinux.

use kok_crds::model::{KubeProxyMode, Settings};

use super::{Findings, Scope, kube_proxy};
use crate::facts::SelinuxMode;
use crate::list::host;
use crate::network_plugins::plugin;
use crate::observe::ModuleState;
use crate::plan::Refusal;

/// The oldest kernel that Kubernetes' own checks take (kubeadm: `SystemVerification`).
const OLDEST_KERNEL: (u32, u32) = (4, 19);

/// The oldest kernel whose nftables kube-proxy takes.
const OLDEST_KERNEL_NFTABLES: (u32, u32) = (5, 13);

/// Architectures that bundles have.
const ARCHITECTURES: [&str; 2] = ["amd64", "arm64"];

/// kubeadm's own minimum for a control plane is 1700 MB; a worker starts with less, but does no work.
const MINIMUM_MEMORY: u64 = 1_700_000_000;

/// kubeadm's own minimum for a control plane.
const MINIMUM_PROCESSORS: u32 = 2;

pub(super) fn system(scope: &Scope<'_>, found: &mut Findings) {
    let facts = scope.facts;
    if !facts.systemd {
        found.refuse(
            Refusal::new("pid 1 is not systemd")
                .because("containerd and the kubelet run as systemd units")
                .hint("use a host that runs systemd"),
        );
    }
    if !ARCHITECTURES.contains(&facts.architecture.as_str()) {
        found.refuse(
            Refusal::new(format!("its architecture is {}", facts.architecture))
                .because(format!("bundles have programs for {}", ARCHITECTURES.join(" and ")))
                .hint("use another host"),
        );
    }
    if !facts.os_id.is_empty() && facts.distribution().is_none() {
        found.warn(
            Refusal::new(format!("it runs {} {}", facts.os_id, facts.os_version))
                .because("kokctl is made for Debian, Ubuntu and the family of RHEL; packages and paths may be others here"),
        );
    }
    kernel(scope, found);
}

fn kernel(scope: &Scope<'_>, found: &mut Findings) {
    let Some(version) = version(&scope.facts.kernel) else { return };
    let refusal = Refusal::new(format!("its kernel is {}", scope.facts.kernel));
    if version < OLDEST_KERNEL {
        let (major, minor) = OLDEST_KERNEL;
        found.refuse(refusal.because(format!("Kubernetes needs {major}.{minor} or newer")).hint("update the host's system"));
    } else if version < OLDEST_KERNEL_NFTABLES && uses_nftables(&scope.cluster.settings) {
        let (major, minor) = OLDEST_KERNEL_NFTABLES;
        found.refuse(
            refusal
                .because(format!("kube-proxy's mode nftables needs {major}.{minor} or newer"))
                .hint("update the host's system, or set vars.kube_proxy_mode: iptables"),
        );
    }
}

fn uses_nftables(settings: &Settings) -> bool {
    settings.kube_proxy_mode == KubeProxyMode::Nftables && !settings.kube_proxy_remove
}

/// What is not loaded yet is loaded by a step; what the kernel does not have, by none.
pub(super) fn modules(scope: &Scope<'_>, found: &mut Findings) {
    let is_missing = |name: &&str| scope.seen.modules.get(*name) == Some(&ModuleState::Missing);
    let missing: Vec<&str> = host::modules(scope.cluster, scope.host).into_iter().filter(is_missing).collect();
    if missing.is_empty() {
        return;
    }
    let modules = if missing.len() == 1 { "module" } else { "modules" };
    let of_network = (plugin(&scope.cluster.network).modules)(scope.cluster);
    let of_network = of_network.iter().find(|module| missing.contains(&module.name)).map(|module| module.instead.to_owned());
    let is_of_proxy = host::has_ipvs(scope.cluster) && missing.iter().any(|name| host::IPVS.contains(name));
    let of_proxy = is_of_proxy.then(|| format!("; or write {}", kube_proxy::instead(scope.cluster)));
    let instead = of_network.or(of_proxy).unwrap_or_default();
    found.refuse(
        Refusal::new(format!("its kernel has no {modules} {}", missing.join(", ")))
            .because(format!("modprobe finds none for the kernel {}", scope.facts.kernel))
            .hint(format!(
                "install the package with the kernel's further modules, or boot the kernel whose modules are installed{instead}"
            )),
    );
}

/// The first two numbers of a kernel's release.
fn version(release: &str) -> Option<(u32, u32)> {
    let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map(str::parse);
    Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
}

pub(super) fn cgroups(scope: &Scope<'_>, found: &mut Findings) {
    if scope.facts.cgroup_v2 || !scope.host.roles.is_node() {
        return;
    }
    let refusal = Refusal::new("it uses cgroup v1").because("the kubelet refuses to start there since 1.35");
    if scope.cluster.settings.kubelet_fail_cgroup_v1 {
        found
            .refuse(refusal.hint(
                "boot with systemd.unified_cgroup_hierarchy=1; or set vars.kubelet_fail_cgroup_v1: false while that is not possible",
            ));
    } else {
        found.warn(refusal.hint("it starts for now, as kubelet_fail_cgroup_v1 says; boot with systemd.unified_cgroup_hierarchy=1"));
    }
}

pub(super) fn size(scope: &Scope<'_>, found: &mut Findings) {
    let facts = scope.facts;
    if !scope.host.roles.control_plane {
        return;
    }
    let settings = &scope.cluster.settings;
    let ignored =
        |name: &str| settings.ignores_all_preflight_errors() || settings.kubeadm_ignore_preflight_errors.iter().any(|check| check == name);
    let mut tell = |check: &str, refusal: Refusal| if ignored(check) { found.warn(refusal) } else { found.refuse(refusal) };
    if facts.memory_bytes < MINIMUM_MEMORY {
        tell(
            "Mem",
            Refusal::new(format!("it has {} MB of memory", facts.memory_bytes / 1_000_000))
                .because("a control plane needs 1700 MB (kubeadm's own limit)")
                .hint("give it more memory, or another host the role control-plane"),
        );
    }
    if facts.processors < MINIMUM_PROCESSORS {
        tell(
            "NumCPU",
            Refusal::new("it has one processor")
                .because(format!("a control plane needs {MINIMUM_PROCESSORS} (kubeadm's own limit)"))
                .hint("give it another one, or add NumCPU to vars.kubeadm_ignore_preflight_errors"),
        );
    }
}

/// Swap is switched off by a step of its own; that must not push programs out of memory.
pub(super) fn swap(scope: &Scope<'_>, found: &mut Findings) {
    let facts = scope.facts;
    let used: u64 = facts.swaps.values().sum();
    if facts.swaps.is_empty() || !scope.host.roles.is_node() {
        return;
    }
    let names = facts.swaps.keys().cloned().collect::<Vec<_>>().join(", ");
    if !scope.cluster.settings.host.kubelet_fail_swap_on {
        found.warn(
            Refusal::new(format!("swap is on ({names})"))
                .because("vars.kubelet_fail_swap_on leaves it; pods are then slower than the scheduler believes"),
        );
    } else if used > facts.available_bytes {
        found.refuse(
            Refusal::new(format!(
                "{} MB of swap are in use, and {} MB of memory are free",
                used / 1_000_000,
                facts.available_bytes / 1_000_000
            ))
            .because("the kubelet refuses to start with swap, and switching it off would leave no memory")
            .hint("stop what takes the memory, or give the host more; vars.kubelet_fail_swap_on: false leaves swap on"),
        );
    }
}

pub(super) fn selinux(scope: &Scope<'_>, found: &mut Findings) {
    let has_pods = scope.host.roles.is_node();
    if has_pods && scope.facts.selinux == SelinuxMode::Enforcing && scope.settings().host.preinstall_selinux_state.is_none() {
        found.refuse(
            Refusal::new("SELinux enforces its policy")
                .because("this version brings no policy for containers, so SELinux would forbid what they do")
                .hint("set vars.preinstall_selinux_state: permissive, and kokctl sets it; or use a host without SELinux"),
        );
    }
}
