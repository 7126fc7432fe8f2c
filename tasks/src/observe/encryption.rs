//! With which keys API servers encrypt, and with which the values in etcd are encrypted. No key leaves a host: keys have names, and sums of files.

use std::collections::BTreeMap;

use super::parse::{ParseError, Section, text_of};

/// The keys of an EncryptionConfiguration, as far as they are no secret.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EncryptionKeys {
    /// The sha256 of the file; empty where there is none.
    pub digest: String,
    /// The sha256 of names and keys alone: two control planes with the same keys have the same.
    pub sum: String,
    /// Whether the API server is started so that it reads the file again by itself.
    pub reloads: bool,
    /// Their names in the file's order; the first is written with.
    pub names: Vec<String>,
}

/// What the API server of the host has read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EncryptionRead {
    /// The sha256 of the file that it goes by.
    pub digest: Option<String>,
    /// How many seconds ago it began to go by that.
    pub age_seconds: Option<u64>,
}

/// How many values in etcd begin with which mark of encryption, `k8s:enc:PROVIDER:v1:KEY:`; or what was said instead.
pub type EncryptedValues = Result<BTreeMap<String, u64>, String>;

/// Names stand behind a dash, and no other field of the file does that.
pub(super) const KEYS: &str = r#"mark encryption-keys
encryption=/etc/kubernetes/apiserver/encryption.yaml
if [ -s "$encryption" ]; then
  sha256sum <"$encryption" | cut -d ' ' -f 1
  sed -n -e 's/^ *- name: //p' -e 's/^ *secret: //p' "$encryption" | tr -d '" ' | sha256sum | cut -d ' ' -f 1
  if grep -q -e '--encryption-provider-config-automatic-reload=true' /etc/kubernetes/manifests/kube-apiserver.yaml 2>/dev/null; then
    echo reloads
  else
    echo stays
  fi
  sed -n 's/^ *- name: //p' "$encryption" | tr -d '" ' | head -n 50
fi
"#;

/// The API server's own metrics: which file it has read (1.34 and later), and since when. After [`super::api_server::READY`].
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

/// Reads all of etcd, as the API server reaches it, some hundred keys at a time, and counts by their marks the values that are encrypted: where each kind of
/// object is stored is known to API servers alone. etcdctl is asked where there is one, else kubectl at etcd's gateway; both answer JSON with keys and values
/// in base64, in which a mark begins with the same characters always. A key that comes after all of a page's is the last of them with a byte behind it.
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
    function mark(text,  at, digit, bits, held, power, byte, out, colons) {
      for (at = 1; at <= length(text); at++) {
        digit = index("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/", substr(text, at, 1)) - 1
        if (digit < 0) break
        bits = bits * 64 + digit
        held += 6
        if (held < 8) continue
        held -= 8
        power = 2 ^ held
        byte = int(bits / power)
        bits -= byte * power
        if (byte < 33 || byte > 126) break
        out = out sprintf("%c", byte)
        if (byte == 58 && ++colons == 5) break
      }
      return out
    }
    BEGIN { RS = "{" }
    /"header":/ { answered = 1 }
    !answered { said = said $0 }
    match($0, /"key": *"[A-Za-z0-9+\/=]*"/) {
      last = substr($0, RSTART, RLENGTH)
      sub(/"key": *"/, "", last)
      sub(/"$/, "", last)
      if (match($0, /"value": *"azhzOmVuYz/)) count[mark(substr($0, RSTART + RLENGTH - 10, 240))]++
    }
    /"more": *true/ { more = 1 }
    END {
      gsub(/[\n\r]/, " ", said)
      if (!answered) print "failed " substr(said, 1, 400)
      for (prefix in count) print "values " count[prefix] " " prefix
      if (answered && more && last != "") print "next " last
    }'
}
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

/// What [`KEYS`] says. A name that none can be is no name.
pub(super) fn read_keys(sections: &[Section<'_>]) -> Result<EncryptionKeys, ParseError> {
    let text = text_of(sections, "encryption-keys")?.trim();
    if text.is_empty() {
        return Ok(EncryptionKeys::default());
    }
    let wrong = || ParseError::new("encryption-keys", text);
    let is_sum = |sum: &&str| sum.len() == 64 && sum.bytes().all(|byte| byte.is_ascii_hexdigit());
    let mut lines = text.lines();
    let mut sum = || lines.next().filter(is_sum).map(str::to_owned).ok_or_else(wrong);
    let (digest, sum) = (sum()?, sum()?);
    let reloads = lines.next() == Some("reloads");
    let is_name = |name: &&str| name.len() <= 64 && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._".contains(&byte));
    let names = lines.map(|name| Some(name).filter(is_name).map(str::to_owned).ok_or_else(wrong)).collect::<Result<_, _>>()?;
    Ok(EncryptionKeys { digest, sum, reloads, names })
}

/// What [`READ`] says.
pub(super) fn read_read(sections: &[Section<'_>]) -> Result<EncryptionRead, ParseError> {
    let text = text_of(sections, "encryption-read")?;
    let of = |word: &str| text.lines().find_map(|line| line.strip_prefix(word)?.strip_prefix(' '));
    Ok(EncryptionRead { digest: of("read").map(str::to_owned), age_seconds: of("age").and_then(|age| age.parse().ok()) })
}

/// What [`VALUES`] says. Where the end is missing nothing is known.
pub(super) fn read_values(sections: &[Section<'_>]) -> Result<EncryptedValues, ParseError> {
    let text = text_of(sections, "encrypted-values")?;
    let mut values = BTreeMap::new();
    let mut is_whole = false;
    for line in text.lines() {
        if let Some(said) = line.strip_prefix("failed") {
            return Ok(Err(said.trim().to_owned()));
        } else if let Some((count, mark)) = line.strip_prefix("values ").and_then(|rest| rest.split_once(' ')) {
            let count: u64 = count.parse().map_err(|_| ParseError::new("encrypted-values", line))?;
            *values.entry(mark.to_owned()).or_default() += count;
        } else if line == "done" {
            is_whole = true;
        }
    }
    Ok(if is_whole { Ok(values) } else { Err("the answer has no end".to_owned()) })
}
