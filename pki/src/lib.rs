//! Certificate authorities, leaves and kubeconfigs of a Kubernetes cluster, made and inspected without I/O.
