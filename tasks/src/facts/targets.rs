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
pub struct Target {
    /// Absolute path.
    pub path: &'static str,
    /// Who does.
    pub writer: Writer,
}

const fn of(writer: Writer, path: &'static str) -> Target {
    Target { path, writer }
}

/// Every folder that files are put into, by kokctl or by what it starts. Distributions differ: a host is asked for those that it has.
pub const TARGETS: &[Target] = &[
    of(Writer::Host, "/etc"),
    of(Writer::Trust, "/etc/pki/ca-trust/extracted/pem"),
    of(Writer::Trust, "/etc/pki/ca-trust/source/anchors"),
    of(Writer::Trust, "/etc/ssl/certs"),
    of(Writer::Trust, "/usr/local/share/ca-certificates"),
    of(Writer::Time, "/etc/chrony"),
    of(Writer::Name, "/etc/cloud/cloud.cfg.d"),
    of(Writer::Node, "/etc/cni"),
    of(Writer::Node, "/etc/cni/net.d"),
    of(Writer::Node, "/etc/containerd"),
    of(Writer::Mirrors, "/etc/containerd/certs.d"),
    of(Writer::EtcdUnit, "/etc/etcd"),
    of(Writer::Firewall, "/etc/firewalld/zones"),
    of(Writer::Host, "/etc/kubernetes"),
    of(Writer::ControlPlane, "/etc/kubernetes/apiserver"),
    of(Writer::LoadBalancer, "/etc/kubernetes/haproxy"),
    of(Writer::VirtualAddress, "/etc/kubernetes/keepalived"),
    of(Writer::ControlPlane, "/etc/kubernetes/kokctl"),
    of(Writer::StaticPods, "/etc/kubernetes/manifests"),
    of(Writer::Host, "/etc/kubernetes/pki"),
    of(Writer::EtcdClient, "/etc/kubernetes/pki/etcd"),
    of(Writer::ControlPlane, "/etc/kubernetes/scheduler"),
    of(Writer::Host, "/etc/modules-load.d"),
    of(Writer::Selinux, "/etc/selinux"),
    of(Writer::Host, "/etc/sysctl.d"),
    of(Writer::Host, "/etc/systemd/system"),
    of(Writer::Proxy, "/etc/systemd/system/containerd.service.d"),
    of(Writer::Node, "/etc/systemd/system/kubelet.service.d"),
    of(Writer::Host, "/etc/systemd/system/multi-user.target.wants"),
    of(Writer::Firewall, "/etc/ufw"),
    of(Writer::Node, "/opt"),
    of(Writer::Node, "/opt/cni"),
    of(Writer::Node, "/opt/cni/bin"),
    of(Writer::Packages, "/usr/bin"),
    of(Writer::Host, "/usr/local"),
    of(Writer::Host, "/usr/local/bin"),
    of(Writer::Node, "/usr/local/sbin"),
    of(Writer::Host, "/var/lib"),
    of(Writer::Node, "/var/lib/cni"),
    of(Writer::Node, "/var/lib/containerd"),
    of(Writer::Packages, "/var/lib/dpkg"),
    of(Writer::Etcd, "/var/lib/etcd"),
    of(Writer::Etcd, "/var/lib/etcd/member"),
    of(Writer::Host, "/var/lib/kokctl"),
    of(Writer::Host, "/var/lib/kokctl/made"),
    of(Writer::Node, "/var/lib/kubelet"),
    of(Writer::Node, "/var/lib/kubelet/pki"),
    of(Writer::Host, "/var/log"),
    of(Writer::Node, "/var/log/containers"),
    of(Writer::Node, "/var/log/pods"),
];
