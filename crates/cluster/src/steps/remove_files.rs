//! `EnsureRemoveFiles`: removes the files of the spec, the folders that were made for them, and the records of hooks from
//! the machine, after the last hook.

use futures::FutureExt as _;
use futures::future::BoxFuture;
use outrigger_api::hook::Hook;

use super::{Effect, Report, Step, StepError, StepInput, StepPlan, digest, task};

pub(crate) struct RemoveFiles;

impl Step for RemoveFiles {
    fn plan(&self, input: &StepInput<'_>) -> Option<StepPlan> {
        let paths: Vec<&str> = input.tree.destinations().collect();
        (!paths.is_empty()).then(|| StepPlan {
            digest: digest(&paths),
            text: match paths.len() {
                1 => "remove 1 file".to_owned(),
                count => format!("remove {count} files"),
            },
        })
    }

    fn run<'a>(&'a self, effect: Effect<'a>) -> BoxFuture<'a, (Report, Result<(), StepError>)> {
        async move {
            let removed = async {
                effect.remote.remove(effect.tree).await?;
                // The scripts are gone, so that what ended cannot run again.
                let steps = Hook::of_clusters().map(|hook| hook.step);
                let tasks: Vec<String> = steps.map(|step| task(effect.cluster, step)).collect();
                effect.remote.forget(&tasks).await
            };
            (Report::default(), removed.await.map_err(Into::into))
        }
        .boxed()
    }
}
