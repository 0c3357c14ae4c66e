//! Specs that change at every step of every flow that runs hooks. A flow goes on with the new spec, and repeats only steps
//! whose input changed.

use std::collections::BTreeMap;

use futures::StreamExt as _;
use outrigger_api::cluster::{Cluster, ClusterPhase};
use outrigger_api::step::FlowName;
use serde_json::{Value, json};

use super::fixture::Fixture;

/// The hooks of a flow on two machines, in their order, each with the number of its machine.
fn hooks(flow: FlowName) -> &'static [(&'static str, u8)] {
    match flow {
        FlowName::Create => &[
            ("PreClusterInstall", 1),
            ("PreInstall", 1),
            ("PreInstall", 2),
            ("PostInstall", 1),
            ("PostInstall", 2),
            ("PostClusterInstall", 1),
        ],
        FlowName::Upgrade => &[
            ("PreClusterUpgrade", 1),
            ("PreUpgrade", 1),
            ("PostUpgrade", 1),
            ("PreUpgrade", 2),
            ("PostUpgrade", 2),
            ("PostClusterUpgrade", 1),
        ],
        FlowName::Delete => &[("PreClusterDelete", 1), ("PostClusterDelete", 1)],
        FlowName::ScaleUp
        | FlowName::ScaleDown
        | FlowName::RenewCertificates
        | FlowName::Restore
        | FlowName::UpdateRegistries => &[],
    }
}

const FLOWS: [FlowName; 3] = [FlowName::Create, FlowName::Upgrade, FlowName::Delete];

/// What is changed in a spec.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Change {
    /// Something that is the input of no step.
    Timeout,
    /// The script of the first hook, which began before, and the files.
    FirstHook,
    /// The script of the last hook, and the files.
    LastHook,
    Version,
    NewMachine,
}

const CHANGES: [Change; 5] = [
    Change::Timeout,
    Change::FirstHook,
    Change::LastHook,
    Change::Version,
    Change::NewMachine,
];

/// A change while a hook runs.
#[derive(Debug, Clone, Copy)]
struct Case {
    number: u8,
    flow: FlowName,
    /// The index of the hook.
    at: usize,
    change: Change,
}

impl Case {
    fn all() -> Vec<Self> {
        let mut cases = Vec::new();
        for flow in FLOWS {
            for at in 0..hooks(flow).len() {
                for change in CHANGES {
                    let number = u8::try_from(cases.len()).unwrap();
                    cases.push(Self {
                        number,
                        flow,
                        at,
                        change,
                    });
                }
            }
        }
        cases
    }

    fn name(&self) -> String {
        format!("c{}", self.number)
    }

    fn ip(&self, machine: u8) -> String {
        format!("10.1.{}.{machine}", self.number)
    }

    fn machines(&self, count: u8) -> Value {
        let access = |machine| json!({"ip": self.ip(machine), "password": "eA=="});
        (1..=count).map(access).collect()
    }

    /// The number of times that each hook begins, a plain model.
    fn expected(&self) -> BTreeMap<(&'static str, u8), usize> {
        let of_flow = hooks(self.flow);
        let created = hooks(FlowName::Create).iter();
        let mut counts: BTreeMap<_, _> = created.chain(of_flow).map(|hook| (*hook, 1)).collect();
        let is_deletion = self.flow == FlowName::Delete;
        match self.change {
            Change::FirstHook => drop(counts.insert(of_flow[0], 2)),
            Change::LastHook if self.at + 1 == of_flow.len() => {
                counts.insert(of_flow[self.at], 2);
            }
            // Another upgrade.
            Change::Version if self.flow == FlowName::Upgrade => {
                counts.extend(of_flow[..=self.at].iter().map(|hook| (*hook, 2)));
            }
            // What is installed already is upgraded.
            Change::Version if self.is_partly_installed() => {
                counts.extend(hooks(FlowName::Upgrade).iter().map(|hook| (*hook, 1)));
            }
            Change::NewMachine if !is_deletion => {
                counts.extend([(("PreInstall", 3), 1), (("PostInstall", 3), 1)]);
            }
            _ => {}
        }
        counts
    }

    /// Whether a machine has the first version when another one comes.
    fn is_partly_installed(&self) -> bool {
        let is_after = |hook| matches!(hook, "PostInstall" | "PostClusterInstall");
        let (hook, _) = hooks(self.flow)[self.at];
        self.change == Change::Version && self.flow == FlowName::Create && is_after(hook)
    }

    async fn until_installed(&self, fixture: &Fixture, machine: u8) {
        let name = format!("{}-{}", self.name(), self.ip(machine).replace('.', "-"));
        fixture
            .until_machine(&name, |machine| {
                let version = machine.status.as_ref().and_then(|it| it.version.as_ref());
                version.is_some()
            })
            .await;
    }

    fn patch(&self, files: &[Value]) -> Value {
        let of_flow = hooks(self.flow);
        let replace = |hook: &str| {
            let mut files = files.to_vec();
            files.push(json!({"src": "Changed", "dst": "/opt/hooks/Changed"}));
            json!({"features": {"files": files, "hooks": {hook: "/opt/hooks/Changed"}}})
        };
        match self.change {
            Change::Timeout => json!({"features": {"hookTimeout": "7m"}}),
            Change::FirstHook => replace(of_flow[0].0),
            Change::LastHook => replace(of_flow[of_flow.len() - 1].0),
            Change::Version => json!({"version": "1.2.0"}),
            Change::NewMachine => json!({"machines": self.machines(3)}),
        }
    }

    async fn run(self, fixture: &Fixture) {
        let name = self.name();
        let (hook, machine) = hooks(self.flow)[self.at];
        let address = format!("{}:22", self.ip(machine));
        fixture.machines.hang(&address, hook);
        let machines = json!({"machines": self.machines(2)});
        let cluster = fixture.create(&name, machines).await;
        if self.flow != FlowName::Create {
            fixture.until_running(&name).await;
        }
        match self.flow {
            FlowName::Upgrade => {
                let version = json!({"spec": {"version": "1.1.0"}});
                fixture.patch(&name, version).await;
            }
            FlowName::Delete => fixture.delete(&name).await,
            _ => {}
        }
        fixture.machines.until_begun(&address, hook).await;
        if self.is_partly_installed() {
            self.until_installed(fixture, 3 - machine).await;
        }
        let files = serde_json::to_value(&cluster.spec.features.files).unwrap();
        let patch = self.patch(files.as_array().unwrap());
        fixture.patch(&name, json!({"spec": patch})).await;
        fixture
            .until(&name, |cluster| {
                let observed = cluster
                    .status
                    .as_ref()
                    .and_then(|it| it.observed_generation);
                observed == cluster.metadata.generation
            })
            .await;
        fixture.machines.release_machine(&address);
        self.until_ended(fixture).await;
        assert_eq!(self.counts(fixture), self.expected(), "{self:?}");
        self.check_files(fixture);
    }

    async fn until_ended(&self, fixture: &Fixture) {
        if self.flow == FlowName::Delete {
            return fixture.until_deleted(&self.name()).await;
        }
        fixture.until_running(&self.name()).await;
        if self.change == Change::NewMachine {
            self.until_installed(fixture, 3).await;
        }
        if self.change == Change::Version {
            let is_upgraded = |cluster: &Cluster| {
                let status = cluster.status.as_ref().unwrap();
                status.phase == ClusterPhase::Running && status.version.as_deref() == Some("1.2.0")
            };
            fixture.until(&self.name(), is_upgraded).await;
        }
    }

    fn counts(&self, fixture: &Fixture) -> BTreeMap<(&'static str, u8), usize> {
        let mut counts = BTreeMap::new();
        for (address, hook) in fixture.machines.hooks() {
            let machine = (1..=3).find(|machine| address == format!("{}:22", self.ip(*machine)));
            let Some(machine) = machine else { continue };
            let hook = outrigger_api::hook::Hook::of_clusters().find(|it| it.name == hook);
            *counts.entry((hook.unwrap().name, machine)).or_default() += 1;
        }
        counts
    }

    /// What the new spec adds to the files is copied, although the files were copied before.
    fn check_files(&self, fixture: &Fixture) {
        let files = fixture.machines.files(&format!("{}:22", self.ip(2)));
        let is_changed = matches!(self.change, Change::FirstHook | Change::LastHook);
        let expected = is_changed && self.flow != FlowName::Delete;
        let has_file = files.contains_key("/opt/hooks/Changed");
        assert_eq!(has_file, expected, "{self:?}");
    }
}

/// Server, controller and machines are in this process, so that more threads make it faster.
#[tokio::test(flavor = "multi_thread")]
async fn a_spec_that_changes_at_any_step_repeats_only_what_it_changes() {
    let fixture = Fixture::new().await;
    fs_err::write(fixture.files.path().join("Changed"), "#!/bin/sh\n").unwrap();
    let cases = Case::all();
    assert_eq!(cases.len(), 70);
    futures::stream::iter(cases)
        .for_each_concurrent(8, |case| case.run(&fixture))
        .await;
    fixture.close().await;
}
