//! `EnsureRemoveETCDMember`: removes the member of a machine from etcd, before anything else is removed.

use futures::FutureExt as _;
use futures::future::BoxFuture;

use super::control_plane;
use crate::provider::baremetal::etcd;
use crate::provider::baremetal::work::Work;
use crate::steps::digest;
use crate::{Effect, Report, Step, StepError, StepInput, StepPlan};

pub(super) struct RemoveEtcdMember;

async fn remove(effect: Effect<'_>) -> Result<(), StepError> {
    let control_plane = control_plane(effect).await?;
    let members = Work::new(
        "list the members of etcd",
        include_str!("../scripts/etcd_members.sh"),
    );
    let members = members.query(control_plane.as_ref()).await?;
    let removal = etcd::removal(&etcd::parse(&members), &effect.machine.spec.access.ip);
    let Some(member) = removal.map_err(StepError::Provider)? else {
        return Ok(());
    };
    let remove = Work::new(
        "remove the member of etcd",
        include_str!("../scripts/remove_etcd_member.sh"),
    );
    let remove = remove.with("MEMBER", member);
    remove.query(control_plane.as_ref()).await.map(drop)
}

impl Step for RemoveEtcdMember {
    fn plan(&self, input: &StepInput<'_>) -> Option<StepPlan> {
        Some(StepPlan {
            digest: digest(&[&input.machine?.spec.access.address()]),
            text: "remove the member of etcd".to_owned(),
        })
    }

    fn run<'a>(&'a self, effect: Effect<'a>) -> BoxFuture<'a, (Report, Result<(), StepError>)> {
        async move { (Report::default(), remove(effect).await) }.boxed()
    }

    fn needs_machine(&self) -> bool {
        false
    }
}
