//! With which keys API servers encrypt, and with which the values in etcd are encrypted. No key leaves a host: keys have names, and sums of files.

mod keys;

use std::collections::BTreeMap;

use super::parse::{ParseError, Section, text_of};

pub use keys::EncryptionKeys;
pub(super) use keys::{KEYS, read_keys};

/// What the API server of the host has read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EncryptionRead {
    /// The sha256 of the file that it goes by.
    pub digest: Option<String>,
    /// How many seconds ago it began to go by that.
    pub age_seconds: Option<u64>,
}

/// What stands in etcd; or what was said instead.
pub type EncryptedValues = Result<StoredValues, String>;

/// How many values in etcd are encrypted, and how many are not.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StoredValues {
    /// Those that begin with each mark of encryption, `k8s:enc:PROVIDER:v1:KEY:`.
    pub encrypted: BTreeMap<String, u64>,
    /// Those of each resource that are not encrypted, by its plural name with its group behind a dot.
    pub plain: BTreeMap<String, u64>,
}

/// The API server's own metrics: which file it has read (1.34 and later), and since when. After [`super::api_server::ready`].
pub(super) const READ: &str = r#"mark encryption-read
if [ -n "$api_server" ]; then
  kube get --raw /metrics 2>/dev/null | awk -v now="$(date +%s)" '
    /^apiserver_encryption_config_controller_last_config_info[{]/ {
      if (match($0, /[{,]hash="sha256:[0-9a-f]*"/)) print "read " substr($0, RSTART + 14, RLENGTH - 15)
    }
    /^apiserver_encryption_config_controller_automatic_reload_last_timestamp_seconds[{].*status="success"/ { if ($2 > since) since = $2 }
    /^process_start_time_seconds / { if ($2 > since) since = $2 }
    END { if (since && now >= since) printf "age %d\n", now - since }'
fi
"#;

/// Reads all of etcd, as the API server reaches it, some hundred keys at a time, and counts by their marks the values that are encrypted, and by their kinds
/// those that are not: where each kind of object is stored is known to API servers alone. etcdctl is asked where there is one, else kubectl at etcd's gateway;
/// both answer JSON with keys and values in base64, in which what begins a value begins with the same characters always. A key that comes after all of a
/// page's is the last of them with a byte behind it. Kubernetes' own objects are protobuf behind `k8s` and a zero: first comes what they are, of
/// `apiVersion` and `kind` (`runtime.Unknown`); all others are JSON that begins with these two. API servers keep leases of their own as Endpoints.
pub(super) const VALUES: &str = r#"mark encrypted-values
option() { sed -n "s/^ *- --$1=//p" /etc/kubernetes/manifests/kube-apiserver.yaml 2>/dev/null | head -n 1; }
servers=$(option etcd-servers) authority=$(option etcd-cafile) certificate=$(option etcd-certfile) key=$(option etcd-keyfile)
page() {
  if [ -x /usr/local/bin/etcdctl ]; then
    /usr/local/bin/etcdctl --endpoints="$servers" --dial-timeout=3s --command-timeout=30s --cacert="$authority" --cert="$certificate" --key="$key" \
      get "$(printf '%s' "$1" | base64 -d)${1:+$(printf '\001')}" --from-key --limit=400 --write-out=json 2>&1
    return
  fi
  from=$({ printf '%s' "$1" | base64 -d; printf '\000'; } | base64 | tr -d '\n')
  for server in $(printf '%s' "$servers" | tr ',' ' '); do
    said=$(printf '{"key":"%s","range_end":"AA==","limit":"400"}' "$from" | HOME=/run/kokctl KUBECONFIG=/dev/null /usr/local/bin/kubectl \
      --server="$server" --request-timeout=30s --certificate-authority="$authority" --client-certificate="$certificate" --client-key="$key" \
      create --raw /v3/kv/range -f - 2>&1)
    case $said in *'"header"'*) break;; esac
  done
  printf '%s\n' "$said"
}
marks() {
  awk '
    function decode(text, most,  at, digit, bits, held, power) {
      many = 0
      for (at = 1; at <= length(text) && many < most; at++) {
        digit = index("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/", substr(text, at, 1)) - 1
        if (digit < 0) break
        bits = bits * 64 + digit
        held += 6
        if (held < 8) continue
        held -= 8
        power = 2 ^ held
        byte[++many] = int(bits / power)
        bits -= byte[many] * power
      }
    }
    function words(from, to,  at, out) {
      for (at = from; at <= to && at <= many; at++) {
        if (byte[at] < 33 || byte[at] > 126) break
        out = out sprintf("%c", byte[at])
      }
      return out
    }
    function mark(text,  at, colons) {
      decode(text, 180)
      for (at = 1; at <= many; at++) if (byte[at] == 58 && ++colons == 5) break
      return words(1, at)
    }
    function kind(text,  at, version, out) {
      decode(text, 160)
      if (byte[1] == 123) {
        out = words(1, many)
        if (out !~ /^[{]"apiVersion":"[^"]*","kind":"[^"]*"/) return ""
        split(out, part, "\"")
        return part[4] " " part[8]
      }
      if (many < 9 || byte[5] != 10 || byte[7] != 10) return ""
      at = 9 + byte[8]
      version = words(9, at - 1)
      if (at >= many || byte[at] != 18) return ""
      return version " " words(at + 2, at + 1 + byte[at + 1])
    }
    function is_lease(text,  out) {
      decode(text, 180)
      out = words(1, many)
      return out ~ /\/(masterleases|peerserverleases)\/[^\/]*$/ && !index(out, "/services/endpoints/")
    }
    BEGIN { RS = "{" }
    /"header":/ { answered = 1 }
    !answered { said = said $0 }
    match($0, /"key": *"[A-Za-z0-9+\/=]*"/) {
      last = substr($0, RSTART, RLENGTH)
      sub(/"key": *"/, "", last)
      sub(/"$/, "", last)
      if (match($0, /"value": *"azhzOmVuYz/)) count[mark(substr($0, RSTART + RLENGTH - 10, 240))]++
      else if (match($0, /"value": *"(azhzA|eyJhcGlWZXJzaW9uIjoi)/)) {
        text = substr($0, RSTART, RLENGTH + 240)
        sub(/^"value": *"/, "", text)
        what = kind(text)
        if (what != "v1 Endpoints" || !is_lease(last)) plain[what]++
      }
    }
    /"more": *true/ { more = 1 }
    END {
      gsub(/[\n\r]/, " ", said)
      if (!answered) print "failed " substr(said, 1, 400)
      for (prefix in count) print "values " count[prefix] " " prefix
      for (what in plain) if (what != "") print "plain " plain[what] " " what
      if (answered && more && last != "") print "next " last
    }'
}
kube api-resources --no-headers 2>/dev/null | awk '{ print "kind " $(NF - 2) " " $NF " " $1 }'
next=
while :; do
  answer=$(page "$next" | marks)
  printf '%s\n' "$answer" | grep -v '^next '
  case $answer in 'failed '*) break;; esac
  next=$(printf '%s\n' "$answer" | sed -n 's/^next //p')
  [ -n "$next" ] || break
done
echo done
"#;

/// What [`READ`] says.
pub(super) fn read_read(sections: &[Section<'_>]) -> Result<EncryptionRead, ParseError> {
    let text = text_of(sections, "encryption-read")?;
    let value_of = |word: &str| text.lines().find_map(|line| line.strip_prefix(word)?.strip_prefix(' '));
    Ok(EncryptionRead { digest: value_of("read").map(str::to_owned), age_seconds: value_of("age").and_then(|age| age.parse().ok()) })
}

/// What [`VALUES`] says. Where the end is missing nothing is known.
pub(super) fn read_values(sections: &[Section<'_>]) -> Result<EncryptedValues, ParseError> {
    let text = text_of(sections, "encrypted-values")?;
    let mut values = StoredValues::default();
    let mut resources: BTreeMap<(&str, &str), &str> = BTreeMap::new();
    let mut is_whole = false;
    for line in text.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        let number = |count: &str| count.parse::<u64>().map_err(|_| ParseError::new("encrypted-values", line));
        match words.as_slice() {
            ["failed", reason @ ..] => return Ok(Err(reason.join(" ").trim().to_owned())),
            ["values", count, mark] => *values.encrypted.entry((*mark).to_owned()).or_default() += number(count)?,
            ["kind", version, kind, name] => drop(resources.insert((group(version), *kind), *name)),
            ["plain", count, version, kind] => {
                // What no API server serves is its own, as ranges of addresses are.
                let Some(name) = resources.get(&(group(version), *kind)) else { continue };
                let group = group(version);
                let resource = if group.is_empty() { (*name).to_owned() } else { format!("{name}.{group}") };
                *values.plain.entry(resource).or_default() += number(count)?;
            }
            ["done"] => is_whole = true,
            _ => {}
        }
    }
    Ok(match (is_whole, resources.is_empty()) {
        (false, _) => Err("the answer has no end".to_owned()),
        (_, true) => Err("its API server does not say which kinds of objects there are".to_owned()),
        _ => Ok(values),
    })
}

/// The group of an API version: `apps` of `apps/v1`, nothing of `v1`.
fn group(version: &str) -> &str {
    version.split_once('/').map_or("", |(group, _)| group)
}
