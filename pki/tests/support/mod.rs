//! What the tests of this crate share: a clock that stands still, randomness that repeats, and one control plane.
#![allow(dead_code, reason = "each test file uses its own share")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]

use aws_lc_rs::digest::{SHA256, digest};
use kok_pki::{Authorities, ControlPlane, Endpoint, KeyAlgorithm, KeyPair, MaterialFile, PkiError, Policy, Randomness, San, control_plane};
use time::OffsetDateTime;

/// The first part of a P-256 key in PKCS#8 without its public key; the 32 bytes of the key follow.
const P256_PKCS8_HEAD: &[u8] = &[
    0x30, 0x41, 0x02, 0x01, 0x00, 0x30, 0x13, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01, 0x06, 0x08, 0x2a, 0x86, 0x48, 0xce,
    0x3d, 0x03, 0x01, 0x07, 0x04, 0x27, 0x30, 0x25, 0x02, 0x01, 0x01, 0x04, 0x20,
];

/// Bytes that follow from a seed.
pub(crate) struct Repeating {
    pub(crate) seed: u64,
    pub(crate) counter: u64,
}

impl Repeating {
    pub(crate) fn new(seed: u64) -> Self {
        Self { seed, counter: 0 }
    }
}

impl Randomness for Repeating {
    fn fill(&mut self, bytes: &mut [u8]) -> Result<(), PkiError> {
        for chunk in bytes.chunks_mut(32) {
            let mut input = self.seed.to_be_bytes().to_vec();
            input.extend(self.counter.to_be_bytes());
            self.counter += 1;
            chunk.copy_from_slice(&digest(&SHA256, &input).as_ref()[..chunk.len()]);
        }
        Ok(())
    }

    fn key_pair(&mut self, algorithm: KeyAlgorithm) -> Result<KeyPair, PkiError> {
        let make = |source| PkiError::Make { what: "a key".into(), source };
        match algorithm {
            // Another key cannot be made from a seed with this library; the tests that compare keys use P-256.
            other if other != KeyAlgorithm::EcdsaP256 => other.generate(),
            _ => {
                let mut key = [0_u8; 32];
                self.fill(&mut key)?;
                KeyPair::try_from([P256_PKCS8_HEAD, &key[..]].concat()).map_err(make)
            }
        }
    }
}

pub(crate) fn now() -> OffsetDateTime {
    OffsetDateTime::from_unix_timestamp(1_780_000_000).unwrap() + time::Duration::milliseconds(250)
}

pub(crate) fn host() -> ControlPlane {
    ControlPlane {
        cluster_name: "kubernetes".into(),
        kubernetes_minor: 37,
        node_name: "cp1".into(),
        advertise_address: "10.0.0.11".parse().unwrap(),
        bind_port: 6443,
        endpoint: Some(Endpoint { host: "api.demo.example".into(), port: 8443 }),
        service_ip: "10.233.0.1".parse().unwrap(),
        cluster_domain: "cluster.local".into(),
        extra_sans: vec![San::parse("192.0.2.7"), San::parse("demo.example")],
        etcd_extra_sans: Vec::new(),
    }
}

pub(crate) fn make(seed: u64, policy: &Policy) -> (Authorities, Vec<MaterialFile>) {
    let mut randomness = Repeating::new(seed);
    let authorities = Authorities::generate(policy, now(), &mut randomness).unwrap();
    let files = control_plane(&host(), &authorities, policy, now(), &mut randomness).unwrap();
    (authorities, files)
}

pub(crate) fn content<'a>(files: &'a [MaterialFile], path: &str) -> &'a str {
    files.iter().find(|file| file.path() == path).expect(path).content.expose()
}
