//! The plan of an installation, made the way it is made when it is carried out, and not carried out.

use outrigger_api::plugin::Plugin;
use outrigger_release::Plan;

use super::{failed, material, options};
use crate::conditions::APPLIED;
use crate::observe::Wanted;
use crate::trouble::{self, Trouble};

pub(crate) async fn plan(
    controller: &crate::Options,
    plugin: &Plugin,
    wanted: &Wanted,
) -> Result<Plan, Trouble> {
    let options = options(controller, plugin)?;
    let made = material::desired(controller, plugin, wanted).await?;
    let cluster = &wanted.target.cluster;
    let observed = outrigger_release::observe(cluster, made.past, &made.desired).await;
    let observed = observed.map_err(|error| trouble::release(APPLIED, "ApplyFailed", &error))?;
    outrigger_release::plan(made.desired, observed, &options)
        .map_err(|refusal| failed(&refusal.into()))
}
