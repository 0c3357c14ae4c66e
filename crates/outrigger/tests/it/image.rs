//! Images and charts with a registry of our own.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Stdio};
use std::sync::mpsc;

use outrigger_oci::{Digest, OCI_CONFIG, OCI_MANIFEST};
use outrigger_testing::TestContext;
use serde_json::{Value, json};

pub(crate) fn context() -> TestContext {
    TestContext::new(env!("CARGO_BIN_EXE_outrigger")).unwrap()
}

/// `ann:hunter2`, as `htpasswd -B` writes it, and as Docker's configuration has it.
pub(crate) const HTPASSWD: &str =
    "ann:$2b$04$swkJo2sgo/sOEugpQFOEouvONlPdWSbe9cIynho8MCDP9HRvfSh3S\n";
pub(crate) const AUTH: &str = "YW5uOmh1bnRlcjI=";

/// A registry in another process, which ends with the test.
pub(crate) struct Registry {
    process: Child,
    pub(crate) address: String,
}

impl Registry {
    pub(crate) fn start(context: &TestContext, flags: &[&str]) -> Self {
        let serve = [
            "registry",
            "serve",
            "--data",
            "registry",
            "--listen",
            "127.0.0.1:0",
        ];
        let mut command = context.command([&serve[..], flags].concat());
        let command = command.stdout(Stdio::piped()).stderr(Stdio::null());
        let mut process = command.spawn().unwrap();
        let mut line = String::new();
        let stdout = process.stdout.as_mut().unwrap();
        BufReader::new(stdout).read_line(&mut line).unwrap();
        let address = line.trim().split_once("://").unwrap().1.to_owned();
        Self { process, address }
    }
}

impl Drop for Registry {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[track_caller]
pub(crate) fn succeeds(context: &TestContext, args: &[&str]) -> String {
    let text = context.run(args.iter().copied()).unwrap();
    assert!(text.starts_with("exit code: 0\n"), "{args:?}: {text}");
    text
}

#[track_caller]
pub(crate) fn fails(context: &TestContext, code: u8, args: &[&str]) -> String {
    let text = context.run(args.iter().copied()).unwrap();
    let expected = format!("exit code: {code}\n");
    assert!(text.starts_with(&expected), "{args:?}: {text}");
    text
}

/// Writes an archive of `docker save` with one image.
fn write_archive(context: &TestContext, file: &str, name: &str, layer: &str) {
    let config = json!({
        "os": "linux", "architecture": "amd64",
        "rootfs": {"type": "layers", "diff_ids": [Digest::of(layer.as_bytes()).to_string()]},
    });
    let manifest = json!([{"Config": "c.json", "RepoTags": [name], "Layers": ["layer.tar"]}]);
    let mut builder = tar::Builder::new(Vec::new());
    for (path, content) in [
        ("layer.tar", layer.to_owned()),
        ("c.json", config.to_string()),
        ("manifest.json", manifest.to_string()),
    ] {
        let mut header = tar::Header::new_gnu();
        header.set_size(content.len() as u64);
        header.set_mode(0o644);
        builder
            .append_data(&mut header, path, content.as_bytes())
            .unwrap();
    }
    context.write(file, builder.into_inner().unwrap()).unwrap();
}

fn write_chart(context: &TestContext) {
    let metadata = "apiVersion: v2\nname: web\nversion: 1.2.3\n";
    context.write("web/Chart.yaml", metadata).unwrap();
    context.write("web/templates/a.yaml", "a: 1\n").unwrap();
    succeeds(context, &["chart", "package", "web"]);
}

#[test]
fn charts_of_repositories_and_registries_are_pulled_with_the_same_credentials() {
    let context = context();
    context.write("users", HTPASSWD).unwrap();
    write_chart(&context);
    let registry = Registry::start(&context, &["--htpasswd", "users"]);
    let address = registry.address.as_str();
    let docker = json!({"auths": {address: {"auth": AUTH}}});
    context.write("auth.json", docker.to_string()).unwrap();
    context.write(".docker/empty", "").unwrap();
    let (oci, http) = (
        format!("oci://{address}/charts"),
        format!("http://{address}"),
    );
    let (chart, plain) = (format!("{oci}/web"), ["--plain-http", address]);
    let login = ["--username", "ann", "--password", "hunter2"];
    let file = ["--authfile", "auth.json"];
    let push = ["chart", "push", "web-1.2.3.tgz", &oci];
    let text = fails(&context, 1, &[&push[..], &plain].concat());
    assert!(text.contains("requires credentials"), "{text}");
    assert!(
        text.contains("hint: log in with `docker login`, or pass --username"),
        "{text}"
    );
    succeeds(&context, &[&push[..], &plain, &login].concat());
    for pull in [
        &["chart", "show", "chart", &chart][..],
        &["chart", "show", "chart", "web", "--repo", &http],
        &["chart", "template", "x", "web", "--repo", &http],
        &["chart", "images", &chart],
        &["chart", "pull", "web", "--repo", &http, "-d", "pulled"],
        &["repository", "search", "--url", &http, "web"],
        &["image", "list", "--chart", &chart],
    ] {
        // Images are of several servers.
        let has_one_server = !pull.contains(&"list");
        let text = fails(&context, 1, &[pull, &plain].concat());
        assert!(text.contains("requires credentials"), "{text}");
        assert!(text.contains("hint: log in with `docker login`"), "{text}");
        succeeds(&context, &[pull, &plain, &file].concat());
        if has_one_server {
            succeeds(&context, &[pull, &plain, &login].concat());
        }
    }
    context
        .write(".docker/config.json", docker.to_string())
        .unwrap();
    succeeds(
        &context,
        &["chart", "pull", "web", "--repo", &http, "-d", "pulled"],
    );
    let wrong = ["--username", "ann", "--password", "wrong"];
    let pull = ["chart", "pull", "web", "--repo", &http];
    let text = fails(&context, 1, &[&pull[..], &wrong].concat());
    assert!(text.contains("rejected the credentials"), "{text}");
    assert!(!text.contains("hunter2"), "{text}");
}

#[test]
fn the_password_is_read_from_stdin_and_dependencies_get_it() {
    let context = context();
    context.write("users", HTPASSWD).unwrap();
    write_chart(&context);
    let registry = Registry::start(&context, &["--htpasswd", "users"]);
    let http = format!("http://{}", registry.address);
    let run = |args: &[&str]| {
        let args = [args, &["--username", "ann", "--password-stdin"]].concat();
        let mut command = context.command(args.iter().copied());
        let mut process = command
            .stdin(Stdio::piped())
            .stderr(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let mut stdin = process.stdin.take().unwrap();
        stdin.write_all(b"hunter2\n").unwrap();
        drop(stdin);
        let output = process.wait_with_output().unwrap();
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{args:?}: {errors}");
    };
    let oci = format!("oci://{}/charts", registry.address);
    let plain = ["--plain-http", registry.address.as_str()];
    run(&[&["chart", "push", "web-1.2.3.tgz", &oci], &plain[..]].concat());
    let parent = format!(
        "apiVersion: v2\nname: shop\nversion: 1.0.0\ndependencies:\n- {{name: web, version: ^1, repository: '{http}'}}\n"
    );
    context.write("shop/Chart.yaml", parent).unwrap();
    run(&["chart", "dependency", "update", "shop"]);
    assert!(
        context
            .directory()
            .join("shop/charts/web-1.2.3.tgz")
            .exists()
    );
}

#[test]
fn credentials_are_not_sent_over_plain_http_unless_the_user_allows_it() {
    let context = context();
    let login = ["--username", "ann", "--password", "hunter2"];
    let pull = ["chart", "pull", "web", "--repo", "http://charts.invalid"];
    let text = fails(&context, 1, &[&pull[..], &login].concat());
    let expected = "Error: credentials are not sent to http://charts.invalid/ over plain HTTP\nhint: use https://, or allow it with --plain-http charts.invalid\n";
    assert!(text.contains(expected), "{text}");
}

#[test]
fn the_url_of_a_registry_is_never_ignored() {
    let context = context();
    write_archive(&context, "a.tar", "quay.io/org/a:1", "layer");
    let registry = Registry::start(&context, &[]);
    let (address, url) = (
        registry.address.as_str(),
        format!("http://{}/", registry.address),
    );
    let load = ["image", "load", "a.tar", "--to", address];
    succeeds(&context, &[&load[..], &["--plain-http", &url]].concat());
    let text = fails(&context, 2, &["image", "load", "a.tar", "--to", &url]);
    let hint = format!("--plain-http {address} reaches it over plain HTTP");
    assert!(text.contains(&hint), "{text}");
    let text = fails(
        &context,
        1,
        &["image", "inspect", &format!("{address}/org/a:1")],
    );
    assert!(
        text.contains("caused by: the server does not speak TLS"),
        "{text}"
    );
    for wrong in [
        &["image", "verify", "a:1", "--in", "https://r.local"][..],
        &["image", "inspect", "a:1", "--plain-http", "https://r.local"],
        &[
            "image",
            "inspect",
            "a:1",
            "--registry-mirror",
            "*=http://r.local",
        ],
        &["serve", "--image-registry", "https://r.local"],
        &["serve", "--plain-http", "https://r.local"],
        &["up", "--image-registry", "http://r.local"],
        &[
            "plugin",
            "install",
            "a",
            "./a",
            "--image-registry",
            "oci://r.local",
        ],
    ] {
        let text = fails(&context, 2, wrong);
        assert!(text.contains("r.local"), "{wrong:?}: {text}");
    }
}

#[test]
fn a_tag_that_moved_since_it_was_locked_is_found() {
    let context = context();
    let registry = Registry::start(&context, &[]);
    let address = registry.address.as_str();
    let plain = ["--plain-http", address];
    let load = |layer: &str| {
        write_archive(&context, "a.tar", &format!("{address}/org/a:1"), layer);
        let load = ["image", "load", "a.tar", "--to", address];
        succeeds(&context, &[&load[..], &plain].concat());
    };
    load("first");
    let image = format!("{address}/org/a:1");
    let sync = [
        "image",
        "sync",
        &image,
        "--to",
        address,
        "--lock",
        "images.lock",
    ];
    succeeds(&context, &[&sync[..], &plain].concat());
    let by_name = [
        "image",
        "verify",
        &image,
        "--lock",
        "images.lock",
        "--in",
        address,
    ];
    let by_lock = [
        "image",
        "verify",
        "--from-lock",
        "images.lock",
        "--in",
        address,
    ];
    for verify in [&by_name[..], &by_lock] {
        succeeds(&context, &[verify, &plain].concat());
    }
    let lock = fs_err::read_to_string(context.directory().join("images.lock")).unwrap();
    let lock: Value = serde_json::from_str(&lock).unwrap();
    let locked = lock["images"][&image].as_str().unwrap();
    load("second");
    for verify in [&by_name[..], &by_lock] {
        let text = fails(&context, 1, &[verify, &plain].concat());
        assert!(
            text.contains(&format!("{image} has digest sha256:")),
            "{text}"
        );
        assert!(
            text.contains(&format!("but images.lock has {locked}")),
            "{text}"
        );
    }
}

#[test]
fn an_image_for_another_platform_is_not_saved() {
    let context = context();
    let registry = Registry::start(&context, &[]);
    let address = registry.address.as_str();
    write_archive(&context, "a.tar", "quay.io/org/a:1", "layer");
    let load = [
        "image",
        "load",
        "a.tar",
        "--to",
        address,
        "--plain-http",
        address,
    ];
    let text = fails(
        &context,
        1,
        &[&load[..], &["--platform", "linux/arm64"]].concat(),
    );
    assert!(
        text.contains("has no image for linux/arm64; it has linux/amd64"),
        "{text}"
    );
    succeeds(&context, &load);
    let image = format!("{address}/org/a:1");
    let text = succeeds(
        &context,
        &["image", "inspect", &image, "--plain-http", address],
    );
    assert!(text.contains("   linux/amd64   "), "{text}");
    let save = [
        "image",
        "save",
        &image,
        "--to",
        "b.tar",
        "--plain-http",
        address,
    ];
    let text = fails(
        &context,
        1,
        &[&save[..], &["--platform", "linux/arm64"]].concat(),
    );
    assert!(
        text.contains("has no image for linux/arm64; it has linux/amd64"),
        "{text}"
    );
    assert!(!context.directory().join("b.tar").exists());
    succeeds(
        &context,
        &[&save[..], &["--platform", "linux/amd64"]].concat(),
    );
}

#[test]
fn images_are_saved_to_what_the_name_says() {
    let context = context();
    for name in ["images", "images.zip", "-"] {
        let text = fails(&context, 2, &["image", "save", "a:1", "--to", name]);
        let expected = format!("Error: {name} is neither a folder nor the name of an archive\n");
        assert!(text.contains(&expected), "{text}");
        assert!(
            text.contains(&format!("hint: use {name}/ for an OCI layout")),
            "{text}"
        );
    }
    let registry = Registry::start(&context, &[]);
    let address = registry.address.as_str();
    write_archive(&context, "a.tar", "quay.io/org/a:1", "layer");
    let plain = ["--plain-http", address];
    let load = ["image", "load", "a.tar", "--to", address];
    succeeds(&context, &[&load[..], &plain].concat());
    fs_err::create_dir(context.directory().join("there")).unwrap();
    let image = format!("{address}/org/a:1");
    for (name, file) in [
        ("there", "there/index.json"),
        ("new/", "new/index.json"),
        ("b.tar.gz", "b.tar.gz"),
    ] {
        let save = ["image", "save", &image, "--to", name];
        succeeds(&context, &[&save[..], &plain].concat());
        assert!(context.directory().join(file).is_file(), "{file}");
        let load = ["image", "load", name, "--to", address];
        succeeds(&context, &[&load[..], &plain].concat());
    }
}

/// A registry that sends the beginning of a layer, and then nothing. Says when it does.
fn silent_registry() -> (String, mpsc::Receiver<()>) {
    let config = json!({"os": "linux", "architecture": "amd64"}).to_string();
    let descriptor = |kind: &str, content: &str, size: usize| json!({"mediaType": kind, "digest": Digest::of(content.as_bytes()).to_string(), "size": size});
    let manifest = json!({
        "schemaVersion": 2, "mediaType": OCI_MANIFEST,
        "config": descriptor(OCI_CONFIG, &config, config.len()),
        "layers": [descriptor("application/vnd.oci.image.layer.v1.tar", "layer", 1 << 20)],
    })
    .to_string();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        for connection in listener.incoming().flatten() {
            let (sender, config, manifest) = (sender.clone(), config.clone(), manifest.clone());
            std::thread::spawn(move || answer(connection, &config, &manifest, &sender));
        }
    });
    (address, receiver)
}

fn answer(mut connection: TcpStream, config: &str, manifest: &str, sender: &mpsc::Sender<()>) {
    let mut reader = BufReader::new(connection.try_clone().unwrap());
    let layer = Digest::of(b"layer").to_string();
    let config_digest = Digest::of(config.as_bytes()).to_string();
    loop {
        let mut request = String::new();
        if reader.read_line(&mut request).unwrap_or(0) == 0 {
            return;
        }
        let mut line = String::new();
        while reader.read_line(&mut line).unwrap_or(0) > 2 {
            line.clear();
        }
        let (status, kind, body, length) = if request.contains("/manifests/1 ") {
            ("200 OK", OCI_MANIFEST, manifest, manifest.len())
        } else if request.contains(&config_digest) {
            ("200 OK", "application/json", config, config.len())
        } else if request.contains(&layer) {
            ("200 OK", "application/octet-stream", "begin", 1 << 20)
        } else {
            ("404 Not Found", "text/plain", "", 0)
        };
        let head = format!(
            "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n\r\n"
        );
        let sent = connection.write_all(format!("{head}{body}").as_bytes());
        if body == "begin" {
            let _ = sender.send(());
            // Until the client goes away.
            let _ = reader.read(&mut [0]);
            return;
        }
        if sent.is_err() {
            return;
        }
    }
}

fn count(folder: &Path) -> usize {
    fs_err::read_dir(folder).map_or(0, Iterator::count)
}

#[test]
fn an_interrupted_save_leaves_no_file() {
    let context = context();
    let (address, stalled) = silent_registry();
    let image = format!("{address}/app:1");
    let folder = context.directory().join("saved");
    fs_err::create_dir(&folder).unwrap();
    for signal in [rustix::process::Signal::TERM, rustix::process::Signal::INT] {
        let save = [
            "image",
            "save",
            &image,
            "--to",
            "saved/a.tar",
            "--plain-http",
            &address,
        ];
        let mut command = context.command(save);
        let mut process = command.stderr(Stdio::piped()).spawn().unwrap();
        stalled.recv().unwrap();
        let pid = i32::try_from(process.id()).unwrap();
        let pid = rustix::process::Pid::from_raw(pid).unwrap();
        rustix::process::kill_process(pid, signal).unwrap();
        let status = process.wait().unwrap();
        let mut errors = String::new();
        process.stderr.unwrap().read_to_string(&mut errors).unwrap();
        assert_eq!(status.code(), Some(1), "{errors}");
        assert_eq!(errors, "Error: interrupted; nothing was written\n");
        assert_eq!(count(&folder), 0);
    }
}

#[test]
fn collection_says_what_it_keeps_and_why() {
    let context = context();
    let registry = Registry::start(&context, &[]);
    let address = registry.address.as_str();
    for layer in ["first", "second"] {
        write_archive(&context, "a.tar", "quay.io/org/a:1", layer);
        let load = ["image", "load", "a.tar", "--to", address];
        succeeds(&context, &[&load[..], &["--plain-http", address]].concat());
    }
    let gc = ["registry", "gc", "--data", "registry"];
    let text = succeeds(&context, &[&gc[..], &["--dry-run"]].concat());
    assert!(
        text.contains("would remove   0           0       0         0 B"),
        "{text}"
    );
    assert!(text.contains("a tag refers to it"), "{text}");
    assert!(text.contains("--untagged removes them"), "{text}");
    let text = succeeds(
        &context,
        &[&gc[..], &["--untagged", "--grace", "0s", "-o", "json"]].concat(),
    );
    let json = text.split("----- stdout -----\n").nth(1).unwrap();
    let json = json.split("----- stderr -----").next().unwrap();
    let summary: Value = serde_json::from_str(json).unwrap();
    assert_eq!(summary["dryRun"], false);
    assert_eq!(summary["removed"]["manifests"], 1);
    assert_eq!(summary["kept"]["tagged"]["manifests"], 1);
    assert_eq!(summary["kept"]["recent"]["blobs"], 0);
}
