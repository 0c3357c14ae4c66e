//! `EnsureRenewCertificates`: `kubeadm certs renew` on a control plane.

use crate::StepInput;
use crate::provider::baremetal::kubeadm_config;
use crate::provider::baremetal::work::Work;

pub(super) fn work(input: &StepInput<'_>) -> Option<Work> {
    let machine = input.machine?;
    let script = include_str!("../scripts/renew_certificates.sh");
    let work = Work::new("kubeadm certs renew all", script);
    Some(work.with("CONFIG", kubeadm_config::init(input.cluster, machine)))
}
