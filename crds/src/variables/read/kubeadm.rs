//! Variables of kubeadm.

use crate::Problem;
use crate::decode::{Decoder, Field};
use crate::model::{ALL_CHECKS, Settings};
use crate::words::quote;

pub(crate) fn kubeadm_ignore_preflight_errors(decoder: &mut Decoder, field: &Field<'_>, settings: &mut Settings) {
    let rule = "it is a list of names of kubeadm's checks";
    for (text, item) in decoder.texts(field, rule) {
        // kubeadm names checks like `Swap` and `FileContent--proc-sys-net-ipv4-ip_forward`; a comma would make two of one.
        let is_name = !text.is_empty() && text.chars().all(|c| c.is_ascii_graphic() && c != ',');
        if is_name {
            settings.kubeadm_ignore_preflight_errors.push(text.to_owned());
        } else {
            let problem = Problem::new(format!("{} is no name of a check of kubeadm", quote(text)));
            decoder.report(problem.at(item.position()).because(rule).hint("`kubeadm init` prints the names in brackets"));
        }
    }
    // kubeadm takes the word in any case, and refuses names beside it.
    if settings.kubeadm_ignore_preflight_errors.iter().any(|name| name.eq_ignore_ascii_case(ALL_CHECKS)) {
        settings.kubeadm_ignore_preflight_errors = vec![ALL_CHECKS.to_owned()];
    }
}
