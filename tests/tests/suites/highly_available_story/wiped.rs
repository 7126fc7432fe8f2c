//! One member has lost its data, another one lags behind, and these two are started first: nothing is founded anew, and what was acknowledged is
//! there again with the third.

use kok_tests::lab::{Host, Lab};

use super::{any, lost, member};
use crate::cluster_support::cluster::control_planes;
use crate::cluster_support::kokctl::Kokctl;
use crate::cluster_support::ok;
use crate::lab_support::wait_for;

const KUBECTL: &str = "kubectl --kubeconfig /etc/kubernetes/admin.conf --request-timeout=10s";

/// What was stored while one was away.
const VALUE: &str = "acknowledged-by-two-of-three";

pub fn and_started_beside_one_that_lags_behind(lab: &Lab, kokctl: &Kokctl<'_>) {
    let mut left = control_planes(lab);
    let mut take = || {
        let taken = any(left.clone());
        left.retain(|host| host.name() != taken.name());
        taken
    };
    let (wiped, lagging, third) = (take(), take(), take());
    println!("{} is wiped, {} lags behind, {} comes last", wiped.name(), lagging.name(), third.name());
    lagging.power_off().unwrap();
    wait_for("two of three take a write", 90, || {
        let said = ok(&third, &format!("{KUBECTL} create configmap acknowledged --from-literal=value={VALUE} 2>&1 || :"));
        ["created", "already exists"].iter().any(|words| said.contains(words))
    });
    // Its data are kept aside, for no test after this one wants a cluster of two.
    ok(&wiped, "systemctl stop kubelet.service && kill -9 $(pgrep -x etcd) && mv /var/lib/etcd/member /root/member && sync");
    wiped.power_off().unwrap();
    third.power_off().unwrap();

    wiped.power_on().unwrap();
    wait_for("etcd refuses to start without its data", 120, || {
        has_founded_nothing(&wiped);
        let log = ok(&wiped, "cat /var/log/pods/kube-system_etcd-*/etcd/*.log 2>/dev/null || :");
        member::REFUSALS.iter().any(|words| log.contains(words))
    });
    lagging.power_on().unwrap();
    wait_for("the one that lags behind runs, and has no leader", 120, || ok(&lagging, ASKED) == NO_ANSWER);
    has_founded_nothing(&wiped);
    third.power_on().unwrap();
    for host in [&third, &lagging] {
        wait_for("what was acknowledged is there", 120, || stored(host) == VALUE);
    }
    member::is_refused(kokctl, wiped.name());
    ok(&wiped, "[ ! -e /var/lib/etcd/member ] && mv /root/member /var/lib/etcd/member && systemctl restart kubelet.service");
    lost::all_are_back(lab, kokctl);
    assert_eq!(stored(&wiped), VALUE);
}

fn has_founded_nothing(host: &Host) {
    assert_eq!(ok(host, "ls -d /var/lib/etcd/member/wal 2>/dev/null || :"), "", "{} has founded another cluster", host.name());
}

/// As this control plane's own API server has it.
fn stored(host: &Host) -> String {
    ok(host, &format!("{KUBECTL} get configmap acknowledged -o 'jsonpath={{.data.value}}' 2>/dev/null || :"))
}

/// Asks etcd for its health, and says what came of that.
const ASKED: &str = "cd /etc/kubernetes/pki/etcd && curl -s --max-time 5 --cacert ca.crt --cert healthcheck-client.crt \
                     --key healthcheck-client.key https://127.0.0.1:2379/health >/dev/null; echo $?";

/// curl's word for it: etcd takes the connection, which it does not before it runs, and serves nobody before there is a leader.
const NO_ANSWER: &str = "28";
