//! Options of etcd that a user may say, and how its file of configuration says them.
//!
//! A member that kubeadm starts has them on its command line; one that is a unit has a file, beside which etcd reads no options. That file
//! has other forms, and etcd reads over what it does not know there (`Config` and `configJSON` in etcd's `embed/config.go`).

use serde_json::{Value as Json, json};

use crate::syntax::duration::duration;

/// What the value of an option is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EtcdValue {
    /// A whole number.
    Number,
    /// `true` or `false`.
    Flag,
    /// Text.
    Text,
    /// Names with commas between on the command line, a list in the file.
    Names,
    /// A time like `10s`, nanoseconds in the file.
    Time,
}

/// An option of etcd.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EtcdOption {
    /// Its name on the command line, without `--`.
    pub name: &'static str,
    /// What its value is.
    pub value: EtcdValue,
    place: Place,
}

/// Where the file has an option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// At the top, by the same name.
    Top,
    /// In this map, by this name.
    Within(&'static str, &'static str),
    /// Nowhere.
    CommandLine,
}

impl EtcdOption {
    /// The option of that name; `None` for one that etcd has not in all its versions here, or that is not a user's to say.
    #[must_use]
    pub fn by_name(name: &str) -> Option<&'static Self> {
        OPTIONS.iter().find(|option| option.name == name)
    }

    /// The map of the file that has the option, if it is in one, and its name there; `None` if only the command line has it.
    #[must_use]
    pub fn place(&self) -> Option<(Option<&'static str>, &'static str)> {
        match self.place {
            Place::Top => Some((None, self.name)),
            Place::Within(map, name) => Some((Some(map), name)),
            Place::CommandLine => None,
        }
    }

    /// A value of the command line as the file has it.
    #[must_use]
    pub fn in_file(&self, value: &Json) -> Json {
        let text = value.as_str().unwrap_or_default();
        match self.value {
            EtcdValue::Names => json!(text.split(',').collect::<Vec<_>>()),
            EtcdValue::Time => {
                duration(text).and_then(|time| u64::try_from(time.as_nanos()).ok()).map_or_else(|| value.clone(), Json::from)
            }
            EtcdValue::Text => value.as_str().map_or_else(|| value.to_string().into(), Json::from),
            EtcdValue::Number | EtcdValue::Flag => value.clone(),
        }
    }
}

const fn top(name: &'static str, value: EtcdValue) -> EtcdOption {
    EtcdOption { name, value, place: Place::Top }
}

const fn within(name: &'static str, value: EtcdValue, map: &'static str, inner: &'static str) -> EtcdOption {
    EtcdOption { name, value, place: Place::Within(map, inner) }
}

const fn only_said(name: &'static str, value: EtcdValue) -> EtcdOption {
    EtcdOption { name, value, place: Place::CommandLine }
}

const CLIENTS: &str = "client-transport-security";
const PEERS: &str = "peer-transport-security";
const SOCKETS: &str = "socket-options";

/// Those of etcd 3.6 and 3.7 both, without what follows from the hosts (`fixed::ETCD`).
const OPTIONS: &[EtcdOption] = &[
    top("auth-token", EtcdValue::Text),
    top("auth-token-ttl", EtcdValue::Number),
    top("auto-compaction-mode", EtcdValue::Text),
    top("auto-compaction-retention", EtcdValue::Text),
    top("backend-batch-interval", EtcdValue::Time),
    top("backend-batch-limit", EtcdValue::Number),
    top("backend-bbolt-freelist-type", EtcdValue::Text),
    top("bcrypt-cost", EtcdValue::Number),
    top("bootstrap-defrag-threshold-megabytes", EtcdValue::Number),
    top("cipher-suites", EtcdValue::Names),
    within("client-cert-allowed-hostname", EtcdValue::Names, CLIENTS, "allowed-hostname"),
    only_said("client-crl-file", EtcdValue::Text),
    top("compact-hash-check-time", EtcdValue::Time),
    top("compaction-batch-limit", EtcdValue::Number),
    top("compaction-sleep-interval", EtcdValue::Time),
    top("corrupt-check-time", EtcdValue::Time),
    top("cors", EtcdValue::Text),
    top("distributed-tracing-address", EtcdValue::Text),
    top("distributed-tracing-instance-id", EtcdValue::Text),
    top("distributed-tracing-sampling-rate", EtcdValue::Number),
    top("distributed-tracing-service-name", EtcdValue::Text),
    top("downgrade-check-time", EtcdValue::Time),
    top("election-timeout", EtcdValue::Number),
    top("enable-distributed-tracing", EtcdValue::Flag),
    top("enable-grpc-gateway", EtcdValue::Flag),
    top("enable-log-rotation", EtcdValue::Flag),
    top("enable-pprof", EtcdValue::Flag),
    top("grpc-keepalive-interval", EtcdValue::Time),
    top("grpc-keepalive-min-time", EtcdValue::Time),
    top("grpc-keepalive-timeout", EtcdValue::Time),
    top("heartbeat-interval", EtcdValue::Number),
    top("host-whitelist", EtcdValue::Text),
    top("initial-election-tick-advance", EtcdValue::Flag),
    top("listen-metrics-urls", EtcdValue::Text),
    top("log-format", EtcdValue::Text),
    top("log-level", EtcdValue::Text),
    top("log-outputs", EtcdValue::Names),
    top("log-rotation-config-json", EtcdValue::Text),
    top("logger", EtcdValue::Text),
    top("max-concurrent-streams", EtcdValue::Number),
    top("max-learners", EtcdValue::Number),
    top("max-request-bytes", EtcdValue::Number),
    top("max-snapshots", EtcdValue::Number),
    top("max-txn-ops", EtcdValue::Number),
    top("max-wals", EtcdValue::Number),
    top("memory-mlock", EtcdValue::Flag),
    top("metrics", EtcdValue::Text),
    within("peer-cert-allowed-cn", EtcdValue::Names, PEERS, "allowed-cn"),
    within("peer-cert-allowed-hostname", EtcdValue::Names, PEERS, "allowed-hostname"),
    only_said("peer-crl-file", EtcdValue::Text),
    within("peer-skip-client-san-verification", EtcdValue::Flag, PEERS, "skip-client-san-verification"),
    top("pre-vote", EtcdValue::Flag),
    top("quota-backend-bytes", EtcdValue::Number),
    only_said("raft-read-timeout", EtcdValue::Time),
    only_said("raft-write-timeout", EtcdValue::Time),
    top("snapshot-catchup-entries", EtcdValue::Number),
    top("snapshot-count", EtcdValue::Number),
    within("socket-reuse-address", EtcdValue::Flag, SOCKETS, "reuse-address"),
    within("socket-reuse-port", EtcdValue::Flag, SOCKETS, "reuse-port"),
    top("strict-reconfig-check", EtcdValue::Flag),
    top("tls-max-version", EtcdValue::Text),
    top("tls-min-version", EtcdValue::Text),
    top("warning-apply-duration", EtcdValue::Time),
    top("warning-unary-request-duration", EtcdValue::Time),
    top("watch-progress-notify-interval", EtcdValue::Time),
];

/// Names of all of them.
pub(crate) fn etcd_options() -> Vec<&'static str> {
    OPTIONS.iter().map(|option| option.name).collect()
}
