//! Tests of the validation.

use serde_json::{Value, json};

use super::*;

fn errors(change: impl FnOnce(&mut Value)) -> Vec<String> {
    let mut spec = json!({
        "version": "1.34.1",
        "machines": [{"ip": "10.0.0.9", "password": "eA=="}],
        "features": {
            "files": [{"src": "hooks/pre", "dst": "/tmp/hooks/pre"}, {"src": "hooks/post-install", "dst": "/tmp/hooks/post-install"}],
            "hooks": {"PreInstall": "/tmp/hooks/pre/pre-install", "PostInstall": "/tmp/hooks/post-install"},
        },
    });
    change(&mut spec);
    let object = json!({
        "apiVersion": "outrigger.dev/v1beta1", "kind": "Cluster", "metadata": {"name": "cls-a"}, "spec": spec,
    });
    let cluster: Cluster = serde_json::from_value(object).unwrap();
    validate(&cluster).iter().map(ToString::to_string).collect()
}

#[track_caller]
fn check(expected: &str, change: impl FnOnce(&mut Value)) {
    let errors = errors(change);
    assert!(
        errors.iter().any(|error| error.starts_with(expected)),
        "{expected:?} is not among {errors:#?}"
    );
}

#[test]
fn accepts_a_valid_cluster() {
    assert_eq!(errors(|_| {}), Vec::<String>::new());
    let imported = |spec: &mut Value| *spec = json!({"type": "Imported"});
    assert_eq!(errors(imported), Vec::<String>::new());
    let two_ports = |spec: &mut Value| {
        spec["machines"] = json!([{"ip": "::1", "password": "eA=="}, {"ip": "::1", "port": 23, "password": "eA=="}]);
    };
    assert_eq!(errors(two_ports), Vec::<String>::new());
}

#[test]
fn unknown_hooks_steps_and_conditions_are_refused_with_a_suggestion() {
    let hook = "spec.features.hooks.HookPreInstall: unknown hook; did you mean PreInstall?";
    check(hook, |spec| {
        spec["features"]["hooks"] = json!({"HookPreInstall": "/tmp/hooks/pre/pre-install"});
    });
    let skipped =
        "spec.features.skipConditions[0]: EnsureKublet: unknown step; did you mean EnsureKubelet?";
    check(skipped, |spec| {
        spec["features"]["skipConditions"] = json!(["EnsureKublet"]);
    });
    check(
        "spec.features.delegateConditions[0]: Nonsense: unknown step",
        |spec| {
            spec["features"]["delegateConditions"] = json!(["Nonsense"]);
        },
    );
    check(
        "spec.features.delegateConditions[0]: EnsureCopyFiles cannot be delegated",
        |spec| {
            spec["features"]["delegateConditions"] = json!(["EnsureCopyFiles"]);
        },
    );
    let both =
        "spec.features.delegateConditions[0]: EnsureContainerRuntime is also in skipConditions";
    check(both, |spec| {
        spec["features"]["skipConditions"] = json!(["EnsureDocker"]);
        spec["features"]["delegateConditions"] = json!(["EnsureContainerRuntime"]);
    });
}

#[test]
fn hooks_must_be_among_the_files() {
    for path in [
        "/tmp/hooks/other",
        "/tmp/hooks/pre/../x",
        "/tmp/hooks/prefix",
        "pre-install",
    ] {
        check(
            &format!("spec.features.hooks.PreInstall: {path:?} is not among"),
            |spec| {
                spec["features"]["hooks"]["PreInstall"] = json!(path);
            },
        );
    }
}

#[test]
fn sources_stay_inside_the_files_root() {
    for path in ["/etc/passwd", "../up", "a/../../b", "a\nb"] {
        check("spec.features.files[0].src: ", |spec| {
            spec["features"]["files"][0]["src"] = json!(path);
        });
    }
}

#[test]
fn destinations_are_absolute_and_not_system_paths_unless_forced() {
    let cases = [
        ("tmp/x", "is not an absolute path"),
        ("/tmp/../etc/passwd", "contains \".\""),
        ("/tmp//x", "contains \".\""),
        ("/etc/shadow", "is a system path"),
        ("/usr/bin/ls", "is a system path"),
        ("/etc/", "is a system path"),
        ("/", "is a system path"),
        ("/proc/1/mem", "is a system path"),
        ("/root/.ssh/authorized_keys", "is a system path"),
        ("/home/ops/.ssh", "is a system path"),
        ("/var/lib/outrigger/attempts/x", "is a system path"),
    ];
    for (path, message) in cases {
        let expected = format!("spec.features.files[0].dst: {path:?} {message}");
        check(&expected, |spec| {
            spec["features"]["files"][0]["dst"] = json!(path);
        });
    }
    let forced = errors(|spec| {
        spec["features"]["files"] = json!([{"src": "a", "dst": "/etc/hosts", "force": true}, {"src": "b", "dst": "/etc/sysctl.d/90.conf"}]);
        spec["features"]["hooks"] = json!({});
    });
    assert_eq!(forced, Vec::<String>::new());
    check(
        "spec.features.files[1].dst: \"/tmp/hooks/pre\" is listed twice",
        |spec| {
            spec["features"]["files"][1]["dst"] = json!("/tmp/hooks/pre");
        },
    );
}

/// Whoever writes there runs as root later, or changes the cluster itself.
#[test]
fn what_runs_later_and_what_is_the_clusters_are_system_paths() {
    for path in [
        "/etc/cron.d/x",
        "/etc/systemd/system/x.service",
        "/etc/profile.d/x.sh",
        "/etc/ld.so.conf.d/x.conf",
        "/etc/environment",
        "/etc/rc.local",
        "/etc/kubernetes/manifests/x.yaml",
        "/var/lib/etcd",
        "/var/lib/kubelet/config.yaml",
        "/var/spool/cron/crontabs/root",
        "/usr/local/bin",
        "/root/.bashrc",
        "/home/ops/.profile",
    ] {
        assert!(is_system_path(path), "{path}");
    }
    // Where administrators put what is theirs.
    for path in [
        "/tmp/hooks/pre-install",
        "/opt/hooks",
        "/opt/site/announce",
        "/srv/x",
        "/etc/demo.conf",
        "/etc/site/x.conf",
        "/etc/sysctl.d/90-site.conf",
        "/etc/modules-load.d/site.conf",
        "/usr/local/bin/tool",
        "/root/hooks",
        "/home/ops/tool",
        "/var/lib/site",
        "/etc/systemd.conf",
    ] {
        assert!(!is_system_path(path), "{path}");
    }
}

#[test]
fn each_address_belongs_to_one_machine() {
    check("spec.machines[1].ip: 10.0.0.9:22 is listed twice", |spec| {
        spec["machines"] = json!([{"ip": "10.0.0.9", "password": "eA=="}, {"ip": "10.0.0.9", "port": 22, "password": "eA=="}]);
    });
}

#[test]
fn machines_need_an_address_and_one_kind_of_credentials() {
    let machine = |machine: Value| move |spec: &mut Value| spec["machines"] = json!([machine]);
    check(
        "spec.machines[0].ip: \"host\" is not an IP address",
        machine(json!({"ip": "host", "password": "eA=="})),
    );
    check(
        "spec.machines[0].ip: 0.0.0.0 is not the address of a machine",
        machine(json!({"ip": "0.0.0.0", "password": "eA=="})),
    );
    check(
        "spec.machines[0].secretRef: is missing",
        machine(json!({"ip": "10.0.0.1"})),
    );
    check(
        "spec.machines[0].secretRef: cannot be combined",
        machine(
            json!({"ip": "10.0.0.1", "password": "eA==", "secretRef": {"name": "a", "namespace": "b"}}),
        ),
    );
    check(
        "spec.machines[0].port: ",
        machine(json!({"ip": "10.0.0.1", "port": 0, "password": "eA=="})),
    );
}

#[test]
fn versions_and_networks_are_checked() {
    check("spec.version: \"new\" is not a version", |spec| {
        spec["version"] = json!("new");
    });
    check("spec.version: is missing", |spec| {
        spec["version"] = json!("");
    });
    check("spec.clusterCIDR: ", |spec| {
        spec["clusterCIDR"] = json!("10.244.0.0/33");
    });
    check("spec.serviceCIDR: overlaps with clusterCIDR", |spec| {
        spec["clusterCIDR"] = json!("10.244.0.0/16");
        spec["serviceCIDR"] = json!("10.244.128.0/20");
    });
    let apart = errors(|spec| {
        spec["clusterCIDR"] = json!("0.0.0.0/1");
        spec["serviceCIDR"] = json!("fd00::/108");
    });
    assert_eq!(apart, Vec::<String>::new());
    check("spec.machines: must have at least one machine", |spec| {
        spec["machines"] = json!([]);
    });
    check("spec.type: AWS clusters are not supported yet", |spec| {
        spec["type"] = json!("AWS");
    });
    check("spec.features.hookTimeout: must be greater", |spec| {
        spec["features"]["hookTimeout"] = json!("0s");
    });
    check("spec.features.hookTimeout: must be at most 8760h", |spec| {
        spec["features"]["hookTimeout"] = json!("8761h");
    });
}

#[test]
fn mirrors_of_registries_are_checked() {
    let set = |mirror: Value| {
        move |spec: &mut Value| spec["registryMirrors"] = json!([mirror.clone(), mirror])
    };
    let good = json!({"registry": "registry.k8s.io", "url": "https://a.example.com:5000/k8s"});
    let twice = "spec.registryMirrors[1].registry: registry.k8s.io is listed twice";
    assert_eq!(errors(set(good)), [twice]);
    check(
        "spec.registryMirrors[0].registry: \"a/b\" is not a registry",
        set(json!({"registry": "a/b", "url": "https://a"})),
    );
    for url in [
        "a.example.com",
        "ftp://a",
        "https://",
        "https://a\"b",
        "https://a/b c",
    ] {
        check(
            "spec.registryMirrors[0].url: ",
            set(json!({"registry": "*", "url": url})),
        );
    }
    check(
        "spec.registryMirrors[0].caCertificate: has no certificate",
        set(json!({"registry": "*", "url": "https://a", "caCertificate": "key"})),
    );
}

#[test]
fn names_leave_room_for_those_of_machines() {
    let errors = |name: &str| {
        let object = json!({
            "apiVersion": "outrigger.dev/v1beta1", "kind": "Cluster", "metadata": {"name": name},
            "spec": {"type": "Imported"},
        });
        let cluster: Cluster = serde_json::from_value(object).unwrap();
        let errors = validate(&cluster);
        errors.iter().map(ToString::to_string).collect::<String>()
    };
    assert_eq!(errors(&"a".repeat(200)), "");
    assert!(errors(&"a".repeat(201)).contains("more than 200 characters"));
    assert!(errors("My_Cluster").contains("metadata.name: \"My_Cluster\""));
}

#[test]
fn labels_and_taints_of_nodes_are_checked() {
    check("spec.machines[0].labels: \"a b=c\": ", |spec| {
        spec["machines"][0]["labels"] = json!({"a b": "c"});
    });
    check("spec.machines[0].taints[0]: ", |spec| {
        spec["machines"][0]["taints"] =
            json!([{"key": "a", "value": "b c", "effect": "NoSchedule"}]);
    });
}
