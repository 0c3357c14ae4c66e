//! Archives that are complete, and those that are not.

use serde_json::{Value, json};

use super::*;

fn description() -> Description {
    Description::new(&cluster("1.36.4"), "cp1", jiff::Timestamp::UNIX_EPOCH)
}

fn cluster(version: &str) -> Cluster {
    serde_json::from_value(json!({
        "apiVersion": "outrigger.dev/v1beta1", "kind": "Cluster", "metadata": {"name": "a", "uid": "u"},
        "spec": {"version": version}, "status": {"version": version},
    }))
    .unwrap()
}

fn hexadecimal(data: &[u8]) -> String {
    let mut digesting = Digesting::new(data);
    io::copy(&mut digesting, &mut io::sink()).unwrap();
    digesting.finish()
}

/// The files of a backup, in the order of machines.
fn files() -> Vec<(String, Vec<u8>)> {
    let mut files: Vec<(String, Vec<u8>)> = KEYS
        .iter()
        .map(|path| ((*path).to_owned(), path.as_bytes().to_vec()))
        .collect();
    files.push((SNAPSHOT.to_owned(), vec![7; 1 << 14]));
    let digests = files
        .iter()
        .map(|(path, data)| format!("{}  {path}\n", hexadecimal(data)));
    let digests: String = digests.collect();
    files.insert(0, (DIGESTS.to_owned(), digests.into_bytes()));
    let description = serde_json::to_vec(&description()).unwrap();
    files.insert(0, (DESCRIPTION.to_owned(), description));
    files
}

fn archive(files: &[(String, Vec<u8>)]) -> Vec<u8> {
    let mut archive = tar::Builder::new(Vec::new());
    for (path, data) in files {
        let mut header = tar::Header::new_gnu();
        header.set_size(data.len() as u64);
        header.set_mode(0o600);
        archive
            .append_data(&mut header, path, data.as_slice())
            .unwrap();
    }
    archive.into_inner().unwrap()
}

/// The error after a change of the files.
fn error(change: impl FnOnce(&mut Vec<(String, Vec<u8>)>)) -> String {
    let mut files = files();
    change(&mut files);
    read(archive(&files).as_slice()).unwrap_err().to_string()
}

#[test]
fn a_complete_backup_is_read() {
    let bytes = archive(&files());
    let backup = read(bytes.as_slice()).unwrap();
    assert_eq!(backup.description, description());
    assert_eq!(backup.description.taken, "1970-01-01T00:00:00Z");
    assert_eq!(backup.snapshot, 1 << 14);
    assert_eq!(backup.ca, hexadecimal(CA.as_bytes()));
    assert_eq!(backup.digest, hexadecimal(&bytes));
}

#[test]
fn what_is_missing_or_changed_is_named() {
    let last = KEYS.len() + 2;
    let found = error(|files| files[last].1[5] = 8);
    assert_eq!(
        found,
        "etcd.db is not the file that was backed up: its digest is another one"
    );
    let found = error(|files| drop(files.pop()));
    assert_eq!(found, "it is not a complete backup: etcd.db is missing");
    let found = error(|files| drop(files.remove(0)));
    assert_eq!(found, "it is not a complete backup: backup.json is missing");
    // A file that is not in the list of digests.
    let found = error(|files| files[1].1.clear());
    assert_eq!(found, "it is not a complete backup: pki/ca.crt is missing");
    let found = error(|files| files[0].1 = b"{}".to_vec());
    assert!(found.starts_with("backup.json is invalid"), "{found}");
    let found = error(|files| {
        let mut other: Value = serde_json::from_slice(&files[0].1).unwrap();
        other["format"] = json!(2);
        files[0].1 = other.to_string().into_bytes();
    });
    assert!(found.contains("format 2"), "{found}");
}

#[test]
fn other_archives_are_no_backups_whatever_they_contain() {
    let found = error(|files| files.push(("etc/passwd".to_owned(), Vec::new())));
    assert_eq!(
        found,
        "it is not a backup of a cluster: it has \"etc/passwd\""
    );
    let found = error(|files| files[2].1 = vec![0; 1 << 20]);
    assert_eq!(
        found,
        "it is not a backup of a cluster: it has \"pki/ca.crt\""
    );
    assert!(read(&b"hello"[..]).is_err());
    assert!(read(&[0; 4096][..]).is_err());
    let bytes = archive(&files());
    for length in (0..bytes.len() - 1024).step_by(499) {
        assert!(read(&bytes[..length]).is_err(), "{length}");
    }
}

#[test]
fn only_the_same_cluster_with_the_same_minor_version_is_restored() {
    let backup = description();
    assert_eq!(backup.refused(&cluster("1.36.4")), None);
    assert_eq!(backup.refused(&cluster("1.36.9")), None);
    assert_eq!(
        backup.refused(&cluster("1.37.0")).unwrap(),
        "it has the data of Kubernetes 1.36.4, and the cluster has version 1.37.0"
    );
    let mut other = cluster("1.36.4");
    other.metadata.uid = Some("v".to_owned());
    assert_eq!(
        backup.refused(&other).unwrap(),
        "it is of another cluster that had the name a"
    );
    other.metadata.name = Some("b".to_owned());
    assert_eq!(backup.refused(&other).unwrap(), "it is of cluster a");
    let mut new = cluster("1.36.4");
    new.status = None;
    assert!(backup.refused(&new).is_some());
}
