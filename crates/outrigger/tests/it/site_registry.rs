//! A registry of a site, with a private certificate authority and users, as the mirror of the controller.

use outrigger_testing::TestContext;
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use serde_json::json;

use crate::image::{AUTH, HTPASSWD, Registry, context, fails, succeeds};

/// Writes `ca.crt`, and a certificate of it for 127.0.0.1.
fn write_certificates(context: &TestContext) {
    let key = KeyPair::generate().unwrap();
    let mut authority = CertificateParams::new(Vec::new()).unwrap();
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let ca = authority.self_signed(&key).unwrap();
    let issuer = Issuer::new(authority, key);
    let key = KeyPair::generate().unwrap();
    let server = CertificateParams::new(vec!["127.0.0.1".to_owned()]).unwrap();
    let certificate = server.signed_by(&key, &issuer).unwrap();
    context.write("ca.crt", ca.pem()).unwrap();
    context.write("tls.crt", certificate.pem()).unwrap();
    context.write("tls.key", key.serialize_pem()).unwrap();
}

/// Writes the archive of a chart with an object.
fn write_chart(context: &TestContext) {
    let metadata = "apiVersion: v2\nname: web\nversion: 1.2.3\n";
    context.write("web/Chart.yaml", metadata).unwrap();
    let object = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\n";
    context.write("web/templates/a.yaml", object).unwrap();
    succeeds(context, &["chart", "package", "web"]);
}

/// A registry over TLS with the user of [`AUTH`], and the chart `web` where a mirror of all repositories has it.
fn start(context: &TestContext) -> Registry {
    write_certificates(context);
    context.write("users", HTPASSWD).unwrap();
    write_chart(context);
    let tls = ["--tls-cert", "tls.crt", "--tls-key", "tls.key"];
    let registry = Registry::start(context, &[&tls[..], &["--htpasswd", "users"]].concat());
    let docker = json!({"auths": {registry.address.as_str(): {"auth": AUTH}}});
    context.write("auth.json", docker.to_string()).unwrap();
    let target = format!("oci://{}/charts/charts.invalid/stable", registry.address);
    let push = ["chart", "push", "web-1.2.3.tgz", &target];
    succeeds(context, &[&push[..], &FILES].concat());
    registry
}

const FILES: [&str; 4] = ["--ca-file", "ca.crt", "--authfile", "auth.json"];

fn write_plugin(context: &TestContext, repo: &str) {
    let plugin = format!(
        "apiVersion: outrigger.dev/v1beta1\nkind: Plugin\nmetadata: {{name: web}}\nspec: {{repo: '{repo}', retries: 0}}\n"
    );
    context.write("plugins.yaml", plugin).unwrap();
}

fn up(context: &TestContext, flags: &[&str]) -> String {
    let up = ["up", "--plugins", "plugins.yaml", "--once"];
    context.run([&up[..], flags].concat()).unwrap()
}

#[test]
fn a_mirror_with_a_private_authority_and_users_serves_plugins() {
    let context = context();
    let registry = start(&context);
    write_plugin(&context, "https://charts.invalid/stable");
    let mirror = format!("*=oci://{}/charts", registry.address);
    let mirror = ["--chart-mirror", &mirror];
    let text = up(&context, &[&mirror[..], &FILES].concat());
    assert!(text.starts_with("exit code: 0"), "{text}");
    let text = up(&context, &mirror);
    assert!(text.contains("--ca-file"), "{text}");
    assert!(!text.contains("Secret"), "{text}");
    let text = up(&context, &[&mirror[..], &FILES[..2]].concat());
    assert!(text.contains("requires credentials"), "{text}");
    assert!(text.contains("--authfile"), "{text}");
}

#[test]
fn plugins_cannot_use_the_credentials_of_the_controller_for_servers_that_they_name() {
    let context = context();
    let registry = start(&context);
    let repo = format!("oci://{}/charts/charts.invalid/stable", registry.address);
    write_plugin(&context, &repo);
    let other = ["--auth-server", "other.invalid"];
    let text = up(&context, &[&FILES[..], &other].concat());
    assert!(text.starts_with("exit code: 1"), "{text}");
    assert!(text.contains("create a Repository"), "{text}");
    let own = ["--auth-server", &registry.address];
    let text = up(&context, &[&FILES[..], &own].concat());
    assert!(text.starts_with("exit code: 0"), "{text}");
}

#[test]
fn verify_finds_charts_of_plugins_that_the_registry_does_not_have() {
    let context = context();
    write_chart(&context);
    let source = Registry::start(&context, &[]);
    let repo = format!("oci://{}/stable", source.address);
    let from = ["--plain-http", source.address.as_str()];
    let push = ["chart", "push", "web-1.2.3.tgz", &repo];
    succeeds(&context, &[&push[..], &from].concat());
    write_plugin(&context, &repo);
    // The site is a path of the same registry.
    let site = format!("{}/site", source.address);
    let verify = [
        "image",
        "verify",
        "--plugins",
        "plugins.yaml",
        "--in",
        &site,
    ];
    let verify = [&verify[..], &from].concat();
    let text = fails(&context, 1, &verify);
    assert!(text.contains("charts/"), "{text}");
    let sync = ["image", "sync", "--plugins", "plugins.yaml", "--to", &site];
    let lock = ["--lock", "site.lock"];
    let text = succeeds(&context, &[&sync[..], &from, &lock].concat());
    assert!(text.contains("the lock has no charts"), "{text}");
    let text = succeeds(&context, &verify);
    assert!(text.contains("1 chart, none is missing"), "{text}");
    let save = [
        "image",
        "save",
        "--plugins",
        "plugins.yaml",
        "--to",
        "x.tar",
    ];
    let text = succeeds(&context, &[&save[..], &from].concat());
    assert!(text.contains("without the 1 chart"), "{text}");
}

#[test]
fn verify_without_credentials_says_how_to_log_in() {
    let context = context();
    let registry = start(&context);
    let verify = ["image", "verify", "org/a:1", "--in", &registry.address];
    let text = fails(&context, 1, &[&verify[..], &FILES[..2]].concat());
    assert!(text.contains("hint: log in with `docker login`"), "{text}");
    assert!(text.contains(".config/helm/registry"), "{text}");
    assert!(!text.contains("image sync"), "{text}");
}
