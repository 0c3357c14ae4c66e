//! `EnsureRemoveFiles`: removes the files of the spec from the machine, after the last hook.

use futures::FutureExt as _;
use futures::future::BoxFuture;

use super::{Effect, Report, Step, StepError, StepInput, StepPlan, digest};

pub(crate) struct RemoveFiles;

impl Step for RemoveFiles {
    fn plan(&self, input: &StepInput<'_>) -> Option<StepPlan> {
        let paths: Vec<&str> = input.tree.destinations().collect();
        (!paths.is_empty()).then(|| StepPlan {
            digest: digest(&paths),
            text: format!("remove {} files", paths.len()),
        })
    }

    fn run<'a>(&'a self, effect: Effect<'a>) -> BoxFuture<'a, (Report, Result<(), StepError>)> {
        async move {
            let paths: Vec<String> = effect.tree.destinations().map(ToOwned::to_owned).collect();
            let removed = effect.remote.remove(&paths).await;
            (Report::default(), removed.map_err(Into::into))
        }
        .boxed()
    }
}
