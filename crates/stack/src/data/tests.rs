//! What data plugins contribute, in kube-aws' form and in ours, through the whole pipeline.

use outrigger_model::construct::Component;
use outrigger_model::{Placement, Scope};
use serde_json::json;

use super::*;
use crate::configuration::Configuration;
use crate::pipeline::{Initialised, Outcome, Pipeline};

/// Every field of kube-aws' `plugin.yaml`.
const KUBE_AWS: &str = r#"
metadata:
  name: my-agent
  version: 0.1.0
  description: An agent
  clusterSettingsKey: agent
  nodePoolSettingKey: poolAgent
spec:
  cluster:
    values:
      image: "agent:{{ .Config.clusterName }}"
      port: 80
      skip: true
      sha: ""
    cloudformation:
      stacks:
        root: {outputs: {content: '{"RootOut": {"Value": "r", "Description": "d", "Export": {"Name": "n"}}}'}, tags: {content: '{"Tags":[{"Key":"a","Value":"b","PropagateAtLaunch":"true"}]}'}}
        network: {resources: {source: {path: network.json.tmpl}}}
        controlPlane: {resources: {content: '{"Policy": {"Type": "AWS::IAM::ManagedPolicy"}}'}, patches: [{resource: Policy, path: [Properties, Path], operation: {set: /}}]}
        etcd: {parameters: {content: '{"P": {"Type": "String", "Default": "x"}}'}}
        nodePool: {tags: {content: '{"pool": "{{ .NodePool }}"}'}}
        additional: {Extra: {resources: {content: '{"Topic": {"Type": "AWS::SNS::Topic"}}'}}}
    kubernetes:
      apiserver:
        flags: [{name: oidc-issuer-url, value: "https://{{ .Config.ClusterName }}:{{ .Values.port }}"}]
        volumes: [{name: dex, path: /etc/dex, readOnly: true}]
      controllerManager: {flags: [{name: v, value: 2}]}
      kubeScheduler: {flags: [{name: v, value: 3}]}
      kubelet: {flags: [{name: v, value: 4}]}
      kubeProxy: {config: {mode: ipvs}}
      manifests:
      - source: {path: manifests/all.yaml}
    helm:
      releases:
      - {name: dex, chart: dex, version: 1.2.3, repository: "https://charts", values: {image: "{{ .Values.image }}"}, valuesFrom: [{secret: {name: dex}, targetPath: a.b}]}
    machine:
      roles:
        controller:
          files:
          - {path: /etc/a, permissions: 0600, content: "{{ .Values.image }}"}
          - {path: /opt/tool, type: binary, permissions: 0755, source: {path: tool.bin}}
          - {path: /etc/key, type: credential, source: {path: key}}
          - {path: /etc/cert, source: {cert: agent}}
          - {path: /etc/cert-key, source: {key: agent}}
          - {path: /opt/download, source: {url: "https://x/y", sha256: "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"}}
          iam: {policy: {statements: [{actions: ["s3:GetObject"], effect: Allow, resources: ["arn:aws:s3:::{{ .Config.clusterName }}/*"]}]}}
          kubelet: {nodeLabels: {tier: gold}, kubeconfig: /etc/k, mounts: [/var/lib/x]}
        worker:
          systemd: {units: [{name: agent.service, content: "[Service]\nExecStart=/agent {{ .Values.port }}\n", dropIns: [{name: a.conf, content: x}]}]}
          kubelet: {featureGates: {A: "true"}, taints: [{key: gpu, effect: NoSchedule}]}
          kernelSettings: {net.ipv4.ip_forward: 1}
        etcd: {files: [{path: /etc/e, template: e}]}
    pki:
      keypairs:
      - {name: agent, commonName: "{{ .Config.clusterName }}", organization: o, duration: 8760h, dnsNames: ["{{ .Config.clusterName }}.x"], ipAddresses: [127.0.0.1], usages: [server]}
    s3: {files: [{path: a.txt, content: s}]}
"#;

fn write_plugin(root: &std::path::Path, name: &str, yaml: &str) -> std::path::PathBuf {
    let folder = root.join(name);
    fs_err::create_dir_all(folder.join("manifests")).unwrap();
    fs_err::write(folder.join("plugin.yaml"), yaml).unwrap();
    fs_err::write(
        folder.join("network.json.tmpl"),
        "\"Bucket\": {\"Type\": \"AWS::S3::Bucket\"},",
    )
    .unwrap();
    fs_err::write(folder.join("tool.bin"), b"\x7fELF{{").unwrap();
    let manifests = "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {p: \"{{ .Values.port }}\"}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: b}\n";
    fs_err::write(folder.join("manifests/all.yaml"), manifests).unwrap();
    folder
}

fn initialise(plugins: &[&str], cluster: &str) -> Outcome<Initialised> {
    let root = tempfile::tempdir().unwrap();
    let plugins = plugins.iter().enumerate().map(|(position, yaml)| {
        let folder = write_plugin(root.path(), &format!("p{position}"), yaml);
        load(Folder::Disk(folder), Origin::User).unwrap()
    });
    let configuration = Configuration::parse(cluster.as_bytes()).unwrap();
    Pipeline::new(configuration, plugins.collect(), &[])
        .unwrap()
        .initialise()
}

const CLUSTER: &str = "
clusterName: demo
plugins: {agent: {enabled: true, port: 0}}
nodePools: [{name: one}, {name: two, plugins: {myAgent: {port: 9}}}, {name: none, plugins: {myAgent: {enabled: false}}}]
";

#[test]
fn every_field_of_a_kube_aws_plugin_is_wired() {
    let outcome = initialise(&[KUBE_AWS], CLUSTER);
    assert_eq!(outcome.findings, []);
    let model = outcome.output.unwrap().model;
    let counts = [
        model.additional_stacks.entries().count(),
        model.resources.entries().count(),
        model.outputs.entries().count(),
        model.parameters.entries().count(),
        model.tags.entries().count(),
        model.patches.entries().count(),
        model.units.entries().count(),
        model.drop_ins.entries().count(),
        model.files.entries().count(),
        model.kernel_settings.entries().count(),
        model.flags.entries().count(),
        model.volumes.entries().count(),
        model.component_settings.entries().count(),
        model.node_labels.entries().count(),
        model.node_taints.entries().count(),
        model.iam_statements.entries().count(),
        model.key_pairs.entries().count(),
        model.manifests.entries().count(),
        model.helm_releases.entries().count(),
        model.s3_files.entries().count(),
    ];
    assert_eq!(
        counts,
        [1, 3, 1, 1, 3, 1, 2, 2, 7, 2, 7, 2, 5, 1, 2, 1, 1, 2, 1, 1]
    );
}

#[test]
fn templates_are_rendered_with_the_values_of_their_scope() {
    let model = initialise(&[KUBE_AWS], CLUSTER).output.unwrap().model;
    let flag = model
        .flags
        .in_cluster("kube-apiserver --oidc-issuer-url")
        .unwrap();
    assert_eq!(flag.value, "https://demo:0");
    let units = |pool: &str| {
        let placement = Placement::Worker(pool.parse().unwrap());
        let units = model
            .units
            .for_placement(&placement)
            .map(|entry| entry.value.content.clone().unwrap());
        units.collect::<Vec<_>>()
    };
    assert_eq!(units("one"), ["[Service]\nExecStart=/agent 0\n"]);
    assert_eq!(units("two"), ["[Service]\nExecStart=/agent 9\n"]);
    assert_eq!(units("none"), Vec::<String>::new());
    let release = model.helm_releases.in_cluster("kube-system/dex").unwrap();
    assert_eq!(release.values["image"], "agent:demo");
    let file = model.files.get("/etc/a").next().unwrap();
    assert_eq!(
        (file.value.mode, &file.scope),
        (0o600, &Scope::Role(outrigger_model::Role::Controller))
    );
    assert_eq!(
        model.manifests.entries().next().unwrap().value.object["data"]["p"],
        "0"
    );
}

#[test]
fn kubelet_flags_reach_exactly_the_machines_for_which_the_plugin_is_enabled() {
    let model = initialise(&[KUBE_AWS], CLUSTER).output.unwrap().model;
    let has_flag = |placement: &Placement| {
        model
            .flags
            .for_placement(placement)
            .any(|entry| entry.value.component == Component::Kubelet && entry.value.name == "v")
    };
    assert!(has_flag(&Placement::Controller));
    assert!(has_flag(&Placement::Worker("one".parse().unwrap())));
    assert!(!has_flag(&Placement::Worker("none".parse().unwrap())));
}

#[test]
fn a_plugin_of_one_pool_contributes_its_worker_part_and_warns_about_the_rest() {
    let cluster = "clusterName: demo\nnodePools: [{name: one, plugins: {agent: {enabled: true}}}]";
    let outcome = initialise(&[KUBE_AWS], cluster);
    assert_eq!(outcome.findings.len(), 1);
    assert!(
        outcome.findings[0]
            .message
            .starts_with("is enabled for node pools only")
    );
    let model = outcome.output.unwrap().model;
    assert_eq!(model.units.entries().count(), 1);
    assert!(model.manifests.is_empty());
}

#[test]
fn two_plugins_with_one_path_are_both_named() {
    let plugin = |name: &str| {
        format!(
            "metadata: {{name: {name}, version: '1'}}\nspec: {{cluster: {{machine: {{roles: {{etcd: {{files: [{{path: /etc/x, content: a}}]}}}}}}}}}}"
        )
    };
    let (one, two) = (plugin("one"), plugin("two"));
    let outcome = initialise(
        &[&one, &two],
        "clusterName: a\nplugins: {one: {enabled: true}, two: {enabled: true}}",
    );
    let messages: Vec<&str> = outcome
        .findings
        .iter()
        .map(|finding| finding.message.as_str())
        .collect();
    assert_eq!(
        messages,
        ["file /etc/x: claimed by plugin one (role/etcd) and by plugin two (role/etcd)"]
    );
    assert!(outcome.output.is_none());
}

/// The message about a plugin with this spec.
fn finding(spec: &str) -> String {
    let yaml = format!("metadata: {{name: bad, version: '1'}}\nspec: {spec}");
    let outcome = initialise(&[&yaml], "clusterName: a\nplugins: {bad: {enabled: true}}");
    assert!(outcome.output.is_none());
    outcome.findings[0].message.clone()
}

#[test]
fn bad_sources_and_templates_are_findings_of_the_plugin() {
    let file = |file: &str| {
        finding(&format!(
            "{{cluster: {{machine: {{roles: {{etcd: {{files: [{file}]}}}}}}}}}}"
        ))
    };
    assert_eq!(
        file("{path: /a, source: {path: ../x}}"),
        "initialise: \"../x\" is outside of the plugin's folder"
    );
    assert_eq!(
        file("{path: /a, source: {path: gone}}"),
        "initialise: \"gone\" does not exist in the plugin's folder"
    );
    assert_eq!(
        file("{path: /a, source: {url: 'https://x'}}"),
        "initialise: /a: the download https://x has no sha256"
    );
    assert!(file("{path: /a, content: '{{ .Values.gone }}'}").contains("map has no entry for key"));
    assert!(file("{path: a, content: x}").contains("the path is not absolute"));
    assert_eq!(
        file("{path: /a}"),
        "initialise: /a: has no content, template or source"
    );
}

#[test]
fn unknown_fields_are_errors_with_suggestions() {
    let root = tempfile::tempdir().unwrap();
    let error = |yaml: &str| {
        load(
            Folder::Disk(write_plugin(root.path(), "p", yaml)),
            Origin::User,
        )
        .unwrap_err()
        .to_string()
    };
    let unknown = error(
        "metadata: {name: a, version: '1'}\nspec: {cluster: {kubernetes: {apiserver: {flag: []}}}}",
    );
    assert!(unknown.ends_with("did you mean \"flags\"?"), "{unknown}");
    assert_eq!(
        error("metadata: {name: a, version: ''}"),
        "plugin.yaml: metadata.version is empty"
    );
    assert_eq!(
        error("metadata: {name: A/b, version: '1'}"),
        "metadata.name of plugin.yaml"
    );
}

#[test]
fn unknown_values_are_findings_with_suggestions() {
    let outcome = initialise(
        &[KUBE_AWS],
        "clusterName: a\nplugins: {agent: {enabled: true, prot: 1}}",
    );
    assert_eq!(
        outcome.findings[0].message,
        "unknown value prot, did you mean \"port\"?"
    );
}

#[test]
fn an_executable_adds_to_the_data_of_its_plugin() {
    use std::os::unix::fs::PermissionsExt as _;
    let root = tempfile::tempdir().unwrap();
    let yaml = "metadata: {name: p, version: '1'}\nspec: {executable: {command: [run.sh]}, cluster: {machine: {roles: {etcd: {files: [{path: /a, content: a}]}}}}}";
    let folder = root.path().join("p");
    fs_err::create_dir(&folder).unwrap();
    let program = folder.join("run.sh");
    let response = json!({
        "values": {"token": "abc"},
        "findings": [{"severity": "warning", "message": "deprecated"}],
        "contributions": [{"scope": "role/etcd", "file": {"path": "/b", "content": {"text": "b"}}}],
    });
    fs_err::write(&program, format!("#!/bin/sh\ncat <<'X'\n{response}\nX\n")).unwrap();
    fs_err::set_permissions(&program, std::fs::Permissions::from_mode(0o700)).unwrap();
    fs_err::write(folder.join("plugin.yaml"), yaml).unwrap();
    let plugin = load(Folder::Disk(folder), Origin::User).unwrap();
    let configuration =
        Configuration::parse(b"clusterName: a\nplugins: {p: {enabled: true}}").unwrap();
    let outcome = Pipeline::new(configuration, vec![plugin], &[])
        .unwrap()
        .initialise();
    assert_eq!(outcome.findings, [Finding::warning("p", "deprecated")]);
    let initialised = outcome.output.unwrap();
    assert_eq!(initialised.model.files.entries().count(), 2);
    assert_eq!(initialised.configuration["plugins"]["p"]["token"], "abc");
}
