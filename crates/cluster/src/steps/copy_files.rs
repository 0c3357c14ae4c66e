//! `EnsureCopyFiles`: makes the files of the spec on the machine.

use futures::FutureExt as _;
use futures::future::BoxFuture;

use super::{Effect, Report, Step, StepError, StepInput, StepPlan, digest};

pub(crate) struct CopyFiles;

impl Step for CopyFiles {
    fn plan(&self, input: &StepInput<'_>) -> Option<StepPlan> {
        let files = &input.cluster.spec.features.files;
        let count = input.tree.destinations().count();
        (!files.is_empty()).then(|| StepPlan {
            digest: digest(&[input.tree.digest()]),
            text: match count {
                1 => "copy 1 file".to_owned(),
                count => format!("copy {count} files"),
            },
        })
    }

    fn copied_bytes(&self, input: &StepInput<'_>) -> u64 {
        input.tree.size()
    }

    fn run<'a>(&'a self, effect: Effect<'a>) -> BoxFuture<'a, (Report, Result<(), StepError>)> {
        async move {
            let copied = effect.remote.copy(effect.tree).await;
            (Report::default(), copied.map_err(Into::into))
        }
        .boxed()
    }
}
