//! Certificate authorities, leaves and kubeconfigs of a Kubernetes cluster, made and inspected without I/O.
//!
//! The set is kubeadm's: same files, subjects, usages and names, so that kubeadm finds what it would have made itself. Time and
//! randomness are arguments: the same input gives the same subjects, serial numbers and keys (signatures of ECDSA differ each time).
//!
//! * [`Authorities`] are made once and then loaded from what was found on a control plane.
//! * [`control_plane`] makes all files of one control-plane host; [`leaf_files`] and [`kubeconfig_file`] make single ones.
//! * A [`TrustBundle`] is what a file `ca.crt` holds: one authority, or two while one is changed for the other.
//! * A [`TrustAnchor`] is a certificate that programs of a host are to trust.
//! * [`inspect_certificate`] and [`verify_leaf`] (and their like for kubeconfigs) say what was found, and whether it can stay.
//! * [`escrow()`] keeps what can't be made a second time as one text, and [`Escrow`] reads it.
//! * [`merge_kubeconfig`] takes a cluster into somebody's own kubeconfig.
//! * [`open_vault`] decrypts what ansible-vault has encrypted.

mod anchor;
mod authority;
mod control_plane;
mod error;
mod escrow;
mod found;
mod inspect;
mod issue;
mod key;
mod kubeconfig;
mod material;
mod merge;
mod profile;
mod request;
mod secret;
mod trust;
mod vault;
mod verify;

pub use anchor::TrustAnchor;
pub use authority::{Authorities, Authority, FoundAuthorities, FoundAuthority};
pub use control_plane::{ControlPlane, Endpoint, control_plane, etcd_host, kubeconfig_file, leaf_files};
pub use error::PkiError;
pub use escrow::{EncryptionKey, Escrow, FIRST_ENCRYPTION_KEY, escrow};
pub use found::{KubeconfigFacts, inspect_kubeconfig, verify_kubeconfig};
pub use inspect::{CertificateFacts, Subject, inspect_certificate, matches_key};
pub use issue::{Issued, Policy, issue};
pub use key::{KeyAlgorithm, PrivateKey, Randomness};
pub use kubeconfig::{Credentials, discovery_kubeconfig, kubeconfig};
pub use material::{Content, Material, MaterialFile};
pub use merge::{MergeChange, MergeError, MergeSummary, Misfit, NewCluster, Taken, merge_kubeconfig};
pub use profile::{AuthorityKind, KubeconfigUser, LOOPBACK_SANS, Leaf, Profile, San};
pub use rcgen::KeyPair;
pub use request::{Request, client_request};
pub use secret::SecretText;
pub use trust::{TrustBundle, signed_by, trust_one};
pub use vault::{VaultError, VaultText, open_vault};
pub use verify::{Defect, verify_leaf};
