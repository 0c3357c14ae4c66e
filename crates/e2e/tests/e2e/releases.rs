//! Releases on a real API server that both Helm majors and we operate on in turn.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use anyhow::{Context as _, bail, ensure};
use k8s_openapi::api::core::v1::Namespace;
use kube::Api;
use kube::api::PostParams;
use outrigger_chart::{Chart, Profile, load_path};
use outrigger_release::{
    Action, Cluster, Options, Outcome, ReleaseId, RenderOptions, execute, load_history, observe,
    plan, render, uninstall,
};
use outrigger_testing::kubernetes::{self, RealKubernetes};
use outrigger_testing::peers::{HELM3, HELM4, Peer};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::sync::OnceCell;

/// The directory of the chart.
const CHART: &str = "chart";

const FILES: &[(&str, &str)] = &[
    (
        "Chart.yaml",
        "apiVersion: v2\nname: web\nversion: 1.0.0\nappVersion: '7'\ndescription: A chart for tests\n",
    ),
    (
        "values.yaml",
        "v: '0'\nextra: ''\nnested: {list: [a, b], number: 5}\n",
    ),
    (
        "templates/NOTES.txt",
        "Version {{ .Values.v }} at revision {{ .Release.Revision }}",
    ),
    ("templates/objects.yaml", OBJECTS),
    ("templates/hooks.yaml", HOOKS),
];

const OBJECTS: &str = "\
apiVersion: v1
kind: ConfigMap
metadata: {name: {{ .Release.Name }}-map}
data:
  v: {{ .Values.v | quote }}
{{- if .Values.extra }}
  extra: {{ .Values.extra | quote }}
{{- end }}
---
apiVersion: v1
kind: Secret
metadata: {name: {{ .Release.Name }}-secret}
stringData: {password: hunter2}
---
apiVersion: v1
kind: Service
metadata: {name: {{ .Release.Name }}}
spec:
  selector: {app: web}
  ports: [{port: 80, name: http}]
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: {{ .Release.Name }}}
spec:
  replicas: 0
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - name: web
        image: nginx:1
        resources: {limits: {cpu: 0.5, memory: 1024Mi}}
        ports: [{containerPort: 80}]
        env: [{name: A, value: b}]
";

const HOOKS: &str = "\
apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ .Release.Name }}-before
  annotations: {helm.sh/hook: 'pre-install,pre-upgrade', helm.sh/hook-delete-policy: 'before-hook-creation,hook-succeeded'}
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ .Release.Name }}-exam
  annotations: {helm.sh/hook: test, helm.sh/hook-delete-policy: 'before-hook-creation,hook-succeeded'}
";

/// The server of all these tests. It stops with their process.
static KUBERNETES: OnceCell<RealKubernetes> = OnceCell::const_new();

/// A namespace on a real server, one Helm major and a chart.
struct Fixture {
    kubernetes: &'static RealKubernetes,
    namespace: String,
    cluster: Cluster,
    helm: PathBuf,
    directory: TempDir,
    chart: Arc<Chart>,
}

impl Fixture {
    async fn open(helm: Peer, namespace: &str) -> anyhow::Result<Self> {
        Self::with(helm, namespace, FILES).await
    }

    async fn with(helm: Peer, namespace: &str, files: &[(&str, &str)]) -> anyhow::Result<Self> {
        let start = || RealKubernetes::start(kubernetes::Options::default());
        let kubernetes = KUBERNETES.get_or_try_init(start).await?;
        let directory = tempfile::tempdir()?;
        for (name, text) in files {
            let path = directory.path().join(CHART).join(name);
            fs_err::create_dir_all(path.parent().context("the path has no parent")?)?;
            fs_err::write(path, text)?;
        }
        let chart = load_path(&directory.path().join(CHART), Profile::Helm4, &mut |_| {})?;
        let fixture = Self {
            // Connections belong to the runtime of one test.
            cluster: Cluster::new(kubernetes.new_client().await?),
            kubernetes,
            namespace: format!("{namespace}-{}", helm.name),
            helm: helm.installed()?,
            directory,
            chart: Arc::new(chart),
        };
        fixture.create_namespace().await?;
        Ok(fixture)
    }

    async fn create_namespace(&self) -> anyhow::Result<()> {
        let namespaces: Api<Namespace> = Api::all(self.cluster.client().clone());
        let namespace = serde_json::from_value(json!({"metadata": {"name": self.namespace}}))?;
        namespaces
            .create(&PostParams::default(), &namespace)
            .await?;
        Ok(())
    }

    fn id(&self, name: &str) -> ReleaseId {
        ReleaseId::new(&self.namespace, name)
    }

    /// Runs Helm and returns its stdout.
    #[expect(clippy::disallowed_methods, reason = "this test runs a peer")]
    fn helm(&self, args: &[&str]) -> anyhow::Result<String> {
        let output = Command::new(&self.helm)
            .args(args)
            .arg("--kubeconfig")
            .arg(self.kubernetes.kubeconfig())
            .env("HELM_NAMESPACE", &self.namespace)
            .current_dir(self.directory.path())
            .env("HOME", self.directory.path())
            .output()?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        if !output.status.success() {
            let errors = String::from_utf8_lossy(&output.stderr);
            bail!("helm {}: {errors}\n{text}", args.join(" "));
        }
        Ok(text)
    }

    fn helm_json(&self, args: &[&str]) -> anyhow::Result<Value> {
        let text = self.helm(args)?;
        serde_json::from_str(&text).with_context(|| format!("helm {}: {text}", args.join(" ")))
    }

    async fn deploy(&self, id: &ReleaseId, values: &Value) -> anyhow::Result<Outcome> {
        let options = Options {
            create_namespace: true,
            ..Options::default()
        };
        let values = values.as_object().context("values are a map")?;
        let past = load_history(&self.cluster, id).await?;
        let rendering = RenderOptions::default();
        let desired = render(&self.cluster, &past, &self.chart, values, &rendering).await?;
        let observed = observe(&self.cluster, past, &desired).await?;
        let plan = plan(desired, observed, &options)?;
        Ok(execute(&self.cluster, plan, &options, &|_| {}).await?)
    }

    async fn get(&self, path: &str) -> anyhow::Result<Option<Value>> {
        let request = kube::core::Request::new(
            Path::new(path)
                .parent()
                .and_then(Path::to_str)
                .context("a path")?,
        );
        let name = path.rsplit('/').next().context("a path has a name")?;
        let request = request.get(name, &kube::api::GetParams::default())?;
        match self.cluster.client().request(request).await {
            Ok(object) => Ok(Some(object)),
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// An object of the core group in the namespace, by resource and name.
    async fn get_namespaced(&self, path: &str) -> anyhow::Result<Option<Value>> {
        let namespace = &self.namespace;
        self.get(&format!("/api/v1/namespaces/{namespace}/{path}"))
            .await
    }

    async fn data(&self, name: &str) -> anyhow::Result<Value> {
        let map = self.get_namespaced(&format!("configmaps/{name}")).await?;
        Ok(map.context("the ConfigMap does not exist")?["data"].clone())
    }

    /// The status and the revision of a release in `helm list`.
    fn listed(&self, name: &str) -> anyhow::Result<Option<(String, String)>> {
        let list = self.helm_json(&["list", "-o", "json"])?;
        let list = list.as_array().cloned().unwrap_or_default();
        let release = list.into_iter().find(|release| release["name"] == name);
        Ok(release.map(|release| {
            let text = |key: &str| release[key].as_str().unwrap_or_default().to_owned();
            (text("status"), text("revision"))
        }))
    }
}

fn state(status: &str, revision: &str) -> (String, String) {
    (status.to_owned(), revision.to_owned())
}

/// Runs the commands of Helm that read a release.
fn check_helm_reads(fixture: &Fixture) -> anyhow::Result<()> {
    assert_eq!(fixture.listed("ours")?, Some(state("deployed", "1")));
    let status = fixture.helm_json(&["status", "ours", "-o", "json"])?;
    assert_eq!(status["info"]["status"], "deployed");
    assert_eq!(status["info"]["description"], "Install complete");
    for (part, expected) in [
        ("notes", "Version 1 at revision 1"),
        ("hooks", "ours-exam"),
        ("manifest", "# Source: web/templates/objects.yaml"),
        ("all", "CHART: web"),
        ("metadata", "APP_VERSION: 7"),
    ] {
        let text = fixture.helm(&["get", part, "ours"])?;
        assert!(text.contains(expected), "{part}: {text}");
    }
    let values = fixture.helm_json(&["get", "values", "ours", "--all", "-o", "json"])?;
    assert_eq!(
        values,
        json!({"v": "1", "extra": "x", "nested": {"list": ["a", "b"], "number": 5}})
    );
    Ok(())
}

/// Runs all commands of Helm on a release that we installed.
async fn helm_operates_on_our_release(helm: Peer) -> anyhow::Result<()> {
    let fixture = Fixture::open(helm, "ours").await?;
    let id = fixture.id("ours");
    fixture
        .deploy(&id, &json!({"v": "1", "extra": "x"}))
        .await?;
    check_helm_reads(&fixture)?;
    fixture.helm(&["test", "ours"])?;

    fixture.deploy(&id, &json!({"v": "2"})).await?;
    assert_eq!(fixture.data("ours-map").await?, json!({"v": "2"}));
    let history = fixture.helm_json(&["history", "ours", "-o", "json"])?;
    let states: Vec<&str> = history
        .as_array()
        .context("a list")?
        .iter()
        .filter_map(|revision| revision["status"].as_str())
        .collect();
    assert_eq!(states, ["superseded", "deployed"]);
    fixture.helm(&["rollback", "ours", "1"])?;
    assert_eq!(fixture.listed("ours")?, Some(state("deployed", "3")));
    assert_eq!(
        fixture.data("ours-map").await?,
        json!({"v": "1", "extra": "x"})
    );

    let outcome = fixture.deploy(&id, &json!({"v": "4"})).await?;
    assert_eq!((outcome.action, outcome.revision), (Action::Upgrade, 4));
    assert_eq!(fixture.data("ours-map").await?, json!({"v": "4"}));
    fixture.helm(&[
        "upgrade",
        "ours",
        CHART,
        "--reuse-values",
        "--set",
        "extra=y",
    ])?;
    assert_eq!(
        fixture.data("ours-map").await?,
        json!({"v": "4", "extra": "y"})
    );
    // Helm 3 changed the ConfigMap client-side, so its fields are converted once more.
    let values = json!({"v": "4", "extra": "y"});
    let outcome = fixture.deploy(&id, &values).await?;
    ensure!(outcome.changed <= 1, "{outcome:?}");
    let outcome = fixture.deploy(&id, &values).await?;
    assert_eq!(outcome.action, Action::Nothing, "{outcome:?}");
    fixture.helm(&["uninstall", "ours"])?;
    assert_eq!(fixture.listed("ours")?, None);
    let map = fixture.get_namespaced("configmaps/ours-map").await?;
    ensure!(map.is_none(), "the ConfigMap still exists");
    ensure!(load_history(&fixture.cluster, &id).await?.is_empty());
    Ok(())
}

/// Upgrades, rolls back and uninstalls a release that Helm installed.
async fn we_operate_on_a_release_of_helm(helm: Peer) -> anyhow::Result<()> {
    let fixture = Fixture::open(helm, "theirs").await?;
    let id = fixture.id("theirs");
    fixture.helm(&[
        "install",
        "theirs",
        CHART,
        "--set",
        "extra=x",
        "--set-string",
        "v=1",
    ])?;
    assert_eq!(
        fixture.data("theirs-map").await?,
        json!({"v": "1", "extra": "x"})
    );
    let outcome = fixture.deploy(&id, &json!({"v": "2"})).await?;
    assert_eq!((outcome.action, outcome.revision), (Action::Upgrade, 2));
    // The field that is no longer desired is removed, although Helm 3 set it client-side.
    assert_eq!(fixture.data("theirs-map").await?, json!({"v": "2"}));
    assert_eq!(fixture.listed("theirs")?, Some(state("deployed", "2")));
    let again = fixture.deploy(&id, &json!({"v": "2"})).await?;
    assert_eq!(again.action, Action::Nothing, "{again:?}");
    let options = Options::default();
    let back = outrigger_release::rollback(&fixture.cluster, &id, None, &options, &|_| {}).await?;
    assert_eq!(back.revision, 3);
    assert_eq!(
        fixture.data("theirs-map").await?,
        json!({"v": "1", "extra": "x"})
    );
    assert_eq!(fixture.listed("theirs")?, Some(state("deployed", "3")));
    uninstall(&fixture.cluster, &id, &[], &options, &|_| {}).await?;
    assert_eq!(fixture.listed("theirs")?, None);
    let secret = fixture.get_namespaced("secrets/theirs-secret").await?;
    ensure!(secret.is_none(), "the Secret still exists");
    Ok(())
}

/// Removes fields that differ between two equal objects.
fn masked(mut object: Value) -> Value {
    let Some(metadata) = object["metadata"].as_object_mut() else {
        return object;
    };
    for key in [
        "uid",
        "resourceVersion",
        "creationTimestamp",
        "generation",
        "namespace",
    ] {
        metadata.remove(key);
    }
    if let Some(annotations) = metadata
        .get_mut("annotations")
        .and_then(Value::as_object_mut)
    {
        annotations.remove("meta.helm.sh/release-namespace");
    }
    let managers = metadata
        .get_mut("managedFields")
        .and_then(Value::as_array_mut);
    for manager in managers.into_iter().flatten() {
        if let Some(manager) = manager.as_object_mut() {
            manager.remove("time");
        }
    }
    if let Some(object) = object.as_object_mut() {
        object.remove("status");
    }
    for key in ["clusterIP", "clusterIPs"] {
        if object["spec"].get(key).is_some() {
            object["spec"][key] = Value::Null;
        }
    }
    object
}

#[tokio::test]
async fn helm_3_operates_on_our_releases() -> anyhow::Result<()> {
    helm_operates_on_our_release(HELM3).await
}

#[tokio::test]
async fn helm_4_operates_on_our_releases() -> anyhow::Result<()> {
    helm_operates_on_our_release(HELM4).await
}

#[tokio::test]
async fn we_operate_on_releases_of_helm_3() -> anyhow::Result<()> {
    we_operate_on_a_release_of_helm(HELM3).await
}

#[tokio::test]
async fn we_operate_on_releases_of_helm_4() -> anyhow::Result<()> {
    we_operate_on_a_release_of_helm(HELM4).await
}

#[tokio::test]
async fn our_objects_equal_those_of_helm_4_including_managed_fields() -> anyhow::Result<()> {
    let fixture = Fixture::open(HELM4, "same").await?;
    fixture
        .deploy(&ReleaseId::new("one", "web"), &json!({"v": "1"}))
        .await?;
    fixture.helm(&[
        "install",
        "web",
        CHART,
        "-n",
        "two",
        "--create-namespace",
        "--set-string",
        "v=1",
    ])?;
    for path in [
        "api/v1/namespaces/NS/configmaps/web-map",
        "api/v1/namespaces/NS/secrets/web-secret",
        "api/v1/namespaces/NS/services/web",
        "apis/apps/v1/namespaces/NS/deployments/web",
    ] {
        let read = async |namespace: &str| -> anyhow::Result<Value> {
            let path = format!("/{}", path.replace("NS", namespace));
            let mut object = masked(
                fixture
                    .get(&path)
                    .await?
                    .context("the object does not exist")?,
            );
            // Controllers write their fields asynchronously.
            if let Some(managers) = object["metadata"]["managedFields"].as_array_mut() {
                managers.retain(|manager| manager["manager"] == "helm");
            }
            if let Some(annotations) = object["metadata"]["annotations"].as_object_mut() {
                annotations.remove("deployment.kubernetes.io/revision");
            }
            Ok(object)
        };
        assert_eq!(read("one").await?, read("two").await?, "{path}");
    }
    let namespace = async |name: &str| -> anyhow::Result<Value> {
        let namespace = fixture.get(&format!("/api/v1/namespaces/{name}")).await?;
        Ok(namespace.context("the object does not exist")?["metadata"]["labels"]["name"].clone())
    };
    assert_eq!(namespace("one").await?, "one");
    assert_eq!(namespace("two").await?, "two");
    Ok(())
}

/// A chart with an alias, a condition, a tag and imported values.
const UMBRELLA: &[(&str, &str)] = &[
    (
        "Chart.yaml",
        "\
apiVersion: v2
name: umbrella
version: 1.0.0
dependencies:
  - {name: part, version: 1.0.0, alias: first, import-values: [common, {child: deep.er, parent: taken}]}
  - {name: part, version: 1.0.0, alias: second, condition: second.enabled}
  - {name: part, version: 1.0.0, tags: [rare]}
",
    ),
    ("values.yaml", "own: 1\nsecond: {enabled: false}\nfirst: {size: 2}\ntags: {rare: true}\n"),
    (
        "templates/map.yaml",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: {{ .Release.Name }}}\n",
    ),
    ("charts/part/Chart.yaml", "apiVersion: v2\nname: part\nversion: 1.0.0\n"),
    (
        "charts/part/values.yaml",
        "size: 1\ncolour: red\nratio: 2.0\nexports: {common: {shared: yes}}\ndeep: {er: {most: 1.5}}\n",
    ),
];

/// Helm reports the same values and dependencies for our release as for its own.
async fn helm_reports_the_same_subcharts(helm: Peer) -> anyhow::Result<()> {
    let fixture = Fixture::with(helm, "subcharts", UMBRELLA).await?;
    for (case, values) in [
        json!({}),
        json!({"second": {"enabled": true, "size": 9}, "tags": {"rare": false}}),
        json!({"first": null, "own": 2}),
    ]
    .iter()
    .enumerate()
    {
        let (ours, theirs) = (format!("ours-{case}"), format!("theirs-{case}"));
        fixture.deploy(&fixture.id(&ours), values).await?;
        let file = fixture.directory.path().join("values.json");
        fs_err::write(&file, values.to_string())?;
        let file = file.to_str().context("the path is not UTF-8")?;
        fixture.helm(&["install", &theirs, CHART, "-f", file])?;
        let all = |name: &str| fixture.helm_json(&["get", "values", name, "--all", "-o", "json"]);
        assert_eq!(all(&ours)?, all(&theirs)?, "values of {values}");
        let dependencies = |name: &str| -> anyhow::Result<Value> {
            let metadata = fixture.helm_json(&["get", "metadata", name, "-o", "json"])?;
            Ok(metadata["dependencies"].clone())
        };
        let (ours, theirs) = (dependencies(&ours)?, dependencies(&theirs)?);
        assert!(theirs.is_array(), "helm reports no dependencies: {theirs}");
        assert_eq!(ours, theirs, "dependencies of {values}");
    }
    Ok(())
}

#[tokio::test]
async fn helm_3_reports_the_same_subcharts_for_our_releases() -> anyhow::Result<()> {
    helm_reports_the_same_subcharts(HELM3).await
}

#[tokio::test]
async fn helm_4_reports_the_same_subcharts_for_our_releases() -> anyhow::Result<()> {
    helm_reports_the_same_subcharts(HELM4).await
}

/// Text that hardly compresses.
fn noise(characters: usize) -> String {
    let mut state = 7_u64;
    let letters = (0..characters).map(|_| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        char::from(b'!' + u8::try_from(state >> 58).unwrap_or_default())
    });
    letters.collect()
}

/// Lists and uninstalls a release whose record does not fit into one Secret, which Helm cannot install.
async fn helm_uninstalls_a_large_release(helm: Peer) -> anyhow::Result<()> {
    let mut fixture = Fixture::open(helm, "large").await?;
    let chart = Arc::get_mut(&mut fixture.chart).context("the chart is shared")?;
    for name in ["one", "two"] {
        let map = json!({
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": format!("large-{name}")},
            "data": {"text": noise(640_000).replace(['{', '}'], "-")},
        });
        let file = format!("templates/{name}.yaml");
        chart
            .templates
            .push(outrigger_chart::File::new(file, map.to_string()));
    }
    fixture
        .deploy(&fixture.id("large"), &json!({"v": "1"}))
        .await?;
    let parts = "secrets/sh.helm.release.v1.large.v1.part0";
    ensure!(
        fixture.get_namespaced(parts).await?.is_some(),
        "the record has no parts"
    );
    assert_eq!(fixture.listed("large")?, Some(state("deployed", "1")));
    fixture.helm(&["status", "large"])?;
    fixture.helm(&["get", "values", "large"])?;
    fixture.helm(&["uninstall", "large"])?;
    for map in ["large-map", "large-one", "large-two"] {
        let path = format!("configmaps/{map}");
        ensure!(
            fixture.get_namespaced(&path).await?.is_none(),
            "{map} still exists"
        );
    }
    let gone = async {
        while fixture.get_namespaced(parts).await?.is_some() {
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
        anyhow::Ok(())
    };
    tokio::time::timeout(std::time::Duration::from_secs(30), gone).await??;
    Ok(())
}

#[tokio::test]
async fn helm_3_lists_and_uninstalls_a_release_over_one_mebibyte() -> anyhow::Result<()> {
    helm_uninstalls_a_large_release(HELM3).await
}

#[tokio::test]
async fn helm_4_lists_and_uninstalls_a_release_over_one_mebibyte() -> anyhow::Result<()> {
    helm_uninstalls_a_large_release(HELM4).await
}
