//! The data of a host's member of etcd, whether or not that runs: what a recovery starts from.

use super::parse::{ParseError, Section, text_of};

/// A member that runs has its database locked, and says its revision itself; of one that does not, etcd's own program reads it, out of the image that
/// the member ran by, or that which its unit runs. Without its database or its log, what is left of them is nothing that a recovery could start from: a member that runs still may
/// have both of them open, and nobody else ever will.
pub(super) const SCRIPT: &str = r#"mark etcd-data
if [ -d /var/lib/etcd ]; then echo "free $(df -k --output=avail -- /var/lib/etcd | tail -n 1)"; fi
if [ -f /var/lib/etcd/member/snap/db ] && ls /var/lib/etcd/member/wal/*.wal >/dev/null 2>&1; then
  echo "bytes $(du -sk -- /var/lib/etcd/member | cut -f 1)"
  echo "last $(stat -c %Y -- /var/lib/etcd/member/snap/db /var/lib/etcd/member/wal/*.wal 2>/dev/null | sort -n | tail -n 1)"
  image=$(sed -n 's/^ *image: *//p' /etc/kubernetes/manifests/etcd.yaml 2>/dev/null | head -n 1)
  label='labels."io.kubernetes'
  container=$(/usr/local/bin/ctr -n k8s.io containers ls -q "$label.pod.namespace\"==kube-system,$label.container.name\"==etcd" 2>/dev/null)
  running=$(/usr/local/bin/ctr -n k8s.io tasks ls 2>/dev/null | grep RUNNING | cut -d ' ' -f 1)
  for one in $container; do case "
$running
" in *"
$one
"*) image=;; esac; done
  if [ -n "$image" ]; then
    name="kokctl-look-$$"
    echo "status $(timeout 30 /usr/local/bin/ctr -n k8s.io run --rm --mount type=bind,src=/var/lib/etcd/member/snap,dst=/snap,options=rbind:ro \
      "$image" "$name" /usr/local/bin/etcdutl snapshot status /snap/db --write-out=json </dev/null 2>/dev/null)"
    /usr/local/bin/ctr -n k8s.io tasks delete -f "$name" >/dev/null 2>&1
    /usr/local/bin/ctr -n k8s.io containers delete "$name" >/dev/null 2>&1
  elif [ -f /etc/etcd/etcd.yaml ] && [ -x /usr/local/bin/etcdutl ] && ! systemctl is-active --quiet etcd.service; then
    echo "status $(timeout 30 /usr/local/bin/etcdutl snapshot status /var/lib/etcd/member/snap/db --write-out=json </dev/null 2>/dev/null)"
  fi
fi
"#;

/// What there is of a member's data.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EtcdData {
    /// How many bytes they have; nothing where there are none.
    pub bytes: Option<u64>,
    /// How many bytes are free beside them.
    pub free: u64,
    /// When a file of theirs was written to last, in seconds since 1970.
    pub last_write: Option<i64>,
    /// The revision of the database; nothing while a member runs on it, or where it can't be read.
    pub revision: Option<u64>,
}

pub(super) fn read(sections: &[Section<'_>]) -> Result<EtcdData, ParseError> {
    let text = text_of(sections, "etcd-data")?;
    let value =
        |wanted: &str| text.lines().filter_map(|line| line.split_once(' ')).find(|(key, _)| *key == wanted).map(|(_, value)| value.trim());
    // 64 bits of bytes are more than any disk has, and of kilobytes too many.
    let bytes = |wanted: &str| value(wanted)?.parse::<u64>().ok()?.checked_mul(1024);
    let status = value("status").and_then(|text| serde_json::from_str::<serde_json::Value>(text).ok());
    Ok(EtcdData {
        bytes: bytes("bytes"),
        free: bytes("free").unwrap_or_default(),
        last_write: value("last").and_then(|text| text.parse().ok()),
        revision: status.and_then(|status| status.get("revision")?.as_u64()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(text: &str) -> EtcdData {
        read(&[Section { name: "etcd-data", argument: "", body: text.as_bytes() }]).unwrap_or_default()
    }

    #[test]
    fn what_etcd_says_of_its_data_is_read_and_nonsense_is_nothing() {
        let text = "free   100\nbytes 2\nlast 1700000000\nstatus {\"hash\":1,\"revision\":42,\"totalKey\":7}\n";
        let data = EtcdData { bytes: Some(2048), free: 102_400, last_write: Some(1_700_000_000), revision: Some(42) };
        assert_eq!(seen(text), data);
        assert_eq!(seen("free 1\n"), EtcdData { free: 1024, ..EtcdData::default() });
        let hostile = "free -1\nbytes 99999999999999999999\nlast x\nstatus {\"revision\":\"$(reboot)\"}\n";
        assert_eq!(seen(hostile), EtcdData::default());
        assert_eq!(seen("bytes 18446744073709551615\n"), EtcdData::default());
    }
}
