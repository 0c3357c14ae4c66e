//! All files and units of one kind of machine, whoever contributed them.

use std::collections::BTreeMap;

use outrigger_model::construct::{Content, DropIn, File, KeyPairPart, Unit};
use outrigger_model::{Model, Placement};
use serde_json::Value;

use super::component_files::component_files;
use crate::finding::Finding;

/// What a machine gets at its first boot.
#[derive(Debug, Default)]
pub(super) struct MachineFiles {
    pub(super) files: BTreeMap<String, MachineFile>,
    pub(super) units: Vec<Unit>,
    pub(super) drop_ins: Vec<DropIn>,
}

#[derive(Debug)]
pub(super) struct MachineFile {
    pub(super) mode: u32,
    pub(super) source: Source,
}

/// Where the bytes of a file come from, when the machine boots.
#[derive(Debug)]
pub(super) enum Source {
    Text(String),
    Base64(String),
    /// An address, with the digest if it is known.
    Url {
        url: String,
        sha256: Option<String>,
    },
}

/// The bucket and the prefix of the cluster in it, from `s3URI`.
pub(super) fn bucket(configuration: &Value) -> Option<(&str, String)> {
    let uri = configuration
        .get("s3URI")?
        .as_str()?
        .strip_prefix("s3://")?;
    let cluster = configuration.get("clusterName")?.as_str()?;
    let uri = uri.trim_end_matches('/');
    let (bucket, prefix) = uri.split_once('/').unwrap_or((uri, ""));
    let separator = if prefix.is_empty() { "" } else { "/" };
    (!bucket.is_empty()).then(|| (bucket, format!("{prefix}{separator}clusters/{cluster}")))
}

/// Where files of the cluster are in the bucket.
pub(super) fn base_url(configuration: &Value) -> String {
    bucket(configuration)
        .map(|(bucket, prefix)| format!("s3://{bucket}/{prefix}"))
        .unwrap_or_default()
}

/// Collects the files and units of a machine.
pub(super) fn machine_files(
    model: &Model,
    configuration: &Value,
    placement: &Placement,
    findings: &mut Vec<Finding>,
) -> MachineFiles {
    let base = base_url(configuration);
    let mut machine = MachineFiles::default();
    let mut encrypted = Vec::new();
    for entry in model.files.for_placement(placement) {
        let File {
            path,
            mode,
            content,
        } = &entry.value;
        let mut path = path.clone();
        if content.is_secret() {
            encrypted.push(path.clone());
            path.push_str(".enc");
        }
        machine.files.insert(
            path,
            MachineFile {
                mode: *mode,
                source: source(content, &base),
            },
        );
    }
    for (path, text) in component_files(model, configuration, placement) {
        let file = MachineFile {
            mode: 0o644,
            source: Source::Text(text),
        };
        if machine.files.insert(path.clone(), file).is_some() {
            findings.push(Finding::fatal(
                "",
                format!("{path} is generated, but a plugin contributes it too"),
            ));
        }
    }
    machine.units = model
        .units
        .for_placement(placement)
        .map(|entry| entry.value.clone())
        .collect();
    machine.drop_ins = model
        .drop_ins
        .for_placement(placement)
        .map(|entry| entry.value.clone())
        .collect();
    if !encrypted.is_empty() {
        add_decryption(&mut machine, &encrypted);
    }
    machine
}

fn source(content: &Content, base: &str) -> Source {
    let in_bucket = |path: String, sha256: Option<&String>| Source::Url {
        url: format!("{base}/{path}"),
        sha256: sha256.cloned(),
    };
    match content {
        Content::Text(text) => Source::Text(text.clone()),
        Content::Base64(text) => Source::Base64(text.clone()),
        Content::Url { url, sha256 } => Source::Url {
            url: url.clone(),
            sha256: Some(sha256.clone()),
        },
        Content::Source { path, sha256 } => in_bucket(format!("files/{path}"), Some(sha256)),
        Content::Secret(secret) => in_bucket(format!("secrets/{}.enc", secret.name), None),
        Content::KeyPair {
            name,
            part: KeyPairPart::Certificate,
        } => in_bucket(format!("pki/{name}.pem"), None),
        Content::KeyPair {
            name,
            part: KeyPairPart::PrivateKey,
        } => in_bucket(format!("pki/{name}-key.pem.enc"), None),
    }
}

/// Adds the unit that decrypts secrets with KMS before anything else starts.
fn add_decryption(machine: &mut MachineFiles, encrypted: &[String]) {
    let script = "#!/bin/sh\n# Decrypts the files that are listed beside this script.\nset -eu\numask 077\n\
        while read -r file; do\n  aws kms decrypt --ciphertext-blob \"fileb://$file.enc\" --output text --query Plaintext | base64 -d > \"$file.new\"\n  \
        mv \"$file.new\" \"$file\"\ndone < /etc/outrigger/encrypted-files\n";
    let list: String = encrypted.iter().map(|path| format!("{path}\n")).collect();
    let mut add = |path: &str, mode, text: String| {
        machine.files.insert(
            path.to_owned(),
            MachineFile {
                mode,
                source: Source::Text(text),
            },
        );
    };
    add("/opt/outrigger/decrypt-files", 0o755, script.to_owned());
    add("/etc/outrigger/encrypted-files", 0o644, list);
    let unit = "[Unit]\nDescription=Decrypt secrets\nAfter=network-online.target\nWants=network-online.target\nBefore=etcd.service kubelet.service\n\n\
        [Service]\nType=oneshot\nRemainAfterExit=true\nExecStart=/opt/outrigger/decrypt-files\n\n[Install]\nWantedBy=multi-user.target\n";
    machine.units.push(Unit {
        name: "outrigger-decrypt.service".to_owned(),
        content: Some(unit.to_owned()),
        enable: true,
        start: true,
        mask: false,
    });
}
