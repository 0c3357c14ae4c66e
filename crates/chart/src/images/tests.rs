//! Tests of the image finder.

use super::*;

#[track_caller]
fn check(content: &str, expected: &[(&str, &str, Origin)]) {
    let mut uses = BTreeSet::new();
    find_in_manifest(content, "c/templates/x.yaml", &mut uses);
    let images: Vec<(&str, &str, Origin)> = uses
        .iter()
        .map(|image| (image.image.as_str(), image.field.as_str(), image.origin))
        .collect();
    assert_eq!(images, expected);
}

#[test]
fn finds_containers_in_any_kind() {
    check(
        "apiVersion: batch/v1\nkind: CronJob\nmetadata: {name: x}\nspec:\n  jobTemplate:\n    spec:\n      template:\n        spec:\n          initContainers: [{image: busybox}]\n          containers: [{image: 'quay.io/a/b:1'}]\n          ephemeralContainers: [{image: debug:2}]\n          volumes: [{name: v, image: {reference: 'r.io/data:3'}}]\n",
        &[
            (
                "busybox",
                "spec.jobTemplate.spec.template.spec.initContainers[0].image",
                Origin::Container,
            ),
            (
                "debug:2",
                "spec.jobTemplate.spec.template.spec.ephemeralContainers[0].image",
                Origin::Container,
            ),
            (
                "quay.io/a/b:1",
                "spec.jobTemplate.spec.template.spec.containers[0].image",
                Origin::Container,
            ),
            (
                "r.io/data:3",
                "spec.jobTemplate.spec.template.spec.volumes[0].image.reference",
                Origin::Volume,
            ),
        ],
    );
}

#[test]
fn finds_fields_of_custom_resources() {
    check(
        "apiVersion: monitoring.coreos.com/v1\nkind: Prometheus\nmetadata: {name: x}\nspec:\n  image: quay.io/prometheus/prometheus:v3\n  thanos: {baseImage: 'https://not/an/image'}\n  sidecar:\n    image: {registry: ghcr.io, repository: a/b, tag: 1.5, digest: ''}\n  containers: [{name: c, image: extra:1}]\n",
        &[
            ("extra:1", "spec.containers[0].image", Origin::Container),
            ("ghcr.io/a/b:1.5", "spec.sidecar.image", Origin::Field),
            (
                "quay.io/prometheus/prometheus:v3",
                "spec.image",
                Origin::Field,
            ),
        ],
    );
}

#[test]
fn finds_full_references_in_arguments_and_variables() {
    check(
        "apiVersion: v1\nkind: Pod\nmetadata: {name: x}\nspec:\n  containers:\n  - image: op:1\n    args: ['--reloader=quay.io/op/reloader:v1', '--listen=0.0.0.0:80', '--url=https://a.b/c:1']\n    env: [{name: RELATED_IMAGE, value: 'docker.io/a/b@sha256:00'}, {name: HOST, value: 'a.svc:80'}]\n",
        &[
            (
                "docker.io/a/b@sha256:00",
                "spec.containers[0].env[0].value",
                Origin::Argument,
            ),
            ("op:1", "spec.containers[0].image", Origin::Container),
            (
                "quay.io/op/reloader:v1",
                "spec.containers[0].args[0]",
                Origin::Argument,
            ),
        ],
    );
}

#[test]
fn finds_images_whose_argument_or_variable_says_so() {
    check(
        "apiVersion: v1\nkind: Pod\nmetadata: {name: x}\nspec:\n  containers:\n  - image: op:1\n    args: ['--agent-image', 'org/agent:2', '--logo-image=a/logo.png', '--name=a:1']\n    command: [sh, -c, 'run --image=quay.io/a/b:3 now']\n    env: [{name: SIDECAR_IMAGE, value: 'org/sidecar:1'}, {name: IMAGE_PULL_POLICY, value: Always}, {name: IMAGE, value: plain}]\n",
        &[
            ("op:1", "spec.containers[0].image", Origin::Container),
            (
                "org/agent:2",
                "spec.containers[0].args[1]",
                Origin::Argument,
            ),
            (
                "org/sidecar:1",
                "spec.containers[0].env[0].value",
                Origin::Argument,
            ),
            (
                "quay.io/a/b:3",
                "spec.containers[0].command[2]",
                Origin::Text,
            ),
        ],
    );
}

#[test]
fn finds_images_in_texts_and_annotations() {
    check(
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: x\n  annotations: {a.io/proxyImage: 'org/proxy:1', note: 'see quay.io/a/b:2', image: none}\ndata:\n  image: 'a/b:1'\n  helperPod.yaml: |\n    kind: Pod\n    spec:\n      containers:\n      - image: busybox\n",
        &[
            ("a/b:1", "data.image", Origin::Text),
            ("busybox", "data.helperPod.yaml", Origin::Text),
            (
                "org/proxy:1",
                "metadata.annotations.a.io/proxyImage",
                Origin::Annotation,
            ),
            (
                "quay.io/a/b:2",
                "metadata.annotations.note",
                Origin::Annotation,
            ),
        ],
    );
    check(
        "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: x}\nspec: {schema: {image: {default: 'quay.io/a/b:1', description: 'such as quay.io/c/d:1'}}}\n",
        &[("quay.io/a/b:1", "spec.schema.image.default", Origin::Text)],
    );
}

#[test]
fn finds_images_that_operators_derive() {
    check(
        "apiVersion: kibana.k8s.elastic.co/v1\nkind: Kibana\nmetadata: {name: x}\nspec: {version: 8.1.0}\n",
        &[(
            "docker.elastic.co/kibana/kibana:8.1.0",
            "spec.version",
            Origin::Rule,
        )],
    );
    check(
        "apiVersion: pingcap.com/v1alpha1\nkind: TidbCluster\nmetadata: {name: x}\nspec: {version: v6.5.0, pd: {baseImage: pingcap/pd}}\n",
        &[("pingcap/pd:v6.5.0", "spec.pd.baseImage", Origin::Field)],
    );
}

#[test]
fn searches_lists() {
    check(
        "apiVersion: v1\nkind: List\nitems: [{apiVersion: v1, kind: Pod, metadata: {name: y}, spec: {containers: [{image: a}]}}]\n",
        &[("a", "spec.containers[0].image", Origin::Container)],
    );
}
