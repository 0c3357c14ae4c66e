//! User data of all machines, as Ignition or cloud-config, and the objects and releases for the cluster.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use outrigger_model::{Model, Placement};
use serde::Deserialize;
use serde_json::{Value, json};

use super::component_files::yaml;
use super::contributions::values;
use super::machine_files::{MachineFile, MachineFiles, Source, base_url, machine_files};
use super::objects;
use crate::check::USER_DATA_BYTES;
use crate::finding::Finding;
use crate::plugin::{Failure, Request, Response};
use crate::stage::{RenderedFile, Stage};
use crate::stage_files::sha256;

pub(super) const DEFAULTS: &str = "format: ignition\n";

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct UserData {
    format: Format,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Format {
    Ignition,
    CloudConfig,
}

/// The path of the user data of a machine among the rendered files.
pub(super) fn path_of(placement: &Placement) -> String {
    format!("user-data/{}", name_of(placement))
}

fn name_of(placement: &Placement) -> String {
    match placement {
        Placement::Worker(pool) => format!("worker-{pool}"),
        _ => placement.role().name().to_owned(),
    }
}

/// All kinds of machines of the cluster.
pub(super) fn placements(request: &Request<'_>) -> Vec<Placement> {
    let pools = request.configuration["nodePools"]
        .as_array()
        .into_iter()
        .flatten();
    let pools = pools
        .filter_map(|pool| pool["name"].as_str()?.parse().ok())
        .map(Placement::Worker);
    [Placement::Etcd, Placement::Controller]
        .into_iter()
        .chain(pools)
        .collect()
}

pub(super) fn run(request: &Request<'_>) -> Result<Response, Failure> {
    let (Stage::Render, Some(model)) = (request.stage, request.model) else {
        return Ok(Response::default());
    };
    let user_data: UserData = values(request)?;
    let mut response = Response {
        files: objects::files(model),
        ..Response::default()
    };
    for placement in placements(request) {
        let files = machine_user_data(
            model,
            request,
            user_data.format,
            &placement,
            &mut response.findings,
        );
        response.files.extend(files);
    }
    Ok(response)
}

/// The user data of a machine. If it is too large, it is a file for the bucket, and the user data refers to it by digest.
fn machine_user_data(
    model: &Model,
    request: &Request<'_>,
    format: Format,
    placement: &Placement,
    findings: &mut Vec<Finding>,
) -> Vec<RenderedFile> {
    let machine = machine_files(model, request.configuration, placement, findings);
    let content = match format {
        Format::Ignition => ignition(&machine),
        Format::CloudConfig => cloud_config(&machine),
    };
    if content.len() <= USER_DATA_BYTES {
        return vec![RenderedFile {
            path: path_of(placement),
            content,
        }];
    }
    let digest = sha256(content.as_bytes());
    let name = format!("user-data/{}-{digest}", name_of(placement));
    let url = format!("{}/{name}", base_url(request.configuration));
    let stub = match format {
        Format::Ignition => ignition_reference(&url, &digest),
        Format::CloudConfig => script_reference(&url, &digest),
    };
    vec![
        RenderedFile {
            path: path_of(placement),
            content: stub,
        },
        RenderedFile {
            path: format!("s3/{name}"),
            content,
        },
    ]
}

fn ignition(machine: &MachineFiles) -> String {
    let files = machine.files.iter().map(|(path, file)| {
        json!({"path": path, "mode": file.mode, "overwrite": true, "contents": ignition_contents(&file.source)})
    });
    let mut units: Vec<Value> = machine
        .units
        .iter()
        .map(|unit| {
            let mut value = json!({"name": unit.name, "enabled": unit.enable || unit.start});
            if unit.mask {
                value = json!({"name": unit.name, "mask": true});
            }
            if let Some(content) = &unit.content {
                value["contents"] = json!(content);
            }
            value
        })
        .collect();
    for drop_in in &machine.drop_ins {
        let value = json!({"name": drop_in.name, "contents": drop_in.content});
        match units
            .iter_mut()
            .find(|unit| unit["name"] == drop_in.unit.as_str())
        {
            Some(unit) => match unit["dropins"].as_array_mut() {
                Some(drop_ins) => drop_ins.push(value),
                None => unit["dropins"] = json!([value]),
            },
            None => units.push(json!({"name": drop_in.unit, "dropins": [value]})),
        }
    }
    let document = json!({
        "ignition": {"version": "3.3.0"},
        "storage": {"files": files.collect::<Value>()},
        "systemd": {"units": units},
    });
    document.to_string()
}

fn ignition_contents(source: &Source) -> Value {
    match source {
        Source::Text(text) => {
            json!({"source": format!("data:;base64,{}", BASE64_STANDARD.encode(text))})
        }
        Source::Base64(text) => json!({"source": format!("data:;base64,{text}")}),
        Source::Url { url, sha256: None } => json!({"source": url}),
        Source::Url {
            url,
            sha256: Some(sha256),
        } => json!({"source": url, "verification": {"hash": format!("sha256-{sha256}")}}),
    }
}

/// Ignition that is replaced by a file in the bucket, after its digest is verified.
fn ignition_reference(url: &str, digest: &str) -> String {
    let source = json!({"source": url, "verification": {"hash": format!("sha256-{digest}")}});
    json!({"ignition": {"version": "3.3.0", "config": {"replace": source}}}).to_string()
}

fn cloud_config(machine: &MachineFiles) -> String {
    let mut files: Vec<Value> = machine
        .files
        .iter()
        .filter_map(|(path, file)| inline_file(path, file))
        .collect();
    let mut commands: Vec<Value> = machine
        .files
        .iter()
        .filter_map(|(path, file)| download(path, file))
        .collect();
    for unit in &machine.units {
        if let Some(content) = &unit.content {
            files.push(json!({"path": format!("/etc/systemd/system/{}", unit.name), "permissions": "0644", "content": content}));
        }
    }
    for drop_in in &machine.drop_ins {
        files.push(json!({"path": format!("/etc/systemd/system/{}.d/{}", drop_in.unit, drop_in.name), "permissions": "0644", "content": drop_in.content}));
    }
    commands.push(json!(["systemctl", "daemon-reload"]));
    commands.push(json!(["sysctl", "--system"]));
    for unit in &machine.units {
        let verbs = [
            (unit.mask, "mask"),
            (unit.enable, "enable"),
            (unit.start, "start"),
        ];
        let verbs = verbs.into_iter().filter(|(is_wanted, _)| *is_wanted);
        commands.extend(verbs.map(|(_, verb)| json!(["systemctl", verb, "--no-block", unit.name])));
    }
    let document = json!({"write_files": files, "runcmd": commands});
    format!("#cloud-config\n{}", yaml(&document))
}

fn inline_file(path: &str, file: &MachineFile) -> Option<Value> {
    let permissions = format!("{:04o}", file.mode);
    match &file.source {
        Source::Text(text) => {
            Some(json!({"path": path, "permissions": permissions, "content": text}))
        }
        Source::Base64(text) => Some(
            json!({"path": path, "permissions": permissions, "encoding": "b64", "content": text}),
        ),
        Source::Url { .. } => None,
    }
}

/// The command that downloads a file, verifies it and moves it into place.
fn download(path: &str, file: &MachineFile) -> Option<Value> {
    let Source::Url { url, sha256 } = &file.source else {
        return None;
    };
    let tool = if url.starts_with("s3://") {
        "aws s3 cp \"$1\" \"$2.new\""
    } else {
        "curl -fsSL --retry 5 -o \"$2.new\" \"$1\""
    };
    let verify = if sha256.is_some() {
        "echo \"$3  $2.new\" | sha256sum -c - && "
    } else {
        ""
    };
    let script = format!(
        "set -e; mkdir -p \"$(dirname \"$2\")\"; {tool} && {verify}chmod {:04o} \"$2.new\" && mv \"$2.new\" \"$2\"",
        file.mode
    );
    Some(json!([
        "sh",
        "-c",
        script,
        "download",
        url,
        path,
        sha256.clone().unwrap_or_default()
    ]))
}

/// A script that downloads cloud-config, verifies its digest and applies it.
fn script_reference(url: &str, digest: &str) -> String {
    format!(
        "#!/bin/sh\nset -eu\nfile=/run/outrigger-user-data\naws s3 cp '{url}' \"$file\"\necho '{digest}  '\"$file\" | sha256sum -c -\n\
         cloud-init --file \"$file\" single --name cc_write_files --frequency always\n\
         cloud-init --file \"$file\" single --name cc_runcmd --frequency always\n\
         cloud-init single --name cc_scripts_user --frequency always\n"
    )
}
