//! Every command, condition and event that a user of plugins meets, in one document: `docs/reference/output.md`.
//!
//! The test runs the commands against a local cluster and compares what they print with the document.
//! `UPDATE=1 cargo test -p outrigger output` rewrites it.

use std::net::TcpListener;
use std::path::Path;
use std::time::{Duration, Instant};

use outrigger_api::reason::{EventReason, Reason};
use serde_json::json;

use crate::local_cluster::{LocalCluster, normalize_ports};

const INTRODUCTION: &str = "\
# What Outrigger prints

This page is written by a test that runs each command against a local cluster. Ages, times, ports and directories are replaced
by placeholders. Results go to stdout, notes and errors to stderr; both are shown here as a terminal shows them.
";

const CHART: &str = "apiVersion: v2\nname: web\nversion: VERSION\nappVersion: \"7\"\n";
const SCHEMA: &str = r#"{"properties": {"replicas": {"type": "integer"}}}"#;
const TEMPLATE: &str = "\
apiVersion: v1
kind: ConfigMap
metadata: {name: {{ .Release.Name }}}
data: {text: {{ .Values.text | quote }}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: {{ .Release.Name }}}
spec:
  replicas: {{ .Values.replicas }}
  selector: {matchLabels: {app: {{ .Release.Name }}}}
  template:
    metadata:
      labels: {app: {{ .Release.Name }}}
      annotations: {outrigger.dev/simulate: {{ .Values.simulate | quote }}}
    spec: {containers: [{name: web, image: example.com/web:1}]}
";

/// A chart that leaves its volume and a ConfigMap behind.
const DATABASE: &str = "\
apiVersion: v1
kind: ConfigMap
metadata: {name: {{ .Release.Name }}, annotations: {helm.sh/resource-policy: keep}}
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: {{ .Release.Name }}}
spec:
  serviceName: {{ .Release.Name }}
  selector: {matchLabels: {app: {{ .Release.Name }}}}
  template:
    metadata: {labels: {app: {{ .Release.Name }}}}
    spec: {containers: [{name: db, image: example.com/db:1}]}
  volumeClaimTemplates:
    - metadata: {name: data}
      spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
";

/// Two plugins that need each other, and one that names the release of another.
const REJECTED: &str = "\
apiVersion: outrigger.dev/v1beta1
kind: Plugin
metadata: {name: egg}
spec: {repo: file:///nowhere, dependencies: [{name: hen}]}
---
apiVersion: outrigger.dev/v1beta1
kind: Plugin
metadata: {name: hen}
spec: {repo: file:///nowhere, dependencies: [{name: egg}]}
---
apiVersion: outrigger.dev/v1beta1
kind: Plugin
metadata: {name: twin}
spec: {repo: file:///nowhere, releaseName: web}
";

/// Plugins that wait for something that is not there yet.
const WAITING: &str = "\
apiVersion: outrigger.dev/v1beta1
kind: Plugin
metadata: {name: credentials}
spec: {repo: file:///work/charts/web-1.0.0, valuesFrom: [{kind: Secret, name: credentials}]}
---
apiVersion: outrigger.dev/v1beta1
kind: Plugin
metadata: {name: catalog}
spec: {repo: nowhere, chart: web}
---
apiVersion: outrigger.dev/v1beta1
kind: Plugin
metadata: {name: kind}
spec:
  kind: manifests
  resources:
  - {apiVersion: example.com/v1, kind: Shop, metadata: {name: shop}}
---
apiVersion: outrigger.dev/v1beta1
kind: Plugin
metadata: {name: remote}
spec: {repo: file:///work/charts/web-1.0.0, cluster: {secretName: site-7}}
";

/// Plugins whose specs the controller refuses, each for another reason.
const REFUSED: &str = "\
apiVersion: outrigger.dev/v1beta1
kind: Plugin
metadata: {name: branch}
spec: {repo: https://example.com/charts.git, chart: web}
---
apiVersion: outrigger.dev/v1beta1
kind: Plugin
metadata: {name: kustomize}
spec: {kind: kustomize, repo: file:///work/charts/web-1.0.0}
---
apiVersion: outrigger.dev/v1beta1
kind: Plugin
metadata: {name: rule}
spec:
  repo: file:///work/charts/web-1.0.0
  health: [{apiVersion: v1, kind: ConfigMap, healthy: 'self.data.'}]
";

/// A plugin that returns to the previous revision if an upgrade fails.
const CAREFUL: &str = "\
apiVersion: outrigger.dev/v1beta1
kind: Plugin
metadata: {name: careful}
spec: {repo: file:///work/charts/web-1.0.0, rollback: true, timeout: 3s}
";

/// A plugin with a misspelled field.
const TYPO: &str = "\
apiVersion: outrigger.dev/v1beta1
kind: Plugin
metadata: {name: typo}
spec: {repo: file:///nowhere, verison: 1.0.0}
";

/// A kubeconfig of a server that is not running.
const UNREACHABLE: &str = "\
apiVersion: v1
kind: Config
clusters: [{name: a, cluster: {server: 'https://ADDRESS'}}]
contexts: [{name: a, context: {cluster: a, user: a}}]
users: [{name: a, user: {token: a}}]
current-context: a
";

/// The maximum time until a command prints what is awaited.
const TIMEOUT: Duration = Duration::from_mins(1);

/// A cluster, and the document about its commands.
struct Recorder {
    cluster: LocalCluster,
    document: String,
}

impl Recorder {
    fn start() -> Self {
        let cluster = LocalCluster::start();
        let fork = TEMPLATE.replace("data: {text", "data: {fork: 'true', text");
        for (directory, version, template) in [
            ("charts/web-1.0.0", "1.0.0", TEMPLATE),
            ("charts/web-1.1.0", "1.1.0", TEMPLATE),
            ("charts/fork-1.0.0", "1.0.0", &fork),
        ] {
            let write = |path: &str, text: &str| {
                let path = format!("{directory}/{path}");
                cluster.context.write(&path, text).unwrap();
            };
            write("Chart.yaml", &CHART.replace("VERSION", version));
            write("values.yaml", "text: hello\nreplicas: 1\nsimulate: \"\"\n");
            write("values.schema.json", SCHEMA);
            write("templates/web.yaml", template);
        }
        let chart = CHART.replace("VERSION", "1.0.0").replace("web", "db");
        let context = &cluster.context;
        context.write("charts/db/Chart.yaml", chart).unwrap();
        let template = "charts/db/templates/db.yaml";
        context.write(template, DATABASE).unwrap();
        let directory = context.directory().display().to_string();
        for (name, text) in [
            ("rejected.yaml", REJECTED),
            ("refused.yaml", REFUSED),
            ("waiting.yaml", WAITING),
            ("careful.yaml", CAREFUL),
            ("typo.yaml", TYPO),
        ] {
            let text = text.replace("/work", &directory);
            context.write(name, text).unwrap();
        }
        Self {
            cluster,
            document: INTRODUCTION.to_owned(),
        }
    }

    fn table(&mut self, rows: impl Iterator<Item = (&'static str, &'static str)>) {
        self.document
            .push_str("| reason | meaning |\n| --- | --- |\n");
        for (reason, meaning) in rows {
            self.document
                .push_str(&format!("| `{reason}` | {meaning} |\n"));
        }
    }

    fn section(&mut self, title: &str, text: &str) {
        self.document.push_str(&format!("\n## {title}\n{text}\n"));
    }

    /// Runs a command and adds it with its output to the document.
    fn run(&mut self, line: &str) {
        let output = self.output(line);
        self.document.push_str(&format!(
            "\n```console\n$ outrigger {}\n{output}```\n",
            normalize_ports(line)
        ));
    }

    /// Runs a command until its output contains a text, then adds it to the document.
    fn run_until(&mut self, line: &str, text: &str) {
        let deadline = Instant::now() + TIMEOUT;
        while !self.output(line).contains(text) {
            assert!(Instant::now() < deadline, "{}", self.output(line));
            std::thread::sleep(Duration::from_millis(100));
        }
        self.run(line);
    }

    fn output(&self, line: &str) -> String {
        let args = line.split(' ').map(|arg| arg.trim_matches('\''));
        self.cluster.output(&mut self.cluster.context.command(args))
    }
}

fn everyday(recorder: &mut Recorder) {
    recorder.section(
        "Install",
        "A plugin is a chart that stays installed. `--wait` returns when it is Ready.",
    );
    recorder.run("plugin install web ./charts/web-1.0.0 --set text=hi --wait");
    recorder.run("plugin list");
    recorder.run_until("plugin show web", "Installed");
    recorder.run("plugin install other ./charts/web-1.0.0 --dry-run");
    recorder.section(
        "Change",
        "`diff` shows what a change does, before it is made.",
    );
    recorder.run("plugin diff web --set text=bye");
    recorder.run("plugin set web --set text=bye --dry-run");
    recorder.run("plugin set web --set text=bye --wait");
    recorder.run("plugin set web");
    recorder.run("plugin upgrade web --repo ./charts/web-1.1.0 --wait");
    recorder.run("plugin history web");
    recorder.section(
        "Roll back",
        "A rollback installs the version and values of an earlier revision as a new one. A chart that the repository of the\n\
         plugin does not have any more, or that differs from the one that was installed, is refused.",
    );
    recorder.run("plugin set web --set text=again --wait");
    recorder.run("plugin rollback web --wait");
    recorder.run("plugin history web");
    recorder.run("plugin rollback web 2");
    recorder.run("plugin upgrade web ./charts/fork-1.0.0 --wait");
    recorder.run("plugin rollback web 2");
    recorder.run("plugin upgrade web --repo ./charts/web-1.1.0 --wait");
    recorder.section(
        "Depend",
        "A dependent is installed after, and removed before, what it needs.",
    );
    recorder.run("plugin install shop ./charts/web-1.0.0 --depends-on web --wait");
    recorder.run("plugin list -o wide");
    recorder.run("plugin disable web");
    recorder.run("plugin disable web --cascade --wait");
    recorder.run("plugin list");
    recorder.run("plugin enable web shop --wait");
    recorder.section(
        "Pause",
        "A suspended plugin is left alone, and nothing waits for it.",
    );
    recorder.run("plugin suspend web");
    recorder.run("plugin list");
    recorder.run("plugin set web --set text=later --wait");
    recorder.run("plugin reconcile web");
    recorder.run("plugin resume web --wait");
    recorder.run("plugin reconcile web --wait");
}

fn failures(recorder: &mut Recorder) {
    recorder.section(
        "What goes wrong",
        "Each message says what, why, and what helps.",
    );
    recorder.run("plugin show nowhere");
    recorder.run("plugin show wbe");
    recorder.run("plugin enable wbe");
    recorder.run("plugin install -F typo.yaml");
    let free = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = free.local_addr().unwrap();
    drop(free);
    let unreachable = UNREACHABLE.replace("ADDRESS", &address.to_string());
    let context = &recorder.cluster.context;
    context.write("unreachable.yaml", unreachable).unwrap();
    recorder.run("plugin list --kubeconfig unreachable.yaml");
    recorder.run("plugin install web ./charts/web-1.0.0");
    recorder.run("plugin install web ./charts/web-1.0.0 -n nowhere");
    recorder.run("plugin install web ./charts/web-1.0.0 -n nowhere --create-namespace --rollback-on-failure --wait");
    recorder.run("plugin uninstall web -n nowhere --wait");
    recorder.run("plugin install lost ./charts/lost --dry-run");
    recorder.run("plugin install lost --repo file:///nowhere/charts --wait");
    recorder.run("plugin install typed ./charts/web-1.0.0 --set replicas=many --wait");
    recorder.run("plugin install newer ./charts/web-1.0.0 --version 9 --wait");
    recorder.run("plugin install waits ./charts/web-1.0.0 --depends-on nobody --wait --timeout 2s");
    let free = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = free.local_addr().unwrap();
    drop(free);
    recorder.run(&format!(
        "plugin install refused --repo http://{address}/charts --wait --timeout 6s"
    ));
    recorder.run("plugin list");
    recorder.run("plugin show typed");
    recorder.run("plugin uninstall lost typed newer waits refused --wait");
}

fn waiting(recorder: &mut Recorder) {
    recorder.section(
        "What is awaited",
        "A plugin that needs something that does not exist yet waits, and goes on when it is created.",
    );
    recorder.run("plugin install -F waiting.yaml --wait --timeout 4s");
    recorder.run("plugin list");
    recorder.run("plugin uninstall credentials catalog kind remote --wait");
}

fn rejections(recorder: &mut Recorder) {
    recorder.section(
        "What cannot work",
        "A spec that cannot be satisfied is refused before anything changes.",
    );
    recorder.run("plugin install -F rejected.yaml");
    recorder.run("plugin wait egg hen twin");
    recorder.run("plugin list");
    recorder.run("plugin uninstall egg hen twin --force --wait");
    recorder.run("plugin install -F refused.yaml");
    for name in ["branch", "kustomize", "rule"] {
        recorder.run(&format!("plugin wait {name}"));
    }
    recorder.run("plugin uninstall branch kustomize rule --wait");
}

fn health(recorder: &mut Recorder) {
    recorder.section(
        "What breaks later",
        "Ready means installed, as specified and healthy, now. A workload that fails is named with the reason of its pods.",
    );
    recorder.run(
        "plugin install crash ./charts/web-1.0.0 --set simulate=crash-loop --wait --timeout 8s",
    );
    recorder.run("plugin show crash");
    recorder.run("plugin uninstall crash --wait");
}

fn drift(recorder: &mut Recorder) {
    recorder.section(
        "What others change",
        "Somebody edits the ConfigMap of the plugin. The controller restores it, and an event says what differed.",
    );
    recorder.run("plugin install config ./charts/web-1.0.0 --wait");
    let edit = json!({"data": {"text": "edited"}});
    recorder.cluster.patch_config_map("config", &edit);
    recorder.run_until("plugin show config", "DriftCorrected");
    recorder.section(
        "What others change and keep",
        "With `drift: warn` the difference is reported, and stays. A change of the same field is a conflict.",
    );
    let warn = json!({"spec": {"drift": "warn"}});
    recorder.cluster.patch_plugin("config", &warn);
    recorder.cluster.patch_config_map("config", &edit);
    recorder.run_until("plugin show config", "Warning  Drifted");
    recorder.run("plugin diff config");
    recorder.run("plugin set config --set text=changed --wait");
    recorder.run("plugin set config --conflicts take --wait");
    recorder.run("plugin uninstall config --wait");
}

fn automatic_rollback(recorder: &mut Recorder) {
    recorder.section(
        "What is undone",
        "With `rollback: true` a failed upgrade returns to the previous revision. The plugin is not Ready, because it is\n\
         not as specified.",
    );
    recorder.run("plugin install -F careful.yaml --wait");
    recorder.run("plugin set careful --set simulate=never-ready --wait");
    recorder.run("plugin show careful");
    recorder.run("plugin history careful");
    recorder.run("plugin rollback careful --wait");
    recorder.run("plugin uninstall careful --wait");
}

fn repositories(recorder: &mut Recorder) {
    recorder.section(
        "Repositories",
        "A repository is an object of the cluster. `add` and `update` report what the controller read.",
    );
    recorder.run("repository add local ./charts");
    recorder.run("repository search web");
    recorder.run("repository add local ./charts");
    recorder.run("repository remove locl");
    recorder.run("repository remove local");
    recorder.run("repository add typo htps://charts.example.com");
    let free = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = free.local_addr().unwrap();
    drop(free);
    recorder.run(&format!("repository add stable http://{address}/charts"));
    recorder.run("repository update stable");
    recorder.run("repository list");
    recorder.run("repository remove stable");
    recorder.run("repository update stable");
}

fn removal(recorder: &mut Recorder) {
    recorder.section(
        "Remove",
        "Dependents come first. What stays is named: volumes, definitions, and objects that the chart keeps.",
    );
    recorder.run("plugin uninstall web");
    recorder.run("plugin uninstall web --cascade --wait");
    recorder.run("plugin install db ./charts/db --wait");
    recorder.run("plugin uninstall db --wait");
    recorder.run("plugin list");
}

/// All reasons of conditions and events, with their meaning.
fn reasons(recorder: &mut Recorder) {
    recorder.section(
        "Reasons of conditions",
        "Programs may compare reasons; messages are for people and may change.\n",
    );
    let rows = Reason::ALL.iter();
    let rows = rows.map(|reason| (reason.as_str(), reason.meaning()));
    recorder.table(rows);
    recorder.section("Reasons of events", "");
    let rows = EventReason::ALL.iter();
    let rows = rows.map(|reason| (reason.as_str(), reason.meaning()));
    recorder.table(rows);
}

#[test]
fn all_output_is_documented() {
    let mut recorder = Recorder::start();
    everyday(&mut recorder);
    failures(&mut recorder);
    waiting(&mut recorder);
    rejections(&mut recorder);
    health(&mut recorder);
    drift(&mut recorder);
    automatic_rollback(&mut recorder);
    repositories(&mut recorder);
    removal(&mut recorder);
    reasons(&mut recorder);
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/output.md");
    if std::env::var_os("UPDATE").is_some() {
        fs_err::create_dir_all(path.parent().unwrap()).unwrap();
        fs_err::write(&path, &recorder.document).unwrap();
    }
    let expected = fs_err::read_to_string(&path).unwrap_or_default();
    assert_eq!(
        recorder.document,
        expected,
        "UPDATE=1 rewrites {}",
        path.display()
    );
}

/// The reasons that a document of the conditions and events of real plugins must show. The others are in the tables only:
/// they need a broken network, another cluster, or a moment that passes.
#[test]
fn every_reason_is_in_the_document_and_the_common_ones_in_examples() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/output.md");
    let document = fs_err::read_to_string(path).unwrap();
    let (examples, tables) = document.split_once("## Reasons of conditions").unwrap();
    let conditions = Reason::ALL.iter().map(|reason| reason.as_str());
    let events = EventReason::ALL.iter().map(|reason| reason.as_str());
    for reason in conditions.chain(events) {
        assert!(tables.contains(&format!("`{reason}`")), "{reason}");
    }
    for reason in [
        "Fetched",
        "RenderFailed",
        "Drifted",
        "DriftCorrected",
        "RolledBack",
        "Progressing",
    ] {
        assert!(examples.contains(reason), "{reason}");
    }
}
