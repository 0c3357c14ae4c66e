//! The core and the add-ons, through the whole pipeline.

use outrigger_model::{Model, Owner};
use serde_json::json;

use super::*;
use crate::catalog;
use crate::configuration::Configuration;
use crate::finding::Finding;
use crate::pipeline::{Deliver, Initialised, Outcome, Pipeline};
use crate::stage::Rendered;
use crate::stage_files::{read_initialised, read_rendered, write_initialised, write_rendered};

const BASE: &str = "clusterName: demo\nregion: eu-west-1\ns3URI: s3://bucket/prefix\nkmsKeyArn: arn:aws:kms:eu-west-1:1:key/k\n";
const POOLS: &str = "nodePools: [{name: general}, {name: gpu-large, plugins: {nodePool: {instanceType: p3.2xlarge, labels: {gpu: nvidia}}}}]\n";

fn pipeline(plugins: &str) -> Pipeline {
    let yaml = format!("{BASE}{POOLS}plugins:\n{plugins}");
    let configuration = Configuration::parse(yaml.as_bytes()).unwrap();
    Pipeline::new(configuration, catalog::load(&[]).unwrap(), &[]).unwrap()
}

fn initialise(plugins: &str) -> Outcome<Initialised> {
    pipeline(plugins).initialise()
}

#[track_caller]
fn render(plugins: &str) -> (Model, Rendered) {
    let pipeline = pipeline(plugins);
    let initialised = pipeline.initialise();
    let messages: Vec<String> = initialised
        .findings
        .iter()
        .map(ToString::to_string)
        .collect();
    let initialised = initialised
        .output
        .unwrap_or_else(|| panic!("{messages:#?}"));
    let rendered = pipeline.render(&initialised);
    let messages: Vec<String> = rendered.findings.iter().map(ToString::to_string).collect();
    (
        initialised.model,
        rendered.output.unwrap_or_else(|| panic!("{messages:#?}")),
    )
}

/// The fatal messages of initialise and render.
fn fatal_of(pipeline: &Pipeline) -> Vec<String> {
    let initialised = pipeline.initialise();
    let mut findings = initialised.findings;
    if let Some(output) = &initialised.output {
        findings.extend(pipeline.render(output).findings);
    }
    let fatal = findings.into_iter().filter(Finding::is_fatal);
    fatal.map(|finding| finding.to_string()).collect()
}

fn fatal(plugins: &str) -> Vec<String> {
    fatal_of(&pipeline(plugins))
}

fn template<'a>(rendered: &'a Rendered, name: &str) -> &'a Value {
    &rendered
        .templates
        .iter()
        .find(|template| template.name == name)
        .unwrap()
        .body
}

fn file<'a>(rendered: &'a Rendered, path: &str) -> &'a str {
    let file = rendered
        .files
        .iter()
        .find(|file| file.path.starts_with(path));
    &file
        .unwrap_or_else(|| {
            panic!(
                "{path}: {:?}",
                rendered
                    .files
                    .iter()
                    .map(|file| &file.path)
                    .collect::<Vec<_>>()
            )
        })
        .content
}

/// The text of a file in the Ignition of a machine.
fn machine_file(rendered: &Rendered, machine: &str, path: &str) -> String {
    use base64::Engine as _;
    let stub: Value =
        serde_json::from_str(file(rendered, &format!("user-data/{machine}"))).unwrap();
    let is_moved = stub["ignition"]["config"].is_object();
    let full = if is_moved {
        file(rendered, &format!("s3/user-data/{machine}-"))
    } else {
        file(rendered, &format!("user-data/{machine}"))
    };
    let ignition: Value = serde_json::from_str(full).unwrap();
    let found = ignition["storage"]["files"]
        .as_array()
        .unwrap()
        .iter()
        .find(|file| file["path"] == path);
    let source =
        found.unwrap_or_else(|| panic!("{path} is not on {machine}"))["contents"]["source"]
            .as_str()
            .unwrap();
    let bytes = base64::prelude::BASE64_STANDARD
        .decode(source.strip_prefix("data:;base64,").unwrap())
        .unwrap();
    String::from_utf8(bytes).unwrap()
}

#[test]
fn the_default_cluster_has_a_template_for_each_stack() {
    let (_, rendered) = render("  {}");
    let names: Vec<&str> = rendered
        .templates
        .iter()
        .map(|template| template.name.as_str())
        .collect();
    assert_eq!(
        names,
        [
            "control-plane",
            "etcd",
            "network",
            "node-pool-general",
            "node-pool-gpu-large",
            "root"
        ]
    );
    let root = template(&rendered, "root");
    assert_eq!(
        root["Resources"]["NodePoolgpuXlarge"]["Type"],
        "AWS::CloudFormation::Stack"
    );
    let subnets = &root["Resources"]["ControlPlane"]["Properties"]["Parameters"]["Subnets"];
    assert_eq!(
        *subnets,
        json!({"Fn::GetAtt": ["Network", "Outputs.Subnets"]})
    );
    let instance_type = |pool: &str| {
        template(&rendered, pool)["Resources"]["LaunchTemplate"]["Properties"]["LaunchTemplateData"]
            ["InstanceType"]
            .clone()
    };
    assert_eq!(instance_type("node-pool-general"), "t3.medium");
    assert_eq!(instance_type("node-pool-gpu-large"), "p3.2xlarge");
}

#[test]
fn rendering_twice_and_from_files_gives_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let pipeline = pipeline("  dex: {enabled: true, issuer: 'https://dex'}");
    let initialised = pipeline.initialise().output.unwrap();
    let path = folder.path().join("initialise");
    write_initialised(&path, &initialised).unwrap();
    let read = read_initialised(&path).unwrap();
    assert_eq!(read, initialised);
    let rendered = pipeline.render(&read).output.unwrap();
    assert_eq!(pipeline.render(&initialised).output.unwrap(), rendered);
    let path = folder.path().join("render");
    for _ in 0..2 {
        write_rendered(&path, &rendered).unwrap();
    }
    let mut read = read_rendered(&path).unwrap();
    read.files.sort_by(|one, other| one.path.cmp(&other.path));
    assert_eq!(read, rendered);
    fs_err::write(path.join("templates/root.json"), "{}").unwrap();
    assert!(
        read_rendered(&path)
            .unwrap_err()
            .to_string()
            .contains("was changed")
    );
}

#[test]
fn large_user_data_is_moved_to_the_bucket_by_digest() {
    let rendered = render_large("");
    let stub = file(&rendered, "user-data/controller");
    assert!(stub.len() <= 16 << 10);
    let moved = rendered
        .files
        .iter()
        .find(|file| file.path.starts_with("s3/user-data/controller-"))
        .unwrap();
    let digest = crate::stage_files::sha256(moved.content.as_bytes());
    assert!(moved.path.ends_with(&digest));
    assert!(stub.contains(&format!("sha256-{digest}")));
}

#[test]
fn dex_sets_flags_and_installs_a_chart_with_secrets_by_reference() {
    let (model, rendered) = render("  dex: {enabled: true, issuer: 'https://dex.example.com'}");
    let pod = machine_file(
        &rendered,
        "controller",
        "/etc/kubernetes/manifests/kube-apiserver.yaml",
    );
    assert!(
        pod.contains("--oidc-issuer-url=https://dex.example.com\n"),
        "{pod}"
    );
    let release = file(&rendered, "releases/dex/dex-dex.yaml");
    assert!(release.contains("kind: Plugin\n") && release.contains("kind: Secret\n"));
    assert_eq!(model.helm_releases.entries().count(), 1);
}

#[test]
fn kube2iam_adds_permissions_and_a_chart() {
    let (_, rendered) = render("  kube2iam: {enabled: true}");
    let policy =
        template(&rendered, "node-pool-general")["Resources"]["Role"]["Properties"]["Policies"][0]
            .to_string();
    assert!(
        policy.contains("sts:AssumeRole") && policy.contains("role/demo-pod-*"),
        "{policy}"
    );
    let etcd =
        template(&rendered, "etcd")["Resources"]["Role"]["Properties"]["Policies"][0].to_string();
    assert!(!etcd.contains("sts:AssumeRole"));
    assert!(file(&rendered, "releases/kube2iam/").contains("chart: kube2iam"));
}

#[test]
fn the_bastion_is_a_stack_of_its_own_in_the_network() {
    let (_, rendered) =
        render("  bastion: {enabled: true, allowedCIDR: 192.0.2.0/24, keyName: me}");
    assert!(
        template(&rendered, "additional-Bastion")
            .to_string()
            .contains("192.0.2.0/24")
    );
    let parameters =
        &template(&rendered, "root")["Resources"]["Bastion"]["Properties"]["Parameters"];
    assert_eq!(
        parameters["VpcId"],
        json!({"Fn::GetAtt": ["Network", "Outputs.VpcId"]})
    );
}

#[test]
fn the_agent_runs_on_all_machines_outside_of_kubernetes() {
    let sha = "a".repeat(64);
    let (_, rendered) = render(&format!(
        "  monitoringAgent: {{enabled: true, url: 'https://x/agent', sha256: {sha}}}"
    ));
    for machine in ["etcd", "controller", "worker-general", "worker-gpu-large"] {
        let all: Vec<&str> = rendered
            .files
            .iter()
            .filter(|file| file.path.contains(machine))
            .map(|file| file.content.as_str())
            .collect();
        assert!(
            all.iter()
                .any(|content| content.contains("monitoring-agent.service")
                    && content.contains(&format!("sha256-{sha}"))),
            "{machine}"
        );
    }
}

#[test]
fn autoscaler_tags_reach_the_pools_and_all_add_ons_work_together() {
    let sha = "a".repeat(64);
    let all = format!(
        "  clusterAutoscaler: {{enabled: true}}\n  dashboard: {{enabled: true}}\n  rescheduler: {{enabled: true}}\n  kube2iam: {{enabled: true}}\n  dex: {{enabled: true, issuer: 'https://d'}}\n  bastion: {{enabled: true, allowedCIDR: 192.0.2.0/24, keyName: me}}\n  monitoringAgent: {{enabled: true, url: 'https://x/a', sha256: {sha}}}"
    );
    let (_, rendered) = render(&all);
    let tags =
        template(&rendered, "node-pool-general")["Resources"]["Workers"]["Properties"]["Tags"]
            .to_string();
    assert!(tags.contains("k8s.io/cluster-autoscaler/enabled"), "{tags}");
    let warnings: Vec<_> = initialise(&all)
        .findings
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(warnings.len(), 2, "{warnings:?}");
}

#[test]
fn a_disabled_plugin_leaves_nothing_behind() {
    let without = render("  {}").1;
    let with = render("  dex: {enabled: true, issuer: 'https://d'}").1;
    assert_ne!(without, with);
    assert_eq!(
        render("  dex: {enabled: false, issuer: 'https://d'}").1,
        without
    );
}

#[test]
fn contradicting_flags_and_overlapping_networks_are_fatal() {
    assert_eq!(
        fatal("  network: {podCIDR: 10.0.0.0/16}"),
        ["fatal: network: vpcCIDR 10.0.0.0/16 overlaps podCIDR 10.0.0.0/16"]
    );
    assert_eq!(
        fatal("  apiServer: {authorizationMode: AlwaysAllow}"),
        [
            "fatal: api-server: plugin api-server sets --authorization-mode=AlwaysAllow, which allows everything to everyone"
        ]
    );
    assert_eq!(
        fatal("  etcd: {count: 2}"),
        ["fatal: etcd: count is 2; use an odd number up to 9"]
    );
    assert_eq!(
        fatal("  dex: {enabled: true}"),
        ["fatal: dex: value /issuer: '' does not match pattern '^https://'"]
    );
    assert_eq!(
        fatal("  etcd: {cuont: 3}")[0],
        "fatal: etcd: unknown value cuont, did you mean \"count\"?"
    );
}

/// A pipeline with a user's plugin in a folder of its own, with this spec.
fn pipeline_with(spec: &str, plugins: &str) -> Pipeline {
    let root = tempfile::tempdir().unwrap();
    fs_err::create_dir(root.path().join("mine")).unwrap();
    fs_err::write(
        root.path().join("mine/plugin.yaml"),
        format!("metadata: {{name: mine, version: '1'}}\nspec: {{cluster: {spec}}}"),
    )
    .unwrap();
    let yaml = format!("{BASE}{POOLS}plugins:\n  mine: {{enabled: true}}\n{plugins}");
    let configuration = Configuration::parse(yaml.as_bytes()).unwrap();
    Pipeline::new(
        configuration,
        catalog::load(&[root.path().to_owned()]).unwrap(),
        &[],
    )
    .unwrap()
}

/// The output for controllers with a file of 20 KiB.
fn render_large(plugins: &str) -> Rendered {
    let text = "x".repeat(20 << 10);
    let pipeline = pipeline_with(
        &format!(
            "{{machine: {{roles: {{controller: {{files: [{{path: /etc/large, content: {text}}}]}}}}}}}}"
        ),
        plugins,
    );
    let initialised = pipeline.initialise().output.unwrap();
    pipeline.render(&initialised).output.unwrap()
}

/// The fatal messages about a user's plugin.
fn fatal_with(spec: &str) -> Vec<String> {
    fatal_of(&pipeline_with(spec, ""))
}

#[test]
fn users_plugins_patch_the_core_within_limits() {
    let patch = |patch: &str| {
        fatal_with(&format!(
            "{{cloudformation: {{stacks: {{network: {{patches: [{patch}]}}}}}}}}"
        ))
    };
    assert_eq!(
        patch("{resource: Vpc, path: [Properties, InstanceTenancy], operation: {set: dedicated}}"),
        Vec::<String>::new()
    );
    assert_eq!(
        patch("{resource: Vpcc, path: [Properties, X], operation: {set: 1}}"),
        [
            "fatal: mine: patch network/Vpcc of plugin mine (cluster): resource network/Vpcc does not exist"
        ]
    );
    assert_eq!(
        patch(
            "{resource: Vpc, path: [Metadata, 'AWS::CloudFormation::Init'], operation: {set: {}}}"
        ),
        ["fatal: mine: patches the init metadata of Vpc, which is reserved"]
    );
    assert_eq!(
        patch("{resource: Vpc, path: [Properties, CidrBlock], operation: {append: [1]}}"),
        ["fatal: cloudformation: patch of Vpc by plugin mine: Properties.CidrBlock is not a list"]
    );
}

#[test]
fn wildcards_cycles_secrets_and_reserved_names_are_fatal() {
    let role = |role: &str| fatal_with(&format!("{{machine: {{roles: {{controller: {role}}}}}}}"));
    assert_eq!(
        role("{iam: {policy: {statements: [{actions: ['sts:AssumeRole'], resources: ['*']}]}}}"),
        [
            "fatal: mine: asks for action \"sts:AssumeRole\" on resource \"*\" (role/controller); add it to policy.allowWildcardIam to allow this"
        ]
    );
    assert_eq!(
        role(
            "{systemd: {units: [{name: a.service, content: \"[Unit]\\nAfter=b.service\"}, {name: b.service, content: \"[Unit]\\nAfter=a.service\"}]}}"
        ),
        [
            "fatal: mine: units start after each other on role/controller: a.service (mine) -> b.service (mine) -> a.service (mine)"
        ]
    );
    assert_eq!(
        role("{kubelet: {nodeLabels: {node-role.kubernetes.io/x: y}}}"),
        ["fatal: mine: node label node-role.kubernetes.io/x is reserved for Kubernetes"]
    );
    let secret = fatal_with(
        "{kubernetes: {manifests: [{name: s, content: '{apiVersion: v1, kind: Secret, metadata: {name: s}, stringData: {a: b}}'}]}}",
    );
    assert!(secret[0].contains("has a Secret with data"), "{secret:?}");
    let flag =
        fatal_with("{kubernetes: {apiserver: {flags: [{name: authorization-mode, value: RBAC}]}}}");
    assert_eq!(
        flag,
        [
            "fatal: api-server: flag kube-apiserver --authorization-mode: claimed by plugin api-server (cluster) and by plugin mine (cluster)"
        ]
    );
    let removed =
        fatal_with("{kubernetes: {apiserver: {flags: [{name: insecure-port, value: 8080}]}}}");
    assert_eq!(
        removed,
        [
            "fatal: api-server: flag --insecure-port of plugin mine does not exist in current API servers"
        ]
    );
    let both = fatal_with(
        "{kubernetes: {apiserver: {flags: [{name: disable-admission-plugins, value: NodeRestriction}]}}}",
    );
    assert_eq!(
        both,
        [
            "fatal: api-server: admission plugin NodeRestriction is enabled by plugin api-server and disabled by plugin mine"
        ]
    );
}

#[test]
fn the_order_follows_dependencies() {
    let pipeline = pipeline("  {}");
    let order: Vec<&str> = pipeline
        .plugins()
        .map(|plugin| plugin.metadata.name.as_str())
        .collect();
    assert_eq!(
        order,
        [
            "iam",
            "network",
            "etcd",
            "api-server",
            "control-plane",
            "kubelet",
            "node-pool",
            "user-data",
            "cloudformation"
        ]
    );
    assert!(order.iter().all(|name| name.parse::<Owner>().is_ok()));
}

struct Fake(Vec<String>);

impl Deliver for Fake {
    fn deliver(
        &mut self,
        stack_name: &str,
        rendered: &Rendered,
    ) -> Result<Map<String, Value>, Finding> {
        if stack_name.is_empty() {
            return Err(Finding::fatal("", "the stack is in ROLLBACK_FAILED"));
        }
        self.0.extend(
            rendered
                .templates
                .iter()
                .map(|template| template.name.clone()),
        );
        Ok(Map::from_iter([(
            "stackName".to_owned(),
            json!(stack_name),
        )]))
    }
}

#[test]
fn deploy_delivers_first_and_stops_at_a_fatal_finding() {
    let pipeline = pipeline("  {}");
    let initialised = pipeline.initialise().output.unwrap();
    let rendered = pipeline.render(&initialised).output.unwrap();
    let mut fake = Fake(Vec::new());
    let deployed = pipeline
        .deploy(&initialised, &rendered, "demo", &mut fake)
        .output
        .unwrap();
    assert_eq!(deployed.details["stackName"], "demo");
    assert_eq!(fake.0.len(), rendered.templates.len());
    assert_eq!(pipeline.validate(&initialised, &rendered, &deployed), []);
    let failed = pipeline.deploy(&initialised, &rendered, "", &mut fake);
    assert!(failed.output.is_none());
}

#[test]
fn cloud_config_has_the_same_files() {
    let (_, rendered) = render("  userData: {format: cloud-config}");
    let worker = file(&rendered, "user-data/worker-general");
    assert!(
        worker.starts_with("#cloud-config\n")
            && worker.contains("path: /etc/kubernetes/kubelet.yaml"),
        "{worker}"
    );
    let rendered = render_large("  userData: {format: cloud-config}");
    let controller = file(&rendered, "user-data/controller");
    assert!(controller.starts_with("#!/bin/sh") && controller.contains("sha256sum -c"));
}

#[test]
fn rendered_files_have_no_secrets() {
    let (_, rendered) = render("  {}");
    let worker = file(&rendered, "user-data/worker-general");
    assert!(!worker.contains("-key.pem\""));
    let all: String = rendered
        .files
        .iter()
        .map(|file| file.content.as_str())
        .collect();
    assert!(!all.contains("PRIVATE KEY"));
}

#[test]
fn addresses_in_certificates_are_not_dns_names() {
    let (model, _) = render("  {}");
    let server = model.key_pairs.in_cluster("etcd-server").unwrap();
    assert_eq!(server.ip_addresses.len(), 3);
    assert!(server.dns_names.iter().all(|name| name.starts_with("ip-")));
    let server = model.key_pairs.in_cluster("apiserver").unwrap();
    assert_eq!(server.ip_addresses.first().unwrap().to_string(), "10.3.0.1");
}
