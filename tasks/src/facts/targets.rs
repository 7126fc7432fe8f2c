//! Folders that files are put into. Each may be a mount of its own, or one that nothing can be written to, of which the measured file systems
//! know nothing.

/// Who puts files into a folder: hosts of which this is not true do without it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Writer {
    /// Every host.
    Host,
    /// Every node.
    Node,
    /// A control plane.
    ControlPlane,
    /// A host that etcd runs on.
    Etcd,
    /// One where that is a unit.
    EtcdUnit,
    /// One that etcd runs on, or an API server.
    EtcdClient,
    /// One whose firewall kokctl opens.
    Firewall,
    /// One without an API server that has a load balancer before those of others.
    LoadBalancer,
    /// One that fetches images from mirrors.
    Mirrors,
    /// One that keeps its name for itself, against cloud-init.
    Name,
    /// One that lacks packages, which kokctl installs.
    Packages,
    /// One that reaches the network by a proxy.
    Proxy,
    /// One whose SELinux is set.
    Selinux,
    /// One whose kubelet starts pods by manifests on the host: a control plane, or one with a load balancer.
    StaticPods,
    /// One whose clock kokctl sets up.
    Time,
    /// One that trusts authorities of the user's.
    Trust,
    /// A control plane that an address moves to.
    VirtualAddress,
}

/// A folder that files are put into.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WrittenFolder {
    /// Absolute path.
    pub path: &'static str,
    /// Who does.
    pub writer: Writer,
}

const fn target(writer: Writer, path: &'static str) -> WrittenFolder {
    WrittenFolder { path, writer }
}

/// Every folder that files are put into, by kokctl or by what it starts. Distributions differ: a host is asked for those that it has.
pub const TARGETS: &[WrittenFolder] = &[
    target(Writer::Host, "/etc"),
    target(Writer::Trust, "/etc/pki/ca-trust/extracted/pem"),
    target(Writer::Trust, "/etc/pki/ca-trust/source/anchors"),
    target(Writer::Trust, "/etc/ssl/certs"),
    target(Writer::Trust, "/usr/local/share/ca-certificates"),
    target(Writer::Time, "/etc/chrony"),
    target(Writer::Name, "/etc/cloud/cloud.cfg.d"),
    target(Writer::Node, "/etc/cni"),
    target(Writer::Node, "/etc/cni/net.d"),
    target(Writer::Node, "/etc/containerd"),
    target(Writer::Mirrors, "/etc/containerd/certs.d"),
    target(Writer::EtcdUnit, "/etc/etcd"),
    target(Writer::Firewall, "/etc/firewalld/zones"),
    target(Writer::Host, "/etc/kubernetes"),
    target(Writer::ControlPlane, "/etc/kubernetes/apiserver"),
    target(Writer::LoadBalancer, "/etc/kubernetes/haproxy"),
    target(Writer::VirtualAddress, "/etc/kubernetes/keepalived"),
    target(Writer::ControlPlane, "/etc/kubernetes/kokctl"),
    target(Writer::StaticPods, "/etc/kubernetes/manifests"),
    target(Writer::Host, "/etc/kubernetes/pki"),
    target(Writer::EtcdClient, "/etc/kubernetes/pki/etcd"),
    target(Writer::ControlPlane, "/etc/kubernetes/scheduler"),
    target(Writer::Host, "/etc/modules-load.d"),
    target(Writer::Selinux, "/etc/selinux"),
    target(Writer::Host, "/etc/sysctl.d"),
    target(Writer::Host, "/etc/systemd/system"),
    target(Writer::Proxy, "/etc/systemd/system/containerd.service.d"),
    target(Writer::Node, "/etc/systemd/system/kubelet.service.d"),
    target(Writer::Host, "/etc/systemd/system/multi-user.target.wants"),
    target(Writer::Firewall, "/etc/ufw"),
    target(Writer::Node, "/opt"),
    target(Writer::Node, "/opt/cni"),
    target(Writer::Node, "/opt/cni/bin"),
    target(Writer::Packages, "/usr/bin"),
    target(Writer::Host, "/usr/local"),
    target(Writer::Host, "/usr/local/bin"),
    target(Writer::Node, "/usr/local/sbin"),
    target(Writer::Host, "/var/lib"),
    target(Writer::Node, "/var/lib/cni"),
    target(Writer::Node, "/var/lib/containerd"),
    target(Writer::Packages, "/var/lib/dpkg"),
    target(Writer::Etcd, "/var/lib/etcd"),
    target(Writer::Etcd, "/var/lib/etcd/member"),
    target(Writer::Host, "/var/lib/kokctl"),
    target(Writer::Host, "/var/lib/kokctl/made"),
    target(Writer::Node, "/var/lib/kubelet"),
    target(Writer::Node, "/var/lib/kubelet/pki"),
    target(Writer::Host, "/var/log"),
    target(Writer::Node, "/var/log/containers"),
    target(Writer::Node, "/var/log/pods"),
];
